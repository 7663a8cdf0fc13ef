"""The full cluster on this machine: a real node next to fake ones, every component a process of the host.

Starting is all or nothing. A cluster that isn't healthy is taken away completely and made anew: what a crash
left (mounts, bridge, rules, orphaned containers) is found by the names that only this harness uses, so that
recovery and `down` are the same code.
"""

import os
import shutil
import socket
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

from e2e.cluster import addons, cgroups, components, containerd, network, node
from e2e.cluster.api import Api, wait_until
from e2e.cluster.build import build
from e2e.cluster.cache import exclusive
from e2e.cluster.daemons import Daemons, kill_strays
from e2e.cluster.errors import ClusterError
from e2e.cluster.fake_nodes import create_fake_nodes, fake_nodes_ready
from e2e.cluster.found import Capabilities, Cluster, Kind
from e2e.cluster.kubeconfig import write_certificate_kubeconfig
from e2e.cluster.machine import Machine
from e2e.cluster.mounts import unmount_below
from e2e.cluster.packages import install_missing
from e2e.cluster.pki import create_pki
from e2e.cluster.progress import say

FAKE_NODES = 3
_WAIT_SECONDS = 120.0
_CONTAINER_LOG_LINKS = Path("/var/log/containers")
_KUBELET_FOLDER = Path("/var/lib/kubelet")
_CNI_RESULTS = Path("/var/lib/cni/results")
_SHARED_SHIM_FOLDER = Path("/run/containerd/s")
_DAEMONS = (
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "containerd",
    "kubelet",
    "kube-proxy",
    "coredns",
    "metrics-server",
    "kwok",
)


def up(machine: Machine, *, fake_nodes: int = FAKE_NODES) -> Cluster:
    """Start the cluster, or return the healthy one that runs; needs root. ClusterError says what is wrong."""
    _require_root()
    with exclusive(machine.lock, purpose="the cluster of this machine"):
        if not healthy(machine):
            _start(machine, fake_nodes)
    return _cluster(machine)


def find(machine: Machine) -> Cluster | None:
    """The healthy cluster of this machine, if there is one."""
    if os.geteuid() != 0 or not healthy(machine):
        return None
    return _cluster(machine)


def down(machine: Machine) -> None:
    """Take the cluster and everything it left away; nothing to do is fine."""
    if not (machine.state.exists() or machine.run.exists()):
        return
    _require_root()
    with exclusive(machine.lock, purpose="the cluster of this machine"):
        _clean(machine)


def healthy(machine: Machine) -> bool:
    """Whether every process runs and every part of the cluster answers."""
    daemons = _daemons(machine)
    if not all(daemons.running(name) for name in _DAEMONS):
        return False
    with suppress(ClusterError, OSError):
        return all(ready() for _, ready in _conditions(machine, fake_nodes=1))
    return False


def _start(machine: Machine, fake_nodes: int) -> None:
    install_missing(cni_folders=containerd.CNI_FOLDERS)
    build()
    _clean(machine)
    network.check_free(machine)
    _prepare(machine)
    _check_listeners(machine)
    say("starting the cluster")
    _start_control_plane(machine)
    _start_node(machine)
    _start_addons(machine, fake_nodes)
    for what, ready in _conditions(machine, fake_nodes=fake_nodes):
        _wait(machine, what, ready)
        say(f"{what}: ready")


def _prepare(machine: Machine) -> None:
    layout = machine.layout
    for folder in (machine.state, machine.run, machine.state / "cni"):
        folder.mkdir(parents=True, exist_ok=True)
    if not _KUBELET_FOLDER.exists():
        _kubelet_folder_mark(machine).touch()
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
    daemons, layout, endpoints = _daemons(machine), machine.layout, machine.endpoints
    daemons.start("etcd", components.etcd(layout, endpoints))
    daemons.start("kube-apiserver", components.api_server(layout, endpoints))
    containerd.start(machine, daemons)
    _wait(machine, "the API server", _api(machine).ready)
    daemons.start("kube-controller-manager", components.controller_manager(layout))
    daemons.start("kube-scheduler", components.scheduler(layout))


def _start_node(machine: Machine) -> None:
    daemons = _daemons(machine)
    _wait(machine, "containerd", partial(containerd.answers, machine))
    containerd.import_pause(machine)
    daemons.start("kubelet", node.kubelet(machine))
    daemons.start("kube-proxy", node.proxy(machine))


