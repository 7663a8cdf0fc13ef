"""The full cluster on this machine: a real node next to fake ones, every component a process of the host.

Starting is all or nothing: a cluster that isn't healthy is taken away completely and made anew, so that
recovery from a crash and `down` are the same code.
"""

import os
import socket
from collections.abc import Callable
from functools import partial

from e2e.cluster import addons, cgroups, components, containerd, network, node, removal
from e2e.cluster.api import Api, wait_until
from e2e.cluster.build import build
from e2e.cluster.cache import exclusive
from e2e.cluster.daemons import daemons_of
from e2e.cluster.errors import ClusterError
from e2e.cluster.fake_nodes import create_fake_nodes, fake_nodes_ready
from e2e.cluster.found import Capabilities, Cluster, Kind
from e2e.cluster.kubeconfig import write_certificate_kubeconfig
from e2e.cluster.machine import DAEMONS, Machine
from e2e.cluster.packages import install_missing
from e2e.cluster.pki import create_pki
from e2e.cluster.progress import say

FAKE_NODES = 3
_WAIT_SECONDS = 120.0
_FIND_SECONDS = 20.0


def up(machine: Machine, *, fake_nodes: int = FAKE_NODES) -> Cluster:
    """Start the cluster, or return the healthy one that runs; needs root. ClusterError says what is wrong."""
    _require_root()
    with exclusive(machine.lock, purpose="the cluster of this machine"):
        if not healthy(machine, patience_seconds=_WAIT_SECONDS):
            _start(machine)
        _add_fake_nodes(machine, fake_nodes)
    return _cluster(machine)


def find(machine: Machine) -> Cluster | None:
    """The healthy cluster of this machine, if there is one."""
    if os.geteuid() != 0 or not healthy(machine, patience_seconds=_FIND_SECONDS):
        return None
    return _cluster(machine)


def down(machine: Machine) -> None:
    """Take the cluster and everything it left away; nothing to do is fine."""
    if not (machine.state.exists() or machine.run.exists()):
        return
    _require_root()
    with exclusive(machine.lock, purpose="the cluster of this machine"):
        removal.remove(machine)


def healthy(machine: Machine, *, patience_seconds: float) -> bool:
    """Whether every process runs and every part of the cluster answers.

    A part that is only busy gets time to answer: to call a cluster unhealthy ends what others run on it.
    """
    daemons = daemons_of(machine)
    if not all(daemons.running(name) for name in DAEMONS):
        return False
    try:
        for what, ready in _conditions(machine):
            _wait(machine, what, ready, seconds=patience_seconds)
    except ClusterError as error:
        say(f"the cluster is not healthy: {error}")
        return False
    return True


def _start(machine: Machine) -> None:
    install_missing(cni_folders=containerd.CNI_FOLDERS)
    build()
    removal.remove(machine)
    network.check_free(machine)
    _prepare(machine)
    _check_listeners(machine)
    say("starting the cluster")
    _start_control_plane(machine)
    _start_node(machine)
    _start_addons(machine)
    for what, ready in _conditions(machine):
        _wait(machine, what, ready)
        say(f"{what}: ready")


def _prepare(machine: Machine) -> None:
    layout = machine.layout
    for folder in (machine.state, machine.run, machine.state / "cni"):
        folder.mkdir(parents=True, exist_ok=True)
    removal.note_kubelet_folder(machine)
    addresses = ["127.0.0.1", machine.gateway, components.SERVICE_ADDRESS]
    pki = create_pki(layout.pki.folder, addresses=addresses, node=machine.node, node_address=machine.gateway)
    for path, pair in (
        (layout.kubeconfig, pki.pair("admin")),
        (machine.state / "kubelet.kubeconfig", pki.pair("kubelet")),
    ):
        write_certificate_kubeconfig(path, server=machine.endpoints.url, authority=pki.authority, pair=pair)
    layout.audit_policy.write_text(components.AUDIT_POLICY)
    (machine.state / "cni" / "10-bridge.conflist").write_text(network.cni_config(machine))
    (machine.state / "Corefile").write_text(addons.corefile(machine))
    node.write_config(machine.state / "kubelet.yaml", node.kubelet_config(machine))
    node.write_config(machine.state / "kube-proxy.yaml", node.proxy_config(machine))
    cgroups.create_group(machine.cgroup)
    network.create_network(machine)


