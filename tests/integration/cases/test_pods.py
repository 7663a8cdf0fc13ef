"""POD-3, POD-5 and POD-7: Pods that end without a word or don't end at all, and one count of retries."""

import json

import pytest

from tests.support.builders import hand_profile, make_run, make_task
from tests.support.kube import STRATEGIC, Kube, Manifest, condition
from tests.support.operator import OperatorProcess
from tests.support.pods import bind, fail, pods_of, set_pod_running, set_pod_status, stamp, succeed, wait_pod
from tests.support.tasks import attempts, holds_for, result_classes, wait_phase, wait_run

QUICK: Manifest = {"backoffSeconds": 1, "maxBackoffSeconds": 1}
EVICTED: Manifest = {"phase": "Failed", "reason": "Evicted", "message": "disk pressure"}
PREPARED: Manifest = {
    "name": "runner",
    "image": "x",
    "imageID": "",
    "ready": True,
    "restartCount": 0,
    "state": {},
}


@pytest.fixture(autouse=True)
def profile(kube: Kube) -> Manifest:
    """Pods whose lives the test plays."""
    return kube.create(hand_profile())


@pytest.mark.parametrize(
    ("was_running", "status"),
    [
        pytest.param(True, {**EVICTED, "containerStatuses": None}, id="after it ran"),
        pytest.param(False, EVICTED, id="before it left Pending"),
        pytest.param(False, {**EVICTED, "initContainerStatuses": [PREPARED]}, id="during its init container"),
    ],
)
def test_pod_3_an_eviction_without_container_statuses_is_a_disruption(
    kube: Kube, operator: OperatorProcess, was_running: bool, status: Manifest
) -> None:
    kube.create(make_run())
    kube.create(make_task(retry={"limit": 0, **QUICK}))
    kube.create(make_task("other"))
    pod = wait_pod(kube, "t")
    if was_running:
        set_pod_running(kube, pod)
        wait_phase(kube, "t", "Running")
    set_pod_status(kube, pod, status)
    succeed(kube, set_pod_running(kube, wait_pod(kube, "t", attempt=2)))
    succeed(kube, set_pod_running(kube, wait_pod(kube, "other")))
    wait_run(kube, "r", "Succeeded")
    task = kube.get("agenttasks", "t")
    lost = attempts(task)[0]
    assert result_classes(task) == ["disruption", "success"]
    assert "disk pressure" in lost["message"]
    assert "exitCode" not in lost
    assert (task["status"].get("retries", 0), task["status"]["disruptions"]) == (0, 1)


