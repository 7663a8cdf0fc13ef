"""The events that a task's status owes."""

from collections.abc import Iterator
from datetime import datetime
from typing import Final

from bernstein_agent.contract import ResultClass
from bernstein_operator.api.conditions import find
from bernstein_operator.api.event_reasons import EventReason
from bernstein_operator.api.objects import TaskObject
from bernstein_operator.api.task_status import Attempt, Escalation
from bernstein_operator.api.vocabulary import ConditionType, TaskPhase
from bernstein_operator.builders.events import WARNING, Notice
from bernstein_operator.builders.request_notices import request_notices
from bernstein_operator.decisions.escalation import in_words

WARNED: Final = "task.deadline_warning"
EXCEEDED: Final = "task.deadline_exceeded"
CONTINUED: Final = "agent.retry_continuation"
_NO_FAILURES: Final = (ResultClass.CANCELLED, ResultClass.ASKED)
"""Ends of attempts that other events tell of: a person's cancel, and a question to one."""


def task_notices(task: TaskObject) -> Iterator[Notice]:
    """Yield everything that a task's status tells to have happened, in no particular order."""
    for attempt in task.status.attempts:
        yield from _attempt_notices(attempt)
        yield from _budget_notices(attempt)
    yield from _retry_notice(task)
    yield from _climb_notices(task)
    yield from _end_notices(task)
    yield from _deadline_notices(task)
    yield from _answer_notices(task)
    yield from _continuation_notice(task)
    yield from request_notices(task.status.requests)


def _attempt_notices(attempt: Attempt) -> Iterator[Notice]:
    pod, number = attempt.pod_name, attempt.number
    if attempt.start_time:
        note = f"Attempt {number} started in Pod {pod}."
        yield Notice(EventReason.ATTEMPT_STARTED, attempt.start_time, note, action="Start", pod=pod)
    if not attempt.end_time or attempt.result_class in _NO_FAILURES:
        return
    if attempt.result_class == ResultClass.SUCCESS:
        note = f"Attempt {number} succeeded."
        yield Notice(EventReason.ATTEMPT_SUCCEEDED, attempt.end_time, note, action="Finish", pod=pod)
        return
    why = f": {attempt.message}" if attempt.message else "."
    note = f"Attempt {number} ended as {attempt.result_class} ({attempt.reason}){why}"
    yield Notice(EventReason.ATTEMPT_FAILED, attempt.end_time, note, WARNING, action="Finish", pod=pod)
    if attempt.result_class == ResultClass.DEADLINE:
        note = f"Attempt {number}: {attempt.message or 'stopped at its deadline.'}"
        yield _exceeded(attempt.end_time, note, pod=pod)


def _deadline_notices(task: TaskObject) -> Iterator[Notice]:
    """Tell of limits that came near, and of a deadline that passed while nothing ran."""
    known, pods = task.status.deadline, {one.number: one.pod_name for one in task.status.attempts}
    for one in known.warned if known else ():
        note = f"Attempt {one.attempt}" if one.attempt else "Before the first attempt"
        yield Notice(
            EventReason.DEADLINE_WARNING,
            one.time,
            f"{note}: {one.limit} is over at {one.at:%Y-%m-%dT%H:%M:%SZ}.",
            WARNING,
            action="Warn",
            pod=pods.get(one.attempt, ""),
            about=one.limit,
            document=WARNED,
        )
    failed = find(task.status.conditions, ConditionType.FAILED)
    if known and known.missed_time and failed:
        yield _exceeded(known.missed_time, failed.message)


def _exceeded(at: datetime, note: str, *, pod: str = "") -> Notice:
    return Notice(EventReason.DEADLINE_EXCEEDED, at, note, WARNING, action="Stop", pod=pod, document=EXCEEDED)


def _retry_notice(task: TaskObject) -> Iterator[Notice]:
    """Tell of the retry that is due, or of the one that has begun after a failure."""
    attempts = task.status.attempts
    for failed, following in zip(attempts, (*attempts[1:], None), strict=False):
        due = following.intent_time if following else task.status.next_attempt_time
        if failed.end_time and due:
            note = f"Attempt {failed.number + 1} follows attempt {failed.number} ({failed.result_class})."
            pod = failed.pod_name
            yield Notice(EventReason.RETRY_SCHEDULED, failed.end_time, note, action="Retry", pod=pod)


