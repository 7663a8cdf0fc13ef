"""What the abandonment ledger holds, as far as it was read or written: rows by task, segments by run.

Of a row only its reason and a digest of its line are kept: enough to know that it is there, to count it, and
to notice that somebody has changed it. A changed row is reported and never put right: a record that its own
keeper rewrites proves nothing.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Final, NamedTuple

import msgspec

from bernstein_operator.api.names import (
    ANNOTATION_NEXT_SEGMENT,
    ANNOTATION_RUN_NAME,
    ANNOTATION_RUN_UID,
    LABEL_LEDGER,
    MANAGED_BY,
    ledger_name,
)
from bernstein_operator.api.objects import Key
from bernstein_operator.api.pod import Metadata
from bernstein_operator.api.snapshot import LedgerState
from bernstein_operator.decisions.ledger import Segment, weight

_UNREADABLE: Final = "other"


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
    reason: str


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
        reason = _UNREADABLE
    return Kept(reason, hashlib.sha256(value.encode()).digest()[:8])


@dataclass(slots=True)
class Book:
    """One run's segments, and what went wrong with its rows.

    Attributes:
        key: whose it is.
        leaves: by their names.
        taken: names of ConfigMaps of other people, where a segment would have been.
        edited: tasks whose row somebody has changed.
        unwritten: tasks whose row could not be written, each with its key and why.
    """

    key: BookKey
    leaves: dict[str, Leaf] = field(default_factory=dict)
    taken: set[str] = field(default_factory=set)
    edited: set[str] = field(default_factory=set)
    unwritten: dict[str, tuple[Key, str]] = field(default_factory=dict)
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


class Books:
    """All runs' books, and in which segment each task's row is."""

    def __init__(self) -> None:
        self._books: dict[BookKey, Book] = {}
        self._where: dict[str, Leaf] = {}

    def has(self, task_uid: str) -> bool:
        """Whether a task's row is there."""
        return task_uid in self._where

    def tried(self, task_uid: str, book: BookKey) -> bool:
        """Whether a task's row is there, or was refused at least once by this process' account."""
        found = self._books.get(book)
        return self.has(task_uid) or (found is not None and task_uid in found.unwritten)

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
        changed = {uid for uid, kept in leaf.rows.items() if uid in known and known[uid].digest != kept.digest}
        fresh = frozenset(changed - book.edited)
        book.edited = (book.edited - leaf.rows.keys()) | changed
        if before:
            self._remove(book, before)
        leaf.rows.update({uid: known[uid] for uid in changed})
        self._add(book, leaf)
        return fresh

    def drop(self, key: Key) -> None:
        """Take note that a segment is gone, and its rows with it."""
        namespace, name = key
        for book in self._books.values():
            if book.key.namespace == namespace and name in book.leaves:
                self._remove(book, book.leaves[name])

    def keep_only(self, leaves: Iterable[Leaf]) -> None:
        """Forget every segment that isn't among ``leaves``, a complete list."""
        there = {leaf.meta.key for leaf in leaves}
        for key in self.versions().keys() - there:
            self.drop(key)

    def state(self, key: BookKey, *, exists: Callable[[Key, str], bool]) -> LedgerState:
        """Return what a run has to tell of its ledger; a row is owed only while ``exists`` knows the task."""
        book = self._books.get(key)
        if not book:
            return LedgerState()
        owed = {uid: one for uid, one in book.unwritten.items() if exists(one[0], uid)}
        book.unwritten = owed
        first = book.segments[0].name if book.leaves else ""
        return LedgerState(
            first=first,
            reasons=tuple(sorted((reason, number) for reason, number in book.reasons.items() if number)),
            failure=next((text for _, text in reversed(owed.values())), ""),
            edited=tuple(sorted(book.edited)),
        )

    def _add(self, book: Book, leaf: Leaf) -> None:
        book.leaves[leaf.meta.name] = leaf
        for uid, kept in leaf.rows.items():
            self._where[uid] = leaf
            book.reasons[kept.reason] += 1
            book.unwritten.pop(uid, None)

    def _remove(self, book: Book, leaf: Leaf) -> None:
        del book.leaves[leaf.meta.name]
        book.edited -= leaf.rows.keys()
        for uid, kept in leaf.rows.items():
            self._where.pop(uid, None)
            book.reasons[kept.reason] -= 1
