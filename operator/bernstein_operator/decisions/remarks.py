"""Conditions of a task beside those that its phase comes with; each is read off what status remembers."""

from collections.abc import Iterator

from bernstein_operator.api.task_status import AgentTaskStatus
from bernstein_operator.api.vocabulary import ConditionType
from bernstein_operator.decisions.conditions import Wanted


def remarks(status: AgentTaskStatus) -> Iterator[Wanted]:
    """Yield what else is so of a task."""
    given_up = status.abandonment
    if given_up:
        reason = "".join(part.capitalize() for part in given_up.reason.split("_"))
        yield Wanted(ConditionType.ABANDONED, reason, given_up.detail)
