"""Who may take the lease and when, for how long its holder may write, and what an election asks for."""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

import msgspec
import pytest

from bernstein_operator.kube.errors import NotLeaderError
from bernstein_operator.kube.lease import (
    LEASE_SECONDS,
    LEASE_TIMEOUTS,
    LOOK_SECONDS,
    RENEW_DEADLINE_SECONDS,
    RENEW_SECONDS,
    Election,
    Identity,
    Lease,
    Sight,
    Tenure,
    Unopposed,
)
from tests.unit.control.ticking import Ticking
from tests.unit.kube.server import Asked, Server, serving
from tests.unit.objects import merged

ME = Identity(pod="op-1", nonce="me")
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)
STAMP = "2026-01-01T00:00:00.000000Z"


def raw(holder: str | None = "other_x", *, renewed: str = STAMP, version: int = 1, **spec: Any) -> Any:
    """Return a Lease as the API server shows it; ``spec`` has further fields by their names in the API."""
    whole = {"holderIdentity": holder, "leaseDurationSeconds": LEASE_SECONDS, "renewTime": renewed, **spec}
    return {"metadata": {"resourceVersion": str(version)}, "spec": whole}


def lease(holder: str | None = "other_x", **fields: Any) -> Lease:
    return msgspec.convert(raw(holder, **fields), Lease)


def test_a_renewal_sent_at_the_deadline_is_answered_before_anybody_may_take_the_lease() -> None:
    assert RENEW_DEADLINE_SECONDS + LEASE_TIMEOUTS.request < LEASE_SECONDS
    assert LEASE_TIMEOUTS.connect <= LEASE_TIMEOUTS.request
    assert RENEW_SECONDS + LEASE_TIMEOUTS.request + LOOK_SECONDS < RENEW_DEADLINE_SECONDS, "one may fail"


@pytest.mark.parametrize(
    ("seen", "after", "free"),
    [
        pytest.param([], 0, True, id="there never was one"),
        pytest.param([lease("")], 0, True, id="given back"),
        pytest.param([lease(None)], 0, True, id="held by nobody ever"),
        pytest.param([lease("op-1_me")], 0, True, id="ours: an answer was lost"),
        pytest.param([lease("op-1_before")], 0, True, id="of an earlier container of our Pod"),
        pytest.param([lease("op-11_x")], 0, False, id="of a Pod whose name begins like ours"),
        pytest.param([lease("op-1")], 0, False, id="of somebody with our Pod's bare name"),
        pytest.param([lease()], 14.999, False, id="another's, and not yet run out"),
        pytest.param([lease()], 15, True, id="another's, and just run out"),
        pytest.param([lease(leaseDurationSeconds=30)], 29.999, False, id="another's that lasts longer"),
        pytest.param([lease(leaseDurationSeconds=30)], 30, True, id="another's that lasted longer"),
        pytest.param([lease(leaseDurationSeconds=None)], 14.999, False, id="of unknown length, not run out"),
        pytest.param([lease(leaseDurationSeconds=None)], 15, True, id="of unknown length, run out"),
        pytest.param([lease(), None], 14.999, False, id="deleted under its holder, who may not know"),
        pytest.param([lease(), None], 15, True, id="deleted, and its holder's time is over"),
        pytest.param([lease(""), None], 0, True, id="deleted after it was given back"),
    ],
)
def test_when_the_lease_may_be_taken(seen: list[Lease | None], after: float, free: bool) -> None:
    sight = Sight()
    for one in seen:
        sight.see(one, at=1000.0)
    assert (sight.free_at(ME) <= 1000.0 + after) == free


