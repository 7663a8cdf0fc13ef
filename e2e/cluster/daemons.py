"""Processes of the full cluster: they outlive the command that starts them, and are told apart from others'.

A pid alone proves nothing after a crash or a reboot: the number may belong to anybody by now. Each process is
recorded with the boot it was started in and its start time in clock ticks, and only an exact match is ever
signalled.
"""

import json
import os
import signal
import subprocess
from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from e2e.cluster.api import wait_until
from e2e.cluster.machine import Machine
from e2e.cluster.process import tail

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
# After the command name's closing parenthesis, /proc/PID/stat goes on with field 3.
_STATE_FIELD, _START_TIME_FIELD = 0, 19


@dataclass(frozen=True)
class Identity:
    """What makes a process this one and no other."""

    pid: int
    start_ticks: int
    boot: str


@dataclass(frozen=True)
class Daemons:
    """Detached processes, recorded below `records`, with a log file each below `logs`."""

    records: Path
    logs: Path

    def start(self, name: str, command: Sequence[str]) -> None:
        """Start a process in its own session and record it."""
        self.records.mkdir(parents=True, exist_ok=True)
        self.logs.mkdir(parents=True, exist_ok=True)
        with self.log(name).open("ab") as log:
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True, cwd="/"
            )
        # Not waited for on purpose: the process is meant to outlive us.
        process.returncode = 0
        identity = identify(process.pid)
        if identity is not None:
            self._record(name).write_text(json.dumps(asdict(identity)))

    def log(self, name: str) -> Path:
        """The log file of a process."""
        return self.logs / f"{name}.log"

    def running(self, name: str) -> bool:
        """Whether the recorded process is the one that runs under its pid now."""
        recorded = self._recorded(name)
        return recorded is not None and identify(recorded.pid) == recorded

    def names(self) -> list[str]:
        """The names of all recorded processes."""
        return sorted(record.stem for record in self.records.glob("*.json"))

    def tail(self, name: str) -> str:
        """The last lines of a process's log."""
        return tail(self.log(name))

    def stop(self, name: str, *, grace_seconds: float = 0) -> None:
        """End a process, with SIGTERM first when it gets a grace; forget its record."""
        recorded = self._recorded(name)
        if recorded is not None and self.running(name):
            if grace_seconds:
                os.kill(recorded.pid, signal.SIGTERM)
                with suppress(Exception):
                    self._wait_gone(name, seconds=grace_seconds)
            if self.running(name):
                os.kill(recorded.pid, signal.SIGKILL)
            self._wait_gone(name, seconds=10)
        self._record(name).unlink(missing_ok=True)

    def _wait_gone(self, name: str, *, seconds: float) -> None:
        wait_until(lambda: not self.running(name), what=f"the end of {name}", seconds=seconds, every=0.05)

    def _record(self, name: str) -> Path:
        return self.records / f"{name}.json"

    def _recorded(self, name: str) -> Identity | None:
        try:
            return Identity(**json.loads(self._record(name).read_text()))
        except (FileNotFoundError, ValueError, TypeError):
            return None


def daemons_of(machine: Machine) -> Daemons:
    """The processes of the full cluster."""
    return Daemons(records=machine.run / "processes", logs=machine.layout.logs)


def kill_strays(programs: Collection[str], *, marks: Sequence[str]) -> None:
    """Kill our processes that no record names: started just before a crash, or shims of containerd."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            arguments = (process / "cmdline").read_text(errors="replace").split("\0")
            if is_stray(arguments, programs=programs, marks=marks):
                os.kill(int(process.name), signal.SIGKILL)


def is_stray(arguments: Sequence[str], *, programs: Collection[str], marks: Sequence[str]) -> bool:
    """Whether a command line is that of one of `programs` and names one of our paths (`marks`)."""
    if Path(arguments[0]).name not in programs:
        return False
    return any(f"{mark}/" in argument for argument in arguments[1:] for mark in marks)


def identify(pid: int) -> Identity | None:
    """The identity of a living process; None for one that is gone or a zombie."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    fields = stat.rpartition(")")[2].split()
    if fields[_STATE_FIELD] == "Z":
        return None
    return Identity(pid, int(fields[_START_TIME_FIELD]), _BOOT_ID.read_text().strip())
