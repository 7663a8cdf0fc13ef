"""Unmounting what containers and Pods leave behind, after an orderly end and after a crash alike."""

import re
from pathlib import Path

from e2e.cluster.process import run

_MOUNTINFO = Path("/proc/self/mountinfo")
_MOUNT_POINT_FIELD = 4
_ESCAPE = re.compile(r"\\(\d{3})")


def mounts_below(mountinfo: str, folders: tuple[Path, ...]) -> list[Path]:
    """The mount points at or below `folders` in the text of /proc/self/mountinfo, the last mounted first."""
    points = [Path(_unescape(line.split()[_MOUNT_POINT_FIELD])) for line in mountinfo.splitlines()]
    return [point for point in reversed(points) if any(point.is_relative_to(folder) for folder in folders)]


def unmount_below(*folders: Path) -> None:
    """Detach every mount at or below `folders`; lazily, since a dying process may still hold one."""
    for point in mounts_below(_MOUNTINFO.read_text(), folders):
        run("umount", "--lazy", point)


def _unescape(field: str) -> str:
    return _ESCAPE.sub(lambda match: chr(int(match.group(1), 8)), field)
