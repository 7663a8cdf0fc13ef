"""Conditions of a task beside those that its phase comes with; each is read off what status remembers."""

from collections.abc import Iterator

from bernstein_operator.api.task_status import AgentTaskStatus, Escalation
from bernstein_operator.api.vocabulary import SETTLED_PHASES, ConditionType
from bernstein_operator.decisions.conditions import Wanted


def remarks(status: AgentTaskStatus) -> Iterator[Wanted]:
    """Yield what else is so of a task."""
    given_up = status.abandonment
    if given_up:
        reason = "".join(part.capitalize() for part in given_up.reason.split("_"))
        yield Wanted(ConditionType.ABANDONED, reason, given_up.detail)
    climbed = status.escalation
    if climbed and status.phase not in SETTLED_PHASES:
        yield Wanted(ConditionType.ESCALATED, ConditionType.ESCALATED, _means(climbed))


def _means(climbed: Escalation) -> str:
    given = {
        "level": climbed.level or None,
        "model": climbed.model,
        "effort": climbed.effort,
        "memory": climbed.memory,
    }
    return ", ".join(f"{name} {value}" for name, value in given.items() if value)
