"""The one table of a task's phases: which can follow which.

A decision reads a whole situation and may take several steps at once (an attempt fails, and meanwhile a
dependency was deleted), so the table has every phase that one decision can lead to. What it doesn't have is a
fault of ours or of somebody who edited a status by hand: then nothing is changed at all.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from bernstein_operator.api.task_status import AgentTaskStatus
from bernstein_operator.api.vocabulary import BLOCKED_PHASES, SETTLED_PHASES, TaskPhase
from bernstein_operator.decisions.commands import RETRIABLE_PHASES

_NOWHERE: Final[frozenset[TaskPhase]] = frozenset()
_BLOCKED: Final = frozenset(
    {
        TaskPhase.PENDING,
        TaskPhase.FAILED,
        TaskPhase.CANCELLED,
        TaskPhase.ABANDONED,
        TaskPhase.QUARANTINED,
        *BLOCKED_PHASES,
    }
)
_LEFT: Final = frozenset({TaskPhase.AWAITING_INPUT, *SETTLED_PHASES, *BLOCKED_PHASES})

MOVES: Final[Mapping[TaskPhase, frozenset[TaskPhase]]] = MappingProxyType(
    {
        TaskPhase.PENDING: frozenset({TaskPhase.RUNNING, *_LEFT}),
        TaskPhase.RUNNING: frozenset({TaskPhase.PENDING, *_LEFT}),
        TaskPhase.AWAITING_INPUT: _BLOCKED,
        TaskPhase.BLOCKED_BY_FAILURE: _BLOCKED - {TaskPhase.BLOCKED_BY_FAILURE},
        TaskPhase.BLOCKED_BY_ABANDON: _BLOCKED - {TaskPhase.BLOCKED_BY_ABANDON},
        TaskPhase.QUARANTINED: frozenset({TaskPhase.CANCELLED, TaskPhase.ABANDONED}),
        TaskPhase.FAILED: _NOWHERE,
        TaskPhase.SUCCEEDED: _NOWHERE,
        TaskPhase.CANCELLED: _NOWHERE,
        TaskPhase.ABANDONED: _NOWHERE,
    }
)
"""To which phases each one can lead without a person's retry."""


def illegal_move(before: AgentTaskStatus, after: AgentTaskStatus) -> str:
    """Return what is wrong with going from ``before`` to ``after``, empty where nothing is."""
    old, new = before.phase, after.phase
    if old is new or new in MOVES[old]:
        return ""
    # A retry leads out of its phase as if the task had never begun.
    retried = after.retried_time is not None and after.retried_time != before.retried_time
    if retried and old in RETRIABLE_PHASES and new in {TaskPhase.PENDING, *MOVES[TaskPhase.PENDING]}:
        return ""
    return f"{old} can't become {new}"
