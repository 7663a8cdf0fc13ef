"""A task's own deadline across its attempts: what is put on record, and what is granted after it was missed.

A deadline that stood for ever would leave a retry nothing: the second attempt would be born expired. So a
retry after a missed deadline gets as long again as there was at the first admission. The run's deadline is
hard: nothing is granted past it.
"""

from datetime import timedelta

from bernstein_operator.api.effective import EffectiveTask
from bernstein_operator.api.task_status import AgentTaskStatus, DeadlineStatus
from bernstein_operator.decisions.course import Question
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
