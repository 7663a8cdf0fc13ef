"""What a run's budget means for the run: what it says, what it lets start, and when it stops it.

A run is stopped once nothing of it is live and nothing that could move may start: its budget is used up, or
what is left of it is too little for any of its tasks. That is no end. A higher cap lets it go on.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from bernstein_operator.api.budget import BudgetStatus
from bernstein_operator.api.choices import BudgetBand, BudgetUnit, CapSource
from bernstein_operator.api.run import BernsteinRunSpec, BernsteinRunStatus
from bernstein_operator.api.run_config import RunConfig
from bernstein_operator.api.snapshot import RunSnapshot
from bernstein_operator.api.vocabulary import (
    ENDED_RUN_PHASES,
    AdmittedReason,
    ConditionType,
    RunPhase,
    RunReason,
)
from bernstein_operator.decisions.budget import Limits, budget_of, limits_of
from bernstein_operator.decisions.caps import Cap
from bernstein_operator.decisions.conditions import Standing, Wanted
from bernstein_operator.decisions.reserving import UNLIMITED_FUNDS, Funds, allot

_MOST_WARNINGS: Final = 10
_SILENT: Final = RunConfig()
_REASONS: Final = {
    BudgetBand.WARN: RunReason.WARN,
    BudgetBand.CRITICAL: RunReason.CRITICAL,
    BudgetBand.STOP: RunReason.EXHAUSTED,
}


@dataclass(frozen=True, slots=True)
class Finances:
    """A run's budget as it stands.

    Attributes:
        status: to be stored; None before its limits are known for the first time.
        funds: what its waiting tasks may be given of it.
        warnings: what its configuration says and can't be used.
        held: why nothing may start, whatever is left; None for most.
        stopped: why the run is stopped; None where it isn't.
    """

    status: BudgetStatus | None
    funds: Funds = UNLIMITED_FUNDS
    warnings: tuple[str, ...] = ()
    held: Standing | None = None
    stopped: Standing | None = None


def finances(snapshot: RunSnapshot, spec: BernsteinRunSpec, *, now: datetime) -> Finances:
    """Return how a run's budget stands. No side effects."""
    stored, config = snapshot.run.status, snapshot.config
    if stored.budget is None and (config is None or config.unreadable):
        # Whatever it says may be a limit, and a typo must not lift one.
        return Finances(None, warnings=config.warnings[:_MOST_WARNINGS] if config else (), held=_unread())
    limits = (
        _as_stored(stored, limits_of(spec.budget, _SILENT, snapshot.operator_budget))
        if config is None
        else limits_of(spec.budget, _remembered(config, stored.budget), snapshot.operator_budget)
    )
    status = budget_of(stored.budget, limits, snapshot.spend, now=now)
    funds = _funds(snapshot, status, limits)
    required = snapshot.operator_budget.required and limits.unlimited
    return Finances(
        status=status,
        funds=funds,
        warnings=stored.warnings if config is None else config.warnings[:_MOST_WARNINGS],
        held=_unread() if config is None else _missing() if required else None,
        stopped=Standing(RunReason.BUDGET_EXHAUSTED, _stop_text(status)) if _stops(snapshot, funds) else None,
    )


def budget_conditions(budget: BudgetStatus | None, phase: RunPhase) -> Iterator[Wanted]:
    """Yield what a run's conditions say of its budget; ``phase`` is the run's as it will be."""
    if not budget or budget.band is BudgetBand.NONE:
        return
    reason, text = _REASONS[budget.band], in_words(budget)
    yield Wanted(ConditionType.BUDGET_PRESSURE, reason, text)
    if budget.should_stop and phase is not RunPhase.STOPPED and phase not in ENDED_RUN_PHASES:
        yield Wanted(ConditionType.SHOULD_STOP, reason, text)


def told_of(status: BernsteinRunStatus) -> tuple[object, ...]:
    """Return what of a run's budget people wait for; amounts are written now and then."""
    budget = status.budget
    if not budget:
        return (status.warnings,)
    limits = budget.cap_usd, budget.source, budget.cap_tokens
    # Of a deleted task nothing is left but what is carried.
    carried = budget.carried_usd, budget.carried_tokens
    return status.warnings, limits, carried, budget.overridden_time, budget.rearmed_time, budget.reached


def in_words(budget: BudgetStatus) -> str:
    """Return how much of a budget is used up, for people."""
    if budget.limiting is BudgetUnit.TOKENS:
        return f"{budget.percent} % of the budget is used up: {budget.tokens} of {budget.cap_tokens} tokens."
    spent, cap = budget.spent_usd, budget.cap_usd
    return f"{budget.percent} % of the budget is used up: ${spent} of ${cap}, cap from {budget.source}."


def _as_stored(status: BernsteinRunStatus, known: Limits) -> Limits:
    """Return the limits that are ``known``, with the cap that held when the ConfigMap was last read."""
    budget = status.budget or BudgetStatus()
    cap = Cap(budget.cap_usd, budget.source, budget.overridden_time is not None)
    return replace(known, cap=cap)


def _remembered(config: RunConfig, stored: BudgetStatus | None) -> RunConfig:
    """Return what a ConfigMap says, with the cap that it has set where its source can't be read any more.

    A file that is lost, or that somebody breaks with a typo, must not lift the limit that holds.
    """
    if not stored or stored.source not in config.unreadable:
        return config
    if stored.source is CapSource.SEED:
        return replace(config, seed_usd=stored.cap_usd)
    return replace(config, run_config_usd=stored.cap_usd)


def _funds(snapshot: RunSnapshot, status: BudgetStatus, limits: Limits) -> Funds:
    return Funds(
        cap_usd=limits.cap.usd,
        cap_tokens=limits.tokens,
        band=status.band,
        # After a restart more may have been spent than is found again.
        spend=replace(snapshot.spend, spent=status.spent_usd.micros, tokens=status.tokens),
        estimate=limits.estimate,
    )


def _stops(snapshot: RunSnapshot, funds: Funds) -> bool:
    """Whether nothing is live, and all that could move waits for money.

    A run that was stopped stays so while its caps are the same and nobody can start: after a restart its
    tasks come to wait one after the other.
    """
    if snapshot.live or snapshot.spend.live or not snapshot.phases:
        return False
    if not all(isinstance(allot(need, funds), AdmittedReason) for need in snapshot.needs):
        return False
    waiting = snapshot.all_wait and bool(snapshot.needs)
    return funds.band is BudgetBand.STOP or waiting or _was_stopped(snapshot.run.status, funds)


def _was_stopped(stored: BernsteinRunStatus, funds: Funds) -> bool:
    budget = stored.budget
    if stored.phase is not RunPhase.STOPPED or not budget:
        return False
    return (budget.cap_usd, budget.cap_tokens) == (funds.cap_usd, funds.cap_tokens)


def _stop_text(budget: BudgetStatus) -> str:
    more = "A higher cap lets the run go on."
    if budget.should_stop:
        return f"{in_words(budget)} {more}"
    return f"What is left is too little, or reserved for others: nothing may start. {in_words(budget)} {more}"


def _unread() -> Standing:
    text = "The ConfigMap of spec.configFrom could not be read yet; nothing starts before it was."
    return Standing(RunReason.CONFIG_UNREAD, text)


def _missing() -> Standing:
    text = (
        "The operator requires a budget: nothing starts before spec.budget.usd, or another source, sets one."
    )
    return Standing(RunReason.BUDGET_REQUIRED, text)
