"""Where the world tells that something has to be looked at again."""

from typing import Protocol

from bernstein_operator.api.objects import Key


class Marks(Protocol):
    """Where keys are marked that have to be looked at again."""

    def task(self, key: Key) -> None:
        """Mark a task."""

    def run(self, key: Key) -> None:
        """Mark a run."""

    def profile(self, key: Key) -> None:
        """Mark a profile."""

    def freed(self, namespace: str) -> None:
        """Tell that a slot was freed in a namespace: a refusal there may not hold any more."""
