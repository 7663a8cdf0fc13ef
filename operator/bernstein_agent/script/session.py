"""What the scripted agent keeps of its session: the script, and the step that comes next.

Real agents keep their conversations in their home directory, and go on with one when they are started with
its name. This one does the same, so that whatever goes on with agents can be tried with it. The next step is
noted before a step is played: an agent that is stopped goes on behind what it was stopped in.
"""

import json
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

_DIRECTORY: Final = ".script-agent"


@dataclass(frozen=True, slots=True)
class Session:
    """A session's name, its prompt, and where it is kept."""

    name: str
    prompt: str
    directory: Path

    @classmethod
    def begun(cls, home: Path, prompt: str) -> Self:
        """Return a session with a name of its own.

        Raises:
            OSError: the home directory can't be written to.
        """
        directory = home / _DIRECTORY
        directory.mkdir(parents=True, exist_ok=True)
        session = cls(str(uuid.uuid4()), prompt, directory)
        session.note(0)
        return session

    @classmethod
    def found(cls, home: Path, name: str) -> "tuple[Self, int]":
        """Return a session that was begun before, and the index of its next step.

        Raises:
            OSError, ValueError, KeyError: there is none of that name.
        """
        directory = home / _DIRECTORY
        kept = json.loads((directory / f"{uuid.UUID(name)}.json").read_text(encoding="utf-8"))
        return cls(name, kept["prompt"], directory), kept["next"]

    def note(self, following: int) -> None:
        """Keep that the step of that index comes next; a kill in between leaves the note before."""
        scratch = self.directory / f".{self.name}.new"
        kept = json.dumps({"prompt": self.prompt, "next": following})
        scratch.write_text(kept, encoding="utf-8")
        scratch.replace(self.directory / f"{self.name}.json")
