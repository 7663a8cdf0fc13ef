"""How a run's attempts ended lately: what moves its ceiling.

Each attempt counts once, from its end on, however often its task is heard of. All of it comes from the tasks'
statuses, so the lists bring it back after a restart; an attempt of a deleted task stays until it is too old.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final, NamedTuple

from sortedcontainers import SortedList

from bernstein_operator.api.objects import TaskObject
from bernstein_operator.api.snapshot import OutcomeWindow
from bernstein_operator.decisions.retry import RULES

_ERRORS: Final = frozenset(one for one, rule in RULES.items() if rule.error)


class _Ended(NamedTuple):
    """One attempt's end; sorted by its moment."""

    at: datetime
    task: str
    number: int
    error: bool


class Outcomes:
    """The ends of one run's attempts."""

    def __init__(self) -> None:
        self._ended: SortedList[_Ended] = SortedList()
        self._known: set[tuple[str, int]] = set()
        self._errors = 0
        self._since: datetime | None = None

    def put(self, task: TaskObject) -> None:
        """Take note of a task's attempts that have ended."""
        for attempt in task.status.attempts:
            key = (task.meta.uid, attempt.number)
            at = attempt.end_time
            if not at or not attempt.result_class or key in self._known or (self._since and at < self._since):
                continue
            self._known.add(key)
            self._ended.add(_Ended(at, *key, error=attempt.result_class in _ERRORS))
            self._errors += attempt.result_class in _ERRORS

    def window(self, span: timedelta, *, tasks: Iterable[TaskObject], now: datetime) -> OutcomeWindow:
        """Return what ended within ``span``, its first moment included, and forget what is older.

        ``tasks`` are those that there are: a window that has become longer is filled from them again.
        """
        since = now - span
        longer = self._since is not None and since < self._since
        self._since = since
        for task in tasks if longer else ():
            self.put(task)
        while self._ended and self._ended[0].at < since:
            self._forget(self._ended[0])
        return OutcomeWindow(total=len(self._ended), errors=self._errors, newest=self._newest(now))

    def _newest(self, now: datetime) -> datetime | None:
        """Return the latest end that isn't ahead: by the clock of a fast node it would be news for long."""
        return next((one.at for one in reversed(self._ended) if one.at <= now), None)

    def _forget(self, one: _Ended) -> None:
        self._ended.remove(one)
        self._known.discard((one.task, one.number))
        self._errors -= one.error
