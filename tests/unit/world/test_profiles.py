"""What tasks say of their profile is known at once, and kept for as long as it matters."""

from typing import Any

import pytest

from bernstein_operator.api.profile import AgentProfileStatus
from bernstein_operator.api.snapshot import ProfileSnapshot
from bernstein_operator.decisions.admission import Candidate
from bernstein_operator.decisions.circuit import decide_profile
from bernstein_operator.world.world import World
from tests.unit.objects import (
    RUN_UID,
    Raw,
    at,
    attempt,
    name_of_pod,
    pod,
    profile,
    raw_profile,
    raw_run,
    raw_task,
    said,
    stamp,
    status,
    task,
    terminated,
)
from tests.unit.world.marks import Marked

PROFILE = ("ns", "default")
OPEN: Raw = {"fingerprint": "f1", "state": "Open", "since": stamp(0)}


def refused(number: int = 1, *, of: str = "t", ended: float = 50, **fields: Any) -> Any:
    whole = {"result_class": "contract", "reason": "CredentialsRefused", "fingerprint": "f1", **fields}
    return attempt(number, task=of, profile="default", end_time=at(ended), **whole)


def limited(retry_after: int = 60, *, of: str = "t") -> Any:
    capacity = {"result_class": "capacity", "reason": "RateLimited", "fingerprint": "f2"}
    return attempt(
        1, task=of, profile="default", end_time=at(50), retry_after_seconds=retry_after, **capacity
    )


class Scene:
    """A world with a run, a profile, a clock, and what was marked."""

    def __init__(self, *circuits: Raw, max_agents: int = 2) -> None:
        self.now = at(60)
        self.marked = Marked()
        self.version = 1
        self.world = World(self.marked, clock=lambda: self.now)
        self.world.put_run(raw_run(max_agents=max_agents))
        self.world.put_profile(raw_profile(status={"observedGeneration": 1, "circuits": list(circuits)}))
        self.marked.forget()

    def put(self, name: str = "t", /, **options: Any) -> None:
        self.version += 1
        self.world.put_task(raw_task(name, version=self.version, **options))

    def waits(self, name: str, reason: str = "CircuitOpen", **options: Any) -> None:
        admitted = {"type": "Admitted", "status": "False", "reason": reason, "lastTransitionTime": stamp(0)}
        self.put(name, status=status(conditions=[admitted]), **options)

    @property
    def seen(self) -> ProfileSnapshot:
        found = self.world.profile_snapshot(PROFILE)
        assert found
        return found

    def marks(self) -> set[str]:
        found = self.marked.profiles
        self.marked.forget()
        return found


def faults(scene: Scene) -> list[str]:
    return [one.task for one in scene.seen.faults]


def test_a_fault_marks_the_profile_once() -> None:
    scene = Scene()
    scene.put(status=status(attempt(profile="default")))
    assert scene.marks() == set()
    scene.put(status=status(refused(), phase="Failed"))
    assert (scene.marks(), faults(scene)) == ({"default"}, ["t-uid"])
    scene.put(status=status(refused(), phase="Failed"), title="another")
    assert (scene.marks(), faults(scene)) == (set(), ["t-uid"])


@pytest.mark.parametrize(
    ("now", "known"),
    [pytest.param(650, ["t-uid"], id="exactly 10 minutes"), pytest.param(650.001, [], id="longer ago")],
)
def test_old_faults_are_forgotten(now: float, known: list[str]) -> None:
    scene = Scene()
    scene.put(status=status(refused(), phase="Failed"))
    scene.now = at(now)
    assert faults(scene) == known


def test_what_a_deleted_task_said_is_forgotten() -> None:
    scene = Scene()
    scene.put(status=status(refused()))
    scene.marks()
    scene.world.drop_task(task(version=99).meta)
    assert (scene.marks(), faults(scene)) == ({"default"}, [])


def test_a_fault_counts_against_the_profile_that_the_attempt_ran_with() -> None:
    scene = Scene()
    scene.put(status=status(refused()), profile="another")
    assert (scene.marks(), faults(scene)) == ({"default"}, ["t-uid"])


def test_a_limit_is_known_until_it_is_over() -> None:
    scene = Scene()
    scene.put(status=status(limited()))
    assert [one.until for one in scene.seen.limits] == [at(110)]
    scene.now = at(110)
    assert scene.seen.limits == ()


def test_what_a_pod_says_at_its_end_counts_before_it_is_stored() -> None:
    scene = Scene()
    scene.put(status=status(attempt(profile="default")))
    told = said(name_of_pod(), "contract", reason="CredentialsRefused")
    scene.world.seen(pod(phase="Failed", agent=terminated(1, start=40, end=50, message=told)))
    assert (scene.marks(), faults(scene)) == ({"default"}, ["t-uid"])
    confirmed = attempt(profile="default", pod_uid=f"{name_of_pod()}-uid", start_time=at(40))
    scene.put(status=status(confirmed, phase="Running"))
    assert (scene.marks(), faults(scene)) == (set(), ["t-uid"]), "a write that was on its way changes nothing"
    scene.put(status=status(refused(), phase="Failed"))
    assert faults(scene) == ["t-uid"]


def shut(scene: Scene) -> bool:
    found = scene.world.task_snapshot(("ns", "t"), refusal=None)
    assert found
    assert found.profile
    return bool(found.profile.status.circuits)


