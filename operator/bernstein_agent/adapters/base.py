"""What the runner needs to know of an agent program: how to start it, and what its lines mean.

Programs differ in everything: flags, formats, units. The runner knows none of them; it starts what an
adapter says and gets back a few kinds of signals.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias

from bernstein_agent.contract import Payload, Usage
from bernstein_agent.failure import Verdict


@dataclass(frozen=True, slots=True)
class Job:
    """What a program is started for; its prompt is in ``prompt_file`` and on its standard input."""

    payload: Payload
    prompt_file: Path


@dataclass(frozen=True, slots=True)
class Spent:
    """What the program has spent in this attempt so far, in all."""

    usage: Usage


@dataclass(frozen=True, slots=True)
class Failed:
    """The program says why it can't go on; it counts if the program then does fail."""

    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Said:
    """The program's own summary of its work."""

    text: str


Signal: TypeAlias = Spent | Failed | Said


class Adapter(Protocol):
    """One kind of agent program."""

    def launch(self, job: Job) -> tuple[str, ...]:
        """Return program and arguments.

        Raises:
            AttemptError: the job can't be done by this kind of program.
        """

    def read(self, line: str) -> Signal | None:
        """Return what a line of the program's standard output means, None where it is just text.

        Raises:
            ContractError: it means to be a signal and is malformed.
        """
