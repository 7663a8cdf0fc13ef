"""Starting processes, waiting for them, and leaving none behind.

The runner is the container's first process. So it gets the signals of the kubelet, inherits every orphan, and
has to reap them; and a program that an agent started in the background must not go on changing files while
its work is being saved. Where the runner isn't the first process, Linux lets it adopt orphans all the same.
"""

import contextlib
import os
import queue
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Final

from bernstein_agent.allowance import Allowance, Clock, StopRequest
from bernstein_agent.failure import StepTimeoutError

_PR_SET_CHILD_SUBREAPER: Final = 36
_LONGEST_WAIT: Final = 1.0
_KILL_SECONDS: Final = 2.0
_SWEEPS: Final = 50
_BETWEEN_SWEEPS: Final = 0.02

Process = subprocess.Popen[bytes]


@dataclass(frozen=True, slots=True)
class Completed:
    """A process that ran to its end."""

    exit_code: int
    stdout: str
    stderr: str


class Supervisor:
    """Runs processes on behalf of one attempt."""

    def __init__(self, *, now: Clock = time.monotonic) -> None:
        self.now = now
        self.stop = StopRequest()
        self._adopts = False
        self._happened: queue.SimpleQueue[None] = queue.SimpleQueue()

    def install(self) -> None:
        """Take over SIGTERM and SIGINT, and adopt orphans where the system allows it."""
        signal.signal(signal.SIGTERM, self._on_stop)
        signal.signal(signal.SIGINT, self._on_stop)
        self._adopts = os.getpid() == 1 or _adopt_orphans()

    def start(
        self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], stdin: int, stdout: int, stderr: int
    ) -> Process:
        """Start a program as leader of its own session and process group.

        Raises:
            OSError: there is no such program, or it can't be run.
        """
        process = subprocess.Popen(
            argv, cwd=cwd, env=env, stdin=stdin, stdout=stdout, stderr=stderr, start_new_session=True
        )
        threading.Thread(target=self._watch, args=(process,), daemon=True).start()
        return process

    def run(self, argv: Sequence[str], *, cwd: Path, env: Mapping[str, str], until: Clock) -> Completed:
        """Run a program to its end and return what it printed.

        Raises:
            StepTimeoutError: it hadn't ended by ``until()``; its process group was killed.
        """
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
            process = self.start(
                argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=out.fileno(), stderr=err.fileno()
            )
            if not self.wait(process, until):
                self.kill(process)
                raise StepTimeoutError(Path(argv[0]).name)
            return Completed(process.returncode, _read(out.fileno()), _read(err.fileno()))

    def wait(self, process: Process, until: Clock) -> bool:
        """Wait for the end of ``process``; return whether it came before ``until()``, which may change."""
        while process.returncode is None:
            left = until() - self.now()
            if left <= 0:
                return False
            self.pause(min(left, _LONGEST_WAIT))
            _reap_orphans({process.pid})
        return True

    def pause(self, seconds: float) -> None:
        """Wait until something happens (a process ends, a stop is asked for), at most ``seconds``."""
        with contextlib.suppress(queue.Empty):
            self._happened.get(timeout=seconds)

    def wake(self) -> None:
        """End a pause, since something happened that whoever waits should look at."""
        if self._happened.empty():
            self._happened.put(None)

    def sleep(self, seconds: float) -> None:
        """Wait ``seconds``, or until a stop is asked for."""
        end = self.now() + seconds
        while self.stop.at is None and self.now() < end:
            self.pause(end - self.now())

    def end(self, process: Process, allowance: Allowance) -> None:
        """Ask a process group to stop, and kill what is left of it when the mercy is over."""
        mercy = allowance.mercy()
        _signal_group(process, signal.SIGTERM)
        self.wait(process, mercy)
        self.kill(process)

    def kill(self, process: Process) -> None:
        """Kill what is left of a process group, and whatever left the group and was adopted."""
        _signal_group(process, signal.SIGKILL)
        give_up = self.now() + _KILL_SECONDS
        self.wait(process, lambda: give_up)
        if self._adopts:
            _sweep()

    def _watch(self, process: Process) -> None:
        process.wait()
        self._happened.put(None)

    def _on_stop(self, _signum: int, _frame: FrameType | None) -> None:
        if self.stop.at is None:
            self.stop.at = self.now()
        self._happened.put(None)


def _adopt_orphans() -> bool:
    """Become the parent of every descendant whose own parent ends; False where the system can't do that."""
    try:
        import ctypes  # noqa: PLC0415 - some slim Pythons come without it

        return bool(ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)
    except (ImportError, OSError, AttributeError):
        return False


def _read(descriptor: int) -> str:
    size = os.fstat(descriptor).st_size
    return os.pread(descriptor, size, 0).decode("utf-8", "replace")


def _signal_group(process: Process, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _reap_orphans(own: set[int]) -> None:
    """Reap adopted processes that have ended; those in ``own`` have somebody waiting for them already."""
    while True:
        try:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return
        if ended is None or ended.si_pid in own:
            return
        with contextlib.suppress(ChildProcessError):
            os.waitpid(ended.si_pid, os.WNOHANG)


def _sweep() -> None:
    """Kill every process that is a child of this one, until there is none: each may leave orphans in turn."""
    for _ in range(_SWEEPS):
        children = list(_children())
        if not children:
            return
        for pid in children:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(_BETWEEN_SWEEPS)
        _reap_orphans(set())


def _children() -> Iterator[int]:
    """Yield the process IDs of this process's children; none where there is no /proc."""
    own = os.getpid()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            # The second field is the program's name in brackets, which may hold anything.
            _state, parent = stat.read_text(errors="replace").rpartition(")")[2].split()[:2]
            if int(parent) == own:
                yield int(stat.parent.name)
