"""What is known, what is counted, and who has to look again when something changes."""

from datetime import timedelta
from typing import Any

import pytest

from bernstein_operator.api.objects import TaskObject
from bernstein_operator.api.pod import Metadata, Pod
from bernstein_operator.api.snapshot import RunSnapshot, TaskSnapshot
from bernstein_operator.api.vocabulary import TaskPhase
from bernstein_operator.decisions.admission import Candidate
from bernstein_operator.world.world import World
from tests.unit.objects import (
    RUN_UID,
    T0,
    at,
    attempt,
    name_of_pod,
    pod,
    raw_profile,
    raw_run,
    raw_task,
    running,
    stamp,
    status,
)
from tests.unit.world.marks import Marked

TASK, RUN = ("ns", "t"), ("ns", "r")
LIVE: dict[str, Any] = {"phase": "Running", "agent": running()}


class Scene:
    """A world with a run and a profile, a clock, and what was marked."""

    def __init__(self, **run: Any) -> None:
        self.now = T0
        self.marked = Marked()
        self.world = World(self.marked, clock=lambda: self.now)
        self.world.put_profile(raw_profile())
        self.world.put_run(raw_run(**run))

    def put(self, name: str = "t", /, **options: Any) -> TaskObject:
        self.world.put_task(raw_task(name, **options))
        found = self.world.task(("ns", name))
        assert found
        return found

    def of(self, name: str = "t") -> TaskSnapshot:
        found = self.world.task_snapshot(("ns", name), refusal=None)
        assert found
        return found

    @property
    def run(self) -> RunSnapshot:
        found = self.world.run_snapshot(RUN)
        assert found
        return found

    def phases(self) -> dict[str, int]:
        return {str(phase): count for phase, count in self.run.phases.items() if count}

    def drop(self, name: str = "t", *, version: int = 99) -> None:
        known = self.world.task(("ns", name))
        assert known
        meta = known.meta
        self.world.drop_task(
            Metadata(name=meta.name, namespace=meta.namespace, uid=meta.uid, resource_version=str(version))
        )


def identity(version: int, *, uid: str = RUN_UID) -> Metadata:
    return Metadata(name="r", namespace="ns", uid=uid, resource_version=str(version))


# --- what a restart finds ---------------------------------------------------------------------------------


def test_a_runs_first_start_is_found_in_its_tasks() -> None:
    scene = Scene()
    assert scene.run.first_admitted is None
    scene.put("b", status=status(attempt(), first_admitted_time=at(7)))
    scene.put("a", status=status(attempt(end_time=at(9)), first_admitted_time=at(3), phase="Succeeded"))
    assert scene.run.first_admitted == at(3)
    scene.world.put_run(raw_run(version=2, metadata={"uid": "another"}))
    assert scene.run.first_admitted is None, "a run made again under the name has yet to start"


def test_what_deleted_tasks_have_spent_is_not_carried_to_a_run_made_again_under_the_name() -> None:
    scene = Scene()
    spent = {"cost_usd": "0.40"}
    scene.put("a", status=status(attempt(end_time=at(9), usage=spent), usage=spent, phase="Succeeded"))
    scene.drop("a")
    assert scene.run.spend.carried == 400_000
    scene.world.put_run(raw_run(version=2, metadata={"uid": "another"}))
    assert scene.run.spend.spent == 0


def test_what_its_tasks_tell_is_known_of_a_run_that_was_heard_of_after_them() -> None:
    world = World(Marked(), clock=lambda: T0)
    told = status(phase="Pending", first_admitted_time=at(3), retried_time=at(7))
    world.put_task(raw_task("a", owner=RUN_UID, status=told))
    world.put_run(raw_run())
    found = world.run_snapshot(RUN)
    assert found
    assert (found.first_admitted, found.last_retried, found.resumed) == (at(3), at(7), 1)


