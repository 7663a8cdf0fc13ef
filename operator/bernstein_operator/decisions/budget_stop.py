"""When a run's budget ends a live attempt, and whether an attempt that says so is to be believed.

Agents are asked to finish first, with the answers to their reports; whoever hasn't by then is stopped. The
task keeps its retries: it goes on as soon as somebody raises the cap.
"""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from bernstein_agent.contract import BudgetMode, ResultClass
from bernstein_operator.api.choices import BudgetBand
from bernstein_operator.api.effective import EffectiveTask
from bernstein_operator.api.objects import RunObject
from bernstein_operator.api.task_status import AgentTaskStatus, Usage
from bernstein_operator.api.vocabulary import TaskReason
from bernstein_operator.decisions.accounts import tokens_of
from bernstein_operator.decisions.budget import STOP_GRACE_SECONDS
from bernstein_operator.decisions.outcome import Outcome
from bernstein_operator.decisions.task_budget import used_up
from bernstein_operator.decisions.usage import of_contract, with_spend

CRITICAL_GRACE: Final = timedelta(seconds=120)
"""So long agents of tasks that aren't essential may take to finish once the critical band is reached."""
FINISHES_AT_PERCENT: Final = 80
"""With so much of its cap spent an agent is asked to finish, unless its mode is the hard one."""
_NOTHING_SPENT: Final = Usage()
_FAILURES: Final = frozenset({ResultClass.BUDGET, ResultClass.BUSINESS, ResultClass.AGENT})
"""What a runner may call an end by which its task's own budget happens to be used up."""


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


def believed(
    outcome: Outcome, status: AgentTaskStatus, *, run: RunObject | None, task: EffectiveTask
) -> Outcome:
    """Return the outcome of a task's last attempt with the class that its budgets give it.

    A runner knows only the tighter of two limits in each unit, so whether its task has anything left is found
    here. And one that blames its run's budget, if nothing else says so, has failed: otherwise an agent could
    begin anew without end, since what its run's budget ended uses up no retry.
    """
    result = outcome.result
    if not result or result.result_class not in _FAILURES or outcome.result_class not in _FAILURES:
        return outcome
    attempt = status.attempts[-1]
    after = with_spend(status, attempt.number, of_contract(result.usage))
    if used_up(task.budget, after.usage):
        reason = TaskReason.TASK_BUDGET_EXHAUSTED
        return replace(outcome, result_class=ResultClass.TASK_BUDGET, reason=reason)
    claimed = outcome.result_class is ResultClass.BUDGET
    if not claimed or stopped_at(run, task) or _neared_its_cap(after, task.budget.mode):
        return outcome
    return replace(outcome, result_class=ResultClass.AGENT)


def _grace(run: RunObject) -> timedelta:
    said = run.spec.budget.stop_grace_seconds if run.spec else None
    return timedelta(seconds=STOP_GRACE_SECONDS if said is None else said)


def _neared_its_cap(status: AgentTaskStatus, mode: BudgetMode) -> bool:
    """Whether the last attempt has spent so much of what it was given that it had to come to its end."""
    attempt = status.attempts[-1]
    spent, percent = attempt.usage or _NOTHING_SPENT, 100 if mode is BudgetMode.HARD else FINISHES_AT_PERCENT
    micros, tokens = spent.cost_usd.micros * 100, tokens_of(spent) * 100
    money = attempt.cap_usd is not None and micros >= attempt.cap_usd.micros * percent
    return money or (attempt.cap_tokens is not None and tokens >= attempt.cap_tokens * percent)
