"""What is left of a task's own budget, and what comes of there being nothing.

Dollars and tokens cover the task's whole life: what one attempt has spent, the next one doesn't have. So an
attempt that follows a failure may find nothing left, and then it doesn't begin.
"""

from dataclasses import dataclass

from bernstein_agent.contract import BudgetMode, ResultClass
from bernstein_operator.api.effective import EffectiveBudget, EffectiveTask
from bernstein_operator.api.money import Money
from bernstein_operator.api.profile import AgentProfileSpec
from bernstein_operator.api.task_status import AgentTaskStatus, Usage


@dataclass(frozen=True, slots=True)
class Left:
    """What a task may yet spend, at least 0; None is unbounded."""

    usd: Money | None
    tokens: int | None


def left(budget: EffectiveBudget, usage: Usage | None) -> Left:
    """Return what is left of a budget of which ``usage`` is spent."""
    spent = usage or Usage()
    tokens = spent.input_tokens + spent.output_tokens
    return Left(
        usd=None if budget.usd is None else Money(max(0, budget.usd.micros - spent.cost_usd.micros)),
        tokens=None if budget.tokens is None else max(0, budget.tokens - tokens),
    )


def used_up(budget: EffectiveBudget, usage: Usage | None) -> str:
    """Return what a task has nothing left of, as the field and its value; empty where all has some left."""
    rest = left(budget, usage)
    if rest.usd is not None and not rest.usd.micros:
        return f"budget.usd ({budget.usd})"
    return f"budget.tokens ({budget.tokens})" if rest.tokens == 0 else ""


def with_suggestion(
    status: AgentTaskStatus, task: EffectiveTask, profile: AgentProfileSpec | None
) -> AgentTaskStatus:
    """Return the status with a cheaper model on record, if its last attempt was stopped with nothing left."""
    last = status.attempts[-1]
    stopped = last.result_class == ResultClass.TASK_BUDGET and task.budget.mode is BudgetMode.HARD
    model = cheaper(last.model, profile) if stopped else None
    if not model:
        return status
    told = last.model_copy(update={"suggested_model": model})
    return status.model_copy(update={"attempts": (*status.attempts[:-1], told)})


def cheaper(model: str | None, profile: AgentProfileSpec | None) -> str | None:
    """Return the model below ``model`` on its profile's ladder; None for the lowest, or one not on it."""
    ladder = [one.name for one in profile.models] if profile else []
    place = ladder.index(model) if model in ladder else 0
    return ladder[place - 1] if place else None
