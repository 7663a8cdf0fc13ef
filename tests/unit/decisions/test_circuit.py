"""When a profile's tasks are kept back, who probes, and what ends it."""

from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from bernstein_operator.api.objects import TaskObject
from bernstein_operator.api.profile import AgentProfileStatus
from bernstein_operator.api.snapshot import Fault, Limit, ProfileSnapshot
from bernstein_operator.decisions.circuit import LOOK_AGAIN, OPEN_FOR, decide_profile
from tests.unit.objects import Raw, at, attempt, profile, reasons, stamp, status, task

NOW = 1000.0
FIVE, TEN = 300.0, 600.0
OPEN: Raw = {"fingerprint": "f1", "state": "Open", "since": stamp(NOW), "message": "it is down"}
HOLD: Raw = {"until": stamp(NOW + 60), "since": stamp(NOW - 1), "reason": "RateLimited", "message": "slow"}


def fault(ended: float = NOW - 1, *, by: str = "a", certain: bool = False, **facts: Any) -> Fault:
    whole = {"fingerprint": "f1", "message": "it is down", "began": at(ended - 5), **facts}
    return Fault(task=by, ended=at(ended), certain=certain, **whole)


def limit(until: float, **facts: Any) -> Limit:
    return Limit(
        until=at(until), **{"since": at(NOW - 1), "reason": "RateLimited", "message": "slow", **facts}
    )


def seen(*faults: Fault, known: Raw | None = None, generation: int = 1, **facts: Any) -> ProfileSnapshot:
    stored = {"observedGeneration": 1, **known} if known else {}
    return ProfileSnapshot(profile(status=stored, generation=generation), faults=faults, **facts)


def decided(snapshot: ProfileSnapshot, now: float = NOW) -> AgentProfileStatus:
    return decide_profile(snapshot, now=at(now)).status


def wakes(snapshot: ProfileSnapshot, now: float = NOW) -> datetime | None:
    return decide_profile(snapshot, now=at(now)).wake


def circuits(snapshot: ProfileSnapshot, now: float = NOW) -> list[str]:
    """Return each circuit as fingerprint, state, age in seconds and probe."""
    return [
        f"{one.fingerprint} {one.state} {(at(now) - one.since).total_seconds():.0f} {one.probe}"
        for one in decided(snapshot, now).circuits
    ]


# --- opening ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("faults", "opens"),
    [
        pytest.param([], False, id="none"),
        pytest.param([fault(by="a"), fault(by="b")], False, id="2 attempts of 2 tasks"),
        pytest.param([fault(by="a"), fault(by="a"), fault(by="b")], True, id="3 attempts of 2 tasks"),
        pytest.param([fault(by="a")] * 3, False, id="3 attempts of 1 task"),
        pytest.param([fault(by="a")] * 9, False, id="9 attempts of 1 task"),
        pytest.param([fault(certain=True)], True, id="1 that is certain"),
        pytest.param(
            [fault(by="a"), fault(by="b"), fault(by="c", fingerprint="f2")], False, id="3 of two kinds"
        ),
        pytest.param(
            [fault(NOW - TEN, by="a"), fault(by="b"), fault(by="c")],
            True,
            id="the first exactly 10 minutes ago",
        ),
        pytest.param(
            [fault(NOW - TEN - 0.001, by="a"), fault(by="b"), fault(by="c")], False, id="the first longer ago"
        ),
        pytest.param([fault(NOW - TEN, certain=True)], True, id="certain and exactly 10 minutes ago"),
        pytest.param([fault(NOW - TEN - 0.001, certain=True)], False, id="certain and longer ago"),
    ],
)
def test_what_opens_a_circuit(faults: list[Fault], opens: bool) -> None:
    assert circuits(seen(*faults)) == (["f1 Open 0 None"] if opens else [])


