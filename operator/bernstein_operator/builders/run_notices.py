"""The events that the status of a run, or of a profile, owes."""

from collections.abc import Iterator

from bernstein_operator.api.choices import BudgetBand
from bernstein_operator.api.concurrency import ConcurrencyStatus
from bernstein_operator.api.conditions import Condition, find
from bernstein_operator.api.event_reasons import EventReason
from bernstein_operator.api.objects import ProfileObject, RunObject
from bernstein_operator.api.run import BernsteinRunStatus
from bernstein_operator.api.vocabulary import (
    ENDED_RUN_PHASES,
    ConditionStatus,
    ConditionType,
    RunPhase,
    RunReason,
)
from bernstein_operator.builders.events import NORMAL, WARNING, Notice
from bernstein_operator.builders.request_notices import request_notices


def run_notices(run: RunObject) -> Iterator[Notice]:
    """Yield everything that a run's status tells to have happened."""
    status = run.status
    if status.start_time:
        yield Notice(
            EventReason.RUN_STARTED, status.start_time, "The first task was admitted.", action="Admit"
        )
    yield from _ceiling_notices(status.concurrency)
    yield from _load_notices(status)
    yield from _budget_notices(run)
    yield from request_notices(status.requests)
    if status.drain_requested:
        note = "Its live agents finish; nothing new starts."
        yield Notice(EventReason.RUN_DRAINING, status.drain_requested.time, note, action="Drain")
    suspended = find(status.conditions, ConditionType.SUSPENDED)
    if suspended:
        yield _pause_notice(suspended)
    ledger = find(status.conditions, ConditionType.LEDGER_WRITABLE)
    if ledger and ledger.status == ConditionStatus.FALSE:
        at, note = ledger.last_transition_time, ledger.message
        yield Notice(EventReason.LEDGER_WRITE_FAILED, at, note, WARNING, action="Record")
    if status.deadline_warned and run.spec and run.spec.deadline:
        note = f"The run's deadline is {run.spec.deadline:%Y-%m-%dT%H:%M:%SZ}."
        yield Notice(EventReason.DEADLINE_WARNING, status.deadline_warned, note, WARNING, action="Warn")
    if status.phase in ENDED_RUN_PHASES and status.completion_time:
        finished = find(status.conditions, ConditionType.FINISHED)
        kind = NORMAL if status.phase is RunPhase.SUCCEEDED else WARNING
        note = f"{status.phase}: {finished.message}" if finished else status.phase
        yield Notice(EventReason.RUN_FINISHED, status.completion_time, note, kind, action="Finish")
        if finished and finished.reason == RunReason.DEADLINE_EXCEEDED:
            at = status.completion_time
            yield Notice(EventReason.DEADLINE_EXCEEDED, at, finished.message, WARNING, action="Stop")


def profile_notices(profile: ProfileObject) -> Iterator[Notice]:
    """Yield everything that a profile's status tells to have happened."""
    status = profile.status
    for circuit in status.circuits:
        note = f"Tasks of this profile wait: {circuit.message}"
        yield Notice(EventReason.CIRCUIT_OPENED, circuit.since, note, WARNING, action="Hold")
    if status.cleared_time:
        note = "Failures of this profile's attempts from before don't keep its tasks back any more."
        yield Notice(EventReason.CIRCUIT_CLOSED, status.cleared_time, note, action="Resume")
    hold = status.hold
    if hold:
        note = f"{hold.reason}: nothing starts with this profile until {hold.until:%Y-%m-%dT%H:%M:%SZ}. "
        note += hold.message
        yield Notice(EventReason.PROVIDER_HOLD, hold.since, note, WARNING, action="Hold")


def _pause_notice(suspended: Condition) -> Notice:
    if suspended.status == ConditionStatus.TRUE:
        at = suspended.last_transition_time
        return Notice(EventReason.RUN_PAUSED, at, suspended.message, action="Pause")
    at = suspended.last_transition_time
    return Notice(EventReason.RUN_RESUMED, at, "spec.suspend is off again.", action="Resume")


def _ceiling_notices(ceiling: ConcurrencyStatus | None) -> Iterator[Notice]:
    """Tell how failures moved the ceiling."""
    if ceiling and ceiling.last_lowered_time:
        note = f"Too many attempts failed: {ceiling.reduction} below the {ceiling.configured} configured."
        at = ceiling.last_lowered_time
        yield Notice(EventReason.CEILING_LOWERED, at, note, WARNING, action="Throttle")
    if ceiling and ceiling.last_raised_time:
        note = f"Few attempts fail now: {ceiling.reduction} below the {ceiling.configured} configured."
        yield Notice(EventReason.CEILING_RAISED, ceiling.last_raised_time, note, action="Throttle")


def _load_notices(status: BernsteinRunStatus) -> Iterator[Notice]:
    """Tell how busy nodes paused the run, and that nothing is known of them."""
    paused = find(status.conditions, ConditionType.SPAWNING_PAUSED)
    if paused and paused.status == ConditionStatus.TRUE:
        at = paused.last_transition_time
        yield Notice(EventReason.SPAWNING_PAUSED, at, paused.message, WARNING, action="Pause")
    elif status.concurrency and status.concurrency.resumed_time:
        note = f"The nodes are less busy: up to {status.concurrency.effective} agents again."
        yield Notice(EventReason.SPAWNING_RESUMED, status.concurrency.resumed_time, note, action="Resume")
    known = find(status.conditions, ConditionType.NODE_METRICS_AVAILABLE)
    # How the operator was installed is no news of a run.
    if known and known.reason == RunReason.METRICS_UNAVAILABLE:
        at = known.last_transition_time
        yield Notice(EventReason.NODE_METRICS_UNAVAILABLE, at, known.message, WARNING, action="Measure")


def _budget_notices(run: RunObject) -> Iterator[Notice]:
    """Tell which bands of its budget a run has reached, and what came of it."""
    status, budget = run.status, run.status.budget
    if not budget:
        return
    note = f"{budget.percent} % of the budget is used up (${budget.spent_usd}, cap from {budget.source})."
    reached = {one.band: one.time for one in budget.reached}
    if BudgetBand.WARN in reached:
        yield Notice(EventReason.BUDGET_WARNING, reached[BudgetBand.WARN], note, WARNING, action="Spend")
    if BudgetBand.CRITICAL in reached:
        yield Notice(EventReason.BUDGET_CRITICAL, reached[BudgetBand.CRITICAL], note, WARNING, action="Spend")
    if BudgetBand.STOP in reached:
        yield Notice(EventReason.BUDGET_EXHAUSTED, reached[BudgetBand.STOP], note, WARNING, action="Spend")
    if budget.rearmed_time:
        yield Notice(EventReason.BUDGET_REARMED, budget.rearmed_time, note, action="Spend")
    if budget.overridden_time:
        note = f"{budget.source} allows ${budget.cap_usd or 'any amount'}, more than spec.budget.usd does."
        yield Notice(EventReason.BUDGET_OVERRIDDEN, budget.overridden_time, note, WARNING, action="Spend")
    stopped = find(status.conditions, ConditionType.FAILED)
    if status.phase is RunPhase.STOPPED and stopped:
        at = stopped.last_transition_time
        yield Notice(EventReason.RUN_STOPPED, at, stopped.message, WARNING, action="Stop")
