"""What the abandonment ledger holds, as far as it was read or written: rows by task, segments by run.

Of a row only its reason and a digest of its line are kept: enough to know that it is there, to count it, and
to notice that somebody has changed it. A changed row is reported and never put right: a record that its own
keeper rewrites proves nothing.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Final, NamedTuple

import msgspec

from bernstein_agent.contract import AbandonReason
from bernstein_operator.api.conditions import find
from bernstein_operator.api.names import (
    ANNOTATION_NEXT_SEGMENT,
    ANNOTATION_RUN_NAME,
    ANNOTATION_RUN_UID,
    LABEL_LEDGER,
    MANAGED_BY,
    ledger_name,
)
from bernstein_operator.api.objects import Key, RunObject, TaskObject
from bernstein_operator.api.pod import Metadata
from bernstein_operator.api.profile import AgentProfileSpec
from bernstein_operator.api.snapshot import LedgerState, TaskSnapshot
from bernstein_operator.api.vocabulary import ENDED_RUN_PHASES, ConditionStatus, ConditionType, TaskPhase
from bernstein_operator.decisions.ledger import NO_ADAPTER, Segment, weight
from bernstein_operator.world.world import World


class BookKey(NamedTuple):
    """Whose rows: a run as it was named and made; without a UID where there was no run."""

    namespace: str
    run: str
    run_uid: str


@dataclass(frozen=True, slots=True)
class Kept:
    """What is kept of a row."""

    reason: str
    digest: bytes


@dataclass(frozen=True, slots=True)
class Leaf:
    """A segment as it was last read: what decisions see of it, and what a write to it needs."""

    meta: Metadata
    book: BookKey
    number: int
    segment: Segment
    rows: dict[str, Kept]


class _ConfigMap(msgspec.Struct):
    meta: Metadata = msgspec.field(name="metadata")
    data: dict[str, str] | None = None
    immutable: bool | None = None


class _Reason(msgspec.Struct):
    reason: AbandonReason


_CONFIG_MAP: Final = msgspec.json.Decoder(_ConfigMap)
_ROW: Final = msgspec.json.Decoder(_Reason)


def read(raw: bytes) -> tuple[Metadata, Leaf | None]:
    """Read a ConfigMap; None where it isn't a segment: our labels on it, and named after its run."""
    found = _CONFIG_MAP.decode(raw)
    meta = found.meta
    run, uid = meta.annotation(ANNOTATION_RUN_NAME), meta.annotation(ANNOTATION_RUN_UID)
    ours = meta.label("app.kubernetes.io/managed-by") == MANAGED_BY and meta.label(LABEL_LEDGER)
    if not ours or run is None or uid is None:
        return meta, None
    number = _number(meta.name, run=run, run_uid=uid)
    if not number:
        return meta, None
    data = found.data or {}
    segment = Segment(
        name=meta.name,
        size=sum(weight(key, value) for key, value in data.items()),
        sealed=bool(found.immutable),
        successor=meta.annotation(ANNOTATION_NEXT_SEGMENT) or "",
    )
    rows = {key: _kept(value) for key, value in data.items()}
    return meta, Leaf(meta, BookKey(meta.namespace, run, uid), number, segment, rows)


def _number(name: str, *, run: str, run_uid: str) -> int:
    """Return which segment of its run a ConfigMap of that name is, 0 where it is none."""
    last = name.rpartition("-")[2]
    number = int(last) if last.isdecimal() else 1
    return number if name == ledger_name(run=run, run_uid=run_uid, number=number) else 0


def _kept(value: str) -> Kept:
    try:
        reason = _ROW.decode(value).reason
    except msgspec.DecodeError:
        # Somebody else wrote it. It is there, and counts.
        reason = AbandonReason.OTHER
    return Kept(reason, hashlib.sha256(value.encode()).digest()[:8])


@dataclass(slots=True)
class Book:
    """One run's segments, and what went wrong with its rows.

    Attributes:
        key: whose it is.
        leaves: by their names.
        taken: names of ConfigMaps of other people, where a segment would have been.
        edited: tasks whose row somebody has changed.
        unwritten: tasks whose row could not be written, each with the reason.
    """

    key: BookKey
    leaves: dict[str, Leaf] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)
    edited: set[str] = field(default_factory=set)
    unwritten: dict[str, str] = field(default_factory=dict)
    reasons: Counter[str] = field(default_factory=Counter)

    @property
    def segments(self) -> tuple[Segment, ...]:
        """All segments, oldest first."""
        return tuple(leaf.segment for leaf in sorted(self.leaves.values(), key=lambda leaf: leaf.number))

    def names(self) -> Iterator[str]:
        """Yield names for further segments; one that somebody else has is left out."""
        first = max((leaf.number for leaf in self.leaves.values()), default=0) + 1
        for number in count(first):
            name = ledger_name(run=self.key.run, run_uid=self.key.run_uid, number=number)
            if name not in self.taken:
                yield name


def adapter_of(task: TaskObject, world: World) -> str:
    """Return the adapter of a task's last attempt, "none" where there was none or its profile is gone."""
    profile = _last_profile(task, world)
    return str(profile.adapter) if profile else NO_ADAPTER


def models_of(task: TaskObject, world: World) -> frozenset[str]:
    """Return the models that the profile of a task's last attempt lists."""
    profile = _last_profile(task, world)
    return frozenset(one.name for one in profile.models) if profile else frozenset()


def _last_profile(task: TaskObject, world: World) -> AgentProfileSpec | None:
    last = task.status.attempts[-1] if task.status.attempts else None
    profile = world.profile((task.meta.namespace, last.profile)) if last and last.profile else None
    return profile.spec if profile else None


