"""What a program's tokens cost, where it tells tokens and no dollars.

A budget in dollars would never act on such a program. The price of its model is known to the profile, comes
along in the envelope, and makes an amount of the tokens; without it the cost is unknown, and said to be.
"""

from dataclasses import replace

from bernstein_agent.contract import Prices, Usage


def priced(usage: Usage, prices: Prices | None) -> Usage:
    """Return ``usage`` with its cost, if that is unknown and follows from its tokens."""
    tokens = usage.tokens + usage.cached_tokens
    if not usage.cost_unknown or prices is None or not tokens:
        return usage
    cost = prices.cost(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cached_tokens=usage.cached_tokens,
    )
    return replace(usage, cost_micros=cost, cost_unknown=False)
