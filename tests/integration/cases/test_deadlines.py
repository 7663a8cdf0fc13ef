"""TIME-1: a Pod that never gets a node ends all the same."""

import pytest

from tests.support.builders import hand_profile, make_run, make_task
from tests.support.kube import Kube, Manifest
from tests.support.operator import OperatorProcess
from tests.support.pods import bind, end_pod, pods_of, set_pod_running, succeed, wait_pod
from tests.support.tasks import attempts, result_classes, wait_phase, wait_run


@pytest.fixture(autouse=True)
def profile(kube: Kube) -> Manifest:
    """Pods that no node takes."""
    return kube.create(hand_profile())


def test_time_1_an_unscheduled_pod_times_out_and_frees_its_slot(
    kube: Kube, operator: OperatorProcess
) -> None:
    kube.create(make_run(max_agents=1))
    kube.create(make_task(startTimeoutSeconds=4, retry={"limit": 0}, priority=1))
    kube.create(make_task("next", priority=2))
    first = wait_pod(kube, "t")
    failed = wait_phase(kube, "t", "Failed")
    [attempt] = attempts(failed)
    assert (attempt["resultClass"], attempt["reason"]) == ("transient", "StartTimeout")
    assert "nodes are available" in attempt["message"], "the scheduler's own text"
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
    asked = kube.wait_for(
        "pods",
        name,
        lambda pod: "bernstein.run/stop" in pod["metadata"].get("annotations", {}),
        what="a stop",
    )
    assert asked["metadata"]["annotations"]["bernstein.run/stop"] == "deadline"
    assert asked["spec"]["activeDeadlineSeconds"] < 600
    assert len(pods_of(kube, "t")) == 1, "never a second Pod before the first has ended"
    end_pod(kube, asked, "Failed", 143, "Error")
    succeed(kube, set_pod_running(kube, wait_pod(kube, "t", attempt=2)))
    done = wait_phase(kube, "t", "Succeeded")
    assert result_classes(done) == ["deadline", "success"]
