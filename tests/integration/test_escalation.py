"""What follows when more of the same won't help: more memory, giving up, or a person's look."""

import pytest

from tests.support.builders import hand_profile, make_run, make_task
from tests.support.kube import Kube, Manifest, condition, eventually
from tests.support.operator import OperatorProcess
from tests.support.pods import end_pod, fail, pods_of, set_pod_running, succeed, wait_pod
from tests.support.tasks import attempts, holds_for, result_classes, wait_phase, wait_run

QUICK: Manifest = {"backoffSeconds": 1, "maxBackoffSeconds": 1}


@pytest.fixture(autouse=True)
def by_hand(kube: Kube) -> None:
    """Pods whose lives the test plays."""
    kube.create(hand_profile(memoryGrowth={"percent": 150, "max": "2Gi"}))


def memory_of(pod: Manifest) -> str:
    """Return the agent container's memory limit."""
    return str(pod["spec"]["containers"][0]["resources"]["limits"]["memory"])


def reasons_told(kube: Kube, name: str) -> set[str]:
    """Return the reasons of all events about the task."""
    events = kube.items("events.events.k8s.io")
    return {one["reason"] for one in events if one["regarding"]["name"] == name}


def test_a_task_that_needs_more_memory_gets_it(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(make_run())
    kube.create(make_task(retry={"limit": 3, **QUICK}))
    limits = []
    for attempt in (1, 2, 3):
        pod = set_pod_running(kube, wait_pod(kube, "t", attempt=attempt))
        limits.append(memory_of(pod))
        end_pod(kube, pod, "Failed", 137, "OOMKilled")
    last = set_pod_running(kube, wait_pod(kube, "t", attempt=4))
    assert [*limits, memory_of(last)] == ["1Gi", "1536Mi", "2Gi", "2Gi"], "half as much again, up to the most"
    goes_on = wait_phase(kube, "t", "Running")
    assert goes_on["status"]["escalation"]["memory"] == "2Gi"
    assert condition(goes_on, "Escalated")["message"] == "Gets effort medium, memory 2Gi."
    succeed(kube, last)
    done = wait_phase(kube, "t", "Succeeded")
    assert result_classes(done) == ["oom", "oom", "oom", "success"]
    assert [one.get("memory") for one in attempts(done)] == [None, "1536Mi", "2Gi", "2Gi"]
    eventually(lambda: "Escalated" in reasons_told(kube, "t"), what="that it is told")


def test_a_task_without_retries_may_be_given_up(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(make_run())
    kube.create(make_task(retry={"limit": 0, "onExhausted": "Abandon"}))
    kube.create(make_task("behind", depends_on=["t"]))
    fail(kube, set_pod_running(kube, wait_pod(kube, "t")), message="the tests are red")
    given_up = wait_phase(kube, "t", "Abandoned")
    record = given_up["status"]["abandonment"]
    assert (record["reason"], record["actor"]) == ("env_broken", "operator")
    assert record["detail"] == "agent: NonZeroExit: the tests are red"
    assert condition(given_up, "Abandoned")["reason"] == "EnvBroken"
    assert condition(given_up, "Failed")["reason"] == "RetriesExhausted"
    blocked = wait_phase(kube, "behind", "BlockedByAbandon")
    assert blocked["status"]["blockedBy"] == {"task": "t", "rootCause": "t", "cause": "Abandoned"}
    eventually(lambda: "BlockedByAbandon" in reasons_told(kube, "behind"), what="that it is told")
    wait_run(kube, "r", "Failed")


def test_what_may_have_happened_outside_waits_for_a_person(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(make_run())
    kube.create(make_task("other", suspend=True))
    kube.create(make_task(effects="external", retry={"limit": 5, **QUICK}))
    kube.create(make_task("behind", depends_on=["t"]))
    end_pod(kube, set_pod_running(kube, wait_pod(kube, "t")), "Failed", 1, "Error")
    held = wait_phase(kube, "t", "Quarantined")
    assert [(one["resultClass"], one["reason"]) for one in attempts(held)] == [("unknown", "EffectsUnknown")]
    assert condition(held, "Failed")["reason"] == "EffectsUnknown"
    assert held["status"]["completionTime"]
    blocked = wait_phase(kube, "behind", "BlockedByFailure")
    assert blocked["status"]["blockedBy"] == {"task": "t", "rootCause": "t", "cause": "Quarantined"}
    holds_for(3, lambda: len(pods_of(kube, "t")) == 1, what="no attempt without a person's word")

    kube.annotate("agenttasks", "t", retry="looked at it")
    waits = kube.wait_for(
        "agenttasks", "behind", lambda task: "unblockedTime" in task["status"], what="unblocked"
    )
    assert waits["status"]["phase"] == "Pending"
    for name, attempt in (("t", 2), ("behind", 1)):
        succeed(kube, set_pod_running(kube, wait_pod(kube, name, attempt=attempt)))
        wait_phase(kube, name, "Succeeded")
    eventually(lambda: "Unblocked" in reasons_told(kube, "behind"), what="that it is told")
