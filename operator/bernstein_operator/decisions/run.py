"""What is to become of a run: its phase, how many further agents may start, and which tasks to make.

A run is over when none of its tasks can move any more, whatever that means for each of them; it never
waits for a task that has no way forward.
"""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from bernstein_operator.api.concurrency import ConcurrencyStatus
from bernstein_operator.api.conditions import find
from bernstein_operator.api.run import (
    AbandonmentCounts,
    BernsteinRunSpec,
    BernsteinRunStatus,
    InlineTask,
    ReasonCount,
    TaskCounts,
)
from bernstein_operator.api.snapshot import RunSnapshot
from bernstein_operator.api.vocabulary import (
    ENDED_RUN_PHASES,
    MOVING_PHASES,
    ConditionStatus,
    ConditionType,
    RunPhase,
    RunReason,
    TaskPhase,
)
from bernstein_operator.decisions.ceiling import ceiling_conditions, ceiling_of
from bernstein_operator.decisions.conditions import Standing, Wanted, merge, run_conditions, stalled
from bernstein_operator.decisions.pausing import load_conditions, under_load
from bernstein_operator.decisions.plan import RunDecision, earliest
from bernstein_operator.decisions.progress import progress
from bernstein_operator.decisions.run_budget import Finances, budget_conditions, finances, told_of
from bernstein_operator.decisions.run_commands import heard, retry_of, sticky
from bernstein_operator.decisions.run_deadline import has_passed, next_look, warned_at, warning
from bernstein_operator.decisions.run_input import input_required
from bernstein_operator.decisions.ttl import clear_at

_BUSY: Final[dict[str, str]] = {
    RunReason.AT_CEILING: RunReason.TASKS_ACTIVE,
    RunReason.AT_OPERATOR_CEILING: RunReason.TASKS_ACTIVE,
}
"""Reasons that take turns with every slot that is freed and filled; the change is no news."""


@dataclass(frozen=True, slots=True)
class _Verdict:
    """A run's phase, and why."""

    phase: RunPhase
    standing: Standing


def decide_run(snapshot: RunSnapshot, *, now: datetime) -> RunDecision:
    """Say what is to become of a run. No side effects."""
    run = snapshot.run
    if run.meta.deletion_timestamp:
        return RunDecision(status=run.status)
    if run.spec is None or run.invalid:
        return _invalid(snapshot, now=now)
    snapshot = under_load(_reopened(_obeying(_reopened(snapshot), now=now)), now=now)
    ceiling = ceiling_of(snapshot, run.spec, closing=_closing(snapshot), now=now)
    money = finances(snapshot, run.spec, now=now)
    late = has_passed(run, now=now)
    create = _missing(run.spec, run.status) if not (late or _closing(snapshot)) else ()
    verdict = _verdict(snapshot, run.spec, ceiling=ceiling.state, money=money, more=bool(create), late=late)
    status = _status(snapshot, verdict, ceiling=ceiling.state, money=money, now=now)
    starts = verdict.phase in (RunPhase.PENDING, RunPhase.RUNNING) and not (late or money.held)
    kept_until = clear_at(run.spec, status)
    still = status.phase == run.status.phase and not _may_reopen(snapshot)
    expired = kept_until is not None and now >= kept_until and still
    return RunDecision(
        status=status.model_copy(update={"tasks": run.status.tasks}) if expired else status,
        urgent=_told(status) != _told(run.status) or _forgotten(snapshot, status),
        create=create,
        free=max(0, ceiling.state.effective - snapshot.live) if starts else 0,
        # Of a deleted task nothing is left that its row could be made of.
        clear=expired and not snapshot.ledger.owed and (snapshot.present > 0 or run.spec.ttl.delete_run),
        whole=run.spec.ttl.delete_run,
        wake=None if expired else earliest((kept_until, ceiling.wake, *next_look(snapshot.run, now=now))),
        evaluated=ceiling.evaluated,
        funds=money.funds,
    )


