"""Child processes that can't outlive their parent.

A test run that is killed must leave no API server behind. The kernel sees to it: PR_SET_PDEATHSIG, set by
setpriv (util-linux), kills each child when the thread that started it ends, however that happens.
"""

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from e2e.cluster.errors import ClusterError

_STOP_SECONDS = 10


def dies_with_parent(command: Sequence[str]) -> list[str]:
    """The command, wrapped so that the kernel kills it when the thread that started it ends."""
    return ["setpriv", "--pdeathsig", "KILL", "--", *command]


def run(*command: str | Path, text: str = "", env: Mapping[str, str] | None = None) -> str:
    """Run a command to its end with `text` on its stdin; return stdout, or raise ClusterError with stderr."""
    argv = [str(part) for part in command]
    result = subprocess.run(argv, input=text, capture_output=True, text=True, check=False, env=env)
    if result.returncode:
        raise ClusterError(f"{' '.join(argv)} ended with {result.returncode}: {result.stderr.strip()}")
    return result.stdout


def succeeds(*command: str | Path) -> bool:
    """Whether a command ends with 0; its output is dropped."""
    argv = [str(part) for part in command]
    return subprocess.run(argv, capture_output=True, check=False).returncode == 0


@dataclass
class Children:
    """Named child processes with one log file each below `logs`."""

    logs: Path
    _running: dict[str, subprocess.Popen[bytes]] = field(default_factory=dict)

    def start(self, name: str, command: Sequence[str]) -> None:
        """Start a child; its output is appended to `<logs>/<name>.log`."""
        self.logs.mkdir(parents=True, exist_ok=True)
        with self.log(name).open("ab") as log:
            self._running[name] = subprocess.Popen(
                dies_with_parent(command),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def log(self, name: str) -> Path:
        """The log file of a child."""
        return self.logs / f"{name}.log"

    def pid(self, name: str) -> int:
        """The process id of a running child."""
        return self._running[name].pid

    def check(self) -> None:
        """Raise ClusterError with the last lines of its log when a child has ended."""
        for name, process in self._running.items():
            if process.poll() is not None:
                raise ClusterError(f"{name} ended with {process.returncode}:\n{tail(self.log(name))}")

    def kill(self, name: str) -> None:
        """Kill one child with SIGKILL and wait for its end."""
        process = self._running.pop(name)
        process.kill()
        process.wait(_STOP_SECONDS)

    def kill_all(self) -> None:
        """Kill every child, the last started first; no grace, since their data is thrown away with them."""
        for name in reversed(list(self._running)):
            self.kill(name)


def tail(log: Path, *, lines: int = 15) -> str:
    """The last lines of a log file, for error texts."""
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:])