@pytest.mark.parametrize(
    ("later", "free_at"),
    [
        pytest.param(lease(renewed="later"), 1024.0, id="a renewal begins the time anew"),
        pytest.param(lease("third_x"), 1024.0, id="so does another holder"),
        pytest.param(lease(renewed="earlier", version=2), 1024.0, id="a holder's clock may go back"),
        pytest.param(lease(version=2), 1015.0, id="an annotation of somebody's does not"),
        pytest.param(None, 1015.0, id="nor does its deletion"),
    ],
)
def test_what_counts_as_a_sign_of_life(later: Lease | None, free_at: float) -> None:
    sight = Sight()
    sight.see(lease(), at=1000.0)
    sight.see(later, at=1009.0)
    assert sight.free_at(ME) == free_at


def test_outside_of_a_pod_nobody_is_a_predecessor() -> None:
    sight = Sight()
    sight.see(lease("_somebody"), at=1000.0)
    assert sight.free_at(Identity(pod="", nonce="me")) == 1000.0 + LEASE_SECONDS


@pytest.mark.parametrize(
    ("asked", "at", "may"),
    [
        pytest.param(1000.0, 1000.0, True, id="just renewed"),
        pytest.param(1000.0, 1010.0, True, id="exactly the deadline"),
        pytest.param(1000.0, 1010.001, False, id="just over the deadline"),
        pytest.param(1000.0, 1600.0, False, id="frozen for ten minutes"),
        pytest.param(None, 1000.0, False, id="never had it"),
    ],
)
def test_how_long_a_renewal_lets_write(asked: float | None, at: float, may: bool) -> None:
    clock = Ticking()
    tenure = Tenure(clock)
    if asked is not None:
        tenure.renewed(asked)
    clock.now = at
    assert may_write(tenure) == may


def test_who_gave_the_lease_back_writes_no_more() -> None:
    clock = Ticking()
    tenure = Tenure(clock)
    tenure.renewed(clock.now)
    tenure.end()
    assert not may_write(tenure)


def may_write(tenure: Tenure) -> bool:
    try:
        tenure.check()
    except NotLeaderError:
        return False
    return True


@dataclass
class Registry(Server):
    """An API server with at most one Lease; ``failing`` is its answer to everything while it is not 0.

    With ``lost`` it does what it is asked and doesn't say so.
    """

    stored: Any = None
    failing: int = 0
    lost: bool = False
    version: int = 10

    def next(self, asked: Asked, /) -> tuple[int, Any, dict[str, str]]:
        """Do what is asked, as the real one would."""
        if self.failing:
            return self.failing, {"reason": "Planted"}, {"Retry-After": "0"}
        status, body = self._act(asked)
        return (504, {"reason": "Timeout"}, {}) if self.lost and asked.method != "GET" else (status, body, {})

    def _act(self, asked: Asked) -> tuple[int, Any]:
        if asked.method == "POST":
            return (409, {"reason": "AlreadyExists"}) if self.stored else (201, self.store(asked.body))
        if not self.stored:
            return 404, {"reason": "NotFound"}
        if asked.method == "GET":
            return 200, self.stored
        if asked.body["metadata"]["resourceVersion"] != self.stored["metadata"]["resourceVersion"]:
            return 409, {"reason": "Conflict"}
        return 200, self.store(merged(self.stored, asked.body))

    def store(self, thing: Any) -> Any:
        """Store a lease under a new version."""
        self.version += 1
        self.stored = merged(thing, {"metadata": {"resourceVersion": str(self.version)}})
        return self.stored

    @property
    def writes(self) -> list[Any]:
        """The specs that were asked to be stored."""
        return [asked.body["spec"] for asked in self.asked if asked.method != "GET"]


class OverError(Exception):
    """The script has come to its end."""


