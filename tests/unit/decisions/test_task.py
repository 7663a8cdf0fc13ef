"""What becomes of a task, one situation after another."""

from dataclasses import replace
from typing import Any

import pytest

from bernstein_agent.contract import ResultClass
from bernstein_operator.api.objects import TaskObject
from bernstein_operator.api.pod import Pod
from bernstein_operator.api.snapshot import Dependency, Refusal, Sighting, TaskSnapshot
from bernstein_operator.api.task_status import AgentTaskStatus
from bernstein_operator.api.vocabulary import AdmittedReason, TaskPhase
from bernstein_operator.decisions.outcome import Outcome
from bernstein_operator.decisions.plan import CreatePod, DeletePod, StopPod, TaskDecision
from bernstein_operator.decisions.starting import TELL_QUEUED_AFTER
from bernstein_operator.decisions.task import decide, decide_refused
from tests.unit.objects import (
    COMMIT_A,
    at,
    attempt,
    name_of_pod,
    pod,
    raw_task,
    reasons,
    run,
    running,
    said,
    snapshot,
    status,
    task,
    terminated,
    waiting,
)


def on(seen: TaskSnapshot, now: float = 10) -> TaskDecision:
    return decide(seen, now=at(now))


def stored(decision: TaskDecision, **options: Any) -> TaskObject:
    """Return the task as it is after its decision was written."""
    return TaskObject.parse(raw_task(status=decision.status, **options))


def admitted(decision: TaskDecision) -> tuple[str, str] | None:
    return reasons(decision.status.conditions).get("Admitted")


BEGUN = status(attempt(), first_admitted_time=at(0))
RUNS = status(
    attempt(pod_uid=f"{name_of_pod()}-uid", start_time=at(1)), phase="Running", first_admitted_time=at(0)
)
LIVE = pod(phase="Running", agent=running(1))
UNSEEN = {"phase": "Pending", "observedGeneration": -1}


# --- before the first attempt -----------------------------------------------------------------------------


def test_a_new_task_queues_and_nothing_is_written() -> None:
    new = task(status=UNSEEN)
    decision = on(snapshot(new))
    assert decision.status == new.status
    assert decision.candidate
    assert (decision.candidate.uid, decision.candidate.priority, decision.candidate.role) == (
        "t-uid",
        2,
        "auto",
    )


def test_a_granted_slot_becomes_an_intent_and_then_a_pod() -> None:
    decision = on(snapshot(task(status=UNSEEN), has_slot=True))
    assert decision.actions == (CreatePod(),)
    assert [one.pod_name for one in decision.status.attempts] == [name_of_pod()]
    assert admitted(decision) == ("True", "Admitted")
    assert decision.candidate is None


@pytest.mark.parametrize(
    "facts",
    [
        pytest.param({"run": None}, id="its run is gone"),
        pytest.param({"run": run(suspend=True)}, id="its run is suspended"),
        pytest.param({"run": run(status={"phase": "Failed"})}, id="its run ended"),
        pytest.param({"run": run(cancel="true")}, id="its run was cancelled"),
        pytest.param({"profile": None}, id="its profile is gone"),
        pytest.param({"cycle": ("t", "u")}, id="a cycle was closed"),
        pytest.param({"dependencies": (Dependency("a"),)}, id="a dependency was added"),
        pytest.param({"name_taken_by": "older"}, id="its name is an older one's"),
        pytest.param({"sightings": (Sighting(LIVE),)}, id="an earlier Pod lives"),
        pytest.param({"task": task(status=UNSEEN, suspend=True)}, id="it was suspended"),
        pytest.param({"task": task(status=UNSEEN, cancel="true")}, id="it was cancelled"),
        pytest.param({"task": task(status=status(next_attempt_time=at(11)))}, id="it backs off"),
        pytest.param(
            {"task": task(metadata={"deletionTimestamp": "2026-01-01T12:00:00Z"})}, id="it is deleted"
        ),
    ],
)
def test_a_granted_slot_is_not_used_once_something_stands_in_the_way(facts: dict[str, Any]) -> None:
    decision = on(replace(snapshot(task(status=UNSEEN), has_slot=True), **facts))
    assert CreatePod() not in decision.actions
    assert decision.status.attempt == 0