def test_a_run_that_was_deleted_before_is_missed_from_the_start_on() -> None:
    scene = Scene()
    scene.put(run="other", status=status(attempt(pod_uid="p"), phase="Running"))
    assert scene.of().run_gone_since is None
    scene.now = at(5)
    scene.world.recall_departed()
    assert scene.of().run_gone_since == at(5)
    scene.now = at(9)
    scene.world.recall_departed()
    assert scene.of().run_gone_since == at(5), "its grace doesn't begin anew"
    scene.world.put_run(raw_run("other", metadata={"uid": "other-uid"}))
    assert scene.of().run_gone_since is None


# --- versions ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "priority"), [(4, 1), (5, 1), (6, 9)], ids=["older", "the same", "newer"]
)
def test_an_older_version_never_replaces_a_newer_one(version: int, priority: int) -> None:
    scene = Scene()
    scene.put(version=5, priority=1)
    spec = scene.put(version=version, priority=9).spec
    assert spec
    assert spec.priority == priority


def test_an_older_version_of_a_run_or_profile_is_nothing_new_either() -> None:
    scene = Scene(version=5, goal="new")
    scene.world.put_run(raw_run(version=4, goal="old"))
    scene.world.put_profile(raw_profile(version=9, image="new"))
    scene.world.put_profile(raw_profile(version=8, image="old"))
    run, profile = scene.world.run(RUN), scene.world.profile(("ns", "default"))
    assert run and run.spec and run.spec.goal == "new"  # noqa: PT018 - one thing, three steps
    assert profile and profile.spec and profile.spec.image == "new"  # noqa: PT018


def test_late_news_of_a_former_task_does_not_replace_the_one_that_has_its_name() -> None:
    scene = Scene()
    scene.put(version=5, metadata={"uid": "old"})
    scene.put(version=9, metadata={"uid": "new"})
    scene.put(version=7, metadata={"uid": "old"}, status=status(phase="Failed"))
    assert scene.of().task.meta.uid == "new"
    assert scene.phases() == {"Pending": 1, "Cancelled": 1}


def test_the_answer_to_a_write_does_not_bring_a_deleted_task_back() -> None:
    scene = Scene()
    scene.put(version=5)
    scene.drop(version=7)
    scene.world.put_task(raw_task(version=6))
    assert scene.world.task(TASK) is None
    assert scene.phases() == {"Cancelled": 1}


def test_a_task_that_was_only_missed_for_a_while_is_taken_in_again() -> None:
    scene = Scene()
    known = scene.put(version=5)
    scene.world.drop_task(known.meta)
    scene.world.put_task(raw_task(version=5))
    assert scene.world.task(TASK)


def test_a_deletion_of_a_former_object_says_nothing_of_the_present_one() -> None:
    scene = Scene()
    scene.put(version=5)
    scene.world.drop_task(Metadata(name="t", namespace="ns", uid="former"))
    scene.world.drop_run(identity(99, uid="former"))
    assert scene.world.task(TASK)
    assert scene.world.run(RUN)


# --- counts -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("phase", "counted"),
    [(TaskPhase.SUCCEEDED, "Succeeded"), (TaskPhase.FAILED, "Cancelled"), (TaskPhase.RUNNING, "Cancelled")],
)
def test_a_deleted_task_counts_as_what_it_came_to(phase: TaskPhase, counted: str) -> None:
    scene = Scene()
    scene.put(status=status(phase=phase))
    scene.drop()
    assert scene.phases() == {counted: 1}


def test_a_changed_phase_is_counted_once() -> None:
    scene = Scene()
    scene.put("a", version=1)
    scene.put("b", version=2)
    scene.put("a", version=3, status=status(phase="Running"))
    assert scene.phases() == {"Pending": 1, "Running": 1}


def test_what_a_former_run_of_that_name_made_is_not_counted() -> None:
    scene = Scene()
    scene.put("old", owner=RUN_UID, version=2, status=status(phase="Succeeded"))
    scene.put("gone", owner=RUN_UID, version=3)
    scene.drop("gone", version=4)
    scene.world.drop_run(identity(5))
    scene.world.put_run(raw_run(version=6, metadata={"uid": "new-run"}))
    assert scene.phases() == {}
    assert scene.of("old").run is None
    scene.put("mine", owner="new-run", version=7)
    scene.put("names-it", version=8)
    scene.drop("old", version=9)
    assert scene.phases() == {"Pending": 2}
    assert scene.of("mine").run


