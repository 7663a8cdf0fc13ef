"""Where a task stands with a person's retry: asked for one, or under way again because of one.

A run must neither end nor lose its tasks between the moment in which somebody asked for a retry and the one
in which the answer is stored, and one that has failed goes on as soon as any of its tasks does.
"""

from bernstein_operator.api.choices import CommandVerb
from bernstein_operator.api.objects import TaskObject
from bernstein_operator.api.vocabulary import MOVING_PHASES
from bernstein_operator.decisions.commands import RETRIABLE_PHASES
from bernstein_operator.decisions.naming import is_stuck
from bernstein_operator.decisions.requests import new_value


def asks_for_retry(task: TaskObject) -> bool:
    """Whether a person asked a task that has ended for a retry, and its status has no answer yet."""
    ended = task.status.phase in RETRIABLE_PHASES
    return ended and new_value(task.meta, task.status.requests, CommandVerb.RETRY) is not None


def goes_on_after_retry(task: TaskObject) -> bool:
    """Whether a person's retry brought a task back, and it can still move."""
    status = task.status
    return status.retried_time is not None and status.phase in MOVING_PHASES and not is_stuck(task)
