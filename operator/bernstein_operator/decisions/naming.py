"""What a name in dependsOn means: which task has it, and what that task is to those who wait for it.

Several tasks of a run may claim one name over time: the one that failed, and the one that people made to take
its place. Who has it must come out the same wherever it is asked, in the operator as in what people are told.
"""

from collections.abc import Iterable
from typing import Final

from bernstein_operator.api.conditions import find
from bernstein_operator.api.objects import TaskObject
from bernstein_operator.api.snapshot import Dependency
from bernstein_operator.api.vocabulary import SETTLED_PHASES, AdmittedReason, ConditionType, TaskPhase

_GIVES_UP_ITS_NAME: Final = SETTLED_PHASES - {TaskPhase.SUCCEEDED}
_INVALID: Final = (AdmittedReason.INVALID_SPEC, AdmittedReason.INVALID_GRAPH)


def owner(claimants: Iterable[TaskObject]) -> TaskObject | None:
    """Return the task that has a name which all ``claimants`` want: the oldest that hasn't given up.

    Where all have, the newest; None where nobody wants it.
    """
    claims = sorted(claimants, key=_age)
    standing = (task for task in claims if task.status.phase not in _GIVES_UP_ITS_NAME)
    return next(standing, claims[-1] if claims else None)


def needs(task: TaskObject) -> tuple[str, ...]:
    """Return the names that a task depends on, each once, in the author's order."""
    return tuple(dict.fromkeys(task.spec.depends_on)) if task.spec else ()


def unmet(task: TaskObject | None) -> tuple[str, ...]:
    """Return the names that a task still waits for by its own spec; none once it has ended."""
    return needs(task) if task and task.status.phase not in SETTLED_PHASES else ()


def is_stuck(task: TaskObject) -> bool:
    """Whether a task was found invalid, so that it can't ever start as it is."""
    admitted = find(task.status.conditions, ConditionType.ADMITTED)
    pending = task.status.phase is TaskPhase.PENDING
    return pending and admitted is not None and admitted.reason in _INVALID


def dependency(name: str, task: TaskObject | None) -> Dependency:
    """Return what ``name`` means while ``task`` has it, or nobody."""
    if not task:
        return Dependency(name=name)
    status = task.status
    last = status.attempts[-1] if status.attempts else None
    return Dependency(
        name=name,
        uid=task.meta.uid,
        phase=status.phase,
        stuck=is_stuck(task),
        blocked_by=status.blocked_by,
        commit=last.head_after if last else None,
        branch=last.branch if last else None,
    )


def _age(task: TaskObject) -> tuple[str, str]:
    created = task.meta.creation_timestamp
    return created.isoformat() if created else "", task.meta.name
