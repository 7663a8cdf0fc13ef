"""The lock that keeps two callers from doing the same slow work, held by a real second process."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from e2e.cluster.cache import exclusive

HOLDER = """\
import fcntl, sys
handle = open(sys.argv[1], "w")
fcntl.flock(handle, fcntl.LOCK_EX)
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    """The path of a lock."""
    return tmp_path / "lock"


@pytest.fixture
def holder(lock: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that holds the lock."""
    command = [sys.executable, "-c", HOLDER, str(lock)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_a_lock_is_had_once_its_holder_is_dead(lock: Path, holder: subprocess.Popen[str]) -> None:
    looks = 0

    def kill_at_the_second_look() -> bool:
        nonlocal looks
        looks += 1
        if looks == 2:
            holder.kill()
        return False

    with exclusive(lock, purpose="a test", unless=kill_at_the_second_look):
        assert holder.wait(timeout=20) != 0
    assert looks >= 2


def test_nobody_waits_for_work_that_is_done(lock: Path, holder: subprocess.Popen[str]) -> None:
    with exclusive(lock, purpose="a test", unless=lambda: True):
        assert holder.poll() is None
