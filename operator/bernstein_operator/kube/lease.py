"""One leader at a time, by a Lease: whoever holds it decides and writes, everybody else stands by.

Nothing rests on two machines' clocks being equal. The holder measures from before it asked for its last
renewal; a bystander from when it saw that renewal, which is later; both by their own monotonic clocks. So the
holder's right to write ends (``RENEW_DEADLINE_SECONDS``) well before anybody may take the lease
(``LEASE_SECONDS``), also where it was frozen meanwhile or can't reach the API server.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Final

from msgspec import DecodeError, Struct, json

from bernstein_operator.api.names import MANAGED_BY
from bernstein_operator.kube.api import KubeApi, Timeouts
from bernstein_operator.kube.errors import ApiError, ConflictError, NotFoundError, NotLeaderError
from bernstein_operator.kube.resources import LEASES
from bernstein_operator.telemetry import metrics

log = logging.getLogger(__name__)

LEASE_SECONDS: Final = 15
"""A lease that hasn't changed for so long may be taken."""
RENEW_DEADLINE_SECONDS: Final = 10.0
"""Whoever hasn't renewed for longer may not write any more."""
RENEW_SECONDS: Final = 2.0
"""The holder renews so often."""
LOOK_SECONDS: Final = 1.0
"""Everybody else looks so often whether the lease is free; the holder tries again after so long."""
LEASE_TIMEOUTS: Final = Timeouts(connect=2.0, request=4.0)
"""Of the lease's own requests: one that was sent at the deadline is answered or given up before the end."""


class _Meta(Struct, rename="camel"):
    resource_version: str


class _Spec(Struct, rename="camel"):
    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class Lease(Struct):
    """A Lease of coordination.k8s.io/v1, as far as it matters here."""

    metadata: _Meta
    spec: _Spec

    @property
    def holder(self) -> str:
        """Who holds it; empty if nobody does."""
        return self.spec.holder_identity or ""


_LEASE: Final = json.Decoder(Lease)


@dataclass(frozen=True, slots=True)
class Identity:
    """This process among all that may hold the lease: ``pod`` (empty outside of one) and a ``nonce``."""

    pod: str
    nonce: str

    def __str__(self) -> str:
        """Return the holder's name as it stands in the lease."""
        return f"{self.pod}_{self.nonce}"

    def succeeds(self, holder: str) -> bool:
        """Whether the lease is ours, or was of an earlier container of our Pod, which is dead by now."""
        return holder == str(self) or bool(self.pod and holder.startswith(f"{self.pod}_"))


class Sight:
    """The lease as it was last seen, and since when it looks like that by our own clock."""

    def __init__(self) -> None:
        self._lease: Lease | None = None
        self._since = float("-inf")

    def see(self, lease: Lease | None, *, at: float) -> None:
        """Take note of the lease; one that was deleted is no reason to take it sooner."""
        if lease and (not self._lease or _beat(lease) != _beat(self._lease)):
            self._lease, self._since = lease, at

    def free_at(self, me: Identity) -> float:
        """Return from when on ``me`` may take it."""
        if not self._lease or not self._lease.holder or me.succeeds(self._lease.holder):
            return float("-inf")
        return self._since + (self._lease.spec.lease_duration_seconds or LEASE_SECONDS)