@dataclass
class Play:
    """An election on a clock that moves only while it sleeps; ``scenes`` are played at their second."""

    registry: Registry
    scenes: dict[float, Callable[[], object]]
    clock: Ticking = field(default_factory=Ticking)

    def __post_init__(self) -> None:
        self.begun = self.clock.now
        self.tenure = Tenure(self.clock)
        self.election = Election(
            self.registry.api,
            namespace="ns",
            name="l",
            me=ME,
            tenure=self.tenure,
            clock=self.clock,
            now=lambda: EPOCH + timedelta(seconds=self.passed),
            sleep=self._sleep,
        )

    @property
    def passed(self) -> float:
        """Seconds since the beginning."""
        return self.clock.now - self.begun

    async def _sleep(self, seconds: float) -> None:
        until = self.passed + seconds
        for at in sorted(at for at in self.scenes if at <= until):
            self.clock.now = self.begun + at
            self.scenes.pop(at)()
        self.clock.now = max(self.clock.now, self.begun + until)

    async def run(self) -> float:
        """Run until the lease is lost or the script over; returns the second of that."""
        with suppress(OverError):
            await self.election.run()
        return self.passed


def over() -> None:
    raise OverError


async def test_a_free_lease_is_taken_at_once_and_renewed_every_two_seconds() -> None:
    async with serving(registry := Registry()):
        play = Play(registry, {5.0: over})
        await play.run()
    first, *renewals = registry.writes
    assert first == {
        "holderIdentity": "op-1_me",
        "leaseDurationSeconds": LEASE_SECONDS,
        "acquireTime": STAMP,
        "renewTime": STAMP,
        "leaseTransitions": 0,
    }
    assert [one["renewTime"] for one in renewals] == [
        "2026-01-01T00:00:02.000000Z",
        "2026-01-01T00:00:04.000000Z",
    ]
    assert registry.stored["spec"]["acquireTime"] == STAMP
    assert registry.asked[1].path == "/apis/coordination.k8s.io/v1/namespaces/ns/leases"
    assert registry.asked[1].body["metadata"]["name"] == "l"
    assert may_write(play.tenure)


@pytest.mark.parametrize(
    ("stored", "taken_after", "transitions"),
    [
        pytest.param(raw(leaseTransitions=4), LEASE_SECONDS, 5, id="of another who is silent"),
        pytest.param(raw("", leaseTransitions=4), 0, 5, id="given back"),
        pytest.param(raw("op-1_before", leaseTransitions=4), 0, 5, id="of our Pod's former container"),
        pytest.param(raw("op-1_me", leaseTransitions=4), 0, 4, id="our own, whose answer was lost"),
        pytest.param(raw(None, leaseTransitions=None), 0, 1, id="without a word in it"),
    ],
)
async def test_a_lease_that_is_there_is_taken_when_it_may_be(
    stored: Any, taken_after: float, transitions: int
) -> None:
    async with serving(registry := Registry(stored=stored)):
        play = Play(registry, {taken_after + 1.0: over})
        await play.run()
    assert registry.writes[0]["renewTime"] == f"2026-01-01T00:00:{taken_after:02}.000000Z"
    assert registry.stored["spec"]["leaseTransitions"] == transitions
    assert play.election.elected.is_set()


async def test_while_another_renews_nothing_is_written() -> None:
    async with serving(registry := Registry(stored=raw())):
        scenes: dict[float, Callable[[], object]] = {
            at + 0.5: partial(registry.store, raw(renewed=f"at {at}")) for at in range(0, 60, 14)
        }
        play = Play(registry, {**scenes, 60.0: over})
        await play.run()
    assert registry.writes == []
    assert play.election.looked.is_set()
    assert not play.election.elected.is_set()
    assert play.election.trouble == ""
    assert not may_write(play.tenure)


async def test_of_two_that_take_a_free_lease_the_slower_one_stands_by() -> None:
    class Contested(Registry):
        def _act(self, asked: Asked) -> tuple[int, Any]:
            if asked.method == "POST":
                self.store(raw("faster_x"))
            return super()._act(asked)

    async with serving(registry := Contested()):
        play = Play(registry, {5.0: over})
        await play.run()
    assert registry.stored["spec"]["holderIdentity"] == "faster_x"
    assert not play.election.elected.is_set()
    assert play.election.trouble == ""


