"""CONC-1 and CONC-3: one Pod an attempt whatever the watch lags, and a ceiling that may be moved."""

import hashlib
from typing import Any

import pytest

from tests.support.attribution import TaskKey
from tests.support.audit import AuditLog, assert_same_counts
from tests.support.builders import hand_profile, make_run, make_task
from tests.support.faults import Action, BlackHole, DelayEvents, Drop, Rule
from tests.support.fixtures import StartOperator
from tests.support.kube import Kube, Manifest, eventually
from tests.support.operator import OperatorProcess
from tests.support.pods import live_pods, set_pod_running, succeed, wait_pod
from tests.support.proxy import FaultProxy
from tests.support.recorder import PodRecorder
from tests.support.tasks import attempts, holds_for, wait_phase, wait_waiting
from tests.support.timeline import Kind


@pytest.fixture(autouse=True)
def profile(kube: Kube) -> Manifest:
    """Pods whose lives the test plays."""
    return kube.create(hand_profile())


def pods_ever(recorder: PodRecorder) -> set[str]:
    """Return the names of all Pods that ever were."""
    recorder.catch_up()
    return {seen.key.split("/")[1] for seen in recorder.observations if seen.kind is Kind.POD}


def pod_name(task: Manifest, *, attempt: int = 1) -> str:
    """Return the documented name of an attempt's Pod."""
    digits = hashlib.sha1(task["metadata"]["uid"].encode(), usedforsecurity=False).hexdigest()[:6]
    return f"{task['metadata']['name'][:40]}-{digits}-a{attempt}"


def test_conc_1_late_pod_events_make_no_second_pod(
    kube: Kube, proxy: FaultProxy, recorder: PodRecorder, operator: OperatorProcess
) -> None:
    proxy.add(Rule(action=DelayEvents(seconds=5), resource="pods"))
    kube.create(make_run())
    task = kube.create(make_task())
    for poke in range(20):
        kube.annotate("agenttasks", "t", poke=str(poke))
    pod = wait_pod(kube, "t")
    set_pod_running(kube, pod)
    wait_phase(kube, "t", "Running")
    succeed(kube, pod)
    wait_phase(kube, "t", "Succeeded")
    assert pods_ever(recorder) == {pod_name(task)}


@pytest.mark.parametrize(
    "action",
    [
        pytest.param(Drop(forward=True), id="the answer is lost"),
        pytest.param(Drop(), id="the request is lost"),
        pytest.param(BlackHole(forward=True), id="the answer never comes"),
    ],
)
def test_conc_1_an_ambiguous_create_is_asked_again_under_the_same_name(
    kube: Kube, proxy: FaultProxy, recorder: PodRecorder, operator: OperatorProcess, action: Action
) -> None:
    rule = proxy.add(Rule(action=action, count=1, verbs="create", resource="pods"))
    kube.create(make_run())
    task = kube.create(make_task())
    pod = wait_pod(kube, "t", timeout=60)
    set_pod_running(kube, pod)
    wait_phase(kube, "t", "Running", timeout=90)
    succeed(kube, pod)
    done = wait_phase(kube, "t", "Succeeded")
    assert rule.hits == 1
    assert pods_ever(recorder) == {pod_name(task)}
    assert done["status"]["attempt"] == 1
    assert done["status"].get("retries", 0) == 0


def test_conc_1_a_foreign_pod_of_that_name_is_left_alone(
    kube: Kube, operator: OperatorProcess, recorder: PodRecorder
) -> None:
    kube.create(make_run())
    task = kube.create(make_task(suspend=True))
    wait_waiting(kube, "t", "Suspended")
    foreign = kube.create(_foreign_pod(pod_name(task)))
    kube.patch("agenttasks", "t", {"spec": {"suspend": False}})
    waiting = wait_waiting(kube, "t", "PodNameConflict")
    assert pod_name(task) in str(waiting["status"]["conditions"])
    found = kube.get("pods", pod_name(task))
    assert (found["metadata"]["uid"], found["spec"]) == (foreign["metadata"]["uid"], foreign["spec"])
    assert waiting["status"].get("retries", 0) == 0


