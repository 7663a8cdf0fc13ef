"""What an attempt has used up so far, and how much of a limit that leaves.

Banner, finish rule and hard limits must never disagree about what is left, so they all ask here, in whole
tokens and micro-dollars.
"""

from dataclasses import dataclass, field, replace
from typing import Final

from bernstein_agent.contract import Budget, Usage

WHOLE: Final = 100


@dataclass(frozen=True, slots=True)
class Tally:
    """What was spent and done.

    Attributes:
        steps: turns of the agent's model.
        tool_calls: calls of tools that it has begun.
    """

    usage: Usage = field(default_factory=Usage)
    steps: int = 0
    tool_calls: int = 0

    def plus(self, other: "Tally") -> "Tally":
        """Return the sum of two parts."""
        usage = Usage(
            input_tokens=self.usage.input_tokens + other.usage.input_tokens,
            output_tokens=self.usage.output_tokens + other.usage.output_tokens,
            cached_tokens=self.usage.cached_tokens + other.usage.cached_tokens,
            cost_micros=self.usage.cost_micros + other.usage.cost_micros,
            cost_unknown=self.usage.cost_unknown or other.usage.cost_unknown,
        )
        return Tally(usage, self.steps + other.steps, self.tool_calls + other.tool_calls)

    def spent(self, usage: Usage) -> "Tally":
        """Return what a further report of the same program's spend makes of this.

        Reports are cumulative, so the highest of each number counts; whether its costs are known, the last.
        """
        highest = Usage(
            input_tokens=max(self.usage.input_tokens, usage.input_tokens),
            output_tokens=max(self.usage.output_tokens, usage.output_tokens),
            cached_tokens=max(self.usage.cached_tokens, usage.cached_tokens),
            cost_micros=max(self.usage.cost_micros, usage.cost_micros),
            cost_unknown=usage.cost_unknown,
        )
        return replace(self, usage=highest)

    def worked(self, *, steps: int = 0, tool_calls: int = 0) -> "Tally":
        """Return what a further report of the same program's work makes of this; it is cumulative too."""
        return replace(self, steps=max(self.steps, steps), tool_calls=max(self.tool_calls, tool_calls))


def left_of(cap: int | None, used: int) -> int:
    """Return what is left of a cap, never less than 0; 0 where there is no cap."""
    return 0 if cap is None else max(cap - used, 0)


def percent_left(cap: int | None, used: int) -> int:
    """Return how much of a cap is left, rounded down, from 0 to 100; all of it where there is no cap."""
    if cap is None:
        return WHOLE
    return min(WHOLE, WHOLE * left_of(cap, used) // cap) if cap else 0


def headroom(budget: Budget, tally: Tally) -> int:
    """Return how much is left of the limit that is nearest, in percent as ``percent_left``."""
    return min(
        percent_left(budget.tokens, tally.usage.tokens),
        percent_left(budget.cost_micros, tally.usage.cost_micros),
        percent_left(budget.steps, tally.steps),
    )
