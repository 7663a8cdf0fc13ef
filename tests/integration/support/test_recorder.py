"""The recorder on the real API server: each planted violation is found, also across a gap in its watch.

Every test here declares what it breaks (``expect``); the autouse fixture then fails at the end unless just
that was found, which is itself part of what is tried.
"""

import pytest

from tests.support.access import ClusterAccess
from tests.support.builders import make_run, make_task
from tests.support.faults import Expire, Rule, refuse
from tests.support.invariants import Invariant, Limits
from tests.support.kube import Kube, Manifest, eventually
from tests.support.pods import fail, live_pods, pods_of, remove_pod, set_pod_running, succeed
from tests.support.proxy import FaultProxy
from tests.support.recorder import PodRecorder
from tests.support.timeline import Change, Kind

RESTRICTED: Manifest = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}
CONTAINER: Manifest = {
    "name": "agent",
    "image": "registry.invalid/agent",
    "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
}


def start_agent(kube: Kube, task: Manifest, *, attempt: int = 1) -> Manifest:
    """Create the Pod of an attempt as the operator would, on a node that doesn't exist."""
    name, run = task["metadata"]["name"], task["spec"]["runRef"]["name"]
    owner = {"apiVersion": task["apiVersion"], "kind": "AgentTask", "name": name}
    labels = {"component": "agent", "run": run, "task": name, "attempt": str(attempt)}
    return kube.create(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": f"{name}-a{attempt}",
                "labels": {f"bernstein.run/{key}": value for key, value in labels.items()},
                "ownerReferences": [{**owner, "uid": task["metadata"]["uid"], "controller": True}],
            },
            "spec": {
                "securityContext": RESTRICTED,
                "restartPolicy": "Never",
                "nodeSelector": {"bernstein.test/nodes": "none"},
                "containers": [CONTAINER],
            },
        }
    )


def test_a_clean_story_breaks_nothing(kube: Kube, recorder: PodRecorder) -> None:
    kube.create(make_run(max_agents=1))
    task = kube.create(make_task())
    first = start_agent(kube, task)
    set_pod_running(kube, first)
    fail(kube, kube.get("pods", "t-a1"))
    second = start_agent(kube, task, attempt=2)
    set_pod_running(kube, second)
    kube.patch_status("agenttasks", "t", {"phase": "Running"})
    succeed(kube, kube.get("pods", "t-a2"))
    kube.patch_status("agenttasks", "t", {"phase": "Succeeded"})
    assert [pod["status"]["phase"] for pod in pods_of(kube, "t")] == ["Failed", "Succeeded"]
    assert not live_pods(kube)
    assert recorder.check() == []
    phases = [
        seen.manifest["status"]["phase"] for seen in recorder.observations if seen.key.endswith("/t-a1")
    ]
    assert phases == ["Pending", *phases[1:-2], "Running", "Failed"]


def test_finds_two_live_pods_of_one_task_that_are_gone_at_the_end(kube: Kube, recorder: PodRecorder) -> None:
    kube.create(make_run())
    task = kube.create(make_task())
    start_agent(kube, task)
    start_agent(kube, task, attempt=2)
    remove_pod(kube, "t-a2")
    remove_pod(kube, "t-a1")
    with pytest.raises(AssertionError, match="one task has 2 live Pods"):
        recorder.assert_invariants()
    recorder.expect(Invariant.ONE_POD)


def test_finds_a_pod_above_the_ceiling(kube: Kube, recorder: PodRecorder) -> None:
    kube.create(make_run(max_agents=1))
    for name in ("a", "b"):
        start_agent(kube, kube.create(make_task(name)))
    [violation] = recorder.check()
    assert "filled the ceiling 1" in violation.text
    recorder.expect(Invariant.CEILING)


def test_finds_an_end_that_was_left(kube: Kube, recorder: PodRecorder) -> None:
    kube.create(make_run())
    kube.create(make_task())
    kube.patch_status("agenttasks", "t", {"phase": "Failed"})
    kube.patch_status("agenttasks", "t", {"phase": "Running"})
    [violation] = recorder.check()
    assert violation.text == "phase went from Failed to Running"
    recorder.expect(Invariant.FINAL)


