"""The profiles that a run's unfinished tasks use, counted as tasks come and go.

Where the run could start something follows from them, and asking all its tasks for each pass would cost as
many steps as there are tasks.
"""

from collections import Counter
from collections.abc import Callable

from bernstein_operator.api.objects import TaskObject
from bernstein_operator.api.vocabulary import BLOCKED_PHASES, SETTLED_PHASES


class ProfilesInUse:
    """Names of profiles; a task that names none uses its run's."""

    def __init__(self) -> None:
        self._names: Counter[tuple[str, str | None]] = Counter()

    def put(self, task: TaskObject) -> None:
        """Count a task in, if there is work left in it."""
        self._count(task, 1)

    def remove(self, task: TaskObject) -> None:
        """Count the same task out."""
        self._count(task, -1)

    def names(self, default: str, *, counts: Callable[[str], bool]) -> frozenset[str]:
        """Return the names; ``default`` is the run's, and ``counts`` tells whose tasks are the run's."""
        used = (name for (maker, name), number in self._names.items() if number and counts(maker))
        return frozenset(default if name is None else name for name in used)

    def _count(self, task: TaskObject, change: int) -> None:
        if task.spec and task.status.phase not in SETTLED_PHASES | BLOCKED_PHASES:
            self._names[task.made_by, task.spec.profile] += change