def test_a_profile_with_which_nothing_is_wrong_is_not_written() -> None:
    assert decide_profile(seen(fault(), fault(by="b")), now=at(NOW)) == decide_profile(seen(), now=at(NOW))
    assert decided(seen()) == AgentProfileStatus()


def test_a_profile_that_is_being_deleted_is_left_alone() -> None:
    snapshot = seen(fault(certain=True))
    meta = profile().meta
    going = replace(snapshot.profile, meta=type(meta)(**{**_fields(meta), "deletion_timestamp": at(NOW)}))
    assert decided(replace(snapshot, profile=going)) == AgentProfileStatus()


def _fields(meta: Any) -> dict[str, Any]:
    return {name: getattr(meta, name) for name in meta.__struct_fields__}


def test_an_open_circuit_tells_the_latest_failure_and_is_not_opened_twice() -> None:
    told = decided(
        seen(fault(NOW - 5, certain=True, message="old"), fault(NOW - 1, certain=True, message="new"))
    )
    assert [one.message for one in told.circuits] == ["new"]
    assert reasons(told.conditions) == {"Ready": ("False", "CircuitOpen")}
    assert circuits(seen(fault(NOW + 9, certain=True), known={"circuits": [OPEN]}), NOW + 10) == [
        "f1 Open 10 None"
    ]


def test_no_more_than_ten_circuits_are_kept() -> None:
    many = [fault(certain=True, fingerprint=f"f{number}") for number in range(12)]
    assert len(decided(seen(*many)).circuits) == 10


# --- the probe --------------------------------------------------------------------------------------------


def waiting(name: str = "p", reason: str = "CircuitOpen", **fields: Any) -> TaskObject:
    admitted = {"type": "Admitted", "status": "False", "reason": reason, "last_transition_time": at(0)}
    return task(name, status=status(conditions=[admitted], **fields))


def probing(probe: TaskObject | None, *, may_start: bool = True, **facts: Any) -> ProfileSnapshot:
    """Return a circuit that was opened at NOW and is probed by p."""
    known = {"circuits": [{**OPEN, "state": "HalfOpen", "probe": "p-uid"}]}
    return seen(known=known, probe=probe, probe_may_start=may_start, candidate="other-uid", **facts)


def ended(result_class: str = "success", *, began: float = NOW + FIVE, **fields: Any) -> TaskObject:
    whole = {"start_time": at(began + 1), "end_time": at(began + 9), "result_class": result_class, **fields}
    return task("p", status=status(attempt(intent_time=at(began), **whole), phase="Failed"))


def begun(began: float = NOW + FIVE) -> TaskObject:
    return task("p", status=status(attempt(intent_time=at(began))))


@pytest.mark.parametrize(
    ("now", "candidate", "told"),
    [
        pytest.param(NOW + FIVE - 0.001, "a-uid", "f1 Open 300 None", id="a moment too early"),
        pytest.param(NOW + FIVE, "a-uid", "f1 HalfOpen 300 a-uid", id="exactly 5 minutes"),
        pytest.param(NOW + FIVE, None, "f1 Open 300 None", id="nobody is there"),
    ],
)
def test_after_five_minutes_the_oldest_task_probes(now: float, candidate: str | None, told: str) -> None:
    assert circuits(seen(known={"circuits": [OPEN]}, candidate=candidate), now) == [told]


