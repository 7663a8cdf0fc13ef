"""Which of the tasks that could start gets the next free slot.

Order: priority (1 first), then the role with the fewest live agents, so that one role's flood doesn't starve
the others, then age. A role that holds as many slots as it may is passed over, and so is a task for which the
run's money isn't enough. The structure below keeps waiting tasks sorted by (priority, role and need, age): a
pick costs the number of roles and needs, not the number of waiting tasks.
"""

from collections import Counter
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeAlias

from sortedcontainers import SortedDict, SortedKeyList

from bernstein_operator.api.objects import RunObject
from bernstein_operator.api.spending import NO_NEED, Need
from bernstein_operator.decisions.reserving import UNLIMITED_FUNDS, Till

DEFAULT_MAX_AGENTS: Final = 6
_UNLIMITED_TILL: Final = Till(UNLIMITED_FUNDS)


_Order: TypeAlias = tuple[int, tuple[str, str]]
_Kind: TypeAlias = tuple[str, Need]
"""Role and need: of those that have both in common, the oldest stands for all."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """A task that could start now.

    Attributes:
        uid: the AgentTask's UID.
        priority: 1 is first.
        role: counted for fairness.
        age: creation time and name: what is older goes first, and ties have an order.
        turn: how often the API server has refused its Pod: others are tried before it is tried again.
        need: what it would take of its run's budget.
    """

    uid: str
    priority: int
    role: str
    age: tuple[str, str]
    turn: int = 0
    need: Need = NO_NEED

    @property
    def order(self) -> _Order:
        """Its place among tasks of the same priority and role."""
        return self.turn, self.age


def configured_ceiling(*, spec: int | None, operator: int | None, config: int | None = None) -> int:
    """Return how many agents of a run may be live: what the run says, else its ConfigMap, else the built-in.

    The operator's own number is never exceeded.
    """
    said = (one for one in (spec, config) if one is not None)
    wanted = next(said, DEFAULT_MAX_AGENTS)
    return wanted if operator is None else min(wanted, operator)


def role_limits(run: RunObject | None) -> dict[str, int]:
    """Return how many agents of each role a run allows; a role that it doesn't name isn't in there."""
    limits = run.spec.concurrency.max_per_role if run and run.spec else ()
    return {limit.role: limit.max for limit in limits}


class Waiting:
    """The tasks of one run that wait for nothing but a slot."""

    def __init__(self) -> None:
        self._by_uid: dict[str, Candidate] = {}
        self._sorted: SortedDict[int, dict[_Kind, SortedKeyList[Candidate, _Order]]] = SortedDict()

    def __len__(self) -> int:
        return len(self._by_uid)

    def __contains__(self, uid: str) -> bool:
        return uid in self._by_uid

    def put(self, candidate: Candidate) -> bool:
        """Add a task, or move it to where its priority, role and need put it now; returns if that is news."""
        if self._by_uid.get(candidate.uid) == candidate:
            return False
        self.remove(candidate.uid)
        self._by_uid[candidate.uid] = candidate
        kinds = self._sorted.setdefault(candidate.priority, {})
        kinds.setdefault(_kind(candidate), SortedKeyList(key=_by_order)).add(candidate)
        return True

    def remove(self, uid: str) -> None:
        """Take a task out, if it is in."""
        candidate = self._by_uid.pop(uid, None)
        if not candidate:
            return
        kinds, kind = self._sorted[candidate.priority], _kind(candidate)
        kinds[kind].remove(candidate)
        if not kinds[kind]:
            del kinds[kind]
        if not kinds:
            del self._sorted[candidate.priority]

    def of_role(self, role: str) -> list[str]:
        """Return the UIDs of the tasks of a role."""
        return [one.uid for (other, _), waiting in self._kinds() if other == role for one in waiting]

    def in_need(self, needs: Container[Need]) -> list[str]:
        """Return the UIDs of the tasks that have one of these needs."""
        return [one.uid for (_, need), waiting in self._kinds() if need in needs for one in waiting]

    def needs(self) -> frozenset[Need]:
        """Return what all of them would take of their run's budget, each need once."""
        return frozenset(need for (_, need), _ in self._kinds())

    def need_of(self, uid: str) -> Need | None:
        """Return what a task would take of its run's budget, None where it doesn't wait."""
        candidate = self._by_uid.get(uid)
        return candidate.need if candidate else None

    def startable(
        self, *, live_by_role: Mapping[str, int], limits: Mapping[str, int], till: Till = _UNLIMITED_TILL
    ) -> int:
        """Return how many could start at once if there were slots enough, each by itself."""
        counts: Counter[str] = Counter()
        for (role, need), waiting in self._kinds():
            counts[role] += 0 if till.refusal(need) else len(waiting)
        return sum(
            min(number, max(0, limits[role] - live_by_role.get(role, 0))) if role in limits else number
            for role, number in counts.items()
        )

    def take(
        self,
        *,
        free: int,
        live_by_role: Mapping[str, int],
        limits: Mapping[str, int] = MappingProxyType({}),
        till: Till | None = None,
    ) -> list[Candidate]:
        """Take out up to ``free`` tasks in the order in which they are to start, with shares of ``till``.

        ``limits`` says how many agents of a role may be live; one that isn't in it has no limit of its own.
        """
        live, till = Counter(live_by_role), till or Till(UNLIMITED_FUNDS)
        taken: list[Candidate] = []
        while len(taken) < free:
            candidate = self._next(live, limits, till)
            if not candidate:
                break
            self.remove(candidate.uid)
            till.give(candidate.uid, candidate.need)
            live[candidate.role] += 1
            taken.append(candidate)
        return taken

    def _next(self, live: Counter[str], limits: Mapping[str, int], till: Till) -> Candidate | None:
        full = {role for role, most in limits.items() if live[role] >= most}
        for kinds in self._sorted.values():
            open_ = (kind for kind in kinds if kind[0] not in full and not till.refusal(kind[1]))
            heads: list[Candidate] = [kinds[kind][0] for kind in open_]
            if heads:
                return min(heads, key=lambda one: (live[one.role], one.order))
        return None

    def _kinds(self) -> Iterator[tuple[_Kind, SortedKeyList[Candidate, _Order]]]:
        for kinds in self._sorted.values():
            yield from kinds.items()


def _kind(candidate: Candidate) -> _Kind:
    return candidate.role, candidate.need


def _by_order(candidate: Candidate) -> _Order:
    return candidate.order
