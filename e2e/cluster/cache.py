"""Where built tools and base images are kept.

Building a cluster from source takes the better part of an hour, so its products outlive a checkout:
one folder below the user's cache, keyed by tool and version, shared by every clone on the machine.
"""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fcntl import LOCK_EX, LOCK_NB, flock
from pathlib import Path
from typing import TextIO

from e2e.cluster.progress import say

_POLL_SECONDS = 0.25


def cache_folder() -> Path:
    """The project's folder below XDG_CACHE_HOME (default `~/.cache`); made when it is first written."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "bernstein-operator"


def _never() -> bool:
    return False


@contextmanager
def exclusive(lock: Path, *, purpose: str, unless: Callable[[], bool] = _never) -> Iterator[None]:
    """Hold a file lock, so that two callers never do the same slow work twice; freed when we die, too.

    Another holder is waited for, until `unless` holds: then nothing is left to do, and the body runs without
    the lock.
    """
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as handle:
        if not _taken(handle):
            say(f"waiting for another process: {purpose}")
            while not (_taken(handle) or unless()):
                time.sleep(_POLL_SECONDS)
        yield


def _taken(handle: TextIO) -> bool:
    try:
        flock(handle, LOCK_EX | LOCK_NB)
    except BlockingIOError:
        return False
    return True
