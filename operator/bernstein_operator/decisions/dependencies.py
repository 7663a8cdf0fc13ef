"""Whether the tasks that a task depends on let it start, keep it waiting, or keep it from ever starting.

Names are resolved to UIDs as soon as they are seen and kept in status, so that a dependency that succeeded
counts even after it was deleted, and one that was deleted before isn't mistaken for one that has yet to come.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final

from bernstein_operator.api.snapshot import Dependency
from bernstein_operator.api.task_status import AgentTaskStatus, BlockedBy, DependencyStatus
from bernstein_operator.api.vocabulary import BLOCKED_PHASES, BlockCause, TaskPhase

_CAUSES: Final = {
    TaskPhase.FAILED: BlockCause.FAILED,
    TaskPhase.CANCELLED: BlockCause.CANCELLED,
    TaskPhase.ABANDONED: BlockCause.ABANDONED,
    TaskPhase.QUARANTINED: BlockCause.QUARANTINED,
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the dependencies say.

    Attributes:
        records: what is known of each now, for status.
        waits_for: names that have not succeeded yet; empty when nothing is waited for.
        unknown: those of them that no task has.
        blocked: set where the task can't ever start as things are, with the phase that says so.
        waiting_since: since when a name has been unknown.
        until: when an unknown name is given up.
    """

    records: tuple[DependencyStatus, ...] = ()
    waits_for: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    blocked: tuple[TaskPhase, BlockedBy] | None = None
    waiting_since: datetime | None = None
    until: datetime | None = None


def judge(
    dependencies: Sequence[Dependency], status: AgentTaskStatus, *, timeout: timedelta, now: datetime
) -> Verdict:
    """Weigh ``dependencies`` as they are against what ``status`` remembers of them."""
    remembered = {one.name: one for one in status.dependencies}
    pairs = [(one, _record(one, remembered.get(one.name))) for one in dependencies]
    open_pairs = [(one, record) for one, record in pairs if not record.succeeded]
    unknown = tuple(one.name for one, record in open_pairs if not record.uid)
    since = (status.waiting_since or now) if unknown else None
    verdict = Verdict(
        records=tuple(record for _, record in pairs),
        waits_for=tuple(one.name for one, _ in open_pairs),
        unknown=unknown,
        waiting_since=since,
        until=since + timeout if since else None,
    )
    overdue = verdict.until is not None and now >= verdict.until
    blocks = (
        _block(one, record, overdue=overdue)
        for one, record in open_pairs
        # Who is blocked already stays so: after a restart no row has been tried.
        if status.blocked_by or not one.unrecorded
    )
    return replace(verdict, blocked=next((block for block in blocks if block), None))


def _record(dependency: Dependency, remembered: DependencyStatus | None) -> DependencyStatus:
    if not dependency.uid:
        return remembered or DependencyStatus(name=dependency.name)
    succeeded = dependency.phase is TaskPhase.SUCCEEDED
    return DependencyStatus(
        name=dependency.name,
        uid=dependency.uid,
        succeeded=succeeded,
        commit=dependency.commit if succeeded else None,
        branch=dependency.branch if succeeded else None,
    )


def _block(
    dependency: Dependency, record: DependencyStatus, *, overdue: bool
) -> tuple[TaskPhase, BlockedBy] | None:
    """Return phase and cause if this one dependency, which has not succeeded, can't succeed any more."""
    if not dependency.uid:
        if record.uid:
            return _ends(dependency.name, BlockCause.DELETED)
        return _ends(dependency.name, BlockCause.MISSING) if overdue else None
    if dependency.stuck:
        return _ends(dependency.name, BlockCause.INVALID)
    if dependency.phase in BLOCKED_PHASES and dependency.blocked_by:
        return dependency.phase, dependency.blocked_by.model_copy(update={"task": dependency.name})
    cause = _CAUSES.get(dependency.phase) if dependency.phase else None
    return _ends(dependency.name, cause) if cause else None


def _ends(name: str, cause: BlockCause) -> tuple[TaskPhase, BlockedBy]:
    abandoned = cause is BlockCause.ABANDONED
    phase = TaskPhase.BLOCKED_BY_ABANDON if abandoned else TaskPhase.BLOCKED_BY_FAILURE
    return phase, BlockedBy(task=name, root_cause=name, cause=cause)
