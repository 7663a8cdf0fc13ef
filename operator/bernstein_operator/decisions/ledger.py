"""The abandonment ledger: what a row says, and which ConfigMap ("segment") of the run it goes into.

Why work was given up is worth more than the task that it is about, and is read long after that was deleted.
So it is kept apart from it, one row a task, under the task's UID. A ConfigMap holds 1 MiB at most, and a
full one would refuse each further row: long before that it is sealed and the next one opened.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from itertools import pairwise
from typing import Final, TypeAlias

from bernstein_agent.contract import AbandonReason
from bernstein_operator.api.conditions import find
from bernstein_operator.api.objects import RunObject, TaskObject
from bernstein_operator.api.snapshot import TaskSnapshot
from bernstein_operator.api.task_status import UNKNOWN_ACTOR, AgentTaskStatus
from bernstein_operator.api.vocabulary import ConditionType, TaskPhase
from bernstein_operator.decisions.abandoning import cut
from bernstein_operator.decisions.plan import Action, RecordAbandonment

SEGMENT_LIMIT: Final = 900 * 1024
"""Of a segment's data, keys and values together, in bytes; the API server's own limit is 1 MiB."""
NO_ADAPTER: Final = "none"


@dataclass(frozen=True, slots=True)
class Row:
    """One abandonment. All but ``task_uid``, which is the row's key, is in its line.

    Attributes:
        task_uid: of the AgentTask.
        timestamp: when it was abandoned, in whole seconds since 1970.
        task_id: the AgentTask's name, by which people know it.
        role: its role.
        reason: one of the twelve.
        adapter: that of its last attempt, or "none".
        attempts: how many were begun.
        detail: why, in somebody's words; at most 32 KiB in the line.
        run: the run's name.
        run_uid: the run's UID, empty where there was no run of that name.
        namespace: of both.
        actor: who gave it up: "agent", "operator" (no attempt was left), a person's name, or "unknown".
        cost_to_date_usd: what all its attempts spent, a decimal number as in status.
    """

    task_uid: str
    timestamp: int
    task_id: str
    role: str
    reason: str
    adapter: str
    attempts: int
    detail: str
    run: str
    run_uid: str
    namespace: str
    actor: str
    cost_to_date_usd: str


@dataclass(frozen=True, slots=True)
class Segment:
    """What is known of a ConfigMap of the ledger; ``size`` counts the bytes of keys and values."""

    name: str
    size: int = 0
    sealed: bool = False
    successor: str = ""


@dataclass(frozen=True, slots=True)
class Append:
    """Add rows to a segment that is there."""

    segment: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Open:
    """Make a segment with its first rows."""

    segment: str
    rows: tuple[Row, ...]


@dataclass(frozen=True, slots=True)
class Seal:
    """Name a segment's successor on it and make it immutable."""

    segment: str
    successor: str


Step: TypeAlias = Append | Open | Seal


def in_order(
    actions: tuple[Action, ...], status: AgentTaskStatus, snapshot: TaskSnapshot
) -> tuple[Action, ...]:
    """Return what to do for a task that goes on to ``status``: ``actions``, unless its row has to come first.

    An abandonment is stored in the task's status first, then in the ledger; only after that do its dependents
    follow, and its Pod is ended. A row that can't be written is tried again, and holds none of it up.
    """
    if status.phase is not TaskPhase.ABANDONED or not snapshot.row_missing:
        return actions
    if snapshot.task.status.phase is not TaskPhase.ABANDONED:
        return ()
    return actions if actions and snapshot.row_tried else (RecordAbandonment(),)


def row_of(task: TaskObject, run: RunObject | None, *, role: str, adapter: str) -> Row:
    """Return an abandoned task's row, from what is stored: a late one says the same.

    Only ``role`` and ``adapter`` are those of the run and profile as they are by then.
    """
    namespace, run_name = task.run_key or (task.meta.namespace, "")
    status = task.status
    reason, detail, actor, moment = _given_up(status)
    return Row(
        task_uid=task.meta.uid,
        timestamp=int(moment.timestamp()) if moment else 0,
        task_id=task.meta.name,
        role=role,
        reason=reason,
        adapter=adapter,
        attempts=status.attempt,
        detail=detail,
        run=run_name,
        run_uid=run.meta.uid if run else task.made_by,
        namespace=namespace,
        actor=actor,
        cost_to_date_usd=str(status.usage.cost_usd) if status.usage else "0",
    )


def _given_up(status: AgentTaskStatus) -> tuple[str, str, str, datetime | None]:
    """Return reason, detail, actor and moment; of a status of an older version what can be said of it."""
    stored = status.abandonment
    if stored:
        return stored.reason, stored.detail, stored.actor, stored.time
    failed = find(status.conditions, ConditionType.FAILED)
    return AbandonReason.OTHER, failed.message if failed else "", UNKNOWN_ACTOR, status.completion_time


def line(row: Row) -> str:
    """Return a row as one line of JSON with sorted keys; the same row always gives the same bytes."""
    content = asdict(row) | {"detail": cut(row.detail)}
    del content["task_uid"]
    return json.dumps(content, ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def weight(key: str, value: str) -> int:
    """Return how many bytes of a segment a row takes."""
    return len(key.encode()) + len(value.encode())


@dataclass(slots=True)
class _Bin:
    """A segment that is being filled, and what is new in it."""

    name: str
    size: int
    rows: list[Row] = field(default_factory=list)


def plan(segments: Sequence[Segment], rows: Iterable[Row], *, names: Iterable[str]) -> tuple[Step, ...]:
    """Say how ``rows`` are to be written, in this order.

    ``segments`` are those of the run, oldest first; ``names`` yields names for further ones that nobody has.
    A segment takes rows up to exactly ``SEGMENT_LIMIT``. The next is made before the full one is sealed, so
    that a successor's name never leads nowhere; a seal that a crash has prevented is asked for again.
    """
    unused = iter(names)
    last = segments[-1] if segments and not segments[-1].sealed else None
    bins = [_Bin(last.name, last.size)] if last else []
    for row in rows:
        size = weight(row.task_uid, line(row))
        if not bins or bins[-1].size + size > SEGMENT_LIMIT:
            bins.append(_Bin(next(unused), 0))
        bins[-1].size += size
        bins[-1].rows.append(row)
    fresh = bins[1:] if last else bins
    appended = [Append(one.name, tuple(one.rows)) for one in bins[:1] if last and one.rows]
    opened = [Open(one.name, tuple(one.rows)) for one in fresh]
    chain = [*segments, *(Segment(one.name) for one in fresh)]
    return (*appended, *opened, *_seals(chain))


def _seals(chain: Sequence[Segment]) -> tuple[Seal, ...]:
    pairs = pairwise(chain)
    owed = ((one, after.name) for one, after in pairs if not one.sealed or one.successor != after.name)
    return tuple(Seal(one.name, successor) for one, successor in owed)
