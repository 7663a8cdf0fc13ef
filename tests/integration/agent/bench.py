"""Runs the real zipapp as its container would, and hands back what the container leaves behind.

The interpreter is the one that the virtual environment was made from, isolated and with an empty
environment: whatever the runner needs beyond the standard library would be missing here.
"""

import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from bernstein_agent.contract import (
    Actor,
    Command,
    DependencyRef,
    Envelope,
    GitIdentity,
    Grant,
    Payload,
    PreviousAttempt,
    Repository,
    Result,
    Subject,
    idempotency_key,
    parse_result,
)

PLAIN_PYTHON = Path(sys.base_prefix, "bin", "python3")
GRACE_SECONDS = 10
POD = "build-parser-3f2a91-a1"


def script(*lines: str) -> str:
    """Return a prompt whose script has these directives."""
    return "\n".join(("Do this:", "```script", *lines, "```"))


def repository(url: str, **changes: str) -> Repository:
    """Return a repository with the branches of the task that the tests run."""
    usual = {
        "ref": "main",
        "branch": "bernstein/demo/build",
        "rescue_branch": "bernstein/demo/build.rescue-1",
    }
    return Repository(url=url, **{**usual, **changes})


def envelope(
    prompt: str = "Do it.",
    *,
    repo: Repository | None = None,
    args: Sequence[str] = (),
    adapter: str = "",
    attempt: int = 1,
    timeout_seconds: int = 60,
    dependencies: Sequence[DependencyRef] = (),
    previous: PreviousAttempt | None = None,
) -> Envelope:
    """Return an envelope for one attempt; ``args`` make it one for adapter ``command``."""
    return Envelope(
        correlation_id="run-uid",
        command_id=POD,
        idempotency_key=idempotency_key("task-uid", attempt),
        actor=Actor(identity="bernstein-operator", grant=Grant(profile="default")),
        subject=Subject(id=POD, version=attempt),
        tenant="team-a",
        payload=Payload(
            goal="A parser",
            title="Build the parser",
            prompt=prompt,
            role="backend",
            run="demo",
            task="build",
            attempt=attempt,
            timeout_seconds=timeout_seconds,
            repository=repo,
            dependencies=tuple(dependencies),
            adapter=adapter or ("command" if args else "script"),
            command=Command(args=tuple(args)),
            git=GitIdentity(author_name="Bernstein Agent", author_email="agent@bernstein.run"),
            previous_attempt=previous,
        ),
    )


def changed(order: Envelope, **changes: object) -> Envelope:
    """Return an envelope with other fields in its payload."""
    payload: Payload = replace(order.payload, **changes)  # type: ignore[arg-type]
    return replace(order, payload=payload)


@dataclass(frozen=True)
class Ended:
    """What a container that ended leaves behind."""

    exit_code: int
    message: str
    log: str

    @property
    def result(self) -> Result:
        """The termination message, read as the operator reads it."""
        return parse_result(self.message)


@dataclass
class Bench:
    """A place where attempts can be run one after the other."""

    zipapp: Path
    root: Path
    python: Path = PLAIN_PYTHON
    env: dict[str, str] = field(default_factory=lambda: {"PATH": "/usr/local/bin:/usr/bin:/bin"})
    runs: int = 0

    def run(
        self, order: Envelope | str, *, env: Mapping[str, str] | None = None, flags: Sequence[str] = ()
    ) -> Ended:
        """Carry out an envelope to its end."""
        with self.running(order, env=env, flags=flags) as attempt:
            return attempt.ended()

    @contextmanager
    def running(
        self, order: Envelope | str, *, env: Mapping[str, str] | None = None, flags: Sequence[str] = ()
    ) -> Iterator["Running"]:
        """Begin to carry out an envelope; whatever still runs at the end is killed."""
        self.runs += 1
        place = self.root / str(self.runs)
        place.mkdir(parents=True)
        document = place / "envelope.json"
        document.write_text(order if isinstance(order, str) else order.to_json())
        command = [str(self.python), "-I", str(self.zipapp), "run", "--envelope", str(document)]
        command += [
            "--workspace",
            str(place / "workspace"),
            "--termination-log",
            str(place / "message"),
            *flags,
        ]
        with (place / "log").open("wb") as log:
            process = subprocess.Popen(
                command, env={**self.env, **(env or {})}, stdout=log, stderr=subprocess.STDOUT, cwd="/"
            )
        try:
            yield Running(process, place)
        finally:
            process.kill()
            process.wait()


@dataclass(frozen=True)
class Running:
    """An attempt under way."""

    process: "subprocess.Popen[bytes]"
    place: Path

    @property
    def workspace(self) -> Path:
        """The attempt's workspace volume."""
        return self.place / "workspace"

    def saw(self, text: str) -> None:
        """Return once the log has ``text``."""
        while text not in self._log():
            if self.process.poll() is not None:
                raise AssertionError(f"ended without {text!r}:\n{self._log()}")
            time.sleep(0.02)

    def stopped_by_kubelet(self) -> Ended:
        """Stop it as a kubelet does: SIGTERM, and SIGKILL when the ten seconds of grace are over."""
        self.process.terminate()
        try:
            return self.ended(timeout=GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.ended()

    def ended(self, *, timeout: float = 120) -> Ended:
        """Return what is left at the end."""
        code = self.process.wait(timeout=timeout)
        message = self.place / "message"
        return Ended(code, message.read_text() if message.exists() else "", self._log())

    def _log(self) -> str:
        return (self.place / "log").read_text(errors="replace")
