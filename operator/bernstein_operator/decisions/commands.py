"""What people ask of a task by annotation, and what comes of it.

Cancel is looked at first: it beats everything but an end that is on record already. Whatever can't act where
the task stands is recorded all the same, as ignored, so that whoever asked can see why nothing happened.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from bernstein_agent.contract import ResultClass
from bernstein_operator.api.choices import CommandVerb
from bernstein_operator.api.conditions import find
from bernstein_operator.api.task_status import CancelRequest
from bernstein_operator.api.vocabulary import (
    BLOCKED_PHASES,
    CLOSED_PHASES,
    FINAL_PHASES,
    FINAL_RUN_PHASES,
    AttemptReason,
    ConditionType,
    TaskPhase,
    TaskReason,
)
from bernstein_operator.decisions.abandoning import abandonment, read_wish
from bernstein_operator.decisions.asking import answered, stood_since
from bernstein_operator.decisions.attempt import close, open_attempt
from bernstein_operator.decisions.conditions import Standing
from bernstein_operator.decisions.course import Course, Question, settled
from bernstein_operator.decisions.granting import granted
from bernstein_operator.decisions.metering import heard
from bernstein_operator.decisions.outcome import Outcome
from bernstein_operator.decisions.requests import (
    IGNORED,
    ONLY_TRUE,
    TRUE,
    actor_of,
    kept,
    new_value,
    request,
)
from bernstein_operator.decisions.run_commands import retry_of
from bernstein_operator.decisions.run_deadline import has_passed

RETRIABLE_PHASES: Final = frozenset({TaskPhase.FAILED, TaskPhase.QUARANTINED, TaskPhase.AWAITING_INPUT})
"""Phases that a person's retry leads out of."""
_LEFT_BY_A_DRAIN: Final = RETRIABLE_PHASES - {TaskPhase.AWAITING_INPUT}
"""Phases without anything left to start, in which a drain leaves a task."""
_LEFT_BEHIND: Final = {
    TaskPhase.CANCELLED: (ResultClass.CANCELLED, AttemptReason.CANCELLED),
    TaskPhase.ABANDONED: (ResultClass.ABANDONED, AttemptReason.ABANDONED),
    TaskPhase.QUARANTINED: (ResultClass.CANCELLED, AttemptReason.QUARANTINED),
}
"""How an attempt ends whose task came to that phase before its Pod was seen."""


def obey(course: Course, question: Question) -> Course:
    """Return what becomes of a task by what people asked for; the course itself where they didn't."""
    for verb, act in _ORDERS.items():
        value = new_value(question.snapshot.task.meta, course.status.requests, verb)
        if value is not None:
            # What one verb ends without a Pod is over when the next is looked at.
            course = _without_pod(act(course, question, value), question)
    course = _by_run(_stays_cancelled(course, question), question)
    return _without_pod(course, question)


def _recorded(course: Course, question: Question, verb: CommandVerb, value: str, effect: str) -> Course:
    new = request(question.snapshot.task.meta, verb, value, effect, now=question.now)
    known = {"requests": kept(course.status.requests, new)}
    return replace(course, status=course.status.model_copy(update=known))


def _cancel(course: Course, question: Question, value: str) -> Course:
    if value != TRUE:
        return _recorded(course, question, CommandVerb.CANCEL, value, ONLY_TRUE)
    if course.status.phase in CLOSED_PHASES:
        return _ignored(course, question, CommandVerb.CANCEL, value)
    course = _recorded(course, question, CommandVerb.CANCEL, value, "Cancelled.")
    noted = {"cancel_requested": CancelRequest(time=question.now)}
    return replace(course, status=course.status.model_copy(update=noted))


def _abandon(course: Course, question: Question, value: str) -> Course:
    verb, task = CommandVerb.ABANDON, question.snapshot.task
    if course.status.phase in CLOSED_PHASES or task.cancelled:
        return _ignored(course, question, verb, value)
    wish = read_wish(value)
    course = _recorded(course, question, verb, value, f"Abandoned as {wish.reason}.")
    given_up = abandonment(wish.reason, wish.detail, actor=actor_of(task.meta), now=question.now)
    status = course.status.model_copy(update={"abandonment": given_up})
    text = f"{wish.reason}: {wish.detail}" if wish.detail else str(wish.reason)
    return settled(status, TaskPhase.ABANDONED, AttemptReason.ABANDONED, text, question.now)


def _quarantine(course: Course, question: Question, value: str) -> Course:
    verb = CommandVerb.QUARANTINE
    if course.status.phase in (*CLOSED_PHASES, TaskPhase.QUARANTINED) or question.snapshot.task.cancelled:
        return _ignored(course, question, verb, value)
    status = _recorded(course, question, verb, value, "Quarantined.").status
    text = value.strip() or "A person put it into quarantine."
    return settled(status, TaskPhase.QUARANTINED, TaskReason.QUARANTINED, text, question.now)


def _retry(course: Course, question: Question, value: str) -> Course:
    verb, phase = CommandVerb.RETRY, course.status.phase
    if phase in BLOCKED_PHASES:
        return _recorded(course, question, verb, value, "Looked at again.")
    if phase not in RETRIABLE_PHASES:
        return _ignored(course, question, verb, value)
    obstacle = _against_a_retry(question)
    if obstacle:
        return _recorded(course, question, verb, value, f"{IGNORED}{obstacle}")
    if _is_to_stop(course, question):
        return course
    return _afresh(_recorded(course, question, verb, value, "A fresh start."), question)


