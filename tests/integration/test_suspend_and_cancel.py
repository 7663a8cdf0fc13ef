"""A person's word: hold back, go on, end."""

import pytest

from tests.support.builders import hand_profile, inline_task, make_run, make_task
from tests.support.kube import Kube, condition
from tests.support.operator import OperatorProcess
from tests.support.pods import bind, end_pod, pods_of, set_pod_running, succeed, wait_pod
from tests.support.tasks import holds_for, result_classes, wait_phase, wait_run, wait_waiting
from tests.support.timeline import phase


@pytest.fixture(autouse=True)
def by_hand(kube: Kube) -> None:
    """Pods whose lives the test plays."""
    kube.create(hand_profile())


def test_a_suspended_run_starts_nothing_until_it_is_resumed(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(make_run(max_agents=1, tasks=[inline_task("a", priority=1), inline_task("b")]))
    live = set_pod_running(kube, wait_pod(kube, "r-a"))
    wait_phase(kube, "r-a", "Running")
    kube.patch("bernsteinruns", "r", {"spec": {"suspend": True}})
    paused = wait_run(kube, "r", "Paused")
    assert condition(paused, "Suspended")["status"] == "True"
    succeed(kube, live)
    wait_phase(kube, "r-a", "Succeeded")
    holds_for(3, lambda: not pods_of(kube, "r-b"), what="no start while the run is suspended")

    operator.restart(kill=True)
    holds_for(2, lambda: not pods_of(kube, "r-b"), what="no start after a restart either")

    kube.patch("bernsteinruns", "r", {"spec": {"suspend": False}})
    succeed(kube, set_pod_running(kube, wait_pod(kube, "r-b")))
    done = wait_run(kube, "r", "Succeeded")
    assert condition(done, "Suspended")["status"] == "False"


def test_a_suspended_task_waits(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(make_run())
    kube.create(make_task(suspend=True))
    kube.create(make_task("other"))
    wait_waiting(kube, "t", "Suspended")
    succeed(kube, set_pod_running(kube, wait_pod(kube, "other")))
    wait_phase(kube, "other", "Succeeded")
    assert not pods_of(kube, "t")
    assert phase(kube.get("bernsteinruns", "r")) == "Running", "a suspended task holds its run open"
    kube.patch("agenttasks", "t", {"spec": {"suspend": False}})
    succeed(kube, set_pod_running(kube, wait_pod(kube, "t")))
    wait_run(kube, "r", "Succeeded")


def test_a_cancelled_task_gets_no_further_pod(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(make_run(max_agents=4, taskDefaults={"retry": {"limit": 5, "backoffSeconds": 3600}}))
    for name in ("running", "pending", "backing-off"):
        kube.create(make_task(name))
    kube.create(make_task("waiting", suspend=True))
    pods = {name: wait_pod(kube, name) for name in ("running", "pending", "backing-off")}
    for name in ("running", "backing-off"):
        bind(kube, pods[name]["metadata"]["name"])
        set_pod_running(kube, pods[name])
    end_pod(kube, pods["backing-off"], "Failed", 1, "Error")
    wait_phase(kube, "running", "Running")
    wait_waiting(kube, "backing-off", "BackingOff")
    wait_waiting(kube, "waiting", "Suspended")

    names = ("running", "pending", "backing-off", "waiting")
    for name in names:
        kube.annotate("agenttasks", name, cancel="true")
    for name in names:
        cancelled = wait_phase(kube, name, "Cancelled")
        assert cancelled["status"]["cancelRequested"]["time"]
    told = kube.wait_for(
        "pods",
        pods["running"]["metadata"]["name"],
        lambda pod: "bernstein.run/stop" in pod["metadata"]["annotations"],
        what="that the agent is told to stop",
    )
    assert told["metadata"]["annotations"]["bernstein.run/stop"] == "Cancelled"
    end_pod(kube, pods["running"], "Failed", 143, "Error")
    kube.wait_gone("pods", pods["pending"]["metadata"]["name"])
    for name in names:
        kube.annotate("agenttasks", name, cancel=None)
    kube.patch("agenttasks", "waiting", {"spec": {"suspend": False}})
    wait_run(kube, "r", "Failed")
    holds_for(2, lambda: not _live(kube), what="no Pod after a cancel, though the annotation is gone")
    assert result_classes(kube.get("agenttasks", "running")) == ["cancelled"]
    assert not pods_of(kube, "waiting")


def _live(kube: Kube) -> list[str]:
    return [
        pod["metadata"]["name"] for pod in kube.items("pods") if phase(pod) not in {"Succeeded", "Failed"}
    ]


def test_a_cancelled_run_ends_and_remembers_why(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(make_run(max_agents=1, tasks=[inline_task("a", priority=1), inline_task("b")]))
    pod = wait_pod(kube, "r-a")
    bind(kube, pod["metadata"]["name"])
    set_pod_running(kube, pod)
    wait_phase(kube, "r-a", "Running")
    kube.annotate("bernsteinruns", "r", cancel="true")
    draining = wait_run(kube, "r", "Draining")
    assert draining["status"]["cancelRequested"]["time"]
    kube.annotate("bernsteinruns", "r", cancel=None)
    end_pod(kube, pod, "Failed", 143, "Error")
    done = wait_run(kube, "r", "Cancelled")
    assert done["status"]["cancelRequested"] == draining["status"]["cancelRequested"]
    assert condition(done, "Failed")["reason"] == "Cancelled"
    for name in ("r-a", "r-b"):
        assert phase(kube.get("agenttasks", name)) == "Cancelled"
    assert not pods_of(kube, "r-b")