def test_pod_3_replacements_are_bounded(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(make_run())
    kube.create(make_task(retry={"limit": 0, **QUICK}))
    for attempt in range(1, 5):
        set_pod_status(kube, wait_pod(kube, "t", attempt=attempt), EVICTED)
    failed = wait_phase(kube, "t", "Failed")
    assert result_classes(failed) == ["disruption"] * 4
    assert len(pods_of(kube, "t")) == 4


@pytest.mark.parametrize("limit", [0, 2])
def test_pod_7_retries_are_counted_in_one_place(kube: Kube, operator: OperatorProcess, limit: int) -> None:
    kube.create(make_run())
    kube.create(make_task(retry={"limit": limit, **QUICK}))
    for attempt in range(1, limit + 2):
        pod = wait_pod(kube, "t", attempt=attempt)
        assert pod["spec"]["restartPolicy"] == "Never"
        fail(kube, set_pod_running(kube, pod))
    failed = wait_phase(kube, "t", "Failed")
    assert result_classes(failed) == ["agent"] * (limit + 1)
    operator.restart(kill=True)
    holds_for(5, lambda: len(pods_of(kube, "t")) == limit + 1, what="no further Pod after a restart")
    assert kube.get("agenttasks", "t")["status"] == failed["status"]


def test_pod_7_each_retry_is_one_step_up(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(hand_profile("ladder", models=[{"name": "small"}, {"name": "big"}]))
    kube.create(make_run())
    kube.create(make_task(profile="ladder", retry={"limit": 2, **QUICK}))
    told = []
    for attempt in (1, 2, 3):
        pod = wait_pod(kube, "t", attempt=attempt)
        payload = json.loads(pod["metadata"]["annotations"]["bernstein.run/envelope"])["payload"]
        told.append((payload["model"], payload["effort"]))
        fail(kube, set_pod_running(kube, pod), message=f"failure {attempt}")
    failed = wait_phase(kube, "t", "Failed")
    assert told == [("small", "medium"), ("small", "high"), ("big", "high")]
    assert [(one["model"], one["effort"]) for one in attempts(failed)] == told
    assert [one["level"] for one in attempts(failed)] == [0, 1, 2]
    assert failed["status"]["escalation"] == {"level": 2, "model": "big", "effort": "high"}
    assert condition(failed, "Failed")["reason"] == "RetriesExhausted"
    operator.restart(kill=True)
    holds_for(5, lambda: len(pods_of(kube, "t")) == 3, what="no further Pod after a restart")


def set_node(kube: Kube, name: str, *, ready: str) -> None:
    """Say what a kubelet would of its node; said again and again, it also keeps the node's heart beating."""
    beat = {"type": "Ready", "status": ready, "reason": "Test", "lastHeartbeatTime": stamp()}
    kube.patch("nodes", name, {"status": {"conditions": [beat]}}, sub="status", content_type=STRATEGIC)


@pytest.mark.slow
def test_pod_5_only_a_lost_nodes_pod_is_removed_by_force(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(make_run())
    nodes = {name: f"{kube.namespace}-{name}" for name in ("lost", "well")}
    pods: dict[str, Manifest] = {}
    for name, node in nodes.items():
        kube.create(make_task(name, retry={"limit": 0, **QUICK}))
        pods[name] = wait_pod(kube, name)
        bind(kube, pods[name]["metadata"]["name"], node)
        set_node(kube, node, ready="True")
        set_pod_running(kube, pods[name])
        wait_phase(kube, name, "Running")
        kube.delete("pods", pods[name]["metadata"]["name"], grace_seconds=1)
        assert "finalizers" not in pods[name]["metadata"]
    set_node(kube, nodes["lost"], ready="False")

    def kept(*names: str) -> bool:
        set_node(kube, nodes["well"], ready="True")
        return all(len(pods_of(kube, name)) == 1 for name in names)

    def left(task: Manifest) -> bool:
        set_node(kube, nodes["well"], ready="True")
        return "is Ready and still has it" in condition(task, "Admitted").get("message", "")

    holds_for(50, lambda: kept("lost", "well"), what="no replacement while a node may end its Pod")
    replaced = wait_pod(kube, "lost", attempt=2, timeout=40)
    kube.wait_for("agenttasks", "well", left, timeout=40, what="that its node still has it")
    assert kept("well"), "no second agent beside one that may be alive"
    succeed(kube, set_pod_running(kube, replaced))
    lost = wait_phase(kube, "lost", "Succeeded")
    assert result_classes(lost) == ["disruption", "success"]
    assert (lost["status"].get("retries", 0), lost["status"]["disruptions"]) == (0, 1)
    set_node(kube, nodes["well"], ready="False")
    succeed(kube, set_pod_running(kube, wait_pod(kube, "well", attempt=2, timeout=60)))
    wait_run(kube, "r", "Succeeded")
    for node in nodes.values():
        kube.delete("nodes", node)


@pytest.mark.parametrize("label", ["app.kubernetes.io/managed-by", "bernstein.run/component"])
def test_a_live_pod_without_its_labels_gets_them_back(
    kube: Kube, operator: OperatorProcess, label: str
) -> None:
    kube.create(make_run())
    kube.create(make_task())
    pod = set_pod_running(kube, wait_pod(kube, "t"))
    wait_phase(kube, "t", "Running")
    name, labels = pod["metadata"]["name"], pod["metadata"]["labels"]
    kube.patch("pods", name, {"metadata": {"labels": {label: None}}})
    kube.wait_for("pods", name, lambda found: found["metadata"]["labels"] == labels, what="all its labels")
    holds_for(3, lambda: len(pods_of(kube, "t")) == 1, what="no second agent beside it")
    succeed(kube, pod)
    assert result_classes(wait_phase(kube, "t", "Succeeded")) == ["success"]