def _obeying(snapshot: RunSnapshot, *, now: datetime) -> RunSnapshot:
    """Return the snapshot with what people have asked for since the run was last looked at."""
    return replace(snapshot, run=replace(snapshot.run, status=heard(snapshot, now=now)))


def _reopened(snapshot: RunSnapshot) -> RunSnapshot:
    """Return the snapshot of a failed run as one that goes on, once a person's retry was seen after its end.

    The retry may be the run's own or one of its tasks'. A task that goes on since a retry tells of one too:
    it may have been decided before the run's end and stored after it.
    """
    status = snapshot.run.status
    ended, asked = status.completion_time, retry_of(status)
    if status.phase is not RunPhase.FAILED or not ended:
        return snapshot
    retried = any(at and at >= ended for at in (asked, snapshot.last_retried))
    if not (retried or snapshot.resumed):
        return snapshot
    again = status.model_copy(update={"phase": RunPhase.RUNNING, "completion_time": None})
    return replace(snapshot, run=replace(snapshot.run, status=again))


def _may_reopen(snapshot: RunSnapshot) -> bool:
    """Whether one of its tasks has yet to answer a retry that would reopen a run which has failed."""
    return snapshot.run.status.phase is RunPhase.FAILED and snapshot.retrying > 0


def _closing(snapshot: RunSnapshot) -> bool:
    run = snapshot.run
    return run.cancelled or run.drained or run.status.phase in ENDED_RUN_PHASES


def _missing(spec: BernsteinRunSpec, status: BernsteinRunStatus) -> tuple[InlineTask, ...]:
    """Return the inline tasks that were never made; one that was made and deleted isn't made again."""
    created = frozenset(status.created_tasks)
    return tuple(task for task in spec.tasks if task.name not in created)


def _verdict(
    snapshot: RunSnapshot,
    spec: BernsteinRunSpec,
    *,
    ceiling: ConcurrencyStatus,
    money: Finances,
    more: bool,
    late: bool,
) -> _Verdict:
    stored = snapshot.run.status
    if stored.phase in ENDED_RUN_PHASES:
        return _Verdict(stored.phase, _said_before(stored))
    if snapshot.run.cancelled or snapshot.run.drained:
        return _closed_by_a_person(snapshot)
    if late:
        return _at_its_deadline(snapshot)
    over = not more and _is_over(snapshot)
    if over and not spec.open:
        return _ended(snapshot)
    if money.stopped and not (over or spec.suspend):
        return _Verdict(RunPhase.STOPPED, money.stopped)
    standing = money.held or progress(snapshot, ceiling=ceiling, more=more)
    return _going_on(snapshot, spec, over=over, progress=standing)


def _going_on(snapshot: RunSnapshot, spec: BernsteinRunSpec, *, over: bool, progress: Standing) -> _Verdict:
    if spec.suspend:
        text = f"spec.suspend: nothing starts; agents that go on: {snapshot.live}."
        return _Verdict(RunPhase.PAUSED, Standing(RunReason.SUSPENDED, text))
    if over:
        text = "spec.open: none of its tasks can move, and it waits for further ones."
        return _Verdict(RunPhase.RUNNING, Standing(RunReason.OPEN, text))
    started = bool(snapshot.run.status.start_time or snapshot.first_admitted or snapshot.live)
    return _Verdict(RunPhase.RUNNING if started else RunPhase.PENDING, progress)


def _is_over(snapshot: RunSnapshot) -> bool:
    return sum(snapshot.phases.values()) > 0 and _is_still(snapshot)


def _is_still(snapshot: RunSnapshot) -> bool:
    moving = (
        sum(snapshot.phases.get(phase, 0) for phase in MOVING_PHASES) - snapshot.stuck + snapshot.retrying
    )
    return moving == 0 and not _has_open_attempts(snapshot)


