"""What an attempt is taken to have cost where nobody could tell.

A program that tells only tokens is charged by its model's prices. One that was killed, or whose word can't be
read, may have spent anything up to what it was thought to need; taking that for nothing would let a run whose
agents crash spend without limit.
"""

from typing import Final

from bernstein_agent.contract import Prices
from bernstein_operator.api.money import Money
from bernstein_operator.api.profile import AgentProfileSpec
from bernstein_operator.api.task_status import AgentTaskStatus, Attempt, Usage
from bernstein_operator.decisions.accounts import is_metered
from bernstein_operator.decisions.budget import estimate_of
from bernstein_operator.decisions.course import Question
from bernstein_operator.decisions.outcome import Outcome
from bernstein_operator.decisions.usage import with_spend

_NOTHING_SPENT: Final = Usage()
_NOTHING: Final = Money()


def charged(status: AgentTaskStatus, outcome: Outcome, question: Question) -> AgentTaskStatus:
    """Return the status with an estimate for the attempt that has just ended, where its cost is unknown."""
    attempt, profile = status.attempts[-1], question.profile
    costs = _costs(attempt, profile)
    if not (attempt.start_time and costs and _is_unknown(attempt, outcome, question)):
        return status
    usage = attempt.usage or _NOTHING_SPENT
    prices = prices_of(attempt.model, profile)
    told = _priced(usage, prices) if prices else None
    cost = max(told or _usual(attempt, question), usage.cost_usd)
    estimated = Money(cost.micros - usage.cost_usd.micros)
    guess = usage.model_copy(update={"cost_usd": cost, "estimated_usd": estimated})
    return with_spend(status, attempt.number, guess if estimated.micros else usage)


def prices_of(model: str | None, profile: AgentProfileSpec | None) -> Prices | None:
    """Return what a model costs by its profile's ladder, None where that isn't said.

    Cached tokens for which it says nothing cost as much as sent ones.
    """
    models = profile.models if profile else ()
    known = next((one.prices for one in models if one.name == model), None)
    if not known:
        return None
    cached = known.input_usd if known.cached_usd is None else known.cached_usd
    return Prices(
        input_micros=known.input_usd.micros,
        output_micros=known.output_usd.micros,
        cached_micros=cached.micros,
    )


def _costs(attempt: Attempt, profile: AgentProfileSpec | None) -> bool:
    """Whether an attempt costs anything; its profile may have become another meanwhile, or be gone."""
    return bool(attempt.reservation_usd) or (profile is not None and is_metered(profile))


def _is_unknown(attempt: Attempt, outcome: Outcome, question: Question) -> bool:
    """Whether nobody told what the attempt cost: the last who spoke of it counts."""
    if outcome.result:
        return outcome.result.usage.cost_unknown
    reading = question.snapshot.reading
    if reading and reading.cost_unknown:
        return True
    return not (attempt.usage and attempt.usage.cost_usd.micros)


def _priced(usage: Usage, prices: Prices) -> Money | None:
    """Return what the tokens cost, None where none were told."""
    told = {name: getattr(usage, name) for name in ("input_tokens", "output_tokens", "cached_tokens")}
    return Money(prices.cost(**told)) if any(told.values()) else None


def _usual(attempt: Attempt, question: Question) -> Money:
    estimate = estimate_of(question.snapshot.run, question.snapshot.operator_budget)
    return max(attempt.reservation_usd or _NOTHING, estimate)
