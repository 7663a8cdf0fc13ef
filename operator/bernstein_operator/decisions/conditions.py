"""The conditions that a phase comes with, for tasks and runs.

kubectl wait, Helm, Flux and Argo CD read conditions and not phases, and they read them by kstatus' rules:
Reconciling and Stalled are set only while they are true and never together, and a failure without Stalled
passes for a success. The one table of them is here.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from bernstein_operator.api.conditions import Condition
from bernstein_operator.api.vocabulary import (
    AdmittedReason,
    ConditionStatus,
    ConditionType,
    RunPhase,
    TaskPhase,
)

_MESSAGE_LIMIT: Final = 1024


@dataclass(frozen=True, slots=True)
class Wanted:
    """A condition as it should be, without its times."""

    type: ConditionType
    reason: str
    message: str = ""
    status: ConditionStatus = ConditionStatus.TRUE


@dataclass(frozen=True, slots=True)
class Standing:
    """What conditions have to tell beside the phase: why, and for a waiting task whether it is admitted."""

    reason: str = ""
    message: str = ""
    admitted: bool = False


def merge(
    old: Iterable[Condition], wanted: Sequence[Wanted], *, generation: int, now: datetime
) -> tuple[Condition, ...]:
    """Return ``wanted`` as conditions; one whose status didn't change keeps its transition time."""
    before = {one.type: one for one in old}
    return tuple(_condition(one, before.get(one.type), generation=generation, now=now) for one in wanted)


def task_conditions(phase: TaskPhase, standing: Standing, *, run_ended: bool) -> list[Wanted]:
    """Return the conditions of a task in ``phase``; ``run_ended`` says that its run starts nothing more."""
    reason = standing.reason or phase
    match phase:
        case TaskPhase.PENDING:
            return _waiting(standing, run_ended=run_ended)
        case TaskPhase.RUNNING | TaskPhase.AWAITING_INPUT:
            admitted = Wanted(ConditionType.ADMITTED, AdmittedReason.ADMITTED, standing.message)
            asked = Wanted(ConditionType.INPUT_REQUIRED, reason, standing.message)
            said = admitted if phase is TaskPhase.RUNNING else asked
            return [said, Wanted(ConditionType.RECONCILING, phase)]
        case TaskPhase.SUCCEEDED:
            return _both(ConditionType.COMPLETE, ConditionType.FINISHED, reason, standing.message)
        case TaskPhase.BLOCKED_BY_FAILURE | TaskPhase.BLOCKED_BY_ABANDON:
            blocked = Wanted(ConditionType.BLOCKED, phase, standing.message)
            failed = _both(ConditionType.FAILED, ConditionType.STALLED, phase, standing.message)
            return [blocked, *failed, *_finished(phase, standing.message, ended=run_ended)]
        case TaskPhase.QUARANTINED:
            failed = _both(ConditionType.FAILED, ConditionType.STALLED, reason, standing.message)
            return [*failed, *_finished(reason, standing.message, ended=run_ended)]
        case TaskPhase.FAILED | TaskPhase.CANCELLED | TaskPhase.ABANDONED:
            failed = _both(ConditionType.FAILED, ConditionType.STALLED, reason, standing.message)
            return [*failed, *_finished(reason, standing.message, ended=True)]


def run_conditions(phase: RunPhase, standing: Standing, *, resumed: bool) -> list[Wanted]:
    """Return the conditions of a run in ``phase``.

    ``resumed`` keeps Suspended=False on a run that was suspended and is no more, with the time of that.
    """
    reason, message = standing.reason or phase, standing.message
    again = [Wanted(ConditionType.SUSPENDED, phase, status=ConditionStatus.FALSE)] if resumed else []
    match phase:
        case RunPhase.PAUSED:
            return [Wanted(ConditionType.SUSPENDED, reason, message)]
        case RunPhase.PENDING | RunPhase.RUNNING | RunPhase.DRAINING:
            return [Wanted(ConditionType.RECONCILING, reason, message), *again]
        case RunPhase.SUCCEEDED:
            return [*_both(ConditionType.COMPLETE, ConditionType.FINISHED, reason, message), *again]
        case RunPhase.STOPPED:
            stop = Wanted(ConditionType.SHOULD_STOP, reason, message)
            return [stop, *_both(ConditionType.FAILED, ConditionType.STALLED, reason, message), *again]
        case RunPhase.FAILED | RunPhase.CANCELLED:
            failed = _both(ConditionType.FAILED, ConditionType.STALLED, reason, message)
            return [*failed, *_finished(reason, message, ended=True), *again]


def stalled(reason: str, message: str) -> list[Wanted]:
    """Return the conditions of an object whose spec can't be read."""
    return [Wanted(ConditionType.STALLED, reason, message)]


def _waiting(standing: Standing, *, run_ended: bool) -> list[Wanted]:
    status = ConditionStatus.TRUE if standing.admitted else ConditionStatus.FALSE
    admitted = Wanted(ConditionType.ADMITTED, standing.reason, standing.message, status)
    invalid = standing.reason in (AdmittedReason.INVALID_SPEC, AdmittedReason.INVALID_GRAPH)
    if invalid or run_ended:
        stuck = Wanted(ConditionType.STALLED, standing.reason, standing.message)
        return [admitted, stuck, *_finished(standing.reason, standing.message, ended=run_ended)]
    return [admitted, Wanted(ConditionType.RECONCILING, TaskPhase.PENDING)]


def _both(first: ConditionType, second: ConditionType, reason: str, message: str) -> list[Wanted]:
    return [Wanted(first, reason, message), Wanted(second, reason, message)]


def _finished(reason: str, message: str, *, ended: bool) -> list[Wanted]:
    return [Wanted(ConditionType.FINISHED, reason, message)] if ended else []


def _condition(wanted: Wanted, old: Condition | None, *, generation: int, now: datetime) -> Condition:
    unchanged = old is not None and old.status == wanted.status
    return Condition(
        type=wanted.type,
        status=wanted.status,
        reason=wanted.reason,
        message=wanted.message[:_MESSAGE_LIMIT],
        last_transition_time=old.last_transition_time if old and unchanged else now,
        observed_generation=generation,
    )
