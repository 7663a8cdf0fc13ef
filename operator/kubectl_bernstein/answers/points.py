"""What one task's own state says: the points that keep it where it is, first things first.

The gates are the operator's, asked with what can be read now; so they hold even while the operator is down
and its conditions are old. Only what nobody else can know is taken from its conditions.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from bernstein_operator.api.conditions import find
from bernstein_operator.api.effective import EffectiveTask
from bernstein_operator.api.objects import TaskObject
from bernstein_operator.api.task_status import Attempt
from bernstein_operator.api.vocabulary import (
    BLOCKED_PHASES,
    AdmittedReason,
    ConditionStatus,
    ConditionType,
    TaskPhase,
)
from bernstein_operator.decisions.attempt import open_attempt
from bernstein_operator.decisions.dependencies import Verdict, judge
from bernstein_operator.decisions.waiting import gates, invalid_gate
from kubectl_bernstein.answers.point import Point, point
from kubectl_bernstein.answers.remedies import BLOCKED, ENDED, RUN, RUNNING, WAITING
from kubectl_bernstein.answers.slots import run_points, slot_point
from kubectl_bernstein.scene import Scene
from kubectl_bernstein.times import moment

_NOT_SEEN: Final = "NotSeen"
_ONLY_THE_OPERATOR_KNOWS: Final = frozenset(
    {
        AdmittedReason.BACKING_OFF,
        AdmittedReason.PROVIDER_HOLD,
        AdmittedReason.CIRCUIT_OPEN,
        AdmittedReason.QUOTA_EXCEEDED,
        AdmittedReason.POD_FORBIDDEN,
        AdmittedReason.PERMISSION_MISSING,
        AdmittedReason.NAMESPACE_TERMINATING,
        AdmittedReason.POD_NAME_CONFLICT,
        AdmittedReason.ROLE_CEILING,
        AdmittedReason.BUDGET_RESERVED,
        AdmittedReason.BUDGET_CRITICAL,
    }
)


def points(scene: Scene, task: TaskObject, *, now: datetime) -> tuple[Point, ...]:
    """Return why a task stands where it stands; never empty."""
    found = tuple(_of_phase(scene, task, now=now))
    return (*found, *_unseen(scene, task, found))


def waits_for(scene: Scene, task: TaskObject, *, now: datetime) -> tuple[str, ...]:
    """Return the names that a task which hasn't started waits for, as the operator would count them."""
    if open_attempt(task.status) or task.status.phase not in (TaskPhase.PENDING, *BLOCKED_PHASES):
        return ()
    return _verdict(scene, task, now=now).waits_for


def queues(scene: Scene, task: TaskObject, *, now: datetime) -> bool:
    """Whether a task waits for nothing but a slot, as far as it can be told from outside the operator."""
    if task.status.phase is not TaskPhase.PENDING or open_attempt(task.status):
        return False
    refused = _refused(scene, task)
    # A role that is full now may not be so when the task's turn comes.
    passed_over = refused is not None and refused.reason == AdmittedReason.ROLE_CEILING
    return not any(_gates(scene, task, now=now)) and (refused is None or passed_over)


def _of_phase(scene: Scene, task: TaskObject, *, now: datetime) -> Iterator[Point]:
    attempt = open_attempt(task.status)
    match task.status.phase:
        case TaskPhase.PENDING if attempt:
            yield _begun(scene, task, attempt)
        case TaskPhase.PENDING:
            yield from _waiting(scene, task, now=now)
        case TaskPhase.RUNNING:
            yield _running(scene, task, attempt)
        case TaskPhase.BLOCKED_BY_FAILURE | TaskPhase.BLOCKED_BY_ABANDON:
            yield _blocked(scene, task)
        case TaskPhase.AWAITING_INPUT:
            yield _asking(scene, task)
        case _:
            yield _ended(scene, task)


# --- a task without an attempt ----------------------------------------------------------------------------


def _waiting(scene: Scene, task: TaskObject, *, now: datetime) -> Iterator[Point]:
    shut = (*_gates(scene, task, now=now), *run_points(scene, task))
    yield from shut or (_refused(scene, task) or slot_point(scene, task),)


def _gates(scene: Scene, task: TaskObject, *, now: datetime) -> Iterator[Point]:
    snapshot, effective = scene.snapshot(task), scene.effective(task)
    invalid = invalid_gate(snapshot)
    if invalid:
        yield _gate(scene, task, invalid.reason, invalid.message)
    if invalid or not effective:
        return
    verdict = _verdict(scene, task, now=now)
    for gate in gates(snapshot, task.status, effective, verdict, now=now):
        yield _gate(scene, task, gate.reason, gate.message)