def _has_open_attempts(snapshot: RunSnapshot) -> bool:
    """Whether an agent is live, or what one that has ended has cost isn't on record yet."""
    return snapshot.live > 0 or snapshot.spend.live > 0


def _at_its_deadline(snapshot: RunSnapshot) -> _Verdict:
    """Return where a run stands whose deadline is there: its agents are stopped, and then it has failed."""
    reason = RunReason.DEADLINE_EXCEEDED
    if not _is_still(snapshot):
        text = f"spec.deadline passed: nothing starts; agents that are being stopped: {snapshot.live}."
        return _Verdict(RunPhase.RUNNING, Standing(reason, text))
    ended = _ended(snapshot)
    if ended.phase is RunPhase.SUCCEEDED:
        return ended
    counts = ended.standing.message if sum(snapshot.phases.values()) else "it had no task."
    return _Verdict(RunPhase.FAILED, Standing(reason, f"spec.deadline passed: {counts}"))


def _ended(snapshot: RunSnapshot) -> _Verdict:
    counts = {phase: count for phase, count in snapshot.phases.items() if count}
    text = ", ".join(f"{count} {phase}" for phase, count in sorted(counts.items()))
    if set(counts) == {TaskPhase.SUCCEEDED}:
        return _Verdict(RunPhase.SUCCEEDED, Standing(RunReason.ALL_SUCCEEDED, f"{text}."))
    return _Verdict(RunPhase.FAILED, Standing(RunReason.TASKS_FAILED, f"{text}."))


def _closed_by_a_person(snapshot: RunSnapshot) -> _Verdict:
    # What can't be read isn't settled by a cancel either, and must not keep its run from its end.
    unsettled = sum(snapshot.phases.get(phase, 0) for phase in MOVING_PHASES) - snapshot.stuck
    how, what = ("Cancelled", "are being stopped") if snapshot.run.cancelled else ("Drained", "finish")
    if unsettled or _has_open_attempts(snapshot):
        text = f"{how} by annotation; agents that {what}: {snapshot.live}."
        return _Verdict(RunPhase.DRAINING, Standing(RunReason.DRAINING, text))
    return _Verdict(RunPhase.CANCELLED, Standing(RunReason.CANCELLED, f"{how} by annotation."))


def _status(
    snapshot: RunSnapshot, verdict: _Verdict, *, ceiling: ConcurrencyStatus, money: Finances, now: datetime
) -> BernsteinRunStatus:
    stored, meta = snapshot.run.status, snapshot.run.meta
    ended = verdict.phase in ENDED_RUN_PHASES
    suspend = snapshot.run.spec is not None and snapshot.run.spec.suspend
    resumed = find(stored.conditions, ConditionType.SUSPENDED) is not None and not suspend
    warned = warned_at(snapshot.run, now=now)
    wanted = run_conditions(verdict.phase, verdict.standing, resumed=resumed)
    wanted += [
        *input_required(snapshot, verdict.phase),
        *warning(snapshot.run, phase=verdict.phase, warned=warned),
        *([] if ended else [*ceiling_conditions(ceiling), *load_conditions(snapshot, now=now)]),
        *budget_conditions(money.status, verdict.phase),
    ]
    changes = {
        "observed_generation": meta.generation,
        "phase": verdict.phase,
        "start_time": _started(snapshot, now=now),
        "completion_time": stored.completion_time or (now if ended else None),
        **sticky(snapshot, now=now),
        "deadline_warned": warned,
        "concurrency": ceiling,
        "budget": money.status,
        "warnings": money.warnings,
        "tasks": _counts(snapshot),
        "abandonments": _abandonments(snapshot),
        "conditions": merge(
            stored.conditions, [*wanted, *_of_ledger(snapshot)], generation=meta.generation, now=now
        ),
    }
    return stored.model_copy(update=changes)