def test_a_run_made_again_without_news_of_its_deletion_starts_anew() -> None:
    scene = Scene()
    scene.put(owner=RUN_UID, version=2)
    scene.drop(version=3)
    assert scene.phases() == {"Cancelled": 1}
    scene.world.put_run(raw_run(version=4, metadata={"uid": "new-run"}))
    assert scene.phases() == {}


def test_a_task_that_another_controller_owns_counts_for_the_run_that_it_names() -> None:
    scene = Scene()
    scene.world.put_task(
        raw_task(
            metadata={"ownerReferences": [{"kind": "Workflow", "name": "w", "uid": "w", "controller": True}]}
        )
    )
    assert scene.of().run
    scene.drop()
    assert scene.phases() == {"Cancelled": 1}


@pytest.mark.parametrize(
    ("remembered", "present", "phases"),
    [
        pytest.param(
            {"tasks": {"total": 3, "succeeded": 2, "pending": 1}},
            ["Succeeded"],
            {"Succeeded": 2, "Cancelled": 1},
            id="a succeeded and a pending one",
        ),
        pytest.param(
            {"tasks": {"total": 1, "pending": 1}}, ["Pending"], {"Pending": 1}, id="nothing is gone"
        ),
        pytest.param(
            {"tasks": {"total": 1, "pending": 1}}, ["Succeeded"], {"Succeeded": 1}, id="it moved on"
        ),
        pytest.param(
            {"tasks": {"total": 3, "succeeded": 1, "cancelled": 1, "pending": 1}},
            ["Pending", "Pending", "Pending"],
            {"Succeeded": 1, "Cancelled": 1, "Pending": 3},
            id="two that were over, and two are new",
        ),
        pytest.param({}, ["Pending"], {"Pending": 1}, id="nothing was ever counted"),
        pytest.param({"createdTasks": ["x"]}, [], {"Cancelled": 1}, id="an inline task, never counted"),
    ],
)
def test_departed_tasks_are_recalled_after_a_restart(
    remembered: dict[str, Any], present: list[str], phases: dict[str, int]
) -> None:
    scene = Scene(status=remembered)
    for number, phase in enumerate(present):
        scene.put(f"t{number}", status=status(phase=phase))
    scene.world.recall_departed()
    assert scene.phases() == phases


def test_a_task_that_was_deleted_while_the_lists_were_read_is_recalled_once() -> None:
    scene = Scene(status={"tasks": {"total": 1, "pending": 1}})
    scene.put()
    scene.drop()
    scene.world.recall_departed()
    assert scene.phases() == {"Cancelled": 1}


def told(reason: str) -> dict[str, Any]:
    admitted = {"type": "Admitted", "status": "False", "reason": reason}
    return {"conditions": [{**admitted, "lastTransitionTime": "2026-01-01T12:00:00Z"}]}


def test_a_new_leader_counts_what_it_saw_go_though_the_last_one_did_not_record_it() -> None:
    scene = Scene(status={"tasks": {"total": 1, "pending": 1}})
    for name in "ab":
        scene.put(name, version=1)
    scene.world.recall_departed()
    for name in "ab":
        scene.drop(name, version=2)
    scene.world.recall_departed()
    assert scene.phases() == {"Cancelled": 2}


def test_a_new_leader_counts_what_it_did_not_see_go() -> None:
    scene = Scene()
    scene.world.recall_departed()
    scene.world.put_run(raw_run(version=9, status={"tasks": {"total": 3, "succeeded": 2}}))
    scene.world.recall_departed()
    assert scene.phases() == {"Succeeded": 2, "Cancelled": 1}


def test_tasks_that_cannot_move_are_counted_as_stuck() -> None:
    scene = Scene()
    scene.put("a", version=1, dependsOn=["b"], status=told("InvalidGraph"))
    scene.put("b", version=1, dependsOn=["a"], status=told("InvalidGraph"))
    scene.put("c", version=1, title=7, status=told("InvalidSpec"), owner="former-run")
    assert scene.run.stuck == 2
    scene.put("b", version=2, status=told("BackingOff"))
    assert scene.run.stuck == 1


