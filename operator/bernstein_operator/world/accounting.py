"""Keeps each run's purse up to date, from what tasks have stored and what live attempts have reported."""

from collections.abc import Callable

from bernstein_operator.api.effective import DEFAULT_SCOPE, EffectiveTask
from bernstein_operator.api.objects import TaskObject
from bernstein_operator.decisions.accounts import account_of
from bernstein_operator.decisions.attempt import open_attempt
from bernstein_operator.world.meter import Meter
from bernstein_operator.world.roster import Roster


class Accounting:
    """Reads ``meter``; ``effective_of`` returns a task's spec with all defaults."""

    def __init__(self, meter: Meter, *, effective_of: Callable[[TaskObject], EffectiveTask | None]) -> None:
        self._meter = meter
        self._effective_of = effective_of

    def put(self, roster: Roster, task: TaskObject) -> None:
        """Take note of what a task has spent, and may yet; another run's of the same name adds nothing."""
        if not roster.counts(task.made_by):
            return
        attempt, effective = open_attempt(task.status), self._effective_of(task)
        reported = self._meter.reported(task.meta.uid, attempt.number) if attempt else None
        scope = effective.scope if effective else DEFAULT_SCOPE
        roster.purse.put(task.meta.uid, account_of(task.status, scope, reported))

    def renew(self, roster: Roster) -> None:
        """Take note of all tasks of a run anew: what it says for all has changed, or it is another."""
        for task in roster.tasks.values():
            self.put(roster, task)

    def refresh(self, roster: Roster) -> None:
        """Take note of what live attempts have reported since."""
        for uid in roster.purse.live:
            self.put(roster, roster.tasks[uid])
