"""The Pod network of the full cluster, shut in on this machine.

Agents run untrusted code, and tests aim faults and load at addresses: nothing of that may leave the machine.
A bridge carries the Pods; whatever it would forward to another interface is dropped; the ranges beside it are
unreachable instead of being sent to the default gateway; only kube-proxy rewrites addresses, and only to the
bridge's own.
"""

import json
from pathlib import Path

from e2e.cluster.components import SERVICE_RANGE
from e2e.cluster.errors import ClusterError
from e2e.cluster.machine import Machine
from e2e.cluster.ports import TEST_PORTS
from e2e.cluster.process import run, succeeds

_FORWARDING = Path("/proc/sys/net/ipv4/ip_forward")
_PROXY_TABLES = (("ip", "kube-proxy"), ("ip6", "kube-proxy"))


def fence(machine: Machine) -> str:
    """The nft rules that keep the bridge's traffic to itself.

    Of this machine's own listeners, Pods reach the cluster's and those of tests (`ports.TEST_PORTS`, on the
    gateway address) and nothing else.
    """
    bridge, gateway = machine.bridge, machine.gateway
    cluster = f"{machine.api_port}, {machine.metrics_port}, {machine.dns_port}"
    tests = f"{TEST_PORTS.start}-{TEST_PORTS.stop - 1}"
    return f"""\
table inet {machine.network} {{
  chain forward {{
    type filter hook forward priority -10; policy accept;
    iifname "{bridge}" oifname != "{bridge}" drop
    oifname "{bridge}" iifname != "{bridge}" drop
  }}
  chain input {{
    type filter hook input priority -10; policy accept;
    iifname != "{bridge}" accept
    ct state established,related accept
    ip daddr {gateway} tcp dport {{ {cluster}, {tests} }} accept
    ip daddr {gateway} udp dport {machine.dns_port} accept
    drop
  }}
}}
"""


def cni_config(machine: Machine) -> str:
    """The CNI chain: a bridge with addresses kept below the run folder, no masquerading, no host ports."""
    ipam = {
        "type": "host-local",
        "dataDir": str(machine.run / "addresses"),
        "ranges": [[{"subnet": machine.pod_range, "gateway": machine.gateway}]],
        "routes": [{"dst": "0.0.0.0/0"}],
    }
    bridge = {
        "type": "bridge",
        "bridge": machine.bridge,
        "isGateway": True,
        "ipMasq": False,
        "hairpinMode": True,
        "ipam": ipam,
    }
    return json.dumps({"cniVersion": "0.4.0", "name": machine.network, "plugins": [bridge]}, indent=2)


def check_free(machine: Machine) -> None:
    """Raise ClusterError when something that isn't ours has the names we need."""
    if succeeds("ip", "link", "show", machine.bridge):
        raise ClusterError(f"there is a network interface {machine.bridge} that this harness didn't make")
    for family, table in _PROXY_TABLES:
        if succeeds("nft", "list", "table", family, table):
            raise ClusterError(
                f"nft table {family} {table} exists: another cluster's kube-proxy runs on this machine, "
                "and two of them would overwrite each other's rules"
            )


def create_network(machine: Machine) -> None:
    """Make the bridge, the routes and the fence; remember what forwarding was before."""
    _saved_forwarding(machine).write_text(_FORWARDING.read_text())
    run("ip", "link", "add", machine.bridge, "type", "bridge")
    prefix = machine.pod_range.partition("/")[2]
    run("ip", "address", "add", f"{machine.gateway}/{prefix}", "dev", machine.bridge)
    run("ip", "link", "set", machine.bridge, "up")
    run("ip", "route", "add", "unreachable", machine.all_pods)
    # For this machine's own processes: a Service's address is rewritten on the way, or lost on the bridge.
    run("ip", "route", "add", SERVICE_RANGE, "dev", machine.bridge, "src", machine.gateway)
    run("nft", "-f", "-", text=fence(machine))
    _FORWARDING.write_text("1\n")


def delete_network(machine: Machine) -> None:
    """Take away what `create_network`, the Pods and kube-proxy made since; without it, touch nothing."""
    if not _saved_forwarding(machine).exists():
        return
    for port in _bridge_ports(machine):
        succeeds("ip", "link", "delete", port)
    succeeds("ip", "link", "delete", machine.bridge)
    succeeds("ip", "route", "delete", "unreachable", machine.all_pods)
    for family, table in (*_PROXY_TABLES, ("inet", machine.network)):
        succeeds("nft", "delete", "table", family, table)
    _FORWARDING.write_text(_saved_forwarding(machine).read_text())
    _saved_forwarding(machine).unlink()


def _bridge_ports(machine: Machine) -> list[str]:
    ports = Path(f"/sys/class/net/{machine.bridge}/brif")
    return sorted(port.name for port in ports.iterdir()) if ports.exists() else []


def _saved_forwarding(machine: Machine) -> Path:
    # In the run folder, which ends with the boot, as bridge and rules do: it also says that those are ours.
    return machine.run / "ip_forward.before"
