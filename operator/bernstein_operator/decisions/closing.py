"""Where a task goes from the end of an attempt."""

from dataclasses import asdict, replace
from typing import Final

from bernstein_agent.contract import ResultClass
from bernstein_operator.api.choices import AfterDeadline, LimitKind
from bernstein_operator.api.task_status import AgentTaskStatus
from bernstein_operator.api.vocabulary import SETTLED_PHASES, AttemptReason, TaskPhase, TaskReason
from bernstein_operator.decisions.attempt import (
    close,
    find_end,
    open_attempt,
)
from bernstein_operator.decisions.course import Course, Question, settled
from bernstein_operator.decisions.granting import granted
from bernstein_operator.decisions.outcome import Outcome
from bernstein_operator.decisions.retry import Counters, GiveUp, next_step

_NOT_THE_TASKS_END: Final = (AttemptReason.RUN_GONE, AttemptReason.QUARANTINED)
"""Stopped attempts after which the task goes on: its run is back, or a person let it out of quarantine."""


def closed(course: Course, question: Question) -> Course:
    """Return what becomes of a task whose attempt has ended; the course itself where none has."""
    attempt = open_attempt(course.status)
    if not attempt:
        return course
    end = find_end(
        attempt,
        question.sighting(attempt.pod_name),
        bounds=question.bounds(course.status),
        has_repository=question.has_repository,
        now=question.now,
    )
    if not end:
        return course
    status = close(course.status, end.outcome, end.pod)
    beaten = question.cancelled and end.outcome.result_class is ResultClass.DEADLINE
    if beaten or status.phase in SETTLED_PHASES:
        # A cancel that was seen before the deadline's end was is obeyed in its stead.
        return replace(course, status=status)
    return after(status, end.outcome, question)


def after(status: AgentTaskStatus, outcome: Outcome, question: Question) -> Course:
    """Return where a task goes from the end of an attempt."""
    match outcome.result_class:
        case ResultClass.SUCCESS:
            return settled(status, TaskPhase.SUCCEEDED, outcome.reason, outcome.message, outcome.ended_at)
        case ResultClass.ABANDONED:
            return settled(status, TaskPhase.ABANDONED, outcome.reason, outcome.message, outcome.ended_at)
        case ResultClass.CANCELLED if outcome.reason not in _NOT_THE_TASKS_END:
            return settled(status, TaskPhase.CANCELLED, outcome.reason, outcome.message, outcome.ended_at)
        case ResultClass.CANCELLED:
            return Course(status.model_copy(update={"phase": TaskPhase.PENDING}))
        case _:
            return _failed(status, outcome, question)


def _failed(status: AgentTaskStatus, outcome: Outcome, question: Question) -> Course:
    step = next_step(
        status.attempt,
        outcome.result_class,
        before=Counters(status.retries, status.disruptions, status.rate_limits),
        policy=question.effective.retry,
        task_uid=question.snapshot.task.meta.uid,
        now=question.now,
    )
    counted = status.model_copy(update=asdict(step.counters))
    if isinstance(step, GiveUp):
        text = f"{outcome.result_class}: {outcome.message or outcome.reason}"
        return settled(counted, TaskPhase.FAILED, step.reason, text, question.now)
    if outcome.limit in (LimitKind.DEADLINE, LimitKind.RUN_DEADLINE):
        return _missed(counted, outcome, question)
    later = step.at if step.at > question.now else None
    return Course(counted.model_copy(update={"phase": TaskPhase.PENDING, "next_attempt_time": later}))


def _missed(status: AgentTaskStatus, outcome: Outcome, question: Question) -> Course:
    """Return where a task goes whose attempt ran into a moment: on with a fresh grant, or nowhere."""
    hard = outcome.limit is LimitKind.RUN_DEADLINE
    if hard or question.effective.retry.after_deadline is AfterDeadline.NONE:
        reason = TaskReason.DEADLINE_EXCEEDED
        return settled(status, TaskPhase.FAILED, reason, outcome.message, question.now)
    grant = granted(status, question)
    changes = {"phase": TaskPhase.PENDING, "next_attempt_time": None, "deadline": grant}
    return Course(status.model_copy(update=changes))
