"""Politeness after refused Pods: who tries again, and when.

A task whose Pod was refused tries again by itself, less and less often. Where a second Pod in a row was
refused in a namespace, all others there would be too: then only one is tried at a time, by turns, until one
is accepted. A slot that is freed there is a reason to try at once. All of this may be forgotten: after a
restart the API server says no again.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from bernstein_operator.api.objects import Key
from bernstein_operator.api.snapshot import Refusal

_INTERVAL_SECONDS: Final = (5.0, 60.0)
_HOLDS_ALL: Final = 2


@dataclass(slots=True)
class _Namespace:
    """How Pods fare in one namespace."""

    in_a_row: int = 0
    probe_at: float = 0.0


class Holds:
    """Refusals by task UID and by namespace; ``clock`` gives monotonic seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._refusals: dict[str, Refusal] = {}
        self._turns: Counter[str] = Counter()
        self._own: dict[str, tuple[Key, float]] = {}
        self._uids: dict[Key, str] = {}
        self._namespaces: dict[str, _Namespace] = {}

    def refused(self, task: Key, uid: str, refusal: Refusal) -> None:
        """Take note that a task's Pod was refused."""
        namespace, _ = task
        self._uids[task] = uid
        self._refusals[uid] = refusal
        self._turns[uid] += 1
        self._own[uid] = task, self._clock() + _interval(self._turns[uid])
        state = self._namespaces.setdefault(namespace, _Namespace())
        state.in_a_row += 1
        state.probe_at = self._clock() + _interval(state.in_a_row)

    def accepted(self, task: Key) -> None:
        """Take note that a Pod was accepted: whatever held the namespace is over."""
        namespace, _ = task
        self._namespaces.pop(namespace, None)
        self.forget(task)

    def forget(self, task: Key) -> None:
        """Drop what is known of a task."""
        uid = self._uids.pop(task, "")
        self._refusals.pop(uid, None)
        self._turns.pop(uid, None)
        self._own.pop(uid, None)

    def freed(self, namespace: str) -> list[Key]:
        """Take note that there may be room again in a namespace; returns the tasks that may try at once."""
        state = self._namespaces.get(namespace)
        if state:
            state.probe_at = self._clock()
        waiting = {uid: task for uid, (task, _) in self._own.items() if task[0] == namespace}
        for uid in waiting:
            del self._own[uid]
        return list(waiting.values())

    def refusal(self, uid: str) -> Refusal | None:
        """Return why a task's Pod was refused last."""
        return self._refusals.get(uid)

    def turns(self, uid: str) -> int:
        """Return how often a task's Pod was refused."""
        return self._turns[uid]

    def task_wait(self, uid: str) -> float:
        """Return for how many seconds a task is not to be tried; 0 means it may be."""
        _, until = self._own.get(uid, (None, 0.0))
        return max(0.0, until - self._clock())

    def allowance(self, namespace: str, free: int) -> tuple[int, float | None]:
        """Return how many of ``free`` slots a namespace may use now, and in how many seconds to ask again.

        Asking uses up the probe that is due.
        """
        state = self._namespaces.get(namespace)
        if not state or state.in_a_row < _HOLDS_ALL:
            return free, None
        wait = state.probe_at - self._clock()
        if wait > 0 or not free:
            return 0, max(wait, 0.0) or None
        state.probe_at = self._clock() + _interval(state.in_a_row)
        return 1, state.probe_at - self._clock()


def _interval(times: int) -> float:
    least, most = _INTERVAL_SECONDS
    return float(min(most, least * 2 ** min(times - 1, 10)))