class Books:
    """All runs' books, and in which of them each task's row is; ``known`` once all were read.

    ``lost`` is called whenever rows are gone that were there.
    """

    def __init__(self, lost: Callable[[], None]) -> None:
        self.known = False
        self._lost = lost
        self._books: dict[BookKey, Book] = {}
        self._where: dict[str, Leaf] = {}
        self._owed: dict[str, Book] = {}

    def has(self, task_uid: str) -> bool:
        """Whether a task's row is there."""
        return task_uid in self._where

    def tried(self, task_uid: str) -> bool:
        """Whether a task's row is there, or could not be written when this process tried."""
        return task_uid in self._where or task_uid in self._owed

    def complete(self, snapshot: TaskSnapshot) -> TaskSnapshot:
        """Add to a snapshot what is known of the rows of the task and of those that it depends on."""
        uid = snapshot.task.meta.uid
        dependencies = tuple(
            replace(one, unrecorded=True)
            if one.phase is TaskPhase.ABANDONED and not self.tried(one.uid)
            else one
            for one in snapshot.dependencies
        )
        missing, tried = not self.has(uid), self.tried(uid)
        return replace(snapshot, row_missing=missing, row_tried=tried, dependencies=dependencies)

    def refused(self, key: BookKey, task_uid: str, why: str) -> None:
        """Take note that a task's row could not be written."""
        book = self.book(key)
        book.unwritten[task_uid] = why
        self._owed[task_uid] = book

    def book(self, key: BookKey) -> Book:
        """Return a run's book, a new one where it had none."""
        return self._books.setdefault(key, Book(key))

    def versions(self) -> dict[Key, int]:
        """Return the version that is known of each segment."""
        leaves = (leaf for book in self._books.values() for leaf in book.leaves.values())
        return {leaf.meta.key: leaf.meta.version for leaf in leaves}

    def put(self, leaf: Leaf) -> frozenset[str]:
        """Take note of a segment as it is; returns the tasks whose rows are newly found to be changed."""
        book = self.book(leaf.book)
        before = book.leaves.get(leaf.meta.name)
        if before and before.meta.uid == leaf.meta.uid and leaf.meta.version <= before.meta.version:
            return frozenset()
        known = before.rows if before else {}
        changed = {
            uid for uid, kept in leaf.rows.items() if uid in known and known[uid].digest != kept.digest
        }
        fresh = frozenset(changed - book.edited)
        if before:
            self._remove(book, before)
        book.edited |= changed
        leaf.rows.update({uid: known[uid] for uid in changed})
        self._add(book, leaf)
        if known.keys() - leaf.rows.keys():
            self._lost()
        return fresh

    def drop(self, key: Key) -> None:
        """Take note that a segment is gone, and its rows with it."""
        namespace, name = key
        for book in self._books.values():
            if book.key.namespace == namespace and name in book.leaves:
                self._remove(book, book.leaves[name])
                self._lost()

    def keep_only(self, leaves: Iterable[Leaf]) -> None:
        """Forget every segment that isn't among ``leaves``, a complete list."""
        there = {leaf.meta.key for leaf in leaves}
        for key in self.versions().keys() - there:
            self.drop(key)

    def state(self, run: RunObject, tasks: Mapping[str, TaskObject]) -> LedgerState:
        """Return what a run has to tell of its ledger; ``tasks`` are those that it has now, by UID.

        The rows of deleted tasks count, but none is owed any more: there is nothing left to write it from.
        """
        key = BookKey(run.meta.namespace, run.meta.name, run.meta.uid)
        book = self._books.get(key) or Book(key)
        # Not a difference of the two: that would go through all tasks of the run at each of its passes.
        for uid in [one for one in book.unwritten if one not in tasks]:
            del book.unwritten[uid]
            self._owed.pop(uid, None)
        return LedgerState(
            known=self.known,
            first=book.segments[0].name if book.leaves else "",
            reasons=tuple(sorted((reason, number) for reason, number in book.reasons.items() if number)),
            failure=next(reversed(book.unwritten.values()), "") or self._told_before(run, tasks),
            owed=run.status.phase in ENDED_RUN_PHASES and self._lacks_rows(tasks),
            edited=tuple(sorted(book.edited)),
        )

    def _told_before(self, run: RunObject, tasks: Mapping[str, TaskObject]) -> str:
        """Return what another process has told of a row that this one hasn't tried yet."""
        told = find(run.status.conditions, ConditionType.LEDGER_WRITABLE)
        if not told or told.status != ConditionStatus.FALSE:
            return ""
        return told.message if self._lacks_rows(tasks) else ""

    def _lacks_rows(self, tasks: Mapping[str, TaskObject]) -> bool:
        abandoned = (uid for uid, task in tasks.items() if task.status.phase is TaskPhase.ABANDONED)
        return any(uid not in self._where for uid in abandoned)

    def _add(self, book: Book, leaf: Leaf) -> None:
        book.leaves[leaf.meta.name] = leaf
        for uid, kept in leaf.rows.items():
            self._where[uid] = leaf
            book.reasons[kept.reason] += 1
            book.unwritten.pop(uid, None)
            self._owed.pop(uid, None)

    def _remove(self, book: Book, leaf: Leaf) -> None:
        del book.leaves[leaf.meta.name]
        book.edited -= leaf.rows.keys()
        for uid, kept in leaf.rows.items():
            self._where.pop(uid, None)
            book.reasons[kept.reason] -= 1
