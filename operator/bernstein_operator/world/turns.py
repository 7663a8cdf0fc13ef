"""The operator's limits on all runs together, and whose turn it is where they are reached.

A freed slot wakes the run whose agent ended, and without turns that run would take it again and again while
others wait. So runs that want slots stand in a line, whose turn was the longest ago first, and free slots are
dealt one by one along it. A run that turns out to want nothing leaves the line when it is asked.
"""

from collections import Counter
from dataclasses import dataclass
from itertools import count
from math import inf
from typing import Final

from bernstein_operator.api.objects import Key
from bernstein_operator.world.marks import Marks


@dataclass(frozen=True, slots=True)
class Limits:
    """What the operator allows beyond each run's own ceiling; None where there is no such limit.

    Attributes:
        per_run: agents of any one run.
        per_namespace: agents in any one namespace.
        total: agents in all.
    """

    per_run: int | None = None
    per_namespace: int | None = None
    total: int | None = None

    @property
    def shared(self) -> bool:
        """Whether one run's agents can keep another one's from starting."""
        return self.per_namespace is not None or self.total is not None


UNLIMITED: Final = Limits()


class Turns:
    """Slots held by namespace, and the line of runs that want more; keys of runs are marked in ``marks``."""

    def __init__(self, marks: Marks, limits: Limits) -> None:
        self._marks = marks
        self._limits = limits
        self._live: Counter[str] = Counter()
        self._wanted: dict[Key, int] = {}
        self._turns: dict[Key, int] = {}
        self._number = count(1)

    def room(self, namespace: str) -> int | None:
        """Return how many further agents may start in a namespace, None where nothing limits them."""
        room = min(self._room_in_all(), self._room_in(namespace))
        return None if room == inf else int(room)

    def held(self, namespace: str, change: int) -> None:
        """Take note that so many more slots are held in a namespace, or fewer."""
        self._live[namespace] += change
        if change < 0:
            self._call()

    def share(self, run: Key, wanted: int) -> int:
        """Return how many of the slots that a run wants are its own at this moment."""
        if not self._limits.shared:
            return wanted
        if not wanted:
            self.leave(run)
            return 0
        self._wanted[run] = wanted
        return self._dealt()[run]

    def given(self, run: Key, slots: int, *, still_wanted: int) -> None:
        """Take note that a run was given so many slots, and how many more it could use at once."""
        if not self._limits.shared:
            return
        self._wanted[run] = still_wanted
        if slots:
            self._turns[run] = next(self._number)
        if not still_wanted:
            del self._wanted[run]
        self._call(besides=run)

    def leave(self, run: Key) -> None:
        """Take a run out of the line; it keeps its place among those that were given slots."""
        if self._wanted.pop(run, None):
            self._call()

    def forget(self, run: Key) -> None:
        """Forget a run that is gone."""
        self._turns.pop(run, None)
        self.leave(run)

    def _call(self, *, besides: Key | None = None) -> None:
        """Mark the runs that have free slots to take."""
        for run in self._dealt() if self._wanted else ():
            if run != besides:
                self._marks.run(run)

    def _dealt(self) -> Counter[Key]:
        """Return what each run in the line gets of the free slots, dealt one by one."""
        dealt: Counter[Key] = Counter()
        in_all = self._room_in_all()
        rooms = {namespace: self._room_in(namespace) for namespace, _ in self._wanted}
        line = sorted(self._wanted.items(), key=lambda entry: self._turns.get(entry[0], 0))
        while line and in_all:
            further = []
            for run, wanted in line:
                if not (in_all and rooms[run[0]]):
                    continue
                dealt[run] += 1
                in_all -= 1
                rooms[run[0]] -= 1
                if dealt[run] < wanted:
                    further.append((run, wanted))
            line = further
        return dealt

    def _room_in_all(self) -> float:
        limit = self._limits.total
        return inf if limit is None else max(0, limit - self._live.total())

    def _room_in(self, namespace: str) -> float:
        limit = self._limits.per_namespace
        return inf if limit is None else max(0, limit - self._live[namespace])