@pytest.mark.parametrize(
    ("snapshot", "probe"),
    [
        pytest.param(probing(waiting()), "p-uid", id="it has not looked yet"),
        pytest.param(probing(waiting(reason="Queued")), "p-uid", id="it queues"),
        pytest.param(probing(begun(), may_start=False), "p-uid", id="it runs"),
        pytest.param(probing(waiting(), may_start=False), "other-uid", id="its run has no room"),
        pytest.param(probing(waiting(reason="QuotaExceeded")), "other-uid", id="its Pod is refused"),
        pytest.param(probing(waiting(reason="Suspended")), "other-uid", id="it is suspended"),
        pytest.param(probing(waiting(phase="Cancelled")), "other-uid", id="it is cancelled"),
        pytest.param(probing(None), "other-uid", id="it is gone"),
        pytest.param(probing(ended("cancelled")), "other-uid", id="it was cancelled while it ran"),
        pytest.param(probing(ended("transient", start_time=None)), "other-uid", id="it never started"),
        pytest.param(probing(begun(NOW - 1)), "other-uid", id="what runs began before the circuit opened"),
    ],
)
def test_another_task_probes_where_the_first_cannot(snapshot: ProfileSnapshot, probe: str) -> None:
    assert circuits(snapshot, NOW + FIVE + 20) == [f"f1 HalfOpen 320 {probe}"]


@pytest.mark.parametrize(
    ("probe", "told"),
    [
        pytest.param(ended("success"), [], id="success closes it"),
        pytest.param(ended("agent", fingerprint="f2"), [], id="another failure closes it"),
        pytest.param(ended("deadline", fingerprint="f2"), [], id="so does a deadline"),
        pytest.param(ended("contract", fingerprint="f1"), ["f1 Open 0 None"], id="the same opens it again"),
        pytest.param(
            ended("contract", fingerprint="f1", start_time=None),
            ["f1 Open 0 None"],
            id="the same before it ran",
        ),
        pytest.param(
            ended("success", began=NOW + FIVE - 1), ["f1 HalfOpen 320 other-uid"], id="an attempt from before"
        ),
    ],
)
def test_how_the_probe_ends_decides(probe: TaskObject, told: list[str]) -> None:
    assert circuits(probing(probe), NOW + FIVE + 20) == told


def test_two_circuits_share_a_probe_and_each_has_its_own_verdict() -> None:
    both = [{**OPEN, "state": "HalfOpen", "probe": "p-uid", "fingerprint": one} for one in ("f1", "f2")]
    probe = ended("contract", fingerprint="f2")
    assert circuits(seen(known={"circuits": both}, probe=probe), NOW + FIVE + 20) == ["f2 Open 0 None"]


def test_nothing_probes_while_the_younger_of_two_circuits_is_too_young() -> None:
    younger = {**OPEN, "fingerprint": "f2", "since": stamp(NOW + 100)}
    snapshot = seen(known={"circuits": [OPEN, younger]}, candidate="a-uid")
    assert circuits(snapshot, NOW + FIVE + 99) == ["f1 Open 399 None", "f2 Open 299 None"]
    assert circuits(snapshot, NOW + FIVE + 100) == ["f1 HalfOpen 400 a-uid", "f2 HalfOpen 300 a-uid"]


# --- closing ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("facts", "closes"),
    [
        pytest.param({}, False, id="nothing happened"),
        pytest.param({"retried": at(NOW)}, False, id="a retry at the very moment it opened"),
        pytest.param({"retried": at(NOW + 0.001)}, True, id="a retry after it opened"),
        pytest.param({"generation": 2}, True, id="the profile was changed"),
    ],
)
def test_people_close_a_circuit(facts: dict[str, Any], closes: bool) -> None:
    told = decided(seen(known={"circuits": [OPEN]}, **facts), NOW + 10)
    assert bool(told.circuits) is not closes
    assert told.cleared_time == (at(NOW + 10) if closes else None)
    ready = ("True", "Ready") if closes else ("False", "CircuitOpen")
    assert reasons(told.conditions)["Ready"] == ready


@pytest.mark.parametrize(
    ("began", "opens"),
    [
        pytest.param(NOW - 1, False, id="before"),
        pytest.param(NOW, False, id="exactly then"),
        pytest.param(NOW + 0.001, True, id="after"),
    ],
)
def test_attempts_that_began_before_a_circuit_closed_open_none(began: float, opens: bool) -> None:
    known = {"clearedTime": stamp(NOW)}
    late = fault(NOW + 5, certain=True, began=at(began))
    assert bool(decided(seen(late, known=known), NOW + 6).circuits) is opens