def test_finds_spend_that_falls(kube: Kube, recorder: PodRecorder) -> None:
    kube.create(make_run())
    kube.create(make_task())
    for dollars in ("0.90", "0.45"):
        kube.patch_status("agenttasks", "t", {"phase": "Running", "usage": {"costUsd": dollars}})
    [violation] = recorder.check()
    assert violation.text == "spend fell from 0.90 to 0.45 US dollars"
    recorder.expect(Invariant.SPEND)


def test_finds_a_task_that_waits_without_a_condition(kube: Kube, recorder: PodRecorder) -> None:
    recorder.limits = Limits(tick_seconds=0)
    recorder.operator_up()
    kube.create(make_run())
    kube.create(make_task())
    eventually(recorder.check, what="the violation")
    recorder.expect(Invariant.EXPLAINED)


def test_a_declared_violation_that_is_missing_is_a_failure(cluster_kube: Kube) -> None:
    with PodRecorder(cluster_kube.access) as recorder:
        recorder.expect(Invariant.ONE_POD)
        with pytest.raises(AssertionError, match="declared as broken by the test, but not found"):
            recorder.assert_invariants()


def test_a_gap_in_the_watch_hides_no_deletion(kube: Kube, proxy: FaultProxy, recorder: PodRecorder) -> None:
    kube.create(make_run(max_agents=1))
    task = kube.create(make_task())
    start_agent(kube, task)
    with PodRecorder(ClusterAccess.from_kubeconfig(proxy.kubeconfig)) as behind_the_proxy:
        eventually(lambda: proxy.running_watches("pods"), what="the recorder's watch")
        blind = proxy.add(Rule(action=refuse(503, reason="ServiceUnavailable"), resource="pods"))
        assert proxy.expire_watches("pods") == 1
        remove_pod(kube, "t-a1")
        start_agent(kube, task, attempt=2)
        proxy.remove(blind)
        assert behind_the_proxy.check() == []
        seen = [(seen.change, seen.manifest["metadata"]["name"]) for seen in behind_the_proxy.observations]
    pods = [entry for entry in seen if entry[1].startswith("t-a")]
    assert pods == [(Change.LISTED, "t-a1"), (Change.DELETED, "t-a1"), (Change.ADDED, "t-a2")]
    assert recorder.check() == []


def test_a_gap_in_the_watch_hides_no_second_pod(kube: Kube, proxy: FaultProxy, recorder: PodRecorder) -> None:
    kube.create(make_run())
    task = kube.create(make_task())
    start_agent(kube, task)
    with PodRecorder(ClusterAccess.from_kubeconfig(proxy.kubeconfig)) as behind_the_proxy:
        eventually(lambda: proxy.running_watches("pods"), what="the recorder's watch")
        with proxy.fault(Expire(), resource="pods"):
            assert proxy.expire_watches("pods") == 1
            start_agent(kube, task, attempt=2)
        assert {violation.invariant for violation in behind_the_proxy.check()} == {Invariant.ONE_POD}
    recorder.expect(Invariant.ONE_POD)


def test_tells_which_tasks_were_completed_when(kube: Kube, recorder: PodRecorder) -> None:
    kube.create(make_run())
    for name in ("early", "late"):
        kube.create(make_task(name))
        kube.patch_status("agenttasks", name, {"phase": "Succeeded"})
    recorder.catch_up()
    succeeded = {
        seen.manifest["metadata"]["name"]: seen.time
        for seen in recorder.observations
        if seen.kind is Kind.TASK and seen.manifest["status"]["phase"] == "Succeeded"
    }
    moment = succeeded["late"]
    assert recorder.completed_between(0, moment - 1e-6) == [f"{kube.namespace}/early"]
    assert recorder.completed_between(moment, moment + 60) == [f"{kube.namespace}/late"]
