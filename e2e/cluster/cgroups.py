"""The control groups of the full cluster's Pods, on cgroup v1 and v2.

All Pods live below one group of ours. That makes two things simple: the kubelet never touches groups of
others, and after a crash every process below that group is known to be ours to end.
"""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from e2e.cluster.errors import ClusterError

_MOUNTS = Path("/proc/self/mounts")
_CPUSET_FILES = ("cpuset.cpus", "cpuset.mems")
_CONTROLLERS = ("cpu", "cpuset", "io", "memory", "pids")
_END_SECONDS = 20.0


def hierarchies(mounts: str) -> list[Path]:
    """The mount points of all cgroup hierarchies in the text of /proc/mounts."""
    rows = [line.split() for line in mounts.splitlines()]
    return [Path(row[1]) for row in rows if row[2] in {"cgroup", "cgroup2"}]


def create_group(name: str) -> None:
    """Make the group in every hierarchy, ready to have Pods below it."""
    for root in hierarchies(_MOUNTS.read_text()):
        _delegate(root)
        group = root / name
        group.mkdir(exist_ok=True)
        _delegate(group)
        _inherit_cpuset(group)


def remove_group(name: str) -> None:
    """Kill every process below the group, then remove the group; ClusterError when a process won't die."""
    end = time.monotonic() + _END_SECONDS
    while any(root.exists() for root in _groups(name)):
        _kill_all(name)
        for group in _groups(name):
            _remove_tree(group)
        if time.monotonic() > end:
            raise ClusterError(
                f"processes below the control group {name} don't end: {sorted(_processes(name))}"
            )
        time.sleep(0.05)


def _groups(name: str) -> list[Path]:
    groups = [root / name for root in hierarchies(_MOUNTS.read_text())]
    return [group for group in groups if group.exists()]


def _processes(name: str) -> set[int]:
    return {pid for group in _groups(name) for folder in _bottom_up(group) for pid in _members(folder)}


def _kill_all(name: str) -> None:
    for pid in _processes(name):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _members(folder: Path) -> list[int]:
    try:
        return [int(line) for line in (folder / "cgroup.procs").read_text().split()]
    except OSError:
        return []


def _remove_tree(group: Path) -> None:
    for folder in _bottom_up(group):
        with suppress(OSError):
            folder.rmdir()


def _bottom_up(group: Path) -> Iterator[Path]:
    for folder, _, _ in os.walk(group, topdown=False):
        yield Path(folder)


def _delegate(group: Path) -> None:
    # cgroup v2 only: children get the controllers that their parent passes on.
    control = group / "cgroup.subtree_control"
    if not control.exists():
        return
    available = (group / "cgroup.controllers").read_text().split()
    for controller in sorted(set(available) & set(_CONTROLLERS)):
        with suppress(OSError):
            control.write_text(f"+{controller}")


def _inherit_cpuset(group: Path) -> None:
    # cgroup v1 only: a new cpuset is empty, and an empty one takes no process.
    for name in _CPUSET_FILES:
        own, parent = group / name, group.parent / name
        if own.exists() and parent.exists() and not own.read_text().strip():
            own.write_text(parent.read_text())
