"""What becomes of a task after an attempt failed: what counts, how long it waits, when it is given up."""

from typing import Any

import pytest

from tests.support.builders import hand_profile, make_run, make_task
from tests.support.kube import Kube, Manifest, condition
from tests.support.operator import OperatorProcess
from tests.support.pods import bind, end_pod, make_result, remove_pod, set_pod_running, succeed, wait_pod
from tests.support.tasks import attempts, holds_for, result_classes, wait_phase, wait_run, wait_waiting

QUICK = {"backoffSeconds": 1, "maxBackoffSeconds": 1}
RESCUE = "bernstein/r/t.rescue-1"


@pytest.fixture(autouse=True)
def by_hand(kube: Kube) -> None:
    """Pods whose lives the test plays."""
    kube.create(hand_profile())


def end(kube: Kube, task: str, attempt: int = 1, /, **how: Any) -> Manifest:
    """Let the attempt's Pod run and end with a result of that class, code and so on; return the Pod."""
    pod = set_pod_running(kube, wait_pod(kube, task, attempt=attempt))
    code = how.get("exit_code", 1)
    end_pod(kube, pod, "Failed" if code else "Succeeded", code, "Error", result=make_result(pod, **how))
    return pod


def test_a_failing_task_is_tried_as_often_as_allowed(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(make_run())
    kube.create(make_task(retry={"limit": 1, "backoffSeconds": 2, "maxBackoffSeconds": 2}))
    how: Manifest = {
        "result_class": "agent",
        "exit_code": 3,
        "reason": "CommandFailed",
        "message": "the tests are red",
    }
    end(kube, "t", rescueBranch=RESCUE, **how)
    waiting = wait_waiting(kube, "t", "BackingOff")
    [first] = attempts(waiting)
    assert (
        first.items()
        >= {
            "exitCode": 3,
            "resultClass": "agent",
            "reason": "CommandFailed",
            "message": "the tests are red",
            "rescueBranch": RESCUE,
        }.items()
    )
    assert waiting["status"]["nextAttemptTime"] > first["endTime"]
    assert waiting["status"]["retries"] == 1

    second = wait_pod(kube, "t", attempt=2)
    told = second["metadata"]["annotations"]["bernstein.run/envelope"]
    assert "the tests are red" in told, "the next attempt is told what the first one found"
    assert RESCUE in told
    end(kube, "t", 2, **how)
    failed = wait_phase(kube, "t", "Failed")
    assert result_classes(failed) == ["agent", "agent"]
    assert failed["status"]["retries"] == 2
    assert "nextAttemptTime" not in failed["status"]
    assert condition(failed, "Failed")["reason"] == "RetriesExhausted"
    assert "the tests are red" in condition(failed, "Failed")["message"]
    wait_run(kube, "r", "Failed")


def test_a_lost_pod_is_replaced_without_using_up_a_retry(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(make_run())
    kube.create(make_task(retry={"limit": 0, **QUICK}))
    pod = set_pod_running(kube, wait_pod(kube, "t"))
    wait_phase(kube, "t", "Running")
    remove_pod(kube, pod["metadata"]["name"])
    succeed(kube, set_pod_running(kube, wait_pod(kube, "t", attempt=2)))
    done = wait_phase(kube, "t", "Succeeded")
    assert result_classes(done) == ["disruption", "success"]
    assert attempts(done)[0]["reason"] == "PodDeleted"
    assert (done["status"].get("retries", 0), done["status"]["disruptions"]) == (0, 1)
    wait_run(kube, "r", "Succeeded")


def test_an_attempt_that_is_deleted_gracefully_is_not_overtaken(
    kube: Kube, operator: OperatorProcess
) -> None:
    kube.create(make_run())
    kube.create(make_task(retry={"limit": 0, **QUICK}))
    pod = wait_pod(kube, "t")
    bind(kube, pod["metadata"]["name"])
    set_pod_running(kube, pod)
    wait_phase(kube, "t", "Running")
    kube.delete("pods", pod["metadata"]["name"])
    holds_for(3, lambda: len(kube.items("pods")) == 1, what="no second Pod beside one that is terminating")
    remove_pod(kube, pod["metadata"]["name"])
    succeed(kube, set_pod_running(kube, wait_pod(kube, "t", attempt=2)))
    assert result_classes(wait_phase(kube, "t", "Succeeded")) == ["disruption", "success"]


ENDS: dict[str, tuple[Manifest, str, str, int]] = {
    # task: how its Pod ends; its class; its phase after that; retries counted
    "success": ({"exit_code": 0}, "success", "Succeeded", 0),
    "claimed": ({"result_class": "success", "exit_code": 1}, "agent", "Failed", 1),
    "business": ({"result_class": "business", "exit_code": 1}, "business", "Failed", 1),
    "agent": ({"result_class": "agent", "exit_code": 2}, "agent", "Failed", 1),
    "transient": ({"result_class": "transient", "exit_code": 1}, "transient", "Failed", 1),
    "contract": ({"result_class": "contract", "exit_code": 64}, "contract", "Failed", 0),
    "forged": ({"result_class": "cancelled", "exit_code": 1}, "agent", "Failed", 1),
}


def test_every_class_that_an_agent_may_report_has_its_consequence(
    kube: Kube, operator: OperatorProcess
) -> None:
    kube.create(make_run(max_agents=len(ENDS), taskDefaults={"retry": {"limit": 0}}))
    for name in ENDS:
        kube.create(make_task(name))
    for name, (how, _, _, _) in ENDS.items():
        end(kube, name, **how)
    for name, (_, result_class, phase, retries) in ENDS.items():
        task = wait_phase(kube, name, phase)
        assert (name, result_classes(task)) == (name, [result_class])
        assert (name, task["status"].get("retries", 0)) == (name, retries)
    wait_run(kube, "r", "Failed")


SILENT: dict[str, tuple[int, str, str]] = {
    # task: exit code, the container's reason, what it counts as without a readable result
    "oom": (137, "OOMKilled", "oom"),
    "oom-zero": (0, "OOMKilled", "oom"),
    "killed": (137, "Error", "transient"),
    "usage": (64, "Error", "contract"),
    "crash": (1, "Error", "agent"),
    "mute": (0, "Completed", "agent"),
}


def test_an_end_without_a_word_is_judged_by_its_traces(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(make_run(max_agents=len(SILENT), taskDefaults={"retry": {"limit": 0}}))
    for name in SILENT:
        kube.create(make_task(name))
    for name, (code, reason, _) in SILENT.items():
        pod = set_pod_running(kube, wait_pod(kube, name))
        end_pod(kube, pod, "Failed" if code else "Succeeded", code, reason)
    for name, (_, _, result_class) in SILENT.items():
        task = wait_phase(kube, name, "Failed")
        assert (name, result_classes(task)) == (name, [result_class])


def test_a_success_without_a_commit_is_none_where_the_run_has_a_repository(
    kube: Kube, operator: OperatorProcess
) -> None:
    kube.create(make_run(repository={"url": "git://git.invalid/a", "ref": "main"}))
    kube.create(make_task(retry={"limit": 0}))
    end(kube, "t", exit_code=0, headBefore="a" * 40, headAfter="a" * 40)
    failed = wait_phase(kube, "t", "Failed")
    [attempt] = attempts(failed)
    assert (attempt["resultClass"], attempt["reason"]) == ("business", "NoCommit")


def test_a_rate_limit_waits_and_costs_no_retry(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(make_run())
    kube.create(make_task(retry={"limit": 0, **QUICK}))
    end(kube, "t", result_class="capacity", reason="RateLimited")
    end(kube, "t", 2, result_class="capacity", reason="RateLimited")
    succeed(kube, set_pod_running(kube, wait_pod(kube, "t", attempt=3)))
    done = wait_phase(kube, "t", "Succeeded")
    assert result_classes(done) == ["capacity", "capacity", "success"]
    assert done["status"].get("retries", 0) == 0