def _verdict(scene: Scene, task: TaskObject, *, now: datetime) -> Verdict:
    effective = scene.effective(task)
    if not effective:
        return Verdict()
    timeout = timedelta(seconds=effective.dependency_timeout_seconds)
    return judge(scene.dependencies_of(task), task.status, timeout=timeout, now=now)


def _refused(scene: Scene, task: TaskObject) -> Point | None:
    """Return what the operator says of a task that could start, as far as it can't be read elsewhere."""
    told = find(task.status.conditions, ConditionType.ADMITTED)
    if not told or told.status != ConditionStatus.FALSE or told.reason not in _ONLY_THE_OPERATOR_KNOWS:
        return None
    return _gate(scene, task, AdmittedReason(told.reason), told.message)


def _gate(scene: Scene, task: TaskObject, reason: AdmittedReason, message: str) -> Point:
    return point(scene, task, reason, message, WAITING[reason])


# --- a task with an attempt -------------------------------------------------------------------------------


def _begun(scene: Scene, task: TaskObject, attempt: Attempt) -> Point:
    effective = scene.effective(task)
    told = find(task.status.conditions, ConditionType.ADMITTED)
    waits = told.message if told and told.reason == AdmittedReason.POD_WAITING else ""
    text = f"Attempt {attempt.number} has its slot, but its Pod {attempt.pod_name} has not started yet."
    if effective:
        until = attempt.intent_time + timedelta(seconds=effective.start_timeout_seconds)
        text = f"{text} It is given up at about {moment(until)}."
    return _gate(scene, task, AdmittedReason.POD_WAITING, f"{text} {waits}".rstrip())


def _running(scene: Scene, task: TaskObject, attempt: Attempt | None) -> Point:
    if not attempt or not attempt.start_time:
        return Point(TaskPhase.RUNNING, "Its attempt has just ended.")
    effective = scene.effective(task)
    where = f" on {attempt.node}" if attempt.node else ""
    text = f"Attempt {attempt.number} has run since {moment(attempt.start_time)}{where}."
    if effective:
        until = attempt.start_time + timedelta(seconds=effective.timeout_seconds)
        text = f"{text} It is stopped at {moment(min((until, *_deadlines(scene, task, effective))))}."
    return point(scene, task, TaskPhase.RUNNING, text, RUNNING)


def _deadlines(scene: Scene, task: TaskObject, effective: EffectiveTask) -> Iterator[datetime]:
    """Yield the moments that end an attempt whatever its own timeout is."""
    run, granted = scene.run_of(task), task.status.deadline
    own = (granted.effective if granted else None) or effective.deadline
    of_run = run.spec.deadline if run and run.spec else None
    yield from (one for one in (own, of_run) if one)


# --- a task that has ended, or can't start ----------------------------------------------------------------


def _blocked(scene: Scene, task: TaskObject) -> Point:
    phase, by = task.status.phase, task.status.blocked_by
    told = find(task.status.conditions, ConditionType.BLOCKED)
    says = told.message if told else "A task that it depends on can't succeed any more."
    return point(scene, task, phase, says, BLOCKED[by.cause] if by else "")


def _asking(scene: Scene, task: TaskObject) -> Point:
    told = find(task.status.conditions, ConditionType.INPUT_REQUIRED)
    asked = task.status.question
    until = f" It waits until {moment(asked.deadline)}." if asked else ""
    reason = told.reason if told else str(TaskPhase.AWAITING_INPUT)
    text = f"It needs an answer: {asked.text if asked else ''}{until}"
    return point(scene, task, reason, text, ENDED[TaskPhase.AWAITING_INPUT])


def _ended(scene: Scene, task: TaskObject) -> Point:
    phase, at = task.status.phase, task.status.completion_time
    conditions = task.status.conditions
    told = find(conditions, ConditionType.COMPLETE) or find(conditions, ConditionType.FAILED)
    reason = told.reason if told else str(phase)
    text = f"It ended as {phase}{f' at {moment(at)}' if at else ''}. {told.message if told else ''}"
    return point(scene, task, reason, text.rstrip(), ENDED.get(reason, ENDED[phase]))


def _unseen(scene: Scene, task: TaskObject, found: tuple[Point, ...]) -> Iterator[Point]:
    """Say that the operator is behind, where it should have written something by now.

    Of a new task that waits for nothing but its run it writes nothing, however long that takes.
    """
    if task.status.observed_generation >= task.meta.generation:
        return
    run, never = scene.run_of(task), task.status.observed_generation < 0
    run_seen = run is not None and run.status.observed_generation >= run.meta.generation
    if never and run_seen and all(one.reason in RUN or one.reason == AdmittedReason.QUEUED for one in found):
        return
    text = "The operator has not looked at the task as it is now."
    yield Point(_NOT_SEEN, text, "It does so within seconds, if it is up and watches this namespace.")
