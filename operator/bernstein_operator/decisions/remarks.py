"""Conditions of a task beside those that its phase comes with; each is read off what status remembers."""

from collections.abc import Iterator

from bernstein_agent.contract import ResultClass
from bernstein_operator.api.task_status import AgentTaskStatus
from bernstein_operator.api.vocabulary import SETTLED_PHASES, ConditionType, TaskReason
from bernstein_operator.decisions.conditions import Wanted
from bernstein_operator.decisions.escalation import in_words


def remarks(status: AgentTaskStatus) -> Iterator[Wanted]:
    """Yield what else is so of a task."""
    given_up = status.abandonment
    if given_up:
        reason = "".join(part.capitalize() for part in given_up.reason.split("_"))
        yield Wanted(ConditionType.ABANDONED, reason, given_up.detail)
    climbed = status.escalation
    if climbed and status.phase not in SETTLED_PHASES:
        yield Wanted(ConditionType.ESCALATED, ConditionType.ESCALATED, f"Gets {in_words(climbed)}.")
    yield from _exceeded(status)


def _exceeded(status: AgentTaskStatus) -> Iterator[Wanted]:
    """Yield that the task, or its last attempt, ran into a deadline."""
    last = status.attempts[-1] if status.attempts else None
    missed = status.deadline and status.deadline.missed_time
    if not missed and not (last and last.result_class == ResultClass.DEADLINE):
        return
    text = "A deadline passed while no agent was at work." if missed else (last.message if last else "")
    yield Wanted(ConditionType.DEADLINE_EXCEEDED, TaskReason.DEADLINE_EXCEEDED, text or "")
