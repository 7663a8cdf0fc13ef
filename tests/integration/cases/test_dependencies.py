"""DAG-1 and DAG-3: what waits for others starts once and only then, and a broken graph is told, not run."""

import pytest

from tests.support.builders import hand_profile, make_run, make_task
from tests.support.kube import ApiError, Kube, Manifest, condition
from tests.support.operator import OperatorProcess
from tests.support.pods import fail, pods_of, set_pod_running, succeed, wait_pod
from tests.support.tasks import TICK_SECONDS, wait_phase, wait_run, wait_waiting, waits_for

RETRY_ONCE: Manifest = {"limit": 1, "backoffSeconds": 3, "maxBackoffSeconds": 3}


@pytest.fixture(autouse=True)
def profile(kube: Kube) -> Manifest:
    """Pods whose lives the test plays."""
    return kube.create(hand_profile())


def test_dag_1_a_dependent_waits_through_the_back_off_and_runs_once(
    kube: Kube, operator: OperatorProcess
) -> None:
    kube.create(make_run())
    kube.create(make_task("a", retry=RETRY_ONCE))
    kube.create(make_task("b", depends_on=["a"]))
    fail(kube, set_pod_running(kube, wait_pod(kube, "a")))
    wait_waiting(kube, "a", "BackingOff")
    assert waits_for(kube.get("agenttasks", "b")) == "DependencyPending"
    second = wait_pod(kube, "a", attempt=2)
    assert not pods_of(kube, "b")
    succeed(kube, set_pod_running(kube, second))
    succeed(kube, set_pod_running(kube, wait_pod(kube, "b")))
    wait_run(kube, "r", "Succeeded")
    assert len(pods_of(kube, "b")) == 1


def test_dag_1_a_dependent_is_blocked_once_the_retries_are_over(
    kube: Kube, operator: OperatorProcess
) -> None:
    kube.create(make_run())
    kube.create(make_task("a", retry=RETRY_ONCE))
    kube.create(make_task("b", depends_on=["a"]))
    kube.create(make_task("c", depends_on=["b"]))
    for attempt in (1, 2):
        fail(kube, set_pod_running(kube, wait_pod(kube, "a", attempt=attempt)))
    wait_phase(kube, "a", "Failed")
    blocked = wait_phase(kube, "b", "BlockedByFailure", timeout=TICK_SECONDS)
    assert blocked["status"]["blockedBy"] == {"task": "a", "rootCause": "a", "cause": "Failed"}
    behind = wait_phase(kube, "c", "BlockedByFailure", timeout=TICK_SECONDS)
    assert behind["status"]["blockedBy"] == {"task": "b", "rootCause": "a", "cause": "Failed"}
    assert not pods_of(kube, "b") + pods_of(kube, "c")
    wait_run(kube, "r", "Failed")


@pytest.mark.parametrize(
    ("depends_on", "text"),
    [
        pytest.param("other", "dependsOn", id="a scalar"),
        pytest.param(["otherns/t"], "dependsOn", id="another namespace"),
        pytest.param(["t"], "can't depend on itself", id="itself"),
    ],
)
def test_dag_3_what_can_never_be_right_is_refused_at_apply(kube: Kube, depends_on: object, text: str) -> None:
    task = make_task("t")
    task["spec"]["dependsOn"] = depends_on
    with pytest.raises(ApiError, match=text):
        kube.apply(task)


def test_dag_3_a_cycle_is_told_with_its_members_and_the_run_still_ends(
    kube: Kube, operator: OperatorProcess
) -> None:
    kube.create(make_run())
    kube.create(make_task("free"))
    kube.create(make_task("a", depends_on=["b"]))
    wait_waiting(kube, "a", "DependencyPending")
    kube.create(make_task("b", depends_on=["a"]))
    for name in ("a", "b"):
        admitted = condition(wait_waiting(kube, name, "InvalidGraph"), "Admitted")
        assert "a" in admitted["message"]
        assert "b" in admitted["message"]
    succeed(kube, set_pod_running(kube, wait_pod(kube, "free")))
    wait_run(kube, "r", "Failed")
    for name in ("a", "b"):
        assert condition(kube.get("agenttasks", name), "Stalled")["status"] == "True"
        assert not pods_of(kube, name)


def test_dag_3_the_order_of_applying_does_not_matter(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(make_run())
    kube.create(make_task("t", depends_on=["late"]))
    waiting = condition(wait_waiting(kube, "t", "DependencyPending"), "Admitted")
    assert "late" in waiting["message"]
    kube.create(make_task("late"))
    succeed(kube, set_pod_running(kube, wait_pod(kube, "late")))
    succeed(kube, set_pod_running(kube, wait_pod(kube, "t")))
    wait_run(kube, "r", "Succeeded")


def test_dag_3_a_dependency_that_never_comes_blocks_after_its_limit(
    kube: Kube, operator: OperatorProcess
) -> None:
    kube.create(make_run())
    kube.create(make_task("t", depends_on=["missing"], dependencyTimeoutSeconds=2))
    blocked = wait_phase(kube, "t", "BlockedByFailure")
    assert blocked["status"]["blockedBy"] == {"task": "missing", "rootCause": "missing", "cause": "Missing"}
    wait_run(kube, "r", "Failed")
    assert not pods_of(kube, "t")


def test_dag_3_a_dependency_named_twice_counts_once(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(make_run())
    kube.create(make_task("a"))
    kube.create(make_task("t", depends_on=["a", "a"]))
    succeed(kube, set_pod_running(kube, wait_pod(kube, "a")))
    succeed(kube, set_pod_running(kube, wait_pod(kube, "t")))
    wait_run(kube, "r", "Succeeded")