def _climb_notices(task: TaskObject) -> Iterator[Notice]:
    """Tell what each attempt after a failure gets more of than the one before it."""
    attempts, next_one = task.status.attempts, task.status.escalation
    for failed, following in zip(attempts, (*attempts[1:], next_one), strict=False):
        if failed.end_time and following and _climbs(failed, following):
            note = f"Attempt {failed.number + 1} gets {in_words(following)}."
            pod = failed.pod_name
            yield Notice(EventReason.ESCALATED, failed.end_time, note, action="Escalate", pod=pod)


def _climbs(failed: Attempt, following: Attempt | Escalation) -> bool:
    higher = (following.level or 0) > (failed.level or 0)
    return higher or following.memory not in (None, failed.memory)


def _end_notices(task: TaskObject) -> Iterator[Notice]:
    status = task.status
    failed = find(status.conditions, ConditionType.FAILED)
    if status.phase is TaskPhase.CANCELLED and status.completion_time:
        note = failed.message if failed else ""
        yield Notice(EventReason.CANCELLED, status.completion_time, note, action="Cancel")
    given_up = status.abandonment
    if given_up:
        detail = f": {given_up.detail}" if given_up.detail else "."
        note = f"Given up by {given_up.actor} as {given_up.reason}{detail}"
        yield Notice(EventReason.ABANDONED, given_up.time, note, WARNING, action="Abandon")
    if status.phase is TaskPhase.QUARANTINED and status.completion_time:
        note = failed.message if failed else ""
        yield Notice(EventReason.QUARANTINED, status.completion_time, note, WARNING, action="Quarantine")
    if status.phase is TaskPhase.BLOCKED_BY_FAILURE and failed:
        at = failed.last_transition_time
        yield Notice(EventReason.BLOCKED_BY_FAILURE, at, failed.message, WARNING, action="Block")
    if status.phase is TaskPhase.BLOCKED_BY_ABANDON and failed:
        at = failed.last_transition_time
        yield Notice(EventReason.BLOCKED_BY_ABANDON, at, failed.message, WARNING, action="Block")
    if status.unblocked_time:
        note = "What kept it from starting has moved: it waits again."
        yield Notice(EventReason.UNBLOCKED, status.unblocked_time, note, action="Unblock")


def _answer_notices(task: TaskObject) -> Iterator[Notice]:
    """Tell what was asked of a person, and that it was answered."""
    question, answer = task.status.question, task.status.answer
    if question:
        note = f"Until {question.deadline:%Y-%m-%dT%H:%M:%SZ}: {question.text}"
        yield Notice(EventReason.INPUT_REQUESTED, question.time, note, action="Ask")
    if answer:
        note = f"Answered by {answer.actor}; another attempt goes on with it."
        yield Notice(EventReason.INPUT_ANSWERED, answer.time, note, action="Retry")


def _budget_notices(attempt: Attempt) -> Iterator[Notice]:
    """Tell how an attempt met the end of its task's budget."""
    number, pod, at = attempt.number, attempt.pod_name, attempt.end_time
    if at and attempt.finish_percent is not None:
        note = f"Attempt {number} used its final turn with {attempt.finish_percent} % of its budget left."
        yield Notice(EventReason.GRACEFUL_FINISH, at, note, action="Finish", pod=pod)
    if at and attempt.suggested_model:
        note = f"Attempt {number} used up its budget; {attempt.suggested_model} is the next cheaper model."
        yield Notice(EventReason.DOWNGRADE_SUGGESTED, at, note, WARNING, action="Stop", pod=pod)


def _continuation_notice(task: TaskObject) -> Iterator[Notice]:
    """Tell that an agent went on after it had left no commit."""
    continued = task.status.continuation
    if continued:
        pods = {one.number: one.pod_name for one in task.status.attempts}
        note = f"session_id={continued.session_id or 'none'} reason=no_commit attempt={continued.attempt}"
        yield Notice(
            EventReason.RETRY_CONTINUATION,
            continued.time,
            note,
            action="Continue",
            pod=pods.get(continued.attempt, ""),
            document=CONTINUED,
        )
