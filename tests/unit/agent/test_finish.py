"""When an agent is asked to finish, and when it is stopped: both sides of each boundary, in both modes."""

from dataclasses import replace

import pytest

from bernstein_agent.contract import Budget, BudgetMode, Usage
from bernstein_agent.finish import Limit, should_finish_gracefully, used_up
from bernstein_agent.tally import Tally

DIME = 100_000
DOLLAR = 1_000_000


def used(*, tokens: int = 0, micros: int = 0, steps: int = 0, calls: int = 0) -> Tally:
    """Return a tally."""
    return Tally(Usage(input_tokens=tokens, cost_micros=micros), steps, calls)


FINISHES = {
    "exactly 20 % of tokens left": (Budget(tokens=64_000), used(tokens=51_200), True),
    "a token more than 20 % left": (Budget(tokens=64_000), used(tokens=51_199), False),
    "28 % of tokens left": (Budget(tokens=64_000), used(tokens=46_080), False),
    "exactly 20 % of dollars left": (Budget(cost_micros=DOLLAR), used(micros=800_000), True),
    "a micro-dollar more than 20 % left": (Budget(cost_micros=DOLLAR), used(micros=799_999), False),
    "20 % of five tokens is one": (Budget(tokens=5), used(tokens=4), True),
    "two of five tokens left": (Budget(tokens=5), used(tokens=3), False),
    "at its last step": (Budget(steps=30), used(steps=30), True),
    "a step before its last": (Budget(steps=30), used(steps=29), False),
    "beyond its last step": (Budget(steps=30), used(steps=31), True),
    "the only step": (Budget(steps=1), used(steps=1), True),
    "before the only step": (Budget(steps=1), used(steps=0), False),
    "no tokens left": (Budget(tokens=100), used(tokens=100), True),
    "more used than there was": (Budget(tokens=100), used(tokens=200), True),
    "one limit low is enough": (Budget(tokens=100, cost_micros=DOLLAR), used(micros=800_000), True),
    "nothing is limited": (Budget(), used(tokens=10**9, micros=10**9, steps=10**9), False),
    "calls of tools don't count": (Budget(tool_calls=10), used(calls=10), False),
    "cached tokens don't count": (
        Budget(tokens=100),
        Tally(Usage(input_tokens=79, cached_tokens=1000)),
        False,
    ),
    "sent and received ones do": (Budget(tokens=100), Tally(Usage(input_tokens=40, output_tokens=40)), True),
    "a hard stop knows no low": (
        Budget(tokens=100, steps=1, mode=BudgetMode.HARD),
        used(tokens=99, steps=1),
        False,
    ),
}


@pytest.mark.parametrize(("budget", "tally", "finishes"), FINISHES.values(), ids=FINISHES)
def test_it_is_asked_to_finish(budget: Budget, tally: Tally, finishes: bool) -> None:
    assert should_finish_gracefully(budget, tally) is finishes


def hard(
    *,
    tokens: int | None = None,
    cost_micros: int | None = None,
    steps: int | None = None,
    tool_calls: int | None = None,
) -> Budget:
    """Return limits in the hard mode."""
    limits = Budget(tokens=tokens, cost_micros=cost_micros, steps=steps, tool_calls=tool_calls)
    return replace(limits, mode=BudgetMode.HARD)


STOPS = {
    "exactly all tokens": (hard(tokens=64_000), used(tokens=64_000), Limit.TOKENS),
    "all tokens but one": (hard(tokens=64_000), used(tokens=63_999), None),
    "exactly all dollars": (hard(cost_micros=DOLLAR), used(micros=DOLLAR), Limit.DOLLARS),
    "all dollars but a micro-dollar": (hard(cost_micros=DOLLAR), used(micros=DOLLAR - 1), None),
    "ten times 0.10 against 1.00": (hard(cost_micros=DOLLAR), used(micros=10 * DIME), Limit.DOLLARS),
    "nine times 0.10 against 1.00": (hard(cost_micros=DOLLAR), used(micros=9 * DIME), None),
    "exactly all steps": (hard(steps=30), used(steps=30), Limit.STEPS),
    "all steps but one": (hard(steps=30), used(steps=29), None),
    "all steps, gracefully": (Budget(steps=30), used(steps=31), None),
    "exactly all calls": (hard(tool_calls=50), used(calls=50), None),
    "a call too many": (hard(tool_calls=50), used(calls=51), Limit.TOOL_CALLS),
    "a call too many, gracefully": (Budget(tool_calls=50), used(calls=51), Limit.TOOL_CALLS),
    "a call where none may be": (Budget(tool_calls=0), used(calls=1), Limit.TOOL_CALLS),
    "all tokens, gracefully": (Budget(tokens=100), used(tokens=100), Limit.TOKENS),
    "nothing was left to begin with": (Budget(cost_micros=0), used(), Limit.DOLLARS),
    "nothing is limited": (hard(), used(tokens=10**9, micros=10**9, steps=10**9, calls=10**9), None),
}


@pytest.mark.parametrize(("budget", "tally", "limit"), STOPS.values(), ids=STOPS)
def test_it_is_stopped(budget: Budget, tally: Tally, limit: Limit | None) -> None:
    assert used_up(budget, tally) is limit
