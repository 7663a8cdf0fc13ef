"""TIME-1, TIME-3 and TIME-5: a Pod that never gets a node ends all the same, and what each clock counts."""

from collections.abc import Mapping
from typing import Any

import pytest

from tests.support.builders import hand_profile, make_run, make_task
from tests.support.clock import now
from tests.support.kube import Kube, Manifest, condition, eventually
from tests.support.operator import OperatorProcess
from tests.support.pods import (
    bind,
    end_pod,
    fail,
    pods_of,
    set_pod_running,
    set_unschedulable,
    stamp,
    succeed,
    wait_pod,
)
from tests.support.tasks import TICK_SECONDS, attempts, holds_for, result_classes, wait_phase, wait_run
from tests.support.timeline import phase

STOP = "bernstein.run/stop"
EVENTS = "events.events.k8s.io"
NEVER = {"limit": 0}
AT_ONCE = {"limit": 1, "backoffSeconds": 0, "maxBackoffSeconds": 0}


@pytest.fixture(autouse=True)
def profile(kube: Kube) -> Manifest:
    """Pods that no node takes."""
    return kube.create(hand_profile())


def warned(task: Mapping[str, Any]) -> list[tuple[int, str]]:
    """Return attempt and limit of each warning."""
    told = task["status"].get("deadline", {}).get("warned", ())
    return [(one["attempt"], one["limit"]) for one in told]


def is_stopped(pod: Mapping[str, Any]) -> bool:
    return STOP in pod["metadata"].get("annotations", {})


def test_time_1_an_unscheduled_pod_times_out_and_frees_its_slot(
    kube: Kube, operator: OperatorProcess
) -> None:
    kube.create(make_run(max_agents=1))
    kube.create(make_task(startTimeoutSeconds=4, retry=NEVER, priority=1))
    kube.create(make_task("next", priority=2))
    first = wait_pod(kube, "t")
    failed = wait_phase(kube, "t", "Failed")
    [attempt] = attempts(failed)
    assert (attempt["resultClass"], attempt["reason"]) == ("transient", "StartTimeout")
    assert "nodes are available" in attempt["message"], "the scheduler's own text"
    assert warned(failed) == [(1, "startTimeoutSeconds")], "also while Pending"
    kube.wait_gone("pods", first["metadata"]["name"])
    succeed(kube, set_pod_running(kube, wait_pod(kube, "next")))
    wait_run(kube, "r", "Failed")


