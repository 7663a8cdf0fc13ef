"""Where an attempt happens: a directory for the clone, the prompt and the mailbox, and a home beside them.

Runner, turns and adapters all need to find the same files, and none of them should know how a container is
laid out.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from bernstein_agent.mailbox import Mailbox


@dataclass(frozen=True, slots=True)
class Place:
    """Where an attempt happens.

    Attributes:
        workspace: holds the clone, the prompt and whatever else the runner writes.
        home: the agent's home directory.
        environ: the container's environment.
        git_seconds: the longest that one exchange with the git server may take.
    """

    workspace: Path
    home: Path
    environ: Mapping[str, str]
    git_seconds: float

    @property
    def clone(self) -> Path:
        """The directory that the agent runs in."""
        return self.workspace / "repo"

    @property
    def prompt_file(self) -> Path:
        """Outside of the clone, so that no agent commits it."""
        return self.workspace / "prompt.md"

    @property
    def mailbox(self) -> Mailbox:
        """Where the agent's program may leave word for the runner."""
        return Mailbox(self.workspace / ".runner")