@pytest.mark.parametrize(
    ("facts", "reason", "stalled"),
    [
        pytest.param({"run": None}, "RunNotFound", False, id="no run"),
        pytest.param({"profile": None}, "ProfileNotFound", False, id="no profile"),
        pytest.param({"cycle": ("t", "u")}, "InvalidGraph", True, id="a cycle"),
        pytest.param({"name_taken_by": "older"}, "InvalidSpec", True, id="a taken name"),
        pytest.param({"task": task(priority=0)}, "InvalidSpec", True, id="a field out of bounds"),
        pytest.param(
            {"dependencies": (Dependency("a"),)}, "DependencyPending", False, id="a missing dependency"
        ),
        pytest.param({"run": run(status={"phase": "Failed"})}, "RunEnded", True, id="its run ended"),
        pytest.param(
            {"refusal": Refusal(AdmittedReason.QUOTA_EXCEEDED, "full")},
            "QuotaExceeded",
            False,
            id="a refused Pod",
        ),
    ],
)
def test_a_waiting_task_says_for_what(facts: dict[str, Any], reason: str, stalled: bool) -> None:
    decision = on(snapshot(**facts))
    assert admitted(decision) == ("False", reason)
    assert ("Stalled" in reasons(decision.status.conditions)) is stalled
    assert ("Reconciling" in reasons(decision.status.conditions)) is not stalled


def test_a_refused_task_queues_again_while_it_tells_of_the_refusal() -> None:
    assert on(snapshot(refusal=Refusal(AdmittedReason.QUOTA_EXCEEDED, "full"))).candidate


def test_a_missing_dependency_is_looked_at_when_its_time_is_over() -> None:
    decision = on(snapshot(task(dependencyTimeoutSeconds=60), dependencies=(Dependency("a"),)))
    assert decision.wake == at(70)
    after = on(
        snapshot(stored(decision, dependencyTimeoutSeconds=60), dependencies=(Dependency("a"),)), now=70
    )
    assert after.status.phase is TaskPhase.BLOCKED_BY_FAILURE
    assert after.status.blocked_by
    assert after.status.blocked_by.cause == "Missing"


def test_a_blocked_task_is_looked_at_again_when_its_blocker_moves() -> None:
    failed = Dependency("a", uid="a-uid", phase=TaskPhase.FAILED)
    blocked = on(snapshot(dependencies=(failed,)))
    assert blocked.status.phase is TaskPhase.BLOCKED_BY_FAILURE
    again = on(snapshot(stored(blocked), dependencies=(replace(failed, phase=TaskPhase.PENDING),)), now=20)
    assert (again.status.phase, again.status.blocked_by) == (TaskPhase.PENDING, None)
    assert admitted(again) == ("False", "DependencyPending")


def test_a_member_of_a_cycle_is_not_blocked_by_the_others() -> None:
    stuck = Dependency("u", uid="u-uid", phase=TaskPhase.PENDING, stuck=True)
    assert admitted(on(snapshot(dependencies=(stuck,), cycle=("t", "u")))) == ("False", "InvalidGraph")


@pytest.mark.parametrize(
    ("waited", "told"),
    [
        pytest.param(4.999, "DependencyPending", id="it may be over in a moment"),
        pytest.param(5, "Queued", id="long enough to be told"),
    ],
)
def test_a_task_that_was_written_says_that_it_queues_after_a_while(waited: float, told: str) -> None:
    waits = on(snapshot(dependencies=(Dependency("a", uid="a-uid", phase=TaskPhase.RUNNING),)), now=0)
    done = Dependency("a", uid="a-uid", phase=TaskPhase.SUCCEEDED)
    known = stored(waits)
    known = replace(known, status=on(snapshot(known, dependencies=(done,), ready_since=at(0)), now=1).status)
    quiet = replace(known, status=known.status.model_copy(update={"conditions": waits.status.conditions}))
    decision = on(snapshot(quiet, dependencies=(done,), ready_since=at(0)), now=waited)
    assert admitted(decision) == ("False", told)
    assert TELL_QUEUED_AFTER.total_seconds() == 5


# --- an attempt that goes on ------------------------------------------------------------------------------


