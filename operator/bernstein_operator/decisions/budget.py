"""How much of its budget a run has used up, and which bands it has reached by that.

Whole numbers only: exactly 95 % is critical, and a sum of binary fractions that falls a hair short of it
would not be. A band is told once under a cap; a report that jumps over several tells all of them; and a cap
that was raised far enough arms again what lies above the spend.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from fractions import Fraction
from typing import Final

from bernstein_operator.api.budget import BudgetStatus, ReachedBand, RunBudget
from bernstein_operator.api.choices import BudgetBand, BudgetUnit
from bernstein_operator.api.money import Money
from bernstein_operator.api.objects import RunObject
from bernstein_operator.api.run_config import RunConfig
from bernstein_operator.api.spending import DEFAULT_ESTIMATE, OperatorBudget, Spend
from bernstein_operator.decisions.caps import UNLIMITED, Cap, cap_of
from bernstein_operator.decisions.usage import MOST_MONEY, MOST_TOKENS

WARN_PERCENT: Final = 80
CRITICAL_PERCENT: Final = 95
STOP_GRACE_SECONDS: Final = 30
_MOST_PERCENT: Final = 1_000_000
_IN_ORDER: Final = tuple(BudgetBand)
_NOTHING: Final = BudgetStatus()


@dataclass(frozen=True, slots=True)
class Limits:
    """What a run may cost and use, and where its bands begin.

    Attributes:
        cap: in dollars.
        tokens: None is unlimited.
        warn_percent: of either.
        critical_percent: of either.
        estimate: what an attempt is taken to cost before any of its scope has ended.
    """

    cap: Cap = UNLIMITED
    tokens: int | None = None
    warn_percent: int = WARN_PERCENT
    critical_percent: int = CRITICAL_PERCENT
    estimate: Money = DEFAULT_ESTIMATE

    @property
    def unlimited(self) -> bool:
        """Whether the run may cost and use whatever it likes."""
        return self.cap.usd is None and self.tokens is None


def limits_of(spec: RunBudget, config: RunConfig, operator: OperatorBudget) -> Limits:
    """Return what holds for a run once all that is said of it is laid together."""
    return Limits(
        cap=cap_of(spec.usd, config, operator),
        tokens=spec.tokens or None,
        # One of the two alone may lie beyond the other's built-in value, and goes before it.
        warn_percent=spec.warn_percent or min(WARN_PERCENT, spec.critical_percent or WARN_PERCENT),
        critical_percent=spec.critical_percent or max(CRITICAL_PERCENT, spec.warn_percent or 0),
        estimate=_estimate(spec, operator),
    )


def estimate_of(run: RunObject | None, operator: OperatorBudget) -> Money:
    """Return what an attempt of a run is taken to cost before any of its scope has ended; never 0."""
    return _estimate(run.spec.budget, operator) if run and run.spec else operator.estimate


def _estimate(spec: RunBudget, operator: OperatorBudget) -> Money:
    own = spec.estimate_per_attempt_usd
    return own if own and own.micros else operator.estimate


def budget_of(stored: BudgetStatus | None, limits: Limits, spend: Spend, *, now: datetime) -> BudgetStatus:
    """Return where a run's budget stands. No side effects."""
    before = stored or _NOTHING
    spent, tokens = max(spend.spent, before.spent_usd.micros), max(spend.tokens, before.tokens)
    accounts = tuple(_accounts(limits, spent=spent, tokens=tokens))
    nearest = max(accounts, key=lambda one: one.share, default=None)
    band = max((one.band(limits) for one in accounts), key=_IN_ORDER.index, default=BudgetBand.NONE)
    reached = _reached(before, band, now=now)
    stopped = next((one.time for one in reached if one.band is BudgetBand.STOP), None)
    usd, overrides = limits.cap.usd, limits.cap.overrides
    return BudgetStatus(
        cap_usd=usd,
        source=limits.cap.source,
        spent_usd=_money(spent),
        carried_usd=max(before.carried_usd, _money(spend.carried)),
        estimated_usd=_money(spend.estimated),
        # What isn't found again after a restart was in flight, and is reported again.
        in_flight_usd=_money(spend.in_flight + spent - spend.spent),
        reserved_usd=_money(spend.reserved),
        remaining_usd=None if usd is None else _money(max(0, usd.micros - spent)),
        cap_tokens=limits.tokens,
        tokens=min(tokens, MOST_TOKENS),
        carried_tokens=max(before.carried_tokens, min(spend.carried_tokens, MOST_TOKENS)),
        in_flight_tokens=min(spend.in_flight_tokens + tokens - spend.tokens, MOST_TOKENS),
        percent=min(nearest.percent, _MOST_PERCENT) if nearest else 0,
        limiting=nearest.unit if nearest else None,
        band=band,
        should_stop=band is BudgetBand.STOP,
        stop_time=stopped,
        reached=reached,
        overridden_time=(before.overridden_time or now) if overrides else None,
        rearmed_time=now if len(_below(before, band)) < len(before.reached) else before.rearmed_time,
    )


@dataclass(frozen=True, slots=True)
class _Account:
    """What is used up of one of the two caps."""

    unit: BudgetUnit
    used: int
    cap: int

    @property
    def percent(self) -> int:
        return self.used * 100 // self.cap

    @property
    def share(self) -> Fraction:
        return Fraction(self.used, self.cap)

    def band(self, limits: Limits) -> BudgetBand:
        if self.used >= self.cap:
            return BudgetBand.STOP
        if self.used * 100 >= self.cap * limits.critical_percent:
            return BudgetBand.CRITICAL
        return BudgetBand.WARN if self.used * 100 >= self.cap * limits.warn_percent else BudgetBand.NONE


def _accounts(limits: Limits, *, spent: int, tokens: int) -> Iterator[_Account]:
    """Yield what is used up of each cap that there is; of two that are equally near, dollars come first."""
    if limits.cap.usd is not None:
        yield _Account(BudgetUnit.USD, spent, limits.cap.usd.micros)
    if limits.tokens is not None:
        yield _Account(BudgetUnit.TOKENS, tokens, limits.tokens)


def _below(before: BudgetStatus, band: BudgetBand) -> tuple[ReachedBand, ...]:
    """Return the bands that were reached and still are."""
    reached = _IN_ORDER[1 : _IN_ORDER.index(band) + 1]
    return tuple(one for one in before.reached if one.band in reached)


def _reached(before: BudgetStatus, band: BudgetBand, *, now: datetime) -> tuple[ReachedBand, ...]:
    """Return the bands that are reached, each with when it first was under the present cap."""
    known = {one.band: one for one in _below(before, band)}
    bands = _IN_ORDER[1 : _IN_ORDER.index(band) + 1]
    return tuple(known.get(one) or ReachedBand(band=one, time=now) for one in bands)


def _money(micros: int) -> Money:
    return min(Money(micros), MOST_MONEY)