def _start_addons(machine: Machine, fake_nodes: int) -> None:
    daemons, api = _daemons(machine), _api(machine)
    daemons.start("coredns", addons.coredns(machine))
    daemons.start("metrics-server", addons.metrics_server(machine))
    daemons.start("kwok", components.kwok(machine.layout))
    create_fake_nodes(api, fake_nodes)
    _wait(machine, "the namespace kube-system", lambda: api.get("/api/v1/namespaces/kube-system") is not None)
    addons.install(api, machine)


def _conditions(machine: Machine, *, fake_nodes: int) -> list[tuple[str, Callable[[], bool]]]:
    api = _api(machine)
    account = "/api/v1/namespaces/default/serviceaccounts/default"
    return [
        ("API server", api.ready),
        ("default service account", lambda: api.get(account) is not None),
        ("real node", lambda: _condition(api, f"/api/v1/nodes/{machine.node}", "Ready")),
        ("fake nodes", lambda: fake_nodes_ready(api, fake_nodes)),
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


def _wait(machine: Machine, what: str, condition: Callable[[], bool]) -> None:
    wait_until(condition, what=what, seconds=_WAIT_SECONDS, alive=partial(_check_daemons, machine))


def _check_daemons(machine: Machine) -> None:
    daemons = _daemons(machine)
    for name in daemons.names():
        if not daemons.running(name):
            raise ClusterError(f"{name} ended:\n{daemons.tail(name)}")


def _clean(machine: Machine) -> None:
    daemons = _daemons(machine)
    if daemons.names():
        say("stopping the cluster")
    for name in reversed(daemons.names()):
        daemons.stop(name)
    programs = {*_DAEMONS, containerd.SHIM}
    kill_strays(programs, marks=(str(machine.state), str(machine.run)))
    cgroups.remove_group(machine.cgroup)
    _remove_shim_sockets(machine)
    unmount_below(machine.state, machine.run)
    network.delete_network(machine)
    _remove_traces(machine)
    for folder in (machine.run, machine.state):
        shutil.rmtree(folder, ignore_errors=True)


def _remove_shim_sockets(machine: Machine) -> None:
    # containerd keeps its shims' sockets in one folder for all its instances; each task notes its own.
    for note in (machine.run / "containerd").glob("io.containerd.runtime.v2.task/*/*/address"):
        Path(note.read_text().removeprefix("unix://")).unlink(missing_ok=True)
    _remove_empty(_SHARED_SHIM_FOLDER, _SHARED_SHIM_FOLDER.parent)


def _remove_traces(machine: Machine) -> None:
    """What kubelet and CNI write to places that no setting moves."""
    logs = machine.state / "pod-logs"
    for link in _CONTAINER_LOG_LINKS.glob("*.log"):
        if link.is_symlink() and link.readlink().is_relative_to(logs):
            link.unlink()
    for result in _CNI_RESULTS.glob("*"):
        if str(machine.run) in result.read_text():
            result.unlink()
    _remove_empty(_CONTAINER_LOG_LINKS, _CNI_RESULTS, _CNI_RESULTS.parent)
    if _kubelet_folder_mark(machine).exists():
        shutil.rmtree(_KUBELET_FOLDER, ignore_errors=True)


def _remove_empty(*folders: Path) -> None:
    for folder in folders:
        with suppress(OSError):
            folder.rmdir()


def _cluster(machine: Machine) -> Cluster:
    return Cluster(
        kubeconfig=machine.layout.kubeconfig,
        kind=Kind.LOCAL,
        image_prefix="localhost",
        capabilities=Capabilities(real_node=True, metrics=True, kwok=True),
        loader=partial(containerd.import_image, machine),
        audit_log=machine.layout.audit_log,
    )


def _kubelet_folder_mark(machine: Machine) -> Path:
    return machine.state / "kubelet-folder-is-ours"


def _daemons(machine: Machine) -> Daemons:
    return Daemons(records=machine.run / "processes", logs=machine.layout.logs)


def _api(machine: Machine) -> Api:
    return Api(machine.gateway, machine.api_port, machine.layout.pki)


def _require_root() -> None:
    if os.geteuid() != 0:
        raise ClusterError("a cluster with a real node needs root (kubelet, containerd, network)")
