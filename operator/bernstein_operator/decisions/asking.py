"""A task that only a person's word can help: what it asks, how long it waits, and how it goes on.

An agent asks, or a task has used up what it was given and its author wants to be asked before it is given up.
Nothing runs meanwhile and no slot is held, so waiting costs nothing; but it keeps the run from its end, so it
has a limit of its own.
"""

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from bernstein_agent.contract import ResultClass
from bernstein_operator.api.task_status import AgentTaskStatus, Answer
from bernstein_operator.api.task_status import Question as Asked
from bernstein_operator.api.vocabulary import TaskPhase, TaskReason
from bernstein_operator.decisions.conditions import Standing
from bernstein_operator.decisions.course import Course, Question, settled
from bernstein_operator.decisions.granting import missed
from bernstein_operator.decisions.requests import actor_of

MAX_WORDS: Final = 8192
"""So many characters of a question, and of an answer, are kept."""
_LOST: Final = "The agent asked something, and its words were lost."


def asks(status: AgentTaskStatus, reason: TaskReason, text: str, question: Question) -> Course:
    """Return the course of a task that needs a person's answer from now on; an earlier exchange is over."""
    until = question.now + timedelta(seconds=question.effective.input_timeout_seconds)
    asked = Asked(text=(text or _LOST)[:MAX_WORDS], time=question.now, deadline=until)
    changes = {
        "phase": TaskPhase.AWAITING_INPUT,
        "next_attempt_time": None,
        "blocked_by": None,
        "question": asked,
        "answer": None,
    }
    return Course(status.model_copy(update=changes), Standing(reason, asked.text))


def awaiting(course: Course, question: Question) -> Course:
    """Return what becomes of a task that has asked: it waits, or fails since nobody answered in time."""
    asked, now = course.status.question, question.now
    # A status that was edited by hand may lack the question: then there is nothing to wait for.
    until = asked.deadline if asked else now
    over = missed(course.status, question, "Nobody answered", by=until)
    if not over and now >= until:
        text = f"Nobody answered within inputTimeoutSeconds: {asked.text if asked else _LOST}"
        over = settled(course.status, TaskPhase.FAILED, TaskReason.INPUT_TIMEOUT, text, now)
    if over:
        return replace(course, status=over.status, standing=over.standing)
    return replace(course, wake=(*course.wake, until))


def answered(status: AgentTaskStatus, value: str, question: Question) -> AgentTaskStatus:
    """Return the status of a task that goes on with a person's answer.

    Where it asked since nothing was left to try, the answer lets it try as often as at first: one that
    the next rate limit ended would have asked for nothing.
    """
    meta = question.snapshot.task.meta
    changes: dict[str, object] = {
        "phase": TaskPhase.PENDING,
        "answer": Answer(text=value[:MAX_WORDS], actor=actor_of(meta), time=question.now),
    }
    if status.attempts and status.attempts[-1].result_class != ResultClass.ASKED:
        changes |= {"retries": 0, "disruptions": 0, "rate_limits": 0, "same_failures": 0}
    return status.model_copy(update=changes)


def stood_since(status: AgentTaskStatus) -> datetime | None:
    """Return since when a task has stood where only a person leads on; None where it goes on by itself."""
    if status.phase is TaskPhase.AWAITING_INPUT:
        return status.question.time if status.question else None
    return status.completion_time