def test_another_fault_that_the_probe_met_opens_its_own_circuit_at_once() -> None:
    began = NOW + FIVE
    probe = ended("contract", fingerprint="f2")
    met = fault(began + 9, certain=True, fingerprint="f2", began=at(began))
    assert circuits(seen(met, known=probing(None).profile.status.manifest(), probe=probe), began + 10) == [
        "f2 Open 0 None"
    ]


# --- holds ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("known", "limits", "until"),
    [
        pytest.param(None, [limit(NOW + 30)], NOW + 30, id="the first"),
        pytest.param(None, [limit(NOW + 30), limit(NOW + 20)], NOW + 30, id="the later of two"),
        pytest.param(HOLD, [limit(NOW + 30)], NOW + 60, id="an earlier one than is known"),
        pytest.param(HOLD, [limit(NOW + 90)], NOW + 90, id="a later one than is known"),
        pytest.param(HOLD, [], NOW + 60, id="whoever heard of it is gone"),
        pytest.param(None, [limit(NOW)], None, id="exactly over"),
    ],
)
def test_the_latest_hold_wins(known: Raw | None, limits: list[Limit], until: float | None) -> None:
    snapshot = seen(known={"hold": known} if known else None, limits=tuple(limits))
    held = decided(snapshot).hold
    assert (held.until if held else None) == (at(until) if until else None)
    assert wakes(snapshot) == (at(until) if until else None)


@pytest.mark.parametrize(
    ("now", "ready"),
    [
        pytest.param(NOW + 59.999, ("False", "ProviderHold"), id="a moment before"),
        pytest.param(NOW + 60, ("True", "Ready"), id="exactly at its end"),
    ],
)
def test_a_hold_that_is_over_is_taken_back(now: float, ready: tuple[str, str]) -> None:
    told = decided(seen(known={"hold": HOLD}), now)
    assert bool(told.hold) is (ready[0] == "False")
    assert reasons(told.conditions) == {"Ready": ready}


@pytest.mark.parametrize(
    ("after", "held"),
    [
        pytest.param(-0.001, True, id="asked before the hold was heard of"),
        pytest.param(0, False, id="asked in that moment"),
        pytest.param(0.001, False, id="asked after it"),
    ],
)
def test_a_persons_retry_ends_the_holds_heard_of_before(after: float, held: bool) -> None:
    asked = at(NOW - 1 + after)
    for snapshot in (
        seen(known={"hold": HOLD}, retried=asked),
        seen(limits=(limit(NOW + 60),), retried=asked),
    ):
        assert bool(decided(snapshot).hold) is held


def test_a_changed_profile_ends_no_hold() -> None:
    assert decided(seen(known={"hold": HOLD}, generation=2)).hold


# --- when it is looked at again ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("snapshot", "now", "wake"),
    [
        pytest.param(seen(), NOW, None, id="nothing is wrong"),
        pytest.param(seen(known={"circuits": [OPEN]}), NOW, at(NOW) + OPEN_FOR, id="until it may be probed"),
        pytest.param(
            seen(known={"circuits": [OPEN]}), NOW + FIVE, at(NOW + FIVE) + LOOK_AGAIN, id="nobody can probe"
        ),
        pytest.param(
            probing(waiting()), NOW + FIVE, at(NOW + FIVE) + LOOK_AGAIN, id="the probe hasn't started"
        ),
        pytest.param(probing(begun()), NOW + FIVE, None, id="the probe's end is awaited"),
        pytest.param(
            seen(known={"circuits": [OPEN], "hold": HOLD}), NOW, at(NOW + 60), id="a hold ends before"
        ),
    ],
)
def test_when_it_is_looked_at_again(snapshot: ProfileSnapshot, now: float, wake: datetime | None) -> None:
    assert wakes(snapshot, now) == wake
