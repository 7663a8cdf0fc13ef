"""The profiles, and what the attempts of their tasks tell about them.

A circuit rests on attempts of many tasks, and a decision about a profile must not look through all of them.
So what each task has to say about a profile is kept here, and a profile is marked when any of it changes. All
of it comes from statuses: after a restart the lists bring it back.

What was decided about a profile holds from that moment on, not from when it is stored: otherwise queued tasks
would start while the write is under way.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, TypeAlias

from sortedcontainers import SortedSet

from bernstein_operator.api.choices import CommandVerb
from bernstein_operator.api.effective import EffectiveTask
from bernstein_operator.api.objects import Key, ProfileObject, RunObject, TaskObject
from bernstein_operator.api.profile import AgentProfileStatus
from bernstein_operator.api.snapshot import Fault, Limit, ProfileSnapshot
from bernstein_operator.api.task_status import AgentTaskStatus, Request
from bernstein_operator.decisions.circuit import WINDOW
from bernstein_operator.decisions.faults import faults, limits, waits_for_circuit
from bernstein_operator.world.marks import Marks

_Age: TypeAlias = tuple[str, str, str]
"""Creation, name and UID of a task: the order in which tasks probe."""


@dataclass(frozen=True, slots=True)
class _Word:
    """What one task has to say about one profile."""

    faults: tuple[Fault, ...] = ()
    limits: tuple[Limit, ...] = ()


_NOTHING: Final = _Word()


@dataclass(slots=True)
class _Book:
    """What is known of one profile beside its object."""

    words: dict[str, _Word] = field(default_factory=dict)
    waiting: SortedSet[_Age] = field(default_factory=SortedSet)
    retried: datetime | None = None


class Profiles:
    """Profiles by key, with the books about them; ``task_of`` finds a task by its UID."""

    def __init__(self, marks: Marks, *, task_of: Callable[[str], TaskObject | None]) -> None:
        self._marks = marks
        self._task_of = task_of
        self._objects: dict[Key, ProfileObject] = {}
        self._decided: dict[Key, AgentProfileStatus] = {}
        self._books: dict[Key, _Book] = {}
        self._said: dict[str, dict[Key, _Word]] = {}
        self._waits: dict[str, tuple[Key, _Age]] = {}
        self._probing: dict[str, Key] = {}

    @property
    def objects(self) -> Mapping[Key, ProfileObject]:
        """All profiles as they are stored."""
        return self._objects

    def current(self, key: Key) -> ProfileObject | None:
        """Return a profile with the status that was decided last, stored already or not."""
        profile, decided = self._objects.get(key), self._decided.get(key)
        return replace(profile, status=decided) if profile and decided else profile

    def put(self, profile: ProfileObject) -> None:
        """Take note of a profile as it is."""
        key = profile.meta.key
        self._objects[key] = profile
        self._decided.pop(key, None)
        self._probing = {uid: one for uid, one in self._probing.items() if one != key}
        self._probing.update({one.probe: key for one in profile.status.circuits if one.probe})
        self._marks.profile(key)

    def drop(self, key: Key) -> None:
        """Take note that a profile is gone."""
        self._objects.pop(key, None)
        self._decided.pop(key, None)
        self._tidy(key)
        self._marks.profile(key)

    def decide(self, key: Key, status: AgentProfileStatus) -> None:
        """Let a status hold that is about to be stored."""
        self._decided[key] = status

    def snapshot(
        self, key: Key, *, may_start: Callable[[TaskObject], bool], now: datetime
    ) -> ProfileSnapshot | None:
        """Return everything that concerns a profile, None where there is no such profile."""
        profile = self._objects.get(key)
        if not profile:
            return None
        book = self._books.setdefault(key, _Book())
        _forget_old(book, now=now)
        probe = next((one.probe for one in profile.status.circuits if one.probe), None)
        probing = self._task_of(probe) if probe else None
        waiting = (self._task_of(uid) for _, _, uid in book.waiting) if profile.status.circuits else ()
        return ProfileSnapshot(
            profile=profile,
            faults=tuple(fault for word in book.words.values() for fault in word.faults),
            limits=tuple(limit for word in book.words.values() for limit in word.limits),
            retried=book.retried,
            probe=probing,
            probe_may_start=bool(probing and may_start(probing)),
            candidate=next((task.meta.uid for task in waiting if task and may_start(task)), None),
        )

    def learn(
        self,
        task: TaskObject,
        status: AgentTaskStatus,
        effective: EffectiveTask | None,
        *,
        run: RunObject | None,
        now: datetime,
    ) -> None:
        """Take note of what a task says in ``status``, stored already or not."""
        if not effective:
            self.forget(task)
            return
        uid, namespace = task.meta.uid, task.meta.namespace
        said = _words(uid, namespace, status, effective, now=now)
        before = self._said.pop(uid, {})
        if said:
            self._said[uid] = said
        for key in {*before, *said}:
            if before.get(key) != said.get(key):
                self._write(key, uid, said.get(key))
        own = (namespace, effective.profile)
        self._wait(task, own if waits_for_circuit(status) else None)
        self._retry(
            own, status.retried_time, retried(status.requests), retried(run.status.requests if run else ())
        )
        self._mark_probed(uid)

    def forget(self, task: TaskObject) -> None:
        """Drop what a task said that is gone."""
        for key in self._said.pop(task.meta.uid, {}):
            self._write(key, task.meta.uid, None)
        self._wait(task, None)
        self._mark_probed(task.meta.uid)

    def _write(self, key: Key, uid: str, word: _Word | None) -> None:
        book = self._books.setdefault(key, _Book())
        if word:
            book.words[uid] = word
        else:
            book.words.pop(uid, None)
        self._tidy(key)
        self._marks.profile(key)

    def _wait(self, task: TaskObject, profile: Key | None) -> None:
        """Let a task wait for a profile's circuit; no mark, since a probe is looked for again and again."""
        uid = task.meta.uid
        before = self._waits.pop(uid, None)
        if before:
            key, age = before
            self._books[key].waiting.discard(age)
            self._tidy(key)
        if profile:
            born = task.meta.creation_timestamp
            age = (born.isoformat() if born else "", task.meta.name, uid)
            self._waits[uid] = profile, age
            self._books.setdefault(profile, _Book()).waiting.add(age)

    def _retry(self, profile: Key, *moments: datetime | None) -> None:
        latest = max((one for one in moments if one), default=None)
        if not latest:
            return
        book = self._books.setdefault(profile, _Book())
        if not book.retried or latest > book.retried:
            book.retried = latest
            self._marks.profile(profile)

    def _tidy(self, key: Key) -> None:
        """Forget a profile that isn't there and of which no task says anything."""
        book = self._books.get(key)
        if book and key not in self._objects and not (book.words or book.waiting):
            del self._books[key]

    def _mark_probed(self, uid: str) -> None:
        """Mark the profile that a task probes: how the task fares is what the circuit waits for."""
        profile = self._probing.get(uid)
        if profile:
            self._marks.profile(profile)


def retried(requests: Iterable[Request]) -> datetime | None:
    """Return when a person last asked for a retry; of a task that only waits, this is all that it does."""
    return max((one.time for one in requests if one.verb is CommandVerb.RETRY), default=None)


def _words(
    uid: str, namespace: str, status: AgentTaskStatus, effective: EffectiveTask, *, now: datetime
) -> dict[Key, _Word]:
    """Return what still matters of what a task's attempts say, by profile."""
    said: dict[Key, _Word] = {}
    for name, fault in faults(uid, status, effective):
        if now - fault.ended <= WINDOW:
            word = said.get((namespace, name), _NOTHING)
            said[namespace, name] = replace(word, faults=(*word.faults, fault))
    for name, limit in limits(status):
        if now < limit.until:
            word = said.get((namespace, name), _NOTHING)
            said[namespace, name] = replace(word, limits=(*word.limits, limit))
    return said


def _forget_old(book: _Book, *, now: datetime) -> None:
    for uid, word in list(book.words.items()):
        recent = any(now - fault.ended <= WINDOW for fault in word.faults)
        if not recent and all(limit.until <= now for limit in word.limits):
            del book.words[uid]