def test_an_intent_without_a_pod_asks_for_it_again() -> None:
    decision = on(snapshot(task(status=BEGUN)))
    assert decision.actions == (CreatePod(),)


def test_a_pod_that_has_not_started_is_no_news() -> None:
    before = on(snapshot(task(status=UNSEEN), has_slot=True))
    decision = on(snapshot(stored(before), pod(created=10)), now=15)
    assert (decision.status, decision.actions) == (before.status, ())
    assert decision.wake == at(20), "when it would be worth a word"


def test_a_started_agent_is_confirmed_in_one_write() -> None:
    decision = on(snapshot(task(status=BEGUN), LIVE))
    last = decision.status.attempts[-1]
    assert decision.status.phase is TaskPhase.RUNNING
    assert (last.pod_uid, last.node, last.start_time) == (f"{name_of_pod()}-uid", "node-1", at(1))
    assert admitted(decision) == ("True", "Admitted")


def test_a_pod_that_cannot_start_tells_why() -> None:
    decision = on(snapshot(task(status=BEGUN), pod(agent=waiting("ErrImagePull", "not found"))), now=30)
    assert decision.status.phase is TaskPhase.PENDING
    assert admitted(decision) == ("True", "PodWaiting")


def test_a_failing_pull_told_in_alternating_words_is_one_piece_of_news() -> None:
    first = on(snapshot(task(status=BEGUN), pod(agent=waiting("ErrImagePull", "not found"))), now=30)
    again = pod(agent=waiting("ImagePullBackOff", "Back-off pulling image"))
    assert on(snapshot(task(status=first.status), again), now=40).status == first.status
    other = pod(agent=waiting("CreateContainerConfigError", 'secret "key" not found'))
    assert on(snapshot(task(status=first.status), other), now=40).status != first.status


def test_another_pod_of_the_task_does_not_stand_in_for_the_attempts() -> None:
    foreign = pod(name="foreign", phase="Running", agent=running())
    decision = on(snapshot(task(status=BEGUN), foreign))
    assert decision.actions == (CreatePod(), DeletePod(foreign))


@pytest.mark.parametrize("facts", [{"profile": None}, {"run": run(suspend=True)}, {"name_taken_by": "older"}])
def test_what_keeps_a_task_from_starting_does_not_touch_a_live_one(facts: dict[str, Any]) -> None:
    decision = on(snapshot(task(status=RUNS), LIVE, **facts))
    assert (decision.status.phase, decision.actions) == (TaskPhase.RUNNING, ())


def test_agents_of_a_deleted_run_go_on_for_a_grace_and_are_stopped_then() -> None:
    seen = snapshot(task(status=RUNS), LIVE, run=None, run_gone_since=at(0))
    assert on(seen, now=10).actions == ()
    assert on(seen, now=60).actions == (StopPod(LIVE, "RunGone"),)


# --- an attempt that is over ------------------------------------------------------------------------------


def over(exit_code: int, result_class: str, **more: Any) -> Pod:
    phase = "Failed" if exit_code else "Succeeded"
    return pod(
        phase=phase, agent=terminated(exit_code, end=9, message=said(name_of_pod(), result_class)), **more
    )


@pytest.mark.parametrize(
    ("seen", "phase", "counters"),
    [
        pytest.param(over(0, "success"), "Succeeded", (0, 0, 0), id="success"),
        pytest.param(over(1, "abandoned"), "Abandoned", (0, 0, 0), id="given up"),
        pytest.param(over(1, "contract"), "Failed", (0, 0, 0), id="a broken contract"),
        pytest.param(over(1, "business"), "Pending", (1, 0, 0), id="no commit"),
        pytest.param(over(1, "agent"), "Pending", (1, 0, 0), id="a failure of its own"),
        pytest.param(over(1, "transient"), "Pending", (1, 0, 0), id="a passing fault"),
        pytest.param(over(1, "oom"), "Pending", (1, 0, 0), id="too little memory"),
        pytest.param(over(1, "deadline"), "Pending", (1, 0, 0), id="too late"),
        pytest.param(over(1, "capacity"), "Pending", (0, 0, 1), id="a rate limit"),
        pytest.param(pod(phase="Failed", reason="Evicted"), "Pending", (0, 1, 0), id="evicted"),
        pytest.param(
            over(137, "agent", stop="Cancelled"), "Pending", (1, 0, 0), id="its own end before a cancel"
        ),
    ],
)
def test_what_follows_the_end_of_an_attempt(seen: Pod, phase: str, counters: tuple[int, int, int]) -> None:
    after = on(snapshot(task(status=RUNS), seen)).status
    assert after.phase == phase
    assert (after.retries, after.disruptions, after.rate_limits) == counters
    assert after.attempts[-1].end_time
    assert bool(after.completion_time) is (phase != "Pending")