def _foreign_pod(name: str) -> Manifest:
    confined = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    spec: dict[str, Any] = {
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "nodeSelector": {"bernstein.test/nodes": "none"},
        "containers": [{"name": "c", "image": "registry.invalid/x", "securityContext": confined}],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def test_conc_3_a_ceiling_moved_during_the_run_acts_at_once_both_ways(
    kube: Kube, operator: OperatorProcess, recorder: PodRecorder
) -> None:
    kube.create(make_run(max_agents=4))
    for index in range(10):
        kube.create(make_task(f"t{index}"))
    _run_until_live(kube, 4)
    running = live_pods(kube)

    _set_ceiling(kube, 2)
    for pod in running[:2]:
        succeed(kube, kube.get("pods", pod["metadata"]["name"]))
    holds_for(3, lambda: len(live_pods(kube)) == 2, what="two live Pods under ceiling 2")
    succeed(kube, kube.get("pods", running[2]["metadata"]["name"]))
    _run_until_live(kube, 2)
    assert kube.get("pods", running[3]["metadata"]["name"])["status"]["phase"] == "Running", "none was killed"

    _set_ceiling(kube, 5)
    _run_until_live(kube, 5)

    _set_ceiling(kube, 0)
    for pod in live_pods(kube):
        succeed(kube, pod)
    eventually(lambda: not live_pods(kube), what="that no Pod is live")
    holds_for(3, lambda: not live_pods(kube), what="nothing starts under ceiling 0")
    started = {seen.key for seen in recorder.observations if seen.kind is Kind.POD}
    assert len(started) == 4 + 1 + 3


def _set_ceiling(kube: Kube, ceiling: int) -> None:
    kube.patch("bernsteinruns", "r", {"spec": {"concurrency": {"maxAgents": ceiling}}})

    def is_shown(run: Manifest) -> bool:
        shown = run["status"].get("concurrency", {})
        return bool(shown.get("configured") == ceiling == shown.get("effective"))

    kube.wait_for("bernsteinruns", "r", is_shown, what=f"the ceiling {ceiling} in status")


def _run_until_live(kube: Kube, count: int) -> None:
    """Let every Pending Pod run, and wait until ``count`` are live."""

    def as_many() -> bool:
        live = live_pods(kube)
        for pod in live:
            if pod["status"]["phase"] == "Pending":
                set_pod_running(kube, pod)
        return len(live) == count

    eventually(as_many, what=f"{count} live Pods")


def test_conc_3_the_operators_own_ceiling_binds_every_run(
    kube: Kube, start_operator: StartOperator, recorder: PodRecorder
) -> None:
    start_operator(BERNSTEIN_MAX_AGENTS="2")
    assert recorder.limits.operator_ceiling == 2
    kube.create(make_run(max_agents=5))
    for index in range(4):
        kube.create(make_task(f"t{index}"))
    _run_until_live(kube, 2)
    holds_for(2, lambda: len(live_pods(kube)) == 2, what="two live Pods under the operator's ceiling 2")
    first = {pod["metadata"]["name"] for pod in live_pods(kube)}
    for name in first:
        succeed(kube, kube.get("pods", name))
    eventually(lambda: not first & {pod["metadata"]["name"] for pod in live_pods(kube)}, what="the end")
    _run_until_live(kube, 2)


def test_conc_a_plain_task_costs_four_writes(
    kube: Kube, proxy: FaultProxy, operator: OperatorProcess, audit: AuditLog
) -> None:
    kube.create(make_run())
    kube.create(make_task())
    pod = wait_pod(kube, "t")
    set_pod_running(kube, pod)
    wait_phase(kube, "t", "Running")
    succeed(kube, pod)
    done = wait_phase(kube, "t", "Succeeded")
    assert [attempt["resultClass"] for attempt in attempts(done)] == ["success"]
    assert operator.stop() == 0
    key = TaskKey(kube.namespace, "t")
    assert proxy.writes_by_task().by_task[key] == {"agenttasks/status": 3, "pods": 1}
    assert_same_counts(proxy, audit=audit)