class Tenure:
    """For how long this process may still write; ``clock`` gives monotonic seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._renewed = float("-inf")

    @property
    def left(self) -> float:
        """Seconds until the renew deadline; negative where it has passed or there was no lease."""
        return self._renewed + RENEW_DEADLINE_SECONDS - self._clock()

    def renewed(self, asked: float) -> None:
        """Take note of a renewal that was asked for at ``asked``: it counts from then."""
        self._renewed = asked

    def end(self) -> None:
        """Give up the right to write."""
        self._renewed = float("-inf")

    def check(self) -> None:
        """Raise NotLeaderError unless this process may write now."""
        if self.left < 0:
            raise NotLeaderError(status=0, reason="", message="not sent: this process is not the leader")


class Election:
    """Stands for the lease until it is had, then keeps it.

    Attributes:
        looked: set once the lease was looked at, whatever came of it.
        elected: set once it is held.
        trouble: why the lease can't be read or written now, empty where it can.
    """

    def __init__(
        self,
        api: KubeApi,
        *,
        namespace: str,
        name: str,
        me: Identity,
        tenure: Tenure,
        clock: Callable[[], float],
        now: Callable[[], datetime],
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self._api = api
        self._namespace = namespace
        self._name = name
        self._me = me
        self._tenure = tenure
        self._clock = clock
        self._now = now
        self._sleep = sleep
        self._sight = Sight()
        self._held: Lease | None = None
        self._sure = True
        self.looked = asyncio.Event()
        self.elected = asyncio.Event()
        self.trouble = "the lease was not looked at yet"
        metrics.LEADER.labels(name).set(0)

    async def run(self) -> None:
        """Stand, then hold; returns once the lease is lost, after which nothing may be written."""
        while not await self._stand():
            free_in = self._sight.free_at(self._me) - self._clock()
            await self._sleep(free_in if 0 < free_in < LOOK_SECONDS else LOOK_SECONDS)
        while self._tenure.left > 0:
            await self._sleep(min(RENEW_SECONDS if self._sure else LOOK_SECONDS, self._tenure.left))
            if self._tenure.left > 0:
                await self._renew()
        self._resign()

    async def release(self) -> None:
        """Give the lease back, so that the next one need not wait for its end; nothing may be under way."""
        if self._tenure.left <= 0:
            return
        self._resign()
        try:
            lease = await self._read()
            if lease and lease.holder == str(self._me):
                await self._patch(lease, {"holderIdentity": "", "renewTime": _micro_time(self._now())})
        except (ApiError, DecodeError) as error:
            # It runs out by itself.
            log.warning("lease not released", extra={"lease": self._name, "error": str(error)})
        else:
            log.info("lease released", extra={"lease": self._name})

    async def _stand(self) -> bool:
        try:
            lease = await self._read()
            self._sight.see(lease, at=self._clock())
            if self._sight.free_at(self._me) <= self._clock():
                await self._write(lease)
                self._begin()
            self._tell("")
        except ConflictError:
            # Somebody else was faster; the next look tells who.
            self._tell("")
        except (ApiError, DecodeError) as error:
            self._tell(str(error))
        self.looked.set()
        return self.elected.is_set()

    async def _renew(self) -> None:
        """Renew; where the last answer was no yes, look first at what is there."""
        try:
            async with asyncio.timeout(self._tenure.left):
                if not self._sure and not await self._is_still_ours():
                    self._tenure.end()
                    return
                await self._write(self._held)
        except (ApiError, DecodeError, TimeoutError) as error:
            self._sure = False
            self._tell(f"{type(error).__name__}: {error}")
        else:
            self._sure = True
            self._tell("")

    async def _is_still_ours(self) -> bool:
        self._held = await self._read()
        return self._held is None or self._held.holder == str(self._me)

    async def _read(self) -> Lease | None:
        try:
            return _LEASE.decode(await self._api.get(LEASES, self._namespace, self._name))
        except NotFoundError:
            return None

    async def _write(self, lease: Lease | None) -> None:
        """Store that it is ours from now on, if it still is as ``lease`` says (None: if it is missing)."""
        asked = self._clock()
        stamp = _micro_time(self._now())
        spec = {"holderIdentity": str(self._me), "leaseDurationSeconds": LEASE_SECONDS, "renewTime": stamp}
        if lease is None:
            stored = await self._create(spec | {"acquireTime": stamp, "leaseTransitions": 0})
        elif lease.holder == str(self._me):
            stored = await self._patch(lease, spec)
        else:
            turn = (lease.spec.lease_transitions or 0) + 1
            stored = await self._patch(lease, spec | {"acquireTime": stamp, "leaseTransitions": turn})
        self._held = _LEASE.decode(stored)
        self._tenure.renewed(asked)

    async def _create(self, spec: dict[str, Any]) -> bytes:
        labels = {"app.kubernetes.io/managed-by": MANAGED_BY, "app.kubernetes.io/part-of": "bernstein"}
        meta = {"name": self._name, "labels": labels}
        body = {"apiVersion": LEASES.api_version, "kind": LEASES.kind, "metadata": meta, "spec": spec}
        return await self._api.create(LEASES, self._namespace, body)

    async def _patch(self, lease: Lease, spec: dict[str, Any]) -> bytes:
        body = {"metadata": {"resourceVersion": lease.metadata.resource_version}, "spec": spec}
        return await self._api.patch(LEASES, self._namespace, self._name, body)

    def _begin(self) -> None:
        self.elected.set()
        metrics.LEADER.labels(self._name).set(1)
        turn = self._held.spec.lease_transitions if self._held else None
        log.info("leading", extra={"lease": self._name, "identity": str(self._me), "transitions": turn})

    def _resign(self) -> None:
        self._tenure.end()
        metrics.LEADER.labels(self._name).set(0)

    def _tell(self, trouble: str) -> None:
        if trouble and trouble != self.trouble:
            log.warning("lease not reached", extra={"lease": self._name, "error": trouble})
        self.trouble = trouble


class Unopposed:
    """Leads from the start, without a lease: somebody else sees to it that there is one process only."""

    trouble = ""

    def __init__(self) -> None:
        self.looked = asyncio.Event()
        self.elected = asyncio.Event()
        self.looked.set()
        self.elected.set()

    async def run(self) -> None:
        """Lead until cancelled."""
        await asyncio.Event().wait()

    async def release(self) -> None:
        """Do nothing: nobody waits."""


def _beat(lease: Lease) -> tuple[str, str | None]:
    """Return what changes with every renewal and every change of holder, and with nothing else."""
    return lease.holder, lease.spec.renew_time


def _micro_time(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