def test_a_retry_that_a_task_has_yet_to_answer_is_counted() -> None:
    scene = Scene()
    failed = {"phase": "Failed", "completionTime": stamp(5)}
    asking = {"annotations": {"bernstein.run/retry": "1"}}
    scene.put("a", version=1, status=failed)
    scene.marked.forget()
    scene.put("a", version=2, status=failed, metadata={**asking, "resourceVersion": "2"})
    assert (scene.run.retrying, scene.marked.runs) == (1, {"r"})
    answer = {"verb": "retry", "value": "1", "time": stamp(6), "effect": "Ignored: no."}
    answered = {**failed, "requests": [answer]}
    scene.marked.forget()
    scene.put("a", status=answered, metadata={**asking, "resourceVersion": "3"})
    assert (scene.run.retrying, scene.marked.runs) == (0, {"r"})


def test_a_failed_task_whose_end_is_asked_for_is_none_to_retry() -> None:
    scene = Scene()
    scene.put("a", status={"phase": "Failed"})
    scene.put("b", status={"phase": "Failed"}, cancel="true")
    assert scene.run.retriable == 1


def test_a_task_whose_name_became_free_is_stuck_no_more_before_it_has_looked_again() -> None:
    scene = Scene()
    later = {"creationTimestamp": "2026-01-01T13:00:00Z"}
    scene.put("one", version=1, name="x", status=status(phase="Running"))
    scene.put("two", name="x", status=told("InvalidSpec"), metadata=later)
    assert scene.run.stuck == 1
    scene.put("one", version=2, name="x", status=status(phase="Failed"))
    assert scene.run.stuck == 0


def test_a_task_whose_cycle_was_broken_is_stuck_no_more_before_it_has_looked_again() -> None:
    scene = Scene()
    scene.put("a", dependsOn=["b"], status=told("InvalidGraph"))
    scene.put("b", version=1, dependsOn=["a"], status=status(phase="Running"))
    assert scene.run.stuck == 1
    scene.put("b", version=2, dependsOn=["a"], status=status(phase="Succeeded"))
    assert scene.run.stuck == 0


# --- slots ------------------------------------------------------------------------------------------------


def candidate(name: str = "t", role: str = "auto") -> Candidate:
    return Candidate(f"{name}-uid", 2, role, ("", name))


def test_a_slot_is_held_from_its_grant_to_the_pods_end() -> None:
    scene = Scene()
    held = []

    def look() -> None:
        held.append(scene.run.live)

    scene.world.slots.offer(scene.put(version=1), candidate())
    look()
    scene.world.grant(RUN, free=1)
    look()
    assert scene.of().has_slot
    scene.put(version=2, status=status(attempt()))
    look()
    assert not scene.of().has_slot
    scene.world.seen(pod(version=3))
    look()
    scene.put(version=4, status=status(attempt(pod_uid="p", start_time=at(1)), phase="Running"))
    look()
    scene.world.seen(pod(version=5, phase="Succeeded"))
    look()
    scene.put(version=6, status=status(attempt(pod_uid="p", end_time=at(9)), phase="Succeeded"))
    look()
    assert held == [0, 1, 1, 1, 1, 0, 0]


@pytest.mark.parametrize(
    ("seen", "live"),
    [
        pytest.param(pod(), 1, id="pending"),
        pytest.param(pod(**LIVE), 1, id="running"),
        pytest.param(pod(**LIVE, deleted=5), 1, id="terminating"),
        pytest.param(pod(phase="Succeeded"), 0, id="succeeded"),
        pytest.param(pod(phase="Failed"), 0, id="failed"),
    ],
)
def test_which_pods_hold_a_slot(seen: Pod, live: int) -> None:
    scene = Scene()
    scene.put(status=status(attempt(end_time=at(1))))
    scene.world.seen(seen)
    assert (scene.run.live, scene.world.live) == (live, live)


def test_backing_off_holds_no_slot() -> None:
    scene = Scene()
    scene.put(status=status(attempt(end_time=at(1)), next_attempt_time=at(99)))
    assert scene.run.live == 0


