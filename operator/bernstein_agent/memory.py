"""Whether the kernel killed something in this container for memory.

Depending on the node's cgroup settings the kernel kills the whole container or only the fattest process in
it. In the second case the runner survives, and the kernel's counter is the only trace of why its child died.
"""

import contextlib
from pathlib import Path
from typing import Final

CGROUP: Final = Path("/sys/fs/cgroup")
_FILES: Final = ("memory.events", "memory/memory.oom_control")
"""Of cgroup v2 and v1."""


def oom_kills(cgroup: Path = CGROUP) -> int:
    """Return how many processes of the container were killed for memory so far; 0 where nobody says."""
    for name in _FILES:
        with contextlib.suppress(OSError, ValueError):
            fields = dict(line.split(maxsplit=1) for line in (cgroup / name).read_text().splitlines())
            return int(fields.get("oom_kill", "0"))
    return 0