def test_a_decision_holds_until_the_profile_is_read_again() -> None:
    scene = Scene()
    scene.put()
    decided = AgentProfileStatus.model_validate({"circuits": [OPEN]})
    scene.world.profiles.decide(PROFILE, decided)
    assert shut(scene)
    assert scene.seen.profile.status.circuits == (), "a decision rests on what is stored"
    scene.world.put_profile(raw_profile(version=2))
    assert not shut(scene)


@pytest.mark.parametrize(
    ("said", "when"),
    [
        pytest.param({"retriedTime": stamp(70)}, 70, id="a task's retry"),
        pytest.param(
            {"requests": [{"verb": "retry", "time": stamp(71), "effect": "Ignored"}]},
            71,
            id="of one that waits",
        ),
        pytest.param(
            {"requests": [{"verb": "cancel", "time": stamp(71), "effect": "x"}]}, None, id="no retry"
        ),
    ],
)
def test_a_persons_retry_is_heard(said: Raw, when: float | None) -> None:
    scene = Scene()
    scene.put(status=said)
    assert scene.seen.retried == (at(when) if when else None)
    assert scene.marks() == ({"default"} if when else set())


def test_a_runs_retry_is_heard_by_the_profiles_of_its_tasks() -> None:
    scene = Scene()
    scene.put()
    requests = [{"verb": "retry", "time": stamp(70), "effect": "x"}]
    scene.world.put_run(raw_run(version=9, status={"requests": requests}))
    assert (scene.marks(), scene.seen.retried) == ({"default"}, at(70))
    scene.put("later", owner=RUN_UID)
    assert scene.seen.retried == at(70)


# --- who probes -------------------------------------------------------------------------------------------


def test_the_oldest_task_that_waits_for_the_circuit_only_may_probe() -> None:
    scene = Scene(OPEN)
    scene.waits("young", metadata={"creationTimestamp": stamp(5)})
    scene.waits("held", "ProviderHold", metadata={"creationTimestamp": stamp(1)})
    scene.waits("old", metadata={"creationTimestamp": stamp(2)})
    assert scene.seen.candidate == "old-uid"
    scene.waits("old", "Suspended", metadata={"creationTimestamp": stamp(2)})
    assert scene.seen.candidate == "young-uid"
    scene.world.drop_task(task("young", version=99).meta)
    assert scene.seen.candidate is None


@pytest.mark.parametrize(
    ("change", "may"),
    [
        pytest.param({}, True, id="there is room"),
        pytest.param({"suspend": True}, False, id="its run is suspended"),
        pytest.param({"max_agents": 1}, False, id="its run has no slot free"),
        pytest.param({"status": {"phase": "Failed"}}, False, id="its run has ended"),
    ],
)
def test_a_task_probes_only_where_its_run_would_let_it_start(change: Raw, may: bool) -> None:
    scene = Scene(OPEN)
    scene.put("live", status=status(attempt(task="live", profile="default")))
    scene.waits("t")
    scene.world.put_run(raw_run(version=9, **{"max_agents": 2, **change}))
    assert scene.seen.candidate == ("t-uid" if may else None)


def test_a_probe_that_has_a_slot_may_start_though_none_is_free() -> None:
    scene = Scene({**OPEN, "state": "HalfOpen", "probe": "t-uid"}, max_agents=1)
    scene.waits("t")
    probe = scene.seen.probe
    assert probe
    assert scene.seen.probe_may_start
    scene.world.slots.offer(probe, Candidate("t-uid", 5, "backend", ("", "t")))
    scene.world.grant(("ns", "r"), free=1)
    assert scene.seen.probe_may_start


def test_whatever_becomes_of_the_probe_marks_its_profile() -> None:
    scene = Scene({**OPEN, "state": "HalfOpen", "probe": "t-uid"})
    scene.waits("t")
    assert scene.marks() == {"default"}
    scene.put(profile="another")
    assert scene.marks() == {"default"}
    scene.world.drop_task(task(version=99).meta)
    assert scene.marks() == {"default"}
    assert scene.seen.probe is None


def test_tasks_and_profiles_in_any_order_come_to_the_same_decision() -> None:
    first, second = Scene(), Scene()
    first.put("a", status=status(refused(of="a")))
    first.put("b", status=status(limited(of="b")))
    second.put("b", status=status(limited(of="b")))
    second.put("a", status=status(refused(of="a")))
    second.world.put_profile(raw_profile(version=2, status={"observedGeneration": 1}))
    decisions = [decide_profile(one.seen, now=at(60)) for one in (first, second)]
    assert decisions[0] == decisions[1]
    assert decisions[0].status.hold
    assert decisions[0].status.circuits


def test_a_profile_that_is_gone_is_none_any_more() -> None:
    scene = Scene()
    scene.world.drop_profile(profile(version=9).meta)
    assert scene.world.profile_snapshot(PROFILE) is None
    assert scene.marks() == {"default"}


@pytest.mark.parametrize("profile_first", [True, False], ids=["it goes first", "its task goes first"])
def test_of_a_profile_that_is_gone_with_its_tasks_nothing_is_kept(profile_first: bool) -> None:
    scene = Scene()
    scene.put(status=status(refused(), retried_time=at(70)))
    if profile_first:
        scene.world.drop_profile(profile(version=99).meta)
    scene.world.drop_task(task(version=99).meta)
    if not profile_first:
        scene.world.drop_profile(profile(version=99).meta)
    scene.world.put_profile(raw_profile(version=100, metadata={"uid": "another"}))
    assert (scene.seen.retried, scene.seen.faults) == (None, ())