def _answer(course: Course, question: Question, value: str) -> Course:
    verb = CommandVerb.ANSWER
    if course.status.phase is not TaskPhase.AWAITING_INPUT:
        return _ignored(course, question, verb, value)
    if not value.strip():
        return _recorded(course, question, verb, value, f"{IGNORED}an answer needs words.")
    course = _recorded(course, question, verb, value, "Answered; another attempt goes on with it.")
    return replace(course, status=answered(course.status, value, question), standing=None)


def _against_a_retry(question: Question) -> str:
    """Return what would end a task again that got a fresh start now, empty where nothing would."""
    task, run = question.snapshot.task, question.snapshot.run
    if task.cancelled:
        return "its annotation says cancel; that has to be taken off first."
    if run and run.status.phase in FINAL_RUN_PHASES:
        return f"its run is {run.status.phase}, which is final."
    if run and (run.cancelled or run.drained):
        return f"its run is being {'cancelled' if run.cancelled else 'drained'}, or its annotation says so."
    if run and has_passed(run, now=question.now):
        return "its run's deadline has passed; that needs a later one first."
    return ""


def _drain(course: Course, question: Question, value: str) -> Course:
    text = f"{IGNORED}only a run can be drained; cancel ends a task."
    return _recorded(course, question, CommandVerb.DRAIN, value, text)


_ORDERS: Final[dict[CommandVerb, Callable[[Course, Question, str], Course]]] = {
    CommandVerb.CANCEL: _cancel,
    CommandVerb.ABANDON: _abandon,
    CommandVerb.QUARANTINE: _quarantine,
    CommandVerb.ANSWER: _answer,
    CommandVerb.RETRY: _retry,
    CommandVerb.DRAIN: _drain,
}
"""Every verb, the one that beats the others first."""


def _ignored(course: Course, question: Question, verb: CommandVerb, value: str) -> Course:
    cancelled = question.snapshot.task.cancelled and course.status.phase not in CLOSED_PHASES
    where = "cancelled" if cancelled else str(course.status.phase)
    return _recorded(course, question, verb, value, f"{IGNORED}the task is {where}.")


def _afresh(course: Course, question: Question) -> Course:
    """Return the course of a task that begins anew: counters, ladder and grants; attempts go on counting."""
    changes = {
        "phase": TaskPhase.PENDING,
        "completion_time": None,
        "next_attempt_time": None,
        "retries": 0,
        "disruptions": 0,
        "rate_limits": 0,
        "same_failures": 0,
        "escalation": None,
        # A question that nobody has answered is none of the fresh start's; what was answered stays known.
        "question": course.status.question if course.status.answer else None,
        "deadline": granted(course.status, question),
        "retried_time": question.now,
    }
    return replace(course, status=course.status.model_copy(update=changes), standing=None)


def _stays_cancelled(course: Course, question: Question) -> Course:
    """Obey a cancel that was seen at any time, of the task or of its run."""
    if not question.cancelled or course.status.phase in CLOSED_PHASES:
        return course
    text = "Cancelled by annotation." if question.snapshot.task.cancelled else "Its run was cancelled."
    return settled(course.status, TaskPhase.CANCELLED, AttemptReason.CANCELLED, text, question.now)


def _by_run(course: Course, question: Question) -> Course:
    """Obey what was asked of the whole run: a drain, or a retry that this task has not had yet."""
    run, phase = question.snapshot.run, course.status.phase
    if not run or phase in FINAL_PHASES:
        return course
    if question.run_drained and phase not in _LEFT_BY_A_DRAIN and not open_attempt(course.status):
        text = "Its run is being drained."
        return settled(course.status, TaskPhase.CANCELLED, TaskReason.DRAINED, text, question.now)
    if question.cancelled or question.run_drained:
        return course
    asked, since = retry_of(run.status), stood_since(course.status)
    due = asked and since and since <= asked
    due = due and phase in RETRIABLE_PHASES and not _is_to_stop(course, question)
    return _afresh(course, question) if due else course


def _is_to_stop(course: Course, question: Question) -> bool:
    """Whether a task in quarantine has an agent that must be told to end first: a retry waits for that."""
    attempt = open_attempt(course.status)
    sighting = question.sighting(attempt.pod_name) if attempt else None
    told = sighting and (sighting.pod.stop_class or sighting.pod.metadata.deletion_timestamp)
    return attempt is not None and not told


def _without_pod(course: Course, question: Question) -> Course:
    """Close the attempt of a task that a person ended if its Pod isn't there: a late one is removed."""
    attempt, how = open_attempt(course.status), _LEFT_BEHIND.get(course.status.phase)
    if not attempt or not how or question.sighting(attempt.pod_name):
        return course
    failed = find(course.status.conditions, ConditionType.FAILED)
    said = course.standing or Standing(message=failed.message if failed else "")
    outcome = Outcome(how[0], how[1], said.message, None, question.now, None)
    return replace(course, status=close(heard(course.status, question), outcome, None))
