"""When an agent should come to its end, and when it has to: the pure rule over limits and tally.

Gracefully, it gets one last turn while there is still something left to commit with. Otherwise, and in any
case once nothing is left, it is stopped at once. Amounts are compared as whole numbers, so that a limit that
was spent exactly is spent.
"""

from enum import StrEnum
from typing import Final

from bernstein_agent.contract import Budget, BudgetMode
from bernstein_agent.tally import WHOLE, Tally

LOW_PERCENT: Final = 20
"""With so much left, or less, an agent is asked to finish."""


class Limit(StrEnum):
    """What can be used up."""

    TOKENS = "tokens"
    DOLLARS = "dollars"
    STEPS = "steps"
    TOOL_CALLS = "tool calls"


def should_finish_gracefully(budget: Budget, tally: Tally) -> bool:
    """Return whether the agent is to get its final turn now: at its last step, or with 20 % or less left."""
    if budget.mode is not BudgetMode.GRACEFUL:
        return False
    return (
        _reached(budget.steps, tally.steps)
        or _low(budget.tokens, tally.usage.tokens)
        or _low(budget.cost_micros, tally.usage.cost_micros)
    )


def used_up(budget: Budget, tally: Tally) -> Limit | None:
    """Return the limit of which nothing is left, so that the agent is stopped; None where all have some.

    In the graceful mode the last step is followed by the final turn, so that steps stop no agent there. A
    call of a tool is told when it begins: the last one may still be carried out.
    """
    usage = tally.usage
    if budget.tokens is not None and usage.tokens >= budget.tokens:
        return Limit.TOKENS
    if budget.cost_micros is not None and usage.cost_micros >= budget.cost_micros:
        return Limit.DOLLARS
    if budget.mode is BudgetMode.HARD and _reached(budget.steps, tally.steps):
        return Limit.STEPS
    if budget.tool_calls is not None and tally.tool_calls > budget.tool_calls:
        return Limit.TOOL_CALLS
    return None


def _reached(cap: int | None, used: int) -> bool:
    return cap is not None and used >= cap > 0


def _low(cap: int | None, used: int) -> bool:
    return cap is not None and cap > 0 and (cap - used) * WHOLE <= cap * LOW_PERCENT
