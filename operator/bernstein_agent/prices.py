"""What a program's tokens cost, where it tells tokens and no dollars.

A budget in dollars would never act on such a program. The price of its model is known to the profile, comes
along in the envelope, and makes an amount of the tokens; without it the cost is unknown, and said to be.
"""

from dataclasses import replace
from typing import Final

from bernstein_agent.contract import Prices, Usage

_MILLION: Final = 1_000_000


def priced(usage: Usage, prices: Prices | None) -> Usage:
    """Return ``usage`` with its cost, if that is unknown and follows from its tokens."""
    tokens = usage.tokens + usage.cached_tokens
    if not usage.cost_unknown or prices is None or not tokens:
        return usage
    return replace(usage, cost_micros=cost_of(usage, prices), cost_unknown=False)


def cost_of(usage: Usage, prices: Prices) -> int:
    """Return what the tokens cost in micro-dollars; one that is begun counts whole."""
    millionths = (
        usage.input_tokens * prices.input_micros
        + usage.output_tokens * prices.output_micros
        + usage.cached_tokens * prices.cached_micros
    )
    return -(-millionths // _MILLION)
