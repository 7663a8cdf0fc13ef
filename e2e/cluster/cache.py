"""Where built tools and base images are kept.

Building a cluster from source takes the better part of an hour, so its products outlive a checkout:
one folder below the user's cache, keyed by tool and version, shared by every clone on the machine.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path

from e2e.cluster.progress import say


def cache_folder() -> Path:
    """The project's folder below XDG_CACHE_HOME (default `~/.cache`); made when it is first written."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "bernstein-operator"


@contextmanager
def exclusive(lock: Path, *, purpose: str) -> Iterator[None]:
    """Hold a file lock, so that two callers never do the same slow work twice; freed when we die, too."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as handle:
        try:
            flock(handle, LOCK_EX | LOCK_NB)
        except BlockingIOError:
            say(f"waiting for another process: {purpose}")
            flock(handle, LOCK_EX)
        yield
