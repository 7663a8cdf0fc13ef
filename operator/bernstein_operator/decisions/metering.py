"""When what a live attempt has reported is put on record.

A restart loses nothing but time, since reports hold totals; so a write a minute is enough. It comes at once
with any other write, and when the run's budget has just reached a band: what decided that has to be on
record.
"""

from dataclasses import replace
from datetime import timedelta
from typing import Final

from bernstein_operator.api.snapshot import Reading
from bernstein_operator.api.task_status import AgentTaskStatus
from bernstein_operator.decisions.attempt import open_attempt
from bernstein_operator.decisions.course import Course, Question
from bernstein_operator.decisions.usage import with_spend

WRITE_EVERY: Final = timedelta(minutes=1)


def heard(status: AgentTaskStatus, question: Question) -> AgentTaskStatus:
    """Return the status with all that its open attempt has reported."""
    attempt, reading = open_attempt(status), question.snapshot.reading
    return with_spend(status, attempt.number, reading.usage) if attempt and reading else status


def metered(course: Course, question: Question) -> Course:
    """Return the course with what its open attempt has reported, where that is to be written now."""
    reading, raised = question.snapshot.reading, heard(course.status, question)
    if not reading or raised == course.status:
        return course
    due = reading.written + WRITE_EVERY
    written_anyway = course.status != question.snapshot.task.status
    if written_anyway or question.now >= due or _reached_a_band(reading, question):
        return replace(course, status=raised)
    return replace(course, wake=(*course.wake, due))


def _reached_a_band(reading: Reading, question: Question) -> bool:
    """Whether the run's budget has reached a band since the usage on record was written."""
    run = question.snapshot.run
    budget = run.status.budget if run else None
    return any(one.time >= reading.written for one in (budget.reached if budget else ()))