def test_a_grant_that_is_not_used_is_given_back() -> None:
    scene = Scene()
    task = scene.put()
    scene.world.slots.offer(task, candidate())
    scene.world.grant(RUN, free=1)
    scene.world.slots.release(task)
    assert (scene.run.live, scene.of().has_slot) == (0, False)


def test_no_more_slots_are_given_than_are_free() -> None:
    scene = Scene()
    for name in "abc":
        scene.world.slots.offer(scene.put(name), candidate(name))
    scene.world.grant(RUN, free=2)
    assert (scene.run.live, scene.run.waiting) == (2, 1)


def test_a_task_that_is_offered_no_more_leaves_the_queue() -> None:
    scene = Scene()
    task = scene.put()
    scene.world.slots.offer(task, candidate())
    scene.world.slots.offer(task, None)
    scene.world.grant(RUN, free=9)
    assert (scene.run.waiting, scene.run.live) == (0, 0)


def test_a_task_has_waited_since_it_was_first_offered() -> None:
    scene = Scene()
    task = scene.put()
    scene.world.slots.offer(task, candidate())
    scene.now += timedelta(seconds=9)
    scene.world.slots.offer(task, candidate())
    assert scene.of().ready_since == T0


def test_the_pod_of_a_deleted_task_still_holds_its_slot_and_its_role() -> None:
    scene = Scene()
    scene.put(role="qa", status=status(attempt()))
    scene.world.seen(pod(version=2, role="qa", **LIVE))
    scene.drop()
    assert scene.run.live == 1
    assert scene.world.roster(RUN).live_by_role == {"qa": 1}
    scene.world.gone(pod(version=3, role="qa", **LIVE))
    assert (scene.run.live, scene.world.live) == (0, 0)


def test_pods_of_a_deleted_run_hold_slots_of_the_one_that_follows() -> None:
    scene = Scene()
    scene.put(status=status(attempt()))
    scene.world.seen(pod(version=2, **LIVE))
    scene.drop()
    scene.world.drop_run(identity(3))
    scene.world.put_run(raw_run(version=4, metadata={"uid": "new-run"}))
    assert scene.run.live == 1


def test_a_pod_seen_before_its_task_holds_its_slot() -> None:
    scene = Scene()
    scene.world.seen(pod(**LIVE))
    assert scene.run.live == 1
    scene.put(status=status(attempt()))
    assert scene.run.live == 1


def test_somebody_elses_pod_with_our_labels_holds_none() -> None:
    scene = Scene()
    scene.world.seen(pod(owner=[], **LIVE))
    assert scene.world.live == 0


def test_a_pod_that_claims_a_task_of_an_api_that_nobody_serves_holds_none() -> None:
    scene = Scene()
    claim = {
        "apiVersion": "bernstein.run/v9",
        "kind": "AgentTask",
        "name": "t",
        "uid": "x",
        "controller": True,
    }
    scene.world.seen(pod(owner=[claim], **LIVE))
    assert scene.run.live == 0


@pytest.mark.parametrize(
    "end",
    [
        pytest.param({"phase": "Succeeded"}, id="it ended"),
        pytest.param(None, id="it was deleted"),
    ],
)
def test_a_pod_that_was_orphaned_holds_its_slot_until_its_end(end: dict[str, Any] | None) -> None:
    scene = Scene()
    scene.put(status=status(attempt()))
    scene.world.seen(pod(version=2, **LIVE))
    scene.drop()
    scene.world.seen(pod(version=3, owner=[], **LIVE))
    assert scene.run.live == 1
    if end:
        scene.world.seen(pod(version=4, owner=[], **{**LIVE, **end}))
    else:
        scene.world.gone(pod(version=4, owner=[], **LIVE))
    assert (scene.run.live, scene.world.live) == (0, 0)


def test_a_dead_pod_does_not_take_its_slot_again() -> None:
    scene = Scene()
    scene.put(status=status(attempt()))
    scene.world.seen(pod(version=2, **LIVE))
    scene.world.gone(pod(version=3, **LIVE))
    scene.world.seen(pod(version=4, **LIVE))
    assert scene.run.live == 0