def _started(snapshot: RunSnapshot, *, now: datetime) -> datetime | None:
    """Return when the run's first task was admitted, even if all its agents ended while nobody looked."""
    stored, first = snapshot.run.status.start_time, snapshot.first_admitted
    if stored or not first:
        return stored or (now if snapshot.live else None)
    # A task that only names its run may be older than it.
    return max(first, snapshot.run.meta.creation_timestamp or first)


def _counts(snapshot: RunSnapshot) -> TaskCounts:
    by_field = {
        "pending": TaskPhase.PENDING,
        "running": TaskPhase.RUNNING,
        "succeeded": TaskPhase.SUCCEEDED,
        "failed": TaskPhase.FAILED,
        "cancelled": TaskPhase.CANCELLED,
        "abandoned": TaskPhase.ABANDONED,
        "blocked_by_failure": TaskPhase.BLOCKED_BY_FAILURE,
        "blocked_by_abandon": TaskPhase.BLOCKED_BY_ABANDON,
        "quarantined": TaskPhase.QUARANTINED,
        "awaiting_input": TaskPhase.AWAITING_INPUT,
    }
    counts = {name: snapshot.phases.get(phase, 0) for name, phase in by_field.items()}
    return TaskCounts(total=sum(snapshot.phases.values()), **counts)


def _abandonments(snapshot: RunSnapshot) -> AbandonmentCounts | None:
    ledger = snapshot.ledger
    if not ledger.known:
        return snapshot.run.status.abandonments
    if not ledger.first:
        return None
    counts = tuple(ReasonCount(reason=reason, count=count) for reason, count in ledger.reasons)
    return AbandonmentCounts(
        total=sum(count for _, count in ledger.reasons), by_reason=counts, ledger=ledger.first
    )


def _of_ledger(snapshot: RunSnapshot) -> list[Wanted]:
    """Return LedgerWritable where there is, or was, something to say."""
    ledger, kind = snapshot.ledger, ConditionType.LEDGER_WRITABLE
    if ledger.failure:
        return [Wanted(kind, RunReason.LEDGER_WRITE_FAILED, ledger.failure, ConditionStatus.FALSE)]
    named = ", ".join(ledger.edited)
    text = f"Changed by somebody else, and left so: the rows of the tasks with UID {named}." if named else ""
    told = find(snapshot.run.status.conditions, kind) is not None
    return [Wanted(kind, RunReason.LEDGER_WRITTEN, text)] if told or text else []


def _told(status: BernsteinRunStatus) -> tuple[object, ...]:
    """Return the part of a status whose change people wait for; mere counts are written now and then."""
    said = tuple((one.type, one.status, _BUSY.get(one.reason, one.reason)) for one in status.conditions)
    asked = status.cancel_requested, status.drain_requested, status.requests
    ceiling = status.concurrency
    moved = (ceiling.last_lowered_time, ceiling.last_raised_time) if ceiling else (None, None)
    return status.phase, status.start_time, status.observed_generation, asked, said, moved, told_of(status)


def _forgotten(snapshot: RunSnapshot, status: BernsteinRunStatus) -> bool:
    """Whether a restart would find too little: of a deleted task nothing is left but the stored counts."""
    return snapshot.departed > 0 and status.tasks != snapshot.run.status.tasks


def _said_before(status: BernsteinRunStatus) -> Standing:
    for kind in (ConditionType.COMPLETE, ConditionType.FAILED):
        found = find(status.conditions, kind)
        if found:
            return Standing(found.reason, found.message)
    return Standing()


def _invalid(snapshot: RunSnapshot, *, now: datetime) -> RunDecision:
    run = snapshot.run
    wanted = stalled(RunReason.INVALID_SPEC, run.invalid)
    conditions = merge(run.status.conditions, wanted, generation=run.meta.generation, now=now)
    changes = {"conditions": conditions, "observed_generation": run.meta.generation}
    return RunDecision(status=run.status.model_copy(update=changes), urgent=True)
