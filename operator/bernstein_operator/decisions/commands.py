"""What people ask for by annotation, and what comes of it."""

from dataclasses import replace

from bernstein_agent.contract import ResultClass
from bernstein_operator.api.task_status import CancelRequest
from bernstein_operator.api.vocabulary import SETTLED_PHASES, AttemptReason, TaskPhase
from bernstein_operator.decisions.attempt import (
    close,
    open_attempt,
)
from bernstein_operator.decisions.course import Course, Question, settled
from bernstein_operator.decisions.outcome import Outcome


def obey(course: Course, question: Question) -> Course:
    """Return what becomes of a task by what people asked for; the course itself where they didn't."""
    task, run = question.snapshot.task, question.snapshot.run
    of_run = bool(run and run.cancelled)
    if not (task.cancelled or of_run):
        return course
    text = "Cancelled by annotation." if task.cancelled else "Its run was cancelled."
    if course.status.phase not in SETTLED_PHASES:
        course = settled(course.status, TaskPhase.CANCELLED, AttemptReason.CANCELLED, text, question.now)
        if task.cancelled and not course.status.cancel_requested:
            request = CancelRequest(time=question.now)
            course = replace(course, status=course.status.model_copy(update={"cancel_requested": request}))
    return _without_pod(course, question, text)


def _without_pod(course: Course, question: Question, text: str) -> Course:
    """Close a cancelled task's attempt if its Pod isn't there: none is asked for, a late one is removed."""
    attempt = open_attempt(course.status)
    if not attempt or question.sighting(attempt.pod_name):
        return course
    outcome = Outcome(ResultClass.CANCELLED, AttemptReason.CANCELLED, text, None, question.now, None)
    return replace(course, status=close(course.status, outcome, None))
