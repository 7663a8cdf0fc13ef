"""The operator as a process of its own, to be killed, frozen and started again.

An operator in the test's own process could neither be killed at any instruction nor be stopped in mid-flight,
and those are the cases that matter. It is started as a user would start it, with a kubeconfig that leads
through the fault proxy, and its log is kept beside the test.

It believes to be in a Pod whose name stays over its restarts, as that of a container that its kubelet starts
again does. So the lease of the process that was killed is its own, and no test waits until it has run out.
"""

import json
import os
import re
import signal
import subprocess
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

from tests.support.kube import eventually
from tests.support.nursery import Launch, Life, forked

_START_SECONDS = 60.0
_STOP_SECONDS = 40.0
_TAIL_LINES = 200
_LEADS = re.compile(r"^leader_election_master_status\{.*\} (\S+)$", re.MULTILINE)


def _nothing() -> None:
    """Nobody wants to know."""


class OperatorProcess:
    """``python -m bernstein_operator run``; ``on_up`` and ``on_down`` hear when it works and when not."""

    def __init__(
        self,
        *,
        kubeconfig: Path,
        log: Path,
        environment: Mapping[str, str] | None = None,
        on_up: Callable[[], None] = _nothing,
        on_down: Callable[[], None] = _nothing,
        launch: Launch = forked,
    ) -> None:
        self.log = log
        self._launch = launch
        pod = {"POD_NAME": f"operator-{uuid.uuid4().hex[:8]}"}
        self._environment = {**_environment(kubeconfig), **pod, **(environment or {})}
        self._on_up = on_up
        self._on_down = on_down
        self._process: Life | None = None
        self._log_start = 0

    @property
    def is_running(self) -> bool:
        """Whether the process exists (a frozen one does)."""
        return self._process is not None and self._process.poll() is None

    @property
    def pid(self) -> int:
        """The process id."""
        assert self._process is not None, "the operator was not started"
        return self._process.pid

    def start(self, *, wait: bool = True) -> "OperatorProcess":
        """Start the process; with ``wait`` return only when it is ready and leads."""
        self._log_start = self.log.stat().st_size if self.log.exists() else 0
        self._process = self._launch(self._environment, self.log)
        if wait:
            self.wait_ready()
            self.wait_leading()
        return self

    def wait_ready(self, *, timeout: float = _START_SECONDS) -> None:
        """Return when /readyz answers 200; AssertionError with the log if the process ends or it doesn't."""
        try:
            eventually(self._ready_or_dead, timeout=timeout, what="that the operator is ready")
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.tail()}") from None
        assert self.is_running, f"the operator ended with {self._code()} at its start:\n{self.tail()}"
        if self.leads:
            self._on_up()

    def wait_leading(self, *, timeout: float = _START_SECONDS) -> None:
        """Return when it is the leader."""
        eventually(lambda: self.leads, timeout=timeout, what="that the operator leads")
        self._on_up()

    @property
    def leads(self) -> bool:
        """Whether it is the leader by its own account, or leads without an election."""
        said = _LEADS.findall(self.http("/metrics")[1])
        return not said or float(said[0]) == 1

    def http(self, path: str) -> tuple[int, str]:
        """Return status and body of the operator's own endpoint (/healthz, /readyz, /metrics)."""
        with urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=5) as answer:
            return answer.status, answer.read().decode()

    @property
    def port(self) -> int:
        """The port of the operator's endpoints, which it chose and logged; 0 until then."""
        return self._logged_port("http_port")

    @property
    def report_port(self) -> int:
        """The port that it takes agents' reports at, if it does."""
        return self._logged_port("report_port")

    def _logged_port(self, name: str) -> int:
        ports = (entry[name] for entry in self.log_entries() if name in entry)
        return int(str(next(ports, 0)))

    def log_entries(self) -> list[dict[str, object]]:
        """Return the JSON lines that the process has logged since its last start."""
        with self.log.open("rb") as log:
            log.seek(self._log_start)
            lines = log.read().decode(errors="replace").splitlines()
        return [parsed for line in lines if isinstance(parsed := _parsed(line), dict)]

    def kill(self) -> None:
        """Kill it with SIGKILL: nothing is said, written or closed any more."""
        self._signal(signal.SIGKILL)
        self._wait()

    def wait_end(self) -> int:
        """Return the exit code once it has ended by itself; AssertionError if it doesn't in time."""
        return self._wait()

    def stop(self) -> int:
        """Ask it to end (SIGTERM) and return its exit code; AssertionError if it doesn't in time."""
        self._signal(signal.SIGTERM)
        return self._wait()

    def freeze(self) -> None:
        """Stop it in mid-flight (SIGSTOP); it knows nothing of the time that passes."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """Let a frozen one go on; it is at work again only if nobody took its place."""
        assert self._process is not None, "the operator was not started"
        self._process.send_signal(signal.SIGCONT)
        self._on_up()

    def restart(self, *, kill: bool = False) -> None:
        """End it (with SIGKILL if ``kill``) and start it again with the same settings."""
        if kill:
            self.kill()
        else:
            self.stop()
        self.start()

    def close(self) -> None:
        """Kill it if it still runs; for fixtures."""
        if self.is_running:
            self.kill()

    def tail(self, lines: int = _TAIL_LINES) -> str:
        """Return the last lines of the log."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None, "the operator was not started"
        self._on_down()
        self._process.send_signal(number)

    def _wait(self) -> int:
        assert self._process is not None, "the operator was not started"
        try:
            return self._process.wait(_STOP_SECONDS)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the operator did not end in {_STOP_SECONDS} s:\n{self.tail()}") from None

    def _code(self) -> int | None:
        return self._process.poll() if self._process else None

    def _ready_or_dead(self) -> bool:
        if not self.is_running:
            return True
        try:
            return bool(self.port) and self.http("/readyz")[0] == 200
        except (URLError, ConnectionError, TimeoutError):
            return False


def _environment(kubeconfig: Path) -> dict[str, str]:
    """Return a small environment: nothing of the caller's own cluster or settings gets in."""
    kept = {
        key: os.environ[key]
        for key in ("PATH", "HOME", "LANG", "PYTHONPATH", "VIRTUAL_ENV")
        if key in os.environ
    }
    return {
        **kept,
        "KUBECONFIG": str(kubeconfig),
        "BERNSTEIN_HTTP_PORT": "0",
        "BERNSTEIN_LOG_FORMAT": "json",
        "BERNSTEIN_AGENT_IMAGE": "registry.invalid/agent:test",
        "PYTHONUNBUFFERED": "1",
    }


def _parsed(line: str) -> object:
    try:
        return json.loads(line)
    except ValueError:
        return None
