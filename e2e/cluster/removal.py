"""Takes the full cluster away, after an orderly life and after a crash alike.

Nothing depends on a component still being able to clean up after itself: what is left (processes, mounts,
bridge, rules, groups) is found by names and paths that only this harness uses. First everything that could
make new things dies, then the things go.
"""

import shutil
from contextlib import suppress
from pathlib import Path

from e2e.cluster import cgroups, containerd, network
from e2e.cluster.daemons import daemons_of, kill_strays
from e2e.cluster.machine import DAEMONS, Machine
from e2e.cluster.mounts import unmount_below
from e2e.cluster.progress import say

# Places outside our folders that no setting of kubelet, containerd and CNI moves.
_CONTAINER_LOG_LINKS = Path("/var/log/containers")
_KUBELET_FOLDER = Path("/var/lib/kubelet")
_CNI_RESULTS = Path("/var/lib/cni/results")
_SHIM_SOCKETS = Path("/run/containerd/s")


def note_kubelet_folder(machine: Machine) -> None:
    """Remember, before the kubelet starts, whether its fixed folder will be its own creation."""
    if not _KUBELET_FOLDER.exists():
        _kubelet_folder_mark(machine).touch()


def remove(machine: Machine) -> None:
    """Take away everything of the cluster, whether it runs, broke down or was never finished."""
    daemons = daemons_of(machine)
    if daemons.names():
        say("stopping the cluster")
    for name in reversed(daemons.names()):
        daemons.stop(name)
    programs = {*DAEMONS, containerd.SHIM}
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
    _remove_empty(_SHIM_SOCKETS, _SHIM_SOCKETS.parent)


def _remove_traces(machine: Machine) -> None:
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


def _kubelet_folder_mark(machine: Machine) -> Path:
    return machine.state / "kubelet-folder-is-ours"
