"""A work queue like client-go's: a marked key waits once, and only one worker has it at a time.

A key that is marked while it is being worked on comes again afterwards. One heap holds all moments at which
somebody wanted to look again; a key has at most one of them, the latest that was asked for.
"""

import asyncio
import heapq
import random
from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum
from typing import Final, NamedTuple

from bernstein_operator.telemetry import metrics

_BACKOFF_SECONDS: Final = (0.05, 30.0)
_DOUBLINGS: Final = 10
_SPARE: Final = 1024
"""So many outdated moments may lie in the heap whatever there is beside them."""


class Kind(StrEnum):
    """What a key is about."""

    TASK = "task"
    RUN = "run"
    PROFILE = "profile"
    """Looked at before all others: what is decided here keeps tasks from starting."""


class WorkKey(NamedTuple):
    """One object to look at."""

    kind: Kind
    namespace: str
    name: str


class WorkQueue:
    """Keys in the order in which they were marked; ``clock`` gives monotonic seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._ready: deque[WorkKey] = deque()
        self._marked: set[WorkKey] = set()
        self._busy: set[WorkKey] = set()
        self._due: dict[WorkKey, float] = {}
        self._heap: list[tuple[float, WorkKey]] = []
        self._failures: Counter[WorkKey] = Counter()
        self._since: dict[WorkKey, float] = {}
        self._changed = asyncio.Event()

    def __len__(self) -> int:
        return len(self._marked)

    def add(self, key: WorkKey) -> None:
        """Mark a key."""
        if key in self._marked:
            return
        self._marked.add(key)
        self._since[key] = self._clock()
        metrics.QUEUE_ADDS.inc()
        if key not in self._busy:
            self._line_up(key)

    def schedule(self, key: WorkKey, delay: float | None) -> None:
        """Mark a key in ``delay`` seconds instead of when it was asked for before; None: not at all."""
        if delay is None:
            self._due.pop(key, None)
            return
        due = self._clock() + max(0.0, delay)
        if self._due.get(key) != due:
            self._due[key] = due
            heapq.heappush(self._heap, (due, key))
            self._clear_out()
            self._changed.set()

    def retry(self, key: WorkKey) -> None:
        """Mark a key again after a failure, later each time."""
        self._failures[key] += 1
        metrics.QUEUE_RETRIES.inc()
        least, most = _BACKOFF_SECONDS
        delay = min(most, least * 2 ** min(self._failures[key], _DOUBLINGS))
        self.schedule(key, delay * random.uniform(0.5, 1.5))

    def succeeded(self, key: WorkKey) -> None:
        """Forget a key's failures: what was to be done is done, or there is nothing to do."""
        self._failures.pop(key, None)

    async def get(self) -> WorkKey:
        """Return the next key, which is then busy until ``done``."""
        while True:
            self._ripen()
            if self._ready:
                break
            self._changed.clear()
            await self._sleep()
        key = self._ready.popleft()
        self._marked.discard(key)
        self._busy.add(key)
        metrics.QUEUE_WAIT.observe(self._clock() - self._since.pop(key, self._clock()))
        return key

    def done(self, key: WorkKey) -> None:
        """Let a key be worked on again."""
        self._busy.discard(key)
        if key in self._marked:
            self._line_up(key)

    def _line_up(self, key: WorkKey) -> None:
        if key.kind is Kind.PROFILE:
            self._ready.appendleft(key)
        else:
            self._ready.append(key)
        self._changed.set()

    def _ripen(self) -> None:
        now = self._clock()
        while self._heap and self._heap[0][0] <= now:
            due, key = heapq.heappop(self._heap)
            # An entry whose moment was moved since is no longer meant.
            if self._due.get(key) == due:
                del self._due[key]
                self.add(key)

    def _clear_out(self) -> None:
        """Drop outdated moments once they are the most: those of a far deadline wouldn't ripen for weeks."""
        if len(self._heap) > 2 * len(self._due) + _SPARE:
            self._heap = [(due, key) for key, due in self._due.items()]
            heapq.heapify(self._heap)

    async def _sleep(self) -> None:
        timeout = self._heap[0][0] - self._clock() if self._heap else None
        # Not wait_for: before Python 3.12 it swallows a cancel that comes together with what it waits for.
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout):
                await self._changed.wait()