def test_last_words_are_kept_while_the_attempt_is_open() -> None:
    scene = Scene()
    scene.put(version=1, status=status(attempt()))
    scene.world.gone(pod(version=2, phase="Failed"))
    assert [(one.gone, one.pod.status.phase) for one in scene.of().sightings] == [(True, "Failed")]
    scene.put(version=3, status=status(attempt(end_time=at(3))))
    assert scene.of().sightings == ()


# --- who looks again --------------------------------------------------------------------------------------


def test_a_freed_slot_wakes_the_run_and_tells_of_the_room() -> None:
    scene = Scene()
    scene.put(status=status(attempt()))
    scene.world.seen(pod(version=2, **LIVE))
    scene.marked.forget()
    scene.world.seen(pod(version=3, phase="Succeeded"))
    assert (scene.marked.runs, scene.marked.tasks, scene.marked.namespaces) == ({"r"}, {"t"}, ["ns"])


def test_an_attempt_that_was_taken_back_makes_no_room() -> None:
    scene = Scene()
    scene.put(version=1, status=status(attempt()))
    scene.marked.forget()
    scene.put(version=2, status=status())
    assert scene.run.live == 0
    assert (scene.marked.runs, scene.marked.namespaces) == ({"r"}, [])


def test_dependents_look_again_when_a_task_moves() -> None:
    scene = Scene()
    scene.put("a", version=1)
    scene.put("b", version=1, dependsOn=["a"])
    scene.put("c", version=1)
    scene.marked.forget()
    scene.put("a", version=2, status=status(phase="Failed"))
    assert scene.marked.tasks == {"a", "b"}


def test_dependents_look_again_when_a_task_appears_or_goes() -> None:
    scene = Scene()
    scene.put("b", dependsOn=["a"])
    scene.marked.forget()
    scene.put("a")
    assert scene.marked.tasks == {"a", "b"}
    scene.marked.forget()
    scene.drop("a")
    assert scene.marked.tasks == {"a", "b"}, "its own key too: something may be kept about it"


def test_what_says_nothing_to_others_wakes_nobody_else() -> None:
    scene = Scene()
    scene.put("a", version=1)
    scene.put("b", version=1, dependsOn=["a"])
    scene.marked.forget()
    scene.put("a", version=2, status=status(retries=1))
    assert (scene.marked.tasks, scene.marked.runs) == ({"a"}, set())


@pytest.mark.parametrize(
    ("options", "marked"),
    [
        pytest.param({}, set(), id="nothing that matters"),
        pytest.param({"suspend": True}, {"t"}, id="suspend"),
        pytest.param({"cancel": "true"}, {"t"}, id="cancel"),
        pytest.param({"taskDefaults": {"role": "qa"}}, {"t"}, id="defaults"),
        pytest.param({"status": {"phase": "Failed"}}, {"t"}, id="its end"),
        pytest.param({"max_agents": 3}, set(), id="the ceiling, which is the run's own business"),
    ],
)
def test_tasks_look_again_when_their_run_changes(options: dict[str, Any], marked: set[str]) -> None:
    scene = Scene(version=1)
    scene.put()
    scene.marked.forget()
    scene.world.put_run(raw_run(version=2, **options))
    assert scene.marked.tasks == marked
    assert scene.marked.runs == {"r"}


def test_tasks_look_again_when_their_run_goes() -> None:
    scene = Scene()
    scene.put()
    scene.marked.forget()
    scene.world.drop_run(identity(9))
    assert (scene.marked.tasks, scene.marked.runs) == ({"t"}, {"r"})
    assert (scene.of().run, scene.of().run_gone_since) == (None, T0)


def test_tasks_look_again_when_their_profile_comes_or_goes() -> None:
    scene = Scene()
    scene.put("uses", profile="fast")
    scene.put("other")
    scene.put("done", profile="fast", status=status(phase="Succeeded"))
    scene.marked.forget()
    scene.world.put_profile(raw_profile("fast"))
    assert scene.marked.tasks == {"uses"}
    scene.marked.forget()
    scene.world.drop_profile(Metadata(name="fast", namespace="ns", uid="fast-uid"))
    assert scene.marked.tasks == {"uses"}
    assert scene.of("uses").profile is None


