"""The banner: one line that tells an agent what is left of its budget, at the head of each of its turns.

A model that sees its budget shrink can bring its work to an end; one that doesn't is stopped in the middle of
it. The line is plain text in one row, so that it survives every way into a program, and the same numbers
always make the same line. Its form is the published one, and programs may rely on it.
"""

from decimal import ROUND_HALF_EVEN, Decimal
from typing import Final

from bernstein_agent.contract import Budget
from bernstein_agent.tally import Tally, left_of, percent_left

_CENT: Final = Decimal("0.01")
_MICRO: Final = Decimal("0.000001")


def format_countdown(budget: Budget, tally: Tally) -> str:
    """Return the line; a limit that isn't there is shown as 0, of which 100 % is left."""
    tokens = tally.usage.tokens
    left, percent = left_of(budget.tokens, tokens), percent_left(budget.tokens, tokens)
    return " | ".join(
        (
            f"[budget] tokens left: {left:,} of {budget.tokens or 0:,} ({percent}%)",
            f"${_cents(tally.usage.cost_micros)} of ${_cents(budget.cost_micros or 0)}",
            f"steps: {tally.steps} of {budget.steps or 0}",
            f"mode: {budget.mode}",
        )
    )


def _cents(micros: int) -> str:
    return str((micros * _MICRO).quantize(_CENT, rounding=ROUND_HALF_EVEN))