@pytest.mark.parametrize(
    ("seen", "backs_off"),
    [
        pytest.param(over(1, "agent"), True, id="a failure"),
        pytest.param(over(1, "deadline"), False, id="a deadline"),
    ],
)
def test_a_retry_waits_unless_a_deadline_ended_the_attempt(seen: Pod, backs_off: bool) -> None:
    decision = on(snapshot(task(status=RUNS), seen))
    assert bool(decision.status.next_attempt_time) is backs_off
    assert bool(decision.candidate) is not backs_off
    assert admitted(decision) == ("False", "BackingOff" if backs_off else "Queued")


def test_the_last_failure_fails_the_task_and_says_why() -> None:
    last = status(*(attempt(one, end_time=at(one)) for one in (1, 2)), attempt(3), retries=2)
    decision = on(snapshot(task(status=last), pod(3, phase="Failed", agent=terminated(1, end=9))))
    assert decision.status.phase is TaskPhase.FAILED
    assert reasons(decision.status.conditions)["Failed"] == ("True", "RetriesExhausted")
    assert decision.status.completion_time == at(10)


def test_an_end_that_is_seen_late_is_still_when_it_was() -> None:
    decision = on(snapshot(task(status=RUNS), over(0, "success")), now=5000)
    assert decision.status.completion_time == at(9)


def test_a_start_that_never_came_frees_the_slot_and_removes_the_pod() -> None:
    decision = on(snapshot(task(status=BEGUN), pod(node="")), now=600)
    assert decision.status.attempts[-1].reason == "StartTimeout"
    assert decision.actions == (DeletePod(pod(node="")),)


def test_a_success_in_a_repository_needs_a_commit() -> None:
    of = run(repository={"url": "https://git/x", "ref": "main"})
    assert (
        on(snapshot(task(status=RUNS), over(0, "success"), run=of)).status.attempts[-1].reason == "NoCommit"
    )


def test_a_pod_stopped_for_its_lost_run_leaves_the_task_waiting() -> None:
    stopped = pod(phase="Failed", agent=terminated(137), stop="RunGone")
    decision = on(snapshot(task(status=RUNS), stopped, run=None, run_gone_since=at(0)), now=90)
    assert decision.status.phase is TaskPhase.PENDING
    assert decision.status.retries == 0
    assert admitted(decision) == ("False", "RunNotFound")


def test_a_pod_that_can_never_be_fails_the_task() -> None:
    outcome = Outcome(ResultClass.CONTRACT, "PodRefused", "no", None, at(10), None)
    after = decide_refused(snapshot(task(status=BEGUN)), outcome, now=at(10))
    assert after.phase is TaskPhase.FAILED
    assert reasons(after.conditions)["Failed"] == ("True", "ContractBroken")


# --- a person's word --------------------------------------------------------------------------------------

BY_RUN = {"run": run(cancel="true")}


@pytest.mark.parametrize("of_run", [False, True], ids=["of the task", "of its run"])
@pytest.mark.parametrize(
    "before",
    [
        pytest.param(status(), id="never started"),
        pytest.param(status(next_attempt_time=at(99)), id="backing off"),
        pytest.param(status(phase="BlockedByFailure"), id="blocked"),
        pytest.param(BEGUN, id="an intent whose Pod is not there"),
    ],
)
def test_a_cancel_ends_a_task_that_has_no_pod(before: AgentTaskStatus, of_run: bool) -> None:
    facts = BY_RUN if of_run else {}
    decision = on(snapshot(task(status=before, cancel=None if of_run else "true"), **facts, has_slot=True))
    assert decision.status.phase is TaskPhase.CANCELLED
    assert decision.actions == ()
    assert all(one.end_time for one in decision.status.attempts)
    assert bool(decision.status.cancel_requested) is not of_run