# --- names and graphs -------------------------------------------------------------------------------------


def two(*, older: str = "Pending", newer: str = "Pending") -> Scene:
    scene = Scene()
    scene.put("one", name="x", status=status(phase=older))
    scene.put(
        "two", name="x", status=status(phase=newer), metadata={"creationTimestamp": "2026-01-01T13:00:00Z"}
    )
    return scene


@pytest.mark.parametrize("older", ["Pending", "Running", "Succeeded", "BlockedByFailure"])
def test_of_two_with_one_name_the_older_has_it(older: str) -> None:
    scene = two(older=older)
    assert (scene.of("one").name_taken_by, scene.of("two").name_taken_by) == ("", "one")


@pytest.mark.parametrize("older", ["Failed", "Cancelled", "Abandoned"])
def test_the_newer_has_the_name_once_the_older_gave_up(older: str) -> None:
    scene = two(older=older)
    assert (scene.of("one").name_taken_by, scene.of("two").name_taken_by) == ("two", "")


def test_claimants_look_again_when_a_name_may_be_free() -> None:
    scene = two()
    scene.marked.forget()
    scene.put("one", version=2, name="x", status=status(phase="Failed"))
    assert scene.marked.tasks == {"one", "two"}


def test_what_a_name_in_depends_on_means() -> None:
    scene = Scene()
    scene.put("b", dependsOn=["a", "missing", "a"])
    done = attempt(task="r-a", end_time=at(1), head_after="c" * 40, branch="bernstein/r/a")
    scene.put("r-a", name="a", status=status(done, phase="Succeeded"))
    first, second = scene.of("b").dependencies
    assert (first.name, first.uid, first.phase, first.commit) == ("a", "r-a-uid", "Succeeded", "c" * 40)
    assert (second.name, second.uid, second.phase) == ("missing", "", None)


def test_tasks_of_other_runs_and_namespaces_are_never_meant() -> None:
    scene = Scene()
    scene.put("b", dependsOn=["a"])
    scene.put("a", run="another")
    scene.world.put_task(raw_task("a", metadata={"namespace": "elsewhere", "uid": "elsewhere"}))
    (found,) = scene.of("b").dependencies
    assert found.uid == ""


def test_a_cycle_is_told_to_its_members_until_it_is_broken() -> None:
    scene = Scene()
    scene.put("a", version=1, dependsOn=["b"])
    scene.put("b", version=1, dependsOn=["a"])
    scene.put("c", version=1, dependsOn=["a"])
    assert (scene.of("a").cycle, scene.of("b").cycle, scene.of("c").cycle) == (("a", "b"), ("a", "b"), ())
    scene.put("b", version=2)
    assert scene.of("a").cycle == ()


def test_the_cycle_is_the_same_where_one_member_is_settled() -> None:
    scene = Scene()
    scene.put("a", dependsOn=["b"])
    scene.put("b", dependsOn=["a"], status=status(phase="Cancelled"))
    assert scene.of("a").cycle == ()


def test_a_run_of_any_length_of_name_finds_its_pods_again() -> None:
    long = "r" * 253
    scene = Scene()
    scene.world.put_run(raw_run(long, metadata={"uid": "long"}))
    scene.put(run=long, status=status(attempt()))
    scene.marked.forget()
    scene.world.seen(pod(version=2, phase="Succeeded", name=name_of_pod()))
    assert scene.marked.runs == {long}


def test_nothing_is_left_of_what_is_gone() -> None:
    scene = Scene()
    for number in range(3):
        name = f"t{number}"
        scene.put(name, status=status(attempt(task=name)))
        scene.world.seen(pod(task=name, version=2, **LIVE))
        scene.world.gone(pod(task=name, version=3, phase="Failed"))
        scene.drop(name)
    scene.world.drop_run(identity(99))
    assert (list(scene.world.tasks), list(scene.world.runs), scene.world.live) == ([], [], 0)
    assert scene.world.roster(RUN).phases == {}
    assert scene.world.versions("AgentTask") == {}
