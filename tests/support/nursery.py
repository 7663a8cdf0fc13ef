"""A process that has loaded all that the operator is made of, and forks an operator whenever one is wanted.

Python takes most of a second of a core to load the operator, and tests start it hundreds of times; loaded
once, it is there in an instant. A newborn is a process of its own, with its own environment and log, and runs
what ``python -m bernstein_operator run`` runs. ``freshly_started`` is that command itself.
"""

import atexit
import ctypes
import gc
import json
import os
import runpy
import select
import signal
import socket
import struct
import subprocess
import sys
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from selectors import EVENT_READ, DefaultSelector, SelectorKey
from typing import Protocol, TypeAlias

from e2e.cluster.process import dies_with_parent

_COMMAND = ("bernstein_operator", "run")
_ROOT = Path(__file__).parents[2]
_NUMBER = struct.Struct("i")
_ORDER_BYTES = 2**16
_PR_SET_PDEATHSIG = 1


class Life(Protocol):
    """A process that was started: as much of ``subprocess.Popen`` as tests of the operator need."""

    @property
    def pid(self) -> int:
        """The process id."""

    def poll(self) -> int | None:
        """Return how it ended, None while it lives."""

    def wait(self, timeout: float) -> int:
        """Return how it ended; subprocess.TimeoutExpired if it doesn't within ``timeout`` seconds."""

    def send_signal(self, sig: int) -> None:
        """Send a signal to it, if it lives."""


Launch: TypeAlias = Callable[[Mapping[str, str], Path], Life]
"""Starts a process with an environment and a log."""


def freshly_started(environment: Mapping[str, str], log: Path) -> Life:
    """Start the operator by its command, as people and images do."""
    with log.open("ab") as out:
        return subprocess.Popen(
            dies_with_parent([sys.executable, "-m", *_COMMAND]),
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
        )


def forked(environment: Mapping[str, str], log: Path) -> Life:
    """Start the operator in this process's nursery."""
    told, telling = os.pipe()
    with log.open("ab") as out, os.fdopen(telling, "wb"):
        socket.send_fds(_nursery(), [json.dumps(dict(environment)).encode()], [out.fileno(), telling])
    return _Forked(told, _read(told))


@cache
def _nursery() -> socket.socket:
    """Return the line to the nursery; it ends when nobody holds this end any more, however that comes."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        process = subprocess.Popen(
            [sys.executable, "-um", __name__], stdin=theirs.fileno(), stdout=subprocess.DEVNULL, cwd=_ROOT
        )

    def close() -> None:
        ours.close()
        process.wait()

    atexit.register(close)
    return ours


def _read(told: int) -> int:
    number = os.read(told, _NUMBER.size)
    assert number, "the nursery has ended"
    return int(_NUMBER.unpack(number)[0])


@dataclass
class _Forked:
    """One of the nursery's children: its pid and, at its end, its exit code come through a pipe."""

    told: int
    pid: int
    code: int | None = field(default=None)

    def poll(self) -> int | None:
        return self._ended(0)

    def wait(self, timeout: float) -> int:
        code = self._ended(timeout)
        if code is None:
            raise subprocess.TimeoutExpired(_COMMAND, timeout)
        return code

    def send_signal(self, sig: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, sig)

    def _ended(self, seconds: float) -> int | None:
        if self.code is None and select.select([self.told], [], [], seconds)[0]:
            self.code = _read(self.told)
            os.close(self.told)
        return self.code


def _next_life(orders: socket.socket) -> tuple[Mapping[str, str], int]:
    """Fork whatever is ordered and tell of each child's end; return in the children, with their orders."""
    with orders, DefaultSelector() as selector:
        selector.register(orders, EVENT_READ)
        while True:
            for key, _ in selector.select():
                if key.fileobj is not orders:
                    selector.unregister(key.fd)
                    _tell_end(key)
                    continue
                order, files, _, _ = socket.recv_fds(orders, _ORDER_BYTES, 2)
                if not order:
                    sys.exit()
                log, telling = files
                if not (pid := os.fork()):
                    return json.loads(order), log
                os.close(log)
                os.write(telling, _NUMBER.pack(pid))
                selector.register(os.pidfd_open(pid), EVENT_READ, (pid, telling))


def _tell_end(key: SelectorKey) -> None:
    pid, telling = key.data
    _, status = os.waitpid(pid, 0)
    os.close(key.fd)
    with os.fdopen(telling, "wb", buffering=0) as pipe, suppress(BrokenPipeError):
        pipe.write(_NUMBER.pack(os.waitstatus_to_exitcode(status)))


def _live(environment: Mapping[str, str], *, log: int, nursery: int) -> None:
    """Take on a newborn's own environment and log, and run the operator's command."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != nursery:
        sys.exit("the nursery has ended")
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for stream, to in enumerate((os.open(os.devnull, os.O_RDONLY), log, log)):
        os.dup2(to, stream)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = list(_COMMAND)
    runpy.run_module(_COMMAND[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    import bernstein_operator.main  # noqa: F401 - to have it in memory

    gc.freeze()
    # Ctrl-C interrupts everything that belongs to the test run; the tests end their operators first.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = os.getpid()
    wanted, log_file = _next_life(socket.socket(fileno=0))
    _live(wanted, log=log_file, nursery=parent)
