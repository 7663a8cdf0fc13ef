"""What a run tells of its tasks that wait for a person's answer: they keep it from its end."""

from collections.abc import Iterator

from bernstein_operator.api.snapshot import RunSnapshot
from bernstein_operator.api.vocabulary import (
    ENDED_RUN_PHASES,
    MOVING_PHASES,
    ConditionType,
    RunPhase,
    RunReason,
    TaskPhase,
)
from bernstein_operator.decisions.conditions import Wanted


def input_required(snapshot: RunSnapshot, phase: RunPhase) -> Iterator[Wanted]:
    """Yield the condition that tells of tasks with a question; ``phase`` is the run's as it will be."""
    if _asking(snapshot) and phase not in ENDED_RUN_PHASES:
        yield Wanted(ConditionType.INPUT_REQUIRED, RunReason.INPUT_REQUIRED, input_text(snapshot))


def only_people_help(snapshot: RunSnapshot) -> bool:
    """Whether nothing of a run can move before a person has answered."""
    moving = sum(snapshot.phases.get(phase, 0) for phase in MOVING_PHASES) - snapshot.stuck
    return 0 < moving == _asking(snapshot) and snapshot.live == 0


def input_text(snapshot: RunSnapshot) -> str:
    """Return how many tasks wait, and how to find them."""
    return f"Tasks that wait for an answer (phase {TaskPhase.AWAITING_INPUT}): {_asking(snapshot)}."


def _asking(snapshot: RunSnapshot) -> int:
    return snapshot.phases.get(TaskPhase.AWAITING_INPUT, 0)
