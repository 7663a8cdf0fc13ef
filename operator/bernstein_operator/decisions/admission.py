"""Which of the tasks that could start gets the next free slot.

Order: priority (1 first), then the role with the fewest live agents, so that one role's flood doesn't starve
the others, then age. A role that holds as many slots as it may is passed over. The structure below keeps
waiting tasks sorted by (priority, role, age), so that a pick costs the number of roles, not the number of
waiting tasks.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final, TypeAlias

from sortedcontainers import SortedDict, SortedKeyList

DEFAULT_MAX_AGENTS: Final = 6


_Order: TypeAlias = tuple[int, tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Candidate:
    """A task that could start now.

    Attributes:
        uid: the AgentTask's UID.
        priority: 1 is first.
        role: counted for fairness.
        age: creation time and name: what is older goes first, and ties have an order.
        turn: how often the API server has refused its Pod: others are tried before it is tried again.
    """

    uid: str
    priority: int
    role: str
    age: tuple[str, str]
    turn: int = 0

    @property
    def order(self) -> _Order:
        """Its place among tasks of the same priority and role."""
        return self.turn, self.age


def configured_ceiling(*, spec: int | None, operator: int | None) -> int:
    """Return how many agents of a run may be live: the run's own number, never over the operator's."""
    wanted = DEFAULT_MAX_AGENTS if spec is None else spec
    return wanted if operator is None else min(wanted, operator)


class Waiting:
    """The tasks of one run that wait for nothing but a slot."""

    def __init__(self) -> None:
        self._by_uid: dict[str, Candidate] = {}
        self._by_role: dict[str, set[str]] = {}
        self._sorted: SortedDict[int, dict[str, SortedKeyList[Candidate, _Order]]] = SortedDict()

    def __len__(self) -> int:
        return len(self._by_uid)

    def __contains__(self, uid: str) -> bool:
        return uid in self._by_uid

    def put(self, candidate: Candidate) -> None:
        """Add a task, or move it to where its priority and role put it now."""
        if self._by_uid.get(candidate.uid) == candidate:
            return
        self.remove(candidate.uid)
        self._by_uid[candidate.uid] = candidate
        self._by_role.setdefault(candidate.role, set()).add(candidate.uid)
        roles = self._sorted.setdefault(candidate.priority, {})
        roles.setdefault(candidate.role, SortedKeyList(key=_by_order)).add(candidate)

    def remove(self, uid: str) -> None:
        """Take a task out, if it is in."""
        candidate = self._by_uid.pop(uid, None)
        if not candidate:
            return
        self._by_role[candidate.role].discard(uid)
        roles = self._sorted[candidate.priority]
        roles[candidate.role].remove(candidate)
        if not roles[candidate.role]:
            del roles[candidate.role]
        if not roles:
            del self._sorted[candidate.priority]

    def of_role(self, role: str) -> Iterable[str]:
        """Return the UIDs of the tasks of a role."""
        return tuple(self._by_role.get(role, ()))

    def startable(self, *, live_by_role: Mapping[str, int], limits: Mapping[str, int]) -> int:
        """Return how many could start at once if there were slots enough."""
        return sum(
            min(len(uids), max(0, limits[role] - live_by_role.get(role, 0))) if role in limits else len(uids)
            for role, uids in self._by_role.items()
        )

    def take(
        self, *, free: int, live_by_role: Mapping[str, int], limits: Mapping[str, int] = MappingProxyType({})
    ) -> list[Candidate]:
        """Take out up to ``free`` tasks in the order in which they are to start.

        ``limits`` says how many agents of a role may be live; one that isn't in it has no limit of its own.
        """
        live = Counter(live_by_role)
        taken: list[Candidate] = []
        while len(taken) < free:
            candidate = self._next(live, limits)
            if not candidate:
                break
            self.remove(candidate.uid)
            live[candidate.role] += 1
            taken.append(candidate)
        return taken

    def _next(self, live: Counter[str], limits: Mapping[str, int]) -> Candidate | None:
        full = {role for role, most in limits.items() if live[role] >= most}
        for roles in self._sorted.values():
            heads: list[Candidate] = [waiting[0] for role, waiting in roles.items() if role not in full]
            if heads:
                return min(heads, key=lambda one: (live[one.role], one.order))
        return None


def _by_order(candidate: Candidate) -> _Order:
    return candidate.order
