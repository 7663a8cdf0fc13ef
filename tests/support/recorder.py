"""Watches every Pod, task and run from before the operator starts until the test ends.

It speaks to the API server directly, not through the proxy (faults are for the operator only), survives
expired watches by listing again and telling the difference, and keeps everything it saw. At the end of each
test the whole is judged by the invariants; see ``invariants``.
"""

import asyncio
from collections.abc import Mapping, Sequence
from threading import Lock

import aiohttp

from tests.support import clock
from tests.support.access import ClusterAccess
from tests.support.invariants import Invariant, Limits, Violation, violations
from tests.support.kube import eventually
from tests.support.loopthread import LoopThread
from tests.support.slots import SlotUsage, slot_usage
from tests.support.timeline import Change, Kind, Observation, Outages, in_order, phase
from tests.support.watching import Listing, Watched


class PodRecorder:
    """Records a cluster; use it as a context manager. ``limits`` is what the invariants can't see there."""

    def __init__(
        self, access: ClusterAccess, *, limits: Limits | None = None, now: clock.Clock = clock.now
    ) -> None:
        self._access = access
        self._now = now
        self._seen: list[Observation] = []
        self._lock = Lock()
        self._expected: set[Invariant] = set()
        self.limits = limits or Limits()
        self.outages = Outages(since=now())

    def __enter__(self) -> "PodRecorder":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """List everything once, then watch; returns when the lists are in."""
        self._thread = LoopThread("recorder")
        self._thread.call(self._open())

    def stop(self) -> None:
        """Stop watching; what was seen stays."""
        self._thread.call(self._close())
        self._thread.close()

    @property
    def observations(self) -> list[Observation]:
        """Everything seen so far, ordered by resourceVersion."""
        with self._lock:
            return in_order(self._seen)

    def forget(self, namespace: str) -> None:
        """Drop what was seen of a namespace that has been judged; the whole of many would fill the memory."""
        with self._lock:
            self._seen = [seen for seen in self._seen if seen.manifest["metadata"]["namespace"] != namespace]

    def operator_up(self) -> None:
        """Note that an operator is at work from now on."""
        self.outages.up(self._now())

    def operator_down(self) -> None:
        """Note that no operator is at work from now on."""
        self.outages.down(self._now())

    def expect(self, *invariants: Invariant) -> None:
        """Declare that the test itself breaks ``invariants``: these must be found, and no others."""
        self._expected.update(invariants)

    def check(self) -> list[Violation]:
        """Catch up with the API server, then return every violation of I1 to I5."""
        self.catch_up()
        return violations(self.observations, now=self._now(), outages=self.outages, limits=self.limits)

    def assert_invariants(self) -> None:
        """Fail on any violation that was not declared, and on a declared one that is not found."""
        found = self.check()
        undeclared = [violation for violation in found if violation.invariant not in self._expected]
        assert not undeclared, "invariants broken:\n" + "\n".join(map(str, undeclared))
        missing = self._expected - {violation.invariant for violation in found}
        assert not missing, f"declared as broken by the test, but not found: {sorted(missing)}"

    def catch_up(self, *, timeout: float = 30.0) -> None:
        """Return once everything that the API server holds now was seen."""
        current = self._thread.call(self._list_all())
        eventually(
            lambda: all(watched.has_reached(listing) for watched, listing in current.items()),
            timeout=timeout,
            what="that the recorder's watches catch up",
        )

    def completed_between(self, start: float, end: float) -> list[str]:
        """Return the tasks (namespace/name) that became Succeeded between two moments (I6)."""
        first: dict[str, Observation] = {}
        for seen in self.observations:
            if seen.kind is Kind.TASK and phase(seen.manifest) == "Succeeded":
                first.setdefault(seen.uid, seen)
        return [seen.key for seen in first.values() if start <= seen.time <= end]

    def slot_usage(
        self, run: str, start: float, end: float, *, excluded: Sequence[tuple[float, float]] | None = None
    ) -> SlotUsage:
        """Return how the slots of ``run`` (namespace/name) were used while work was queued.

        Unless ``excluded`` says else, the times without an operator don't count.
        """
        return slot_usage(
            self.observations,
            run=run,
            start=start,
            end=end,
            limits=self.limits,
            excluded=self.outages.intervals(until=end) if excluded is None else excluded,
        )

    def story(self) -> str:
        """Return the timeline as text: a line whenever an object came, went or changed its phase."""
        told: dict[str, str] = {}
        lines = []
        for seen in self.observations:
            state = _outline(seen)
            if told.get(seen.uid) != state:
                lines.append(f"{seen.time:.3f} v{seen.version} {seen.kind} {seen.key}: {state}")
            told[seen.uid] = state
        return "\n".join(lines)

    async def _open(self) -> None:
        self._session = aiohttp.ClientSession(
            self._access.server,
            connector=aiohttp.TCPConnector(ssl=self._access.tls or False),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=10, sock_read=90),
            headers={**self._access.headers, "User-Agent": "bernstein-tests-recorder"},
        )
        self._watched = [Watched(kind, self._session, note=self._note, now=self._now) for kind in Kind]
        await asyncio.gather(*(watched.begin() for watched in self._watched))
        self._following = [asyncio.ensure_future(watched.follow()) for watched in self._watched]

    async def _close(self) -> None:
        for following in self._following:
            following.cancel()
        await asyncio.gather(*self._following, return_exceptions=True)
        await self._session.close()

    async def _list_all(self) -> Mapping[Watched, Listing]:
        listings = await asyncio.gather(*(watched.list() for watched in self._watched))
        return dict(zip(self._watched, listings, strict=True))

    def _note(self, seen: Observation) -> None:
        with self._lock:
            self._seen.append(seen)


def _outline(seen: Observation) -> str:
    if seen.change is Change.DELETED:
        return "gone"
    leaving = " (terminating)" if "deletionTimestamp" in seen.manifest["metadata"] else ""
    attempt = seen.manifest.get("status", {}).get("attempt")
    return phase(seen.manifest) + (f" attempt {attempt}" if attempt else "") + leaving