@pytest.mark.parametrize("status", [403, 429, 500], ids=["forbidden", "told to wait", "broken"])
async def test_who_cannot_renew_is_no_leader_any_more_at_the_deadline(status: int) -> None:
    async with serving(registry := Registry()):
        play = Play(registry, {4.5: lambda: setattr(registry, "failing", status)})
        lost_after = await play.run()
    assert lost_after == 4.0 + RENEW_DEADLINE_SECONDS, "counted from the last renewal that succeeded"
    assert not may_write(play.tenure)
    assert play.election.trouble != ""


async def test_a_renewal_that_succeeds_in_time_keeps_the_office() -> None:
    async with serving(registry := Registry()):
        scenes: dict[float, Callable[[], object]] = {
            4.5: lambda: setattr(registry, "failing", 500),
            12.5: lambda: setattr(registry, "failing", 0),
            30.0: over,
        }
        play = Play(registry, scenes)
        assert await play.run() == 30.0
    assert play.election.trouble == ""


@pytest.mark.parametrize(
    "happens",
    [
        pytest.param(lambda registry: setattr(registry, "lost", True), id="the answer to a renewal was lost"),
        pytest.param(lambda registry: registry.store(registry.stored), id="somebody wrote an annotation"),
        pytest.param(lambda registry: setattr(registry, "stored", None), id="somebody deleted the lease"),
    ],
)
async def test_who_is_not_sure_looks_and_goes_on(happens: Callable[[Registry], object]) -> None:
    async with serving(registry := Registry()):
        scenes = {
            3.0: lambda: happens(registry),
            4.5: lambda: setattr(registry, "lost", False),
            30.0: over,
        }
        play = Play(registry, scenes)
        assert await play.run() == 30.0
    assert registry.stored["spec"]["holderIdentity"] == "op-1_me"
    assert may_write(play.tenure)


async def test_who_finds_another_holder_is_no_leader_any_more() -> None:
    async with serving(registry := Registry()):
        play = Play(registry, {3.0: lambda: registry.store(raw("thief_x"))})
        assert await play.run() == 4.0 + LOOK_SECONDS
    assert registry.stored["spec"]["holderIdentity"] == "thief_x"
    assert not may_write(play.tenure)


async def test_who_wakes_up_too_late_asks_for_nothing_more() -> None:
    async with serving(registry := Registry()):
        clock = Ticking()
        play = Play(registry, {3.0: lambda: setattr(clock, "now", clock.now + 60.0)}, clock)
        await play.run()
    assert [one["renewTime"] for one in registry.writes] == [STAMP, "2026-01-01T00:00:02.000000Z"]
    assert not may_write(play.tenure)


async def test_the_lease_is_given_back_by_its_holder() -> None:
    async with serving(registry := Registry()):
        play = Play(registry, {3.0: over})
        await play.run()
        await play.election.release()
        await play.election.release()
    assert registry.writes[-1] == {"holderIdentity": "", "renewTime": "2026-01-01T00:00:03.000000Z"}
    assert len(registry.writes) == 3, "once only"
    assert not may_write(play.tenure)


async def test_another_ones_lease_is_not_given_back() -> None:
    async with serving(registry := Registry()):
        play = Play(registry, {3.0: over})
        await play.run()
        registry.store(raw("thief_x"))
        await play.election.release()
    assert registry.stored["spec"]["holderIdentity"] == "thief_x"


async def test_who_stands_by_gives_nothing_back() -> None:
    async with serving(registry := Registry(stored=raw())):
        play = Play(registry, {3.0: over})
        await play.run()
        await play.election.release()
    assert registry.writes == []


async def test_a_lease_that_cannot_be_given_back_runs_out_by_itself() -> None:
    async with serving(registry := Registry()):
        play = Play(registry, {3.0: over})
        await play.run()
        registry.failing = 500
        await play.election.release()
    assert not may_write(play.tenure)


async def test_without_an_election_the_only_one_leads() -> None:
    alone = Unopposed()
    assert (alone.looked.is_set(), alone.elected.is_set(), alone.trouble) == (True, True, "")
    await alone.release()