def test_time_1_the_next_attempt_gets_a_pod_of_its_own(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(make_run())
    retry = {"limit": 1, "backoffSeconds": 1, "maxBackoffSeconds": 1}
    kube.create(make_task(startTimeoutSeconds=3, retry=retry))
    wait_pod(kube, "t", attempt=1)
    wait_pod(kube, "t", attempt=2)
    failed = wait_phase(kube, "t", "Failed")
    assert result_classes(failed) == ["transient", "transient"]
    kube.wait_for("agenttasks", "t", lambda _: not pods_of(kube, "t"), what="no Pod left")


def test_time_1_a_gated_pod_is_kept_until_its_input_timeout(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(make_run())
    kube.create(make_task(startTimeoutSeconds=3, inputTimeoutSeconds=14, retry=NEVER))
    pod = wait_pod(kube, "t")
    set_unschedulable(kube, pod, reason="SchedulingGated", message="held by a queue")

    def told(task: Manifest) -> bool:
        admitted = condition(task, "Admitted")
        return admitted.get("reason") == "PodWaiting" and "scheduling gates, until" in admitted["message"]

    kube.wait_for("agenttasks", "t", told, what="that its start clock stands still")
    assert [one["metadata"]["uid"] for one in pods_of(kube, "t")] == [pod["metadata"]["uid"]]
    failed = wait_phase(kube, "t", "Failed")
    [attempt] = attempts(failed)
    assert (attempt["resultClass"], attempt["reason"]) == ("transient", "StartTimeout")
    assert "inputTimeoutSeconds (14 s)" in attempt["message"]
    assert "held by a queue" in attempt["message"]
    kube.wait_gone("pods", pod["metadata"]["name"])


def test_time_1_the_start_clock_begins_behind_the_gates(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(make_run())
    kube.create(make_task(startTimeoutSeconds=6, inputTimeoutSeconds=600, retry=NEVER))
    pod = wait_pod(kube, "t")
    set_unschedulable(kube, pod, reason="SchedulingGated")
    holds_for(8, lambda: len(pods_of(kube, "t")) == 1, what="its Pod is kept beyond startTimeoutSeconds")
    assert attempts(kube.get("agenttasks", "t"))[0]["gatedUntil"] > stamp()
    set_unschedulable(kube, pod)
    eventually(
        lambda: attempts(kube.get("agenttasks", "t"))[0]["gatedUntil"] <= stamp(), what="the gates' end"
    )
    [attempt] = attempts(wait_phase(kube, "t", "Failed"))
    assert "startTimeoutSeconds (6 s)" in attempt["message"]


def test_time_1_a_deadline_ends_a_pod_that_no_node_takes(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(make_run())
    kube.create(make_task(deadline=stamp(now() + 8), retry=NEVER))
    pod = wait_pod(kube, "t")
    assert 1 <= pod["spec"]["activeDeadlineSeconds"] <= 8
    failed = wait_phase(kube, "t", "Failed")
    [attempt] = attempts(failed)
    assert (attempt["resultClass"], attempt["reason"]) == ("deadline", "DeadlineExceeded")
    assert "the task's deadline" in attempt["message"]
    assert (1, "deadline") in warned(failed)
    assert condition(failed, "DeadlineExceeded")["status"] == "True"
    kube.wait_gone("pods", pod["metadata"]["name"])
    documents = {"DeadlineWarning": "task.deadline_warning", "DeadlineExceeded": "task.deadline_exceeded"}
    eventually(lambda: event_documents(kube, "t") == documents, what="its events")


def event_documents(kube: Kube, name: str) -> dict[str, str]:
    """Return the document's names of the events about an object's deadlines, by reason."""
    about = [one for one in kube.items(EVENTS) if one["regarding"]["name"] == name]
    deadlines = [one for one in about if one["reason"].startswith("Deadline")]
    return {one["reason"]: one["metadata"]["annotations"]["bernstein.run/event"] for one in deadlines}


def test_time_1_active_deadline_is_the_sum_of_both_limits(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(make_run())
    kube.create(make_task(startTimeoutSeconds=30, timeoutSeconds=100))
    pod = wait_pod(kube, "t")
    assert pod["spec"]["activeDeadlineSeconds"] == 130
    assert pod["spec"]["terminationGracePeriodSeconds"] == 10
    succeed(kube, set_pod_running(kube, pod))
    wait_run(kube, "r", "Succeeded")


def test_time_1_a_running_attempt_is_stopped_at_its_timeout_and_retried_at_once(
    kube: Kube, operator: OperatorProcess
) -> None:
    kube.create(make_run())
    retry = {"limit": 1, "backoffSeconds": 600, "maxBackoffSeconds": 600}
    kube.create(make_task(timeoutSeconds=3, retry=retry))
    name = wait_pod(kube, "t")["metadata"]["name"]
    bind(kube, name)
    set_pod_running(kube, kube.get("pods", name))
    asked = kube.wait_for("pods", name, is_stopped, what="a stop")
    assert asked["metadata"]["annotations"][STOP] == "deadline"
    assert asked["spec"]["activeDeadlineSeconds"] < 600
    assert len(pods_of(kube, "t")) == 1, "never a second Pod before the first has ended"
    end_pod(kube, asked, "Failed", 143, "Error")
    succeed(kube, set_pod_running(kube, wait_pod(kube, "t", attempt=2)))
    done = wait_phase(kube, "t", "Succeeded")
    assert result_classes(done) == ["deadline", "success"]


@pytest.mark.parametrize("age", [70, 98], ids=["failed at 70 s", "failed a moment before 100 s"])
def test_time_3_each_attempt_has_the_whole_timeout(kube: Kube, operator: OperatorProcess, age: int) -> None:
    kube.create(make_run())
    kube.create(make_task(timeoutSeconds=100, startTimeoutSeconds=60, retry=AT_ONCE))
    fail(kube, set_pod_running(kube, wait_pod(kube, "t"), started=now() - age))
    second = wait_pod(kube, "t", attempt=2)
    assert second["spec"]["activeDeadlineSeconds"] == 160
    bind(kube, second["metadata"]["name"])
    set_pod_running(kube, second, started=now() - 94)
    holds_for(3, lambda: not is_stopped(kube.get("pods", second["metadata"]["name"])), what="its 100 s")
    kube.wait_for("pods", second["metadata"]["name"], is_stopped, timeout=20, what="the end of its 100 s")
    end_pod(kube, second, "Failed", 143, "Error", started=now() - 100)
    assert result_classes(wait_phase(kube, "t", "Failed")) == ["agent", "deadline"]


def test_time_3_a_missed_deadline_is_granted_again(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(make_run())
    kube.create(make_task(deadline=stamp(now() + 8), startTimeoutSeconds=60, retry=AT_ONCE))
    set_pod_running(kube, wait_pod(kube, "t"))
    second = wait_pod(kube, "t", attempt=2, timeout=40)
    assert 1 <= second["spec"]["activeDeadlineSeconds"] <= 8
    succeed(kube, set_pod_running(kube, second))
    done = wait_phase(kube, "t", "Succeeded")
    assert result_classes(done) == ["deadline", "success"]
    assert done["status"]["deadline"]["basis"] == done["spec"]["deadline"]
    assert done["status"]["deadline"]["effective"][:19] > done["spec"]["deadline"][:19]


def test_time_3_a_deadline_that_is_not_granted_again_ends_the_task(
    kube: Kube, operator: OperatorProcess
) -> None:
    kube.create(make_run())
    retry = {**AT_ONCE, "afterDeadline": "None"}
    kube.create(make_task(deadline=stamp(now() + 6), startTimeoutSeconds=60, retry=retry))
    set_pod_running(kube, wait_pod(kube, "t"))
    failed = wait_phase(kube, "t", "Failed")
    assert result_classes(failed) == ["deadline"]
    assert condition(failed, "Failed")["reason"] == "DeadlineExceeded"


def test_time_5_a_pause_stops_starts_only(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(make_run(max_agents=1))
    kube.create(make_task("live", timeoutSeconds=6, retry=NEVER, priority=1))
    kube.create(make_task("queued", timeoutSeconds=6, retry=NEVER, priority=2))
    first = set_pod_running(kube, wait_pod(kube, "live"))
    kube.patch("bernsteinruns", "r", {"spec": {"suspend": True}})
    wait_run(kube, "r", "Paused")
    assert result_classes(wait_phase(kube, "live", "Failed")) == ["deadline"], "its clock went on"
    kube.wait_gone("pods", first["metadata"]["name"])
    holds_for(TICK_SECONDS, lambda: phase(kube.get("agenttasks", "queued")) == "Pending", what="no expiry")
    kube.patch("bernsteinruns", "r", {"spec": {"suspend": False}})
    second = set_pod_running(kube, wait_pod(kube, "queued"))
    holds_for(3, lambda: not is_stopped(kube.get("pods", second["metadata"]["name"])), what="its full time")
    assert result_classes(wait_phase(kube, "queued", "Failed")) == ["deadline"]


def test_time_5_a_queued_task_fails_at_its_deadline_though_the_run_is_paused(
    kube: Kube, operator: OperatorProcess
) -> None:
    kube.create(make_run(suspend=True))
    kube.create(make_task(deadline=stamp(now() + 5)))
    kube.wait_for("agenttasks", "t", lambda task: warned(task) == [(0, "deadline")], what="a warning")
    failed = wait_phase(kube, "t", "Failed")
    assert (attempts(failed), pods_of(kube, "t")) == ([], [])
    assert condition(failed, "Failed")["reason"] == "DeadlineExceeded"
    # To the second: one of them has a fraction.
    assert failed["status"]["deadline"]["missedTime"][:19] >= failed["spec"]["deadline"][:19]
