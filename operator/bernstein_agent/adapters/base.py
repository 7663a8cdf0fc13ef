"""What the runner needs to know of an agent program: how to start it, and what its lines mean.

Programs differ in everything: flags, formats, units. The runner knows none of them; it starts what an
adapter says and gets back a few kinds of signals.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol, TypeAlias

from bernstein_agent.contract import Payload, Usage
from bernstein_agent.failure import Verdict

MAX_SESSION_BYTES: Final = 256
"""What a report holds of a session's name."""


@dataclass(frozen=True, slots=True)
class Job:
    """What a program is started for; its prompt is in ``prompt_file`` and on its standard input."""

    payload: Payload
    prompt_file: Path


@dataclass(frozen=True, slots=True)
class Spent:
    """What the program has spent since it was started, in all; an earlier turn's program left out."""

    usage: Usage


@dataclass(frozen=True, slots=True)
class Worked:
    """What the program has done since it was started, in all.

    Attributes:
        steps: turns of the model.
        tool_calls: calls of tools.
    """

    steps: int = 0
    tool_calls: int = 0


@dataclass(frozen=True, slots=True)
class Session:
    """The name under which the program keeps its conversation."""

    name: str


@dataclass(frozen=True, slots=True)
class Failed:
    """The program says why it can't go on; it counts if the program then does fail."""

    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Said:
    """The program's own summary of its work."""

    text: str


Signal: TypeAlias = Spent | Worked | Session | Failed | Said


def session(name: object) -> Session | None:
    """Return the session of that name, None where no session can have it.

    It ends up among the arguments of a program and in reports, so it is one short line.
    """
    fits = isinstance(name, str) and name.isprintable() and 0 < len(name.encode()) <= MAX_SESSION_BYTES
    return Session(str(name)) if fits else None


class Adapter(Protocol):
    """One kind of agent program."""

    def launch(self, job: Job) -> tuple[str, ...]:
        """Return program and arguments.

        Raises:
            AttemptError: the job can't be done by this kind of program.
        """

    def resume(self, job: Job, session: str | None) -> tuple[str, ...] | None:
        """Return program and arguments that go on with a session, None where this kind of program can't.

        ``session`` is the name that the program told, None where it told none.
        """

    def read(self, line: str) -> Signal | None:
        """Return what a line of the program's standard output means, None where it is just text.

        Raises:
            ContractError: it means to be a signal and is malformed.
        """
