"""Keeps each run's purse up to date, from what tasks have stored and what live attempts have reported."""

from collections.abc import Callable
from dataclasses import replace

from bernstein_operator.api.effective import DEFAULT_SCOPE, EffectiveTask
from bernstein_operator.api.objects import TaskObject
from bernstein_operator.api.task_status import AgentTaskStatus, Usage
from bernstein_operator.decisions.accounts import Account, account_of, tokens_of
from bernstein_operator.decisions.attempt import open_attempt
from bernstein_operator.world.meter import Meter
from bernstein_operator.world.roster import Roster


class Accounting:
    """Reads ``meter``; ``effective_of`` returns a task's spec with all defaults.

    ``status_of`` returns a task's status with its attempt's end, if its Pod has ended, stored or not: the
    slot is free by then, and whoever gets it must not find money that has been spent.
    """

    def __init__(
        self,
        meter: Meter,
        *,
        effective_of: Callable[[TaskObject], EffectiveTask | None],
        status_of: Callable[[TaskObject], AgentTaskStatus],
    ) -> None:
        self._meter = meter
        self._effective_of = effective_of
        self._status_of = status_of

    def put(self, roster: Roster, task: TaskObject) -> None:
        """Take note of what a task has spent, and may yet; another run's of the same name adds nothing."""
        if not roster.counts(task.made_by):
            return
        status, effective = self._status_of(task), self._effective_of(task)
        attempt = open_attempt(status)
        reported = self._meter.reported(task.meta.uid, attempt.number) if attempt else None
        scope = effective.scope if effective else DEFAULT_SCOPE
        account = _as_far_as_stored(account_of(status, scope, reported), task.status)
        roster.purse.put(task.meta.uid, account)

    def renew(self, roster: Roster) -> None:
        """Take note of all tasks of a run anew: what it says for all has changed, or it is another."""
        for task in roster.tasks.values():
            self.put(roster, task)

    def refresh(self, roster: Roster) -> None:
        """Take note of what live attempts have reported since."""
        for uid in roster.purse.live:
            self.put(roster, roster.tasks[uid])


def _as_far_as_stored(account: Account, stored: AgentTaskStatus) -> Account:
    """Return the account of a task, with what its status doesn't tell yet in flight.

    Until its end is stored an attempt isn't over, either: its run must conclude nothing from that.
    """
    told = stored.usage or Usage()
    return replace(
        account,
        live=int(open_attempt(stored) is not None),
        in_flight=account.spent - told.cost_usd.micros,
        in_flight_tokens=account.tokens - tokens_of(told),
    )
