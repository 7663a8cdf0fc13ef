"""Running the agent's program: start it, follow what it prints, end it in time.

Its output goes line by line to the container's log and to the adapter. Reading happens in threads of its
own, because a program whose output nobody reads stops at a full pipe, also while it is being stopped. A
program that gave its task up or asked something gets a moment to end by itself.
"""

import subprocess
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import IO, Final

from bernstein_agent.adapters.base import Adapter
from bernstein_agent.allowance import FAREWELL_SECONDS, Allowance
from bernstein_agent.console import Console
from bernstein_agent.contract import ContractError, Reason
from bernstein_agent.failure import contract_error
from bernstein_agent.mailbox import Letter, Mailbox, Question
from bernstein_agent.observation import Observation
from bernstein_agent.orders import Order
from bernstein_agent.processes import Supervisor
from bernstein_agent.redaction import Redactor

_LONGEST_LINE: Final = 1024 * 1024
_DRAIN_SECONDS: Final = 1.0
_SIGNALLED: Final = 128


class Cause(StrEnum):
    """What ended a program."""

    ITSELF = "itself"
    TIMEOUT = "timeout"
    STOP = "stop"


@dataclass(frozen=True, slots=True)
class ChildEnd:
    """How a program ended.

    Attributes:
        cause: the order that it was stopped on, or what else ended it.
        exit_code: 128 + N after signal N, as a shell has it.
        letter: the word that it left before its end, or before its stop began.
    """

    cause: Cause | Order
    exit_code: int
    letter: Letter | None = None


@dataclass(slots=True)
class _Patience:
    """Until when a program may run: its time, its farewell's once it left a word, or now on an order."""

    allowance: Allowance
    mailbox: Mailbox
    look: Callable[[], Order | None]
    order: Order | None = None
    left_word_at: float | None = None

    def __call__(self) -> float:
        if self.left_word_at is None and self.mailbox.read():
            self.left_word_at = self.allowance.now()
        work = self.allowance.work()
        if self.allowance.now() < work:
            self.order = self.order or self.look()
        if self.order:
            return self.allowance.now()
        return work if self.left_word_at is None else min(work, self.left_word_at + FAREWELL_SECONDS)


@dataclass(frozen=True, slots=True)
class Child:
    """A program that can be run once.

    Attributes:
        argv: program and arguments.
        cwd: where it runs.
        env: its whole environment.
        prompt_file: what it gets on its standard input.
        mailbox: where it may leave a word for the runner.
    """

    argv: tuple[str, ...]
    cwd: Path
    env: Mapping[str, str]
    prompt_file: Path
    mailbox: Mailbox

    def run(
        self,
        supervisor: Supervisor,
        allowance: Allowance,
        *,
        adapter: Adapter,
        console: Console,
        seen: Observation,
        look: Callable[[], Order | None],
    ) -> ChildEnd:
        """Run it to its end or to the end of its time; nothing of its process group is left afterwards.

        ``look`` is called again and again, and returns the order to stop it, if there is one.

        Raises:
            AttemptError: there is no such program, or it can't be run.
        """
        process = self._start(supervisor)

        def follow(line: str) -> None:
            if _follow(line, adapter=adapter, console=console, seen=seen):
                supervisor.wake()

        pumps = [
            _pump(process.stdout, follow),
            _pump(process.stderr, lambda line: _show(line, console=console, seen=seen)),
        ]
        patience = _Patience(allowance, self.mailbox, look)
        ended = supervisor.wait(process, patience)
        letter = _masked(self.mailbox.read(), console.redact)
        cause = Cause.ITSELF if ended else patience.order or _why(allowance)
        if ended:
            supervisor.kill(process)
        else:
            console.note(f"stopping the agent ({_word(letter) if letter else _told(cause)})")
            supervisor.end(process, allowance)
        for pump in pumps:
            pump.join(_DRAIN_SECONDS)
        return ChildEnd(cause, _shell_code(process.returncode), letter)

    def _start(self, supervisor: Supervisor) -> "subprocess.Popen[bytes]":
        try:
            with self.prompt_file.open("rb") as prompt:
                return supervisor.start(
                    self.argv,
                    cwd=self.cwd,
                    env=self.env,
                    stdin=prompt.fileno(),
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                )
        except (FileNotFoundError, PermissionError, NotADirectoryError) as error:
            text = f"the agent's program {self.argv[0]!r} can't be started: {error.strerror}"
            raise contract_error(Reason.COMMAND_NOT_FOUND, text) from None


def _pump(stream: IO[bytes] | None, take: Callable[[str], None]) -> threading.Thread:
    def lines() -> None:
        if stream is None:
            return
        with stream:
            while line := stream.readline(_LONGEST_LINE):
                take(line.decode("utf-8", "replace"))

    thread = threading.Thread(target=lines, daemon=True)
    thread.start()
    return thread


def _follow(line: str, *, adapter: Adapter, console: Console, seen: Observation) -> bool:
    """Take a line into account; return whether it was a signal rather than text."""
    console.show(line)
    try:
        signal = adapter.read(line)
    except ContractError as error:
        console.note(f"a report of the agent was refused: {error}")
        return False
    if signal is None:
        seen.spoke(console.redact(line))
    else:
        seen.signal(signal)
    return signal is not None


def _show(line: str, *, console: Console, seen: Observation) -> None:
    console.show(line)
    seen.text(console.redact(line))


def _masked(letter: Letter | None, redact: Redactor) -> Letter | None:
    """Mask secrets before anything is cut, as half a secret isn't recognised any more."""
    if isinstance(letter, Question):
        return Question(redact(letter.question))
    return letter and replace(letter, detail=redact(letter.detail))


def _word(letter: Letter) -> str:
    return "it asked something" if isinstance(letter, Question) else "it gave up"


def _told(cause: Cause | Order) -> str:
    if isinstance(cause, Order):
        return "for its final turn" if cause.cause else cause.verdict.message
    return str(cause)


def _why(allowance: Allowance) -> Cause:
    return Cause.TIMEOUT if allowance.stop.at is None or allowance.stop.at > allowance.ends else Cause.STOP


def _shell_code(returncode: int | None) -> int:
    if returncode is None:
        return _SIGNALLED + 9
    return returncode if returncode >= 0 else _SIGNALLED - returncode