@pytest.mark.parametrize("facts", [{"name_taken_by": "older"}, {"cycle": ("t", "u")}, {"profile": None}])
def test_a_cancel_ends_a_task_that_could_never_start(facts: dict[str, Any]) -> None:
    assert on(snapshot(task(), run=run(cancel="true"), **facts)).status.phase is TaskPhase.CANCELLED


def test_a_cancel_outranks_a_pause() -> None:
    seen = snapshot(task(suspend=True), run=run(cancel="true", suspend=True))
    assert on(seen).status.phase is TaskPhase.CANCELLED


def test_a_cancelled_agent_is_stopped_and_its_result_is_on_record_only() -> None:
    cancelled = on(snapshot(task(status=RUNS, cancel="true"), LIVE))
    assert cancelled.status.phase is TaskPhase.CANCELLED
    assert cancelled.actions == (StopPod(LIVE, "Cancelled"),)
    late = on(snapshot(stored(cancelled), over(0, "success")), now=20).status
    assert late.phase is TaskPhase.CANCELLED
    assert late.attempts[-1].result_class == "success"


def test_no_pod_is_asked_for_after_a_cancel_that_a_restart_follows() -> None:
    cancelled = on(snapshot(task(status=BEGUN, cancel="true"), pod(node="")))
    assert [one.end_time for one in cancelled.status.attempts] == [None]
    after_restart = on(snapshot(stored(cancelled, cancel="true")), now=20)
    assert after_restart.actions == ()
    assert after_restart.status.attempts[-1].end_time == at(20)


@pytest.mark.parametrize("phase", ["Succeeded", "Failed", "Cancelled", "Abandoned"])
@pytest.mark.parametrize(
    "facts",
    [BY_RUN, {"run": None}, {"has_slot": True}, {"name_taken_by": "older"}, {"cycle": ("t", "u")}],
    ids=["cancelled", "run gone", "a slot", "a taken name", "a cycle"],
)
def test_an_end_stays_the_end(phase: str, facts: dict[str, Any]) -> None:
    settled = status(attempt(end_time=at(5)), phase=phase, completion_time=at(5))
    decision = on(snapshot(task(status=settled, cancel="true"), **facts))
    assert decision.status.phase == phase
    assert (decision.actions, decision.candidate) == ((), None)


# --- odd objects ------------------------------------------------------------------------------------------


def test_a_task_that_is_being_deleted_is_left_to_garbage_collection() -> None:
    going = task(status=RUNS, metadata={"deletionTimestamp": "2026-01-01T12:00:00Z"})
    assert on(snapshot(going, LIVE)) == TaskDecision(status=going.status)


def test_a_status_that_cannot_be_read_leaves_the_pods_alone() -> None:
    odd = task(status={"phase": "Running", "attempt": -5})
    decision = on(snapshot(odd, LIVE))
    assert decision.actions == ()
    assert admitted(decision) == ("False", "InvalidSpec")


def test_a_dependencys_commit_is_kept_for_the_attempts() -> None:
    done = Dependency("a", uid="a-uid", phase=TaskPhase.SUCCEEDED, commit=COMMIT_A, branch="b/r/a")
    decision = on(snapshot(task(status=UNSEEN), dependencies=(done,), has_slot=True))
    assert [(one.commit, one.branch) for one in decision.status.dependencies] == [(COMMIT_A, "b/r/a")]


def test_a_task_that_ended_counts_as_finished_once_its_run_has_ended() -> None:
    blocked = on(snapshot(dependencies=(Dependency("a", uid="a-uid", phase=TaskPhase.FAILED),)))
    ended = on(
        snapshot(
            stored(blocked),
            run=run(status={"phase": "Failed"}),
            dependencies=(Dependency("a", uid="a-uid", phase=TaskPhase.FAILED),),
        )
    )
    assert "Finished" not in reasons(blocked.status.conditions)
    assert reasons(ended.status.conditions)["Finished"] == ("True", "BlockedByFailure")