def _check_listeners(machine: Machine) -> None:
    for address, port in machine.listeners:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((address, port))
            except OSError as error:
                raise ClusterError(f"the cluster needs {address}:{port}: {error.strerror}") from error


def _start_control_plane(machine: Machine) -> None:
    daemons, layout, endpoints = daemons_of(machine), machine.layout, machine.endpoints
    daemons.start("etcd", components.etcd(layout, endpoints))
    daemons.start("kube-apiserver", components.api_server(layout, endpoints))
    containerd.start(machine, daemons)
    _wait(machine, "the API server", _api(machine).ready)
    daemons.start("kube-controller-manager", components.controller_manager(layout))
    daemons.start("kube-scheduler", components.scheduler(layout))


def _start_node(machine: Machine) -> None:
    daemons = daemons_of(machine)
    _wait(machine, "containerd", partial(containerd.answers, machine))
    containerd.import_pause(machine)
    daemons.start("kubelet", node.kubelet(machine))
    daemons.start("kube-proxy", node.proxy(machine))


def _start_addons(machine: Machine) -> None:
    daemons, api = daemons_of(machine), _api(machine)
    daemons.start("coredns", addons.coredns(machine))
    daemons.start("metrics-server", addons.metrics_server(machine))
    daemons.start("kwok", components.kwok(machine.layout))
    _wait(machine, "the namespace kube-system", lambda: api.get("/api/v1/namespaces/kube-system") is not None)
    addons.install(api, machine)


def _add_fake_nodes(machine: Machine, count: int) -> None:
    api = _api(machine)
    create_fake_nodes(api, count)
    _wait(machine, "fake nodes", lambda: fake_nodes_ready(api, count))


def _conditions(machine: Machine) -> list[tuple[str, Callable[[], bool]]]:
    api = _api(machine)
    account = "/api/v1/namespaces/default/serviceaccounts/default"
    return [
        ("API server", api.ready),
        ("default service account", lambda: api.get(account) is not None),
        ("real node", lambda: _condition(api, f"/api/v1/nodes/{machine.node}", "Ready")),
        ("Services", lambda: _connects(components.SERVICE_ADDRESS, 443)),
        ("name service", lambda: _connects(machine.dns_address, 53)),
        ("metrics API", lambda: _condition(api, addons.METRICS_API, "Available")),
    ]


def _condition(api: Api, path: str, kind: str) -> bool:
    answer = api.get(path) or {}
    conditions = answer.get("status", {}).get("conditions", [])
    return any(item["type"] == kind and item["status"] == "True" for item in conditions)


def _connects(address: str, port: int) -> bool:
    try:
        with socket.create_connection((address, port), timeout=2):
            return True
    except OSError:
        return False


def _wait(
    machine: Machine, what: str, condition: Callable[[], bool], *, seconds: float = _WAIT_SECONDS
) -> None:
    wait_until(condition, what=what, seconds=seconds, alive=partial(_check_daemons, machine))


def _check_daemons(machine: Machine) -> None:
    daemons = daemons_of(machine)
    for name in daemons.names():
        if not daemons.running(name):
            raise ClusterError(f"{name} ended:\n{daemons.tail(name)}")


def _cluster(machine: Machine) -> Cluster:
    return Cluster(
        kubeconfig=machine.layout.kubeconfig,
        kind=Kind.LOCAL,
        image_prefix="localhost",
        capabilities=Capabilities(real_node=True, metrics=True, kwok=True),
        loader=partial(containerd.import_image, machine),
        audit_log=machine.layout.audit_log,
    )


def _api(machine: Machine) -> Api:
    return Api(machine.gateway, machine.api_port, machine.layout.pki)


def _require_root() -> None:
    if os.geteuid() != 0:
        raise ClusterError("a cluster with a real node needs root (kubelet, containerd, network)")
