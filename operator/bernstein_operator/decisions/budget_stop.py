"""When a run's budget ends a live attempt, and whether an attempt that says so is to be believed.

Agents are asked to finish first, with the answers to their reports; whoever hasn't by then is stopped. The
task keeps its retries: it goes on as soon as somebody raises the cap.
"""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from bernstein_agent.contract import ResultClass
from bernstein_operator.api.choices import BudgetBand
from bernstein_operator.api.effective import EffectiveTask
from bernstein_operator.api.objects import RunObject
from bernstein_operator.api.task_status import Attempt, Usage
from bernstein_operator.decisions.accounts import tokens_of
from bernstein_operator.decisions.budget import STOP_GRACE_SECONDS
from bernstein_operator.decisions.outcome import Outcome

CRITICAL_GRACE: Final = timedelta(seconds=120)
"""So long agents of tasks that aren't essential may take to finish once the critical band is reached."""
_NOTHING_SPENT: Final = Usage()


def stopped_at(run: RunObject | None, task: EffectiveTask) -> datetime | None:
    """Return when a live attempt of a task is stopped by its run's budget, None while it isn't."""
    budget = run.status.budget if run else None
    if not (run and budget):
        return None
    critical = next((one.time for one in budget.reached if one.band is BudgetBand.CRITICAL), None)
    moments = [
        budget.stop_time + _grace(run) if budget.stop_time else None,
        critical + CRITICAL_GRACE if critical and not task.essential else None,
    ]
    return min((at for at in moments if at), default=None)


def believed(outcome: Outcome, attempt: Attempt, run: RunObject | None, task: EffectiveTask) -> Outcome:
    """Return the outcome; one that the runner blames on its run's budget, if nothing else says so, as agent.

    Otherwise an agent could begin anew without end: what its run's budget ended uses up no retry.
    """
    result = outcome.result
    claimed = result is not None and outcome.result_class is ResultClass.BUDGET
    if not claimed or stopped_at(run, task) or _reached_its_cap(attempt, outcome):
        return outcome
    return replace(outcome, result_class=ResultClass.AGENT)


def _grace(run: RunObject) -> timedelta:
    said = run.spec.budget.stop_grace_seconds if run.spec else None
    return timedelta(seconds=STOP_GRACE_SECONDS if said is None else said)


def _reached_its_cap(attempt: Attempt, outcome: Outcome) -> bool:
    spent = outcome.result.usage if outcome.result else None
    own = attempt.usage or _NOTHING_SPENT
    micros = max(own.cost_usd.micros, spent.cost_micros if spent else 0)
    tokens = max(tokens_of(own), spent.tokens if spent else 0)
    money = attempt.cap_usd is not None and micros >= attempt.cap_usd.micros
    return money or (attempt.cap_tokens is not None and tokens >= attempt.cap_tokens)
