"""A task without an attempt: it waits for what a gate names, queues for a slot, or starts."""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from bernstein_operator.api.effective import EffectiveTask
from bernstein_operator.api.pod import Metadata
from bernstein_operator.api.task_status import AgentTaskStatus, BlockedBy
from bernstein_operator.api.vocabulary import (
    BLOCKED_PHASES,
    SETTLED_PHASES,
    AdmittedReason,
    BlockCause,
    TaskPhase,
)
from bernstein_operator.decisions.accounts import need_of
from bernstein_operator.decisions.admission import Candidate
from bernstein_operator.decisions.attempt import begin
from bernstein_operator.decisions.conditions import Standing
from bernstein_operator.decisions.course import Course, Question
from bernstein_operator.decisions.dependencies import judge
from bernstein_operator.decisions.granting import missed
from bernstein_operator.decisions.plan import CreatePod
from bernstein_operator.decisions.waiting import first_gate, invalid_gate

TELL_QUEUED_AFTER: Final = timedelta(seconds=5)
"""A task that gets its slot within this time isn't told that it queues: that would be a write for nothing."""
_SHORT: Final = {
    AdmittedReason.BUDGET_RESERVED: "What its run has left is reserved, or less than it should need.",
    AdmittedReason.BUDGET_CRITICAL: "Its run's budget is used up, or nearly and the task isn't essential.",
}
"""What a task is told that its run's budget holds back."""


def waiting(course: Course, question: Question) -> Course:
    """Return what becomes of a task that has no attempt."""
    if course.status.phase in SETTLED_PHASES:
        return course
    snapshot, now = question.snapshot, question.now
    invalid = invalid_gate(snapshot)
    if invalid:
        status = _unblocked(course.status, now=now)
        return replace(course, status=status, standing=Standing(invalid.reason, invalid.message))
    timeout = timedelta(seconds=question.effective.dependency_timeout_seconds)
    verdict = judge(snapshot.dependencies, course.status, timeout=timeout, now=now)
    known = {"dependencies": verdict.records, "waiting_since": verdict.waiting_since}
    course = replace(course, status=course.status.model_copy(update=known))
    if verdict.blocked and not snapshot.cycle:
        return _blocked(course, *verdict.blocked)
    late = missed(course.status, question, "It could not start")
    if late:
        return replace(course, status=late.status, standing=late.standing)
    free = _unblocked(course.status, now=now)
    course = replace(course, status=free)
    gate = first_gate(snapshot, free, question.effective, verdict, now=now)
    if gate:
        return replace(course, standing=Standing(gate.reason, gate.message), wake=(gate.until,))
    return _ready(course, question)


def _unblocked(status: AgentTaskStatus, *, now: datetime) -> AgentTaskStatus:
    """Return the status of a task that no other one's end keeps from starting."""
    moved = {"unblocked_time": now} if status.phase in BLOCKED_PHASES else {}
    return status.model_copy(update={"phase": TaskPhase.PENDING, "blocked_by": None, **moved})


def _blocked(course: Course, phase: TaskPhase, by: BlockedBy) -> Course:
    missing = by.cause is BlockCause.MISSING
    cause = f"there is no {by.root_cause}" if missing else f"{by.root_cause} is {by.cause}"
    nearest = "" if by.task == by.root_cause else f" (through {by.task})"
    status = course.status.model_copy(update={"phase": phase, "blocked_by": by})
    return replace(course, status=status, standing=Standing(phase, f"Can't start: {cause}{nearest}."))


def _ready(course: Course, question: Question) -> Course:
    """Start the next attempt if there is a slot for it, else queue for one."""
    snapshot, effective, now = question.snapshot, question.effective, question.now
    if snapshot.has_slot and snapshot.run and snapshot.run.spec and not snapshot.run.spec.suspend:
        task = replace(snapshot.task, status=course.status)
        status = begin(task, effective, profile=question.profile, now=now, share=snapshot.share)
        text = f"Attempt {status.attempt} has its slot."
        standing = Standing(AdmittedReason.ADMITTED, text, admitted=True)
        return replace(course, status=status, standing=standing, actions=(CreatePod(),))
    need = need_of(course.status, effective, question.profile)
    candidate = replace(candidate_of(snapshot.task.meta, effective), need=need)
    course = replace(course, candidate=candidate)
    if snapshot.refusal:
        return replace(course, standing=Standing(snapshot.refusal.reason, snapshot.refusal.message))
    return _queued(course, question)


def candidate_of(meta: Metadata, effective: EffectiveTask) -> Candidate:
    """Return a task that waits for nothing but a slot as the queue of its run takes it."""
    born = meta.creation_timestamp.isoformat() if meta.creation_timestamp else ""
    return Candidate(meta.uid, effective.priority, effective.role, (born, meta.name))


def _queued(course: Course, question: Question) -> Course:
    """Say that it queues, unless that is said already, goes without saying, or may be over in a moment."""
    stored, now = question.snapshot.task.status, question.now
    tell_at = (question.snapshot.ready_since or now) + TELL_QUEUED_AFTER
    unwritten = stored.observed_generation < 0 and course.status == stored
    standing = _queues_for(question)
    if unwritten and standing.reason == AdmittedReason.QUEUED:
        return course
    if course.status == stored and now < tell_at:
        return replace(course, wake=(tell_at,))
    return replace(course, standing=standing)


def _queues_for(question: Question) -> Standing:
    """Return what keeps a task from the next slot: its run's money, its role's ceiling, or only its turn."""
    short, limit = question.snapshot.short, question.snapshot.role_limit
    if short:
        return Standing(short, _SHORT[short])
    if limit is None:
        return Standing(AdmittedReason.QUEUED, "Waits for a slot of its run.")
    role = question.effective.role
    text = f"concurrency.maxPerRole of its run allows {limit} live agents of role {role}, and so many are."
    return Standing(AdmittedReason.ROLE_CEILING, text)
