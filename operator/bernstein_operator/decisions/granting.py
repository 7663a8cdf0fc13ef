"""A task's own deadline across its attempts: what is put on record, and what comes of having missed it.

A deadline that stood for ever would leave a retry nothing: the second attempt would be born expired. So a
retry after a missed deadline gets as long again as there was at the first admission. The run's deadline is
hard: nothing is granted past it.
"""

from datetime import datetime, timedelta

from bernstein_operator.api.effective import EffectiveTask
from bernstein_operator.api.task_status import AgentTaskStatus, DeadlineStatus
from bernstein_operator.api.vocabulary import ENDED_RUN_PHASES, TaskPhase, TaskReason
from bernstein_operator.decisions.course import Course, Question, settled
from bernstein_operator.decisions.deadline import deadline_of


def on_record(status: AgentTaskStatus, task: EffectiveTask) -> DeadlineStatus | None:
    """Return what is on record from an attempt's begin on: the deadline that it runs under."""
    kept = status.deadline
    if not kept and not task.deadline:
        return None
    changes = {"effective": deadline_of(status, task), "basis": task.deadline}
    return (kept or DeadlineStatus()).model_copy(update=changes)


def granted(status: AgentTaskStatus, question: Question) -> DeadlineStatus | None:
    """Return the deadline granted from now on, as long as it was at the first admission.

    For a task that was never admitted its creation stands in.
    """
    asked, now = question.effective.deadline, question.now
    kept = (status.deadline or DeadlineStatus()).model_copy(update={"missed_time": None})
    if not asked:
        return kept if kept.warned else None
    since = status.first_admitted_time or question.snapshot.task.meta.creation_timestamp or now
    until = now + max(asked - since, timedelta())
    hard = question.bounds(status).run_deadline
    return kept.model_copy(update={"effective": min(until, hard or until), "basis": asked})


def missed(
    status: AgentTaskStatus, question: Question, what: str, *, by: datetime | None = None
) -> Course | None:
    """Return the end of a task without an attempt whose deadline, or its run's, has passed.

    ``what`` had not come by then; a moment after ``by`` has no say. None for a task with time left.
    """
    now, run = question.now, question.snapshot.run
    at = min(now, by or now)
    passed = next((limit for limit in question.bounds(status).moments if at >= limit.at), None)
    if not passed or (run and run.status.phase in ENDED_RUN_PHASES):
        return None
    known = on_record(status, question.effective) or DeadlineStatus()
    noted = {"deadline": known.model_copy(update={"missed_time": now})}
    text = f"{what} before {passed.called}."
    return settled(status.model_copy(update=noted), TaskPhase.FAILED, TaskReason.DEADLINE_EXCEEDED, text, now)
