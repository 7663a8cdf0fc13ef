"""The two limits of an attempt: until its agent starts, and from there to its end."""

from functools import partial

import pytest

from tests.support.builders import hand_profile, make_run, make_task
from tests.support.clock import now
from tests.support.kube import Kube, Manifest, condition, eventually
from tests.support.operator import OperatorProcess
from tests.support.pods import (
    bind,
    end_pod,
    pods_of,
    set_pod_running,
    set_pod_status,
    set_pod_waiting,
    stamp,
    succeed,
    wait_pod,
)
from tests.support.tasks import attempts, result_classes, wait_phase, wait_run
from tests.support.timeline import phase

STOP = "bernstein.run/stop"
ONCE_MORE = {"limit": 1, "backoffSeconds": 600, "maxBackoffSeconds": 600}
NEVER = {"limit": 0}


@pytest.fixture(autouse=True)
def by_hand(kube: Kube) -> None:
    """A run whose Pods' lives the test plays."""
    kube.create(hand_profile())
    kube.create(make_run())


def stopped(pod: Manifest) -> str | None:
    """Return why the operator asked the Pod to stop, if it did."""
    reason: str | None = pod["metadata"].get("annotations", {}).get(STOP)
    return reason


def test_an_attempt_is_stopped_at_its_timeout(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(make_task(timeoutSeconds=3, startTimeoutSeconds=60, retry=ONCE_MORE))
    pod = wait_pod(kube, "t")
    assert pod["spec"]["activeDeadlineSeconds"] == 63
    bind(kube, pod["metadata"]["name"])
    set_pod_running(kube, pod)
    told = kube.wait_for("pods", pod["metadata"]["name"], stopped, what="that it is told to stop")
    assert (stopped(told), told["spec"]["activeDeadlineSeconds"]) == ("deadline", 1)
    # As a kubelet reports it: the annotation decides the class, not what the kubelet says.
    end_pod(kube, pod, "Failed", 143, "Error")
    second = set_pod_running(kube, wait_pod(kube, "t", attempt=2))
    assert '"deadline"' in second["metadata"]["annotations"]["bernstein.run/envelope"], (
        "the agent is told why"
    )
    succeed(kube, second)
    done = wait_phase(kube, "t", "Succeeded")
    assert result_classes(done) == ["deadline", "success"], "no back-off after a deadline"
    assert done["status"]["retries"] == 1
    assert attempts(done)[0]["reason"] == "DeadlineExceeded"


def test_a_pod_that_does_not_start_in_time_is_given_up(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(make_task(startTimeoutSeconds=3, retry=NEVER))
    pod = wait_pod(kube, "t")
    set_pod_waiting(kube, pod, reason="ImagePullBackOff", message="registry.invalid: no such host")
    failed = wait_phase(kube, "t", "Failed")
    [attempt] = attempts(failed)
    assert (attempt["resultClass"], attempt["reason"]) == ("transient", "StartTimeout")
    assert "startTimeoutSeconds (3 s)" in attempt["message"]
    assert "no such host" in attempt["message"], "the kubelet's own text"
    assert "startTime" not in attempt
    kube.wait_gone("pods", pod["metadata"]["name"])
    wait_run(kube, "r", "Failed")


@pytest.mark.parametrize("reason", ["InvalidImageName", "ErrImageNeverPull"])
def test_an_image_that_can_never_be_had_ends_the_task_at_once(
    kube: Kube, operator: OperatorProcess, reason: str
) -> None:
    kube.create(make_task())
    pod = wait_pod(kube, "t")
    set_pod_waiting(kube, pod, reason=reason, message="it can't be")
    failed = wait_phase(kube, "t", "Failed")
    [attempt] = attempts(failed)
    assert (attempt["resultClass"], attempt["reason"]) == ("contract", "ImageImpossible")
    assert reason in attempt["message"]
    kube.wait_gone("pods", pod["metadata"]["name"])


def test_a_failing_pull_keeps_its_pod_until_the_start_timeout(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(make_task(startTimeoutSeconds=600))
    pod = wait_pod(kube, "t")
    for reason in ("ErrImagePull", "ImagePullBackOff", "ErrImagePull"):
        set_pod_waiting(kube, pod, reason=reason, message="try again")
    succeed(kube, set_pod_running(kube, pod))
    done = wait_phase(kube, "t", "Succeeded")
    assert result_classes(done) == ["success"]


def test_a_result_inside_the_limit_stands_however_late_it_is_seen(
    kube: Kube, operator: OperatorProcess
) -> None:
    for name in ("in-time", "too-late"):
        kube.create(make_task(name, timeoutSeconds=4, retry=NEVER))
    pods = {name: wait_pod(kube, name) for name in ("in-time", "too-late")}
    for pod in pods.values():
        bind(kube, pod["metadata"]["name"])
        set_pod_running(kube, pod)
    begun = now()
    for name in pods:
        wait_phase(kube, name, "Running")
    operator.kill()
    succeed(kube, pods["in-time"])
    eventually(lambda: now() - begun > 6, what="that the limit has passed")
    operator.start()
    wait_phase(kube, "in-time", "Succeeded")
    kube.wait_for("pods", pods["too-late"]["metadata"]["name"], stopped, what="that it is told to stop")
    end_pod(kube, pods["too-late"], "Failed", 143, "Error")
    assert result_classes(wait_phase(kube, "too-late", "Failed")) == ["deadline"]
    wait_run(kube, "r", "Failed")


def test_the_kubelets_own_deadline_counts_as_ours(kube: Kube, operator: OperatorProcess) -> None:
    for name in ("t", "backstop"):
        kube.create(make_task(name, retry=NEVER))
    pod, late = (set_pod_running(kube, wait_pod(kube, name)) for name in ("t", "backstop"))
    end_pod(kube, pod, "Failed", 137, "Error")
    ended = {"phase": "Failed", "reason": "DeadlineExceeded", "message": "Pod was active too long"}
    set_pod_status(kube, late, ended)
    assert result_classes(wait_phase(kube, "backstop", "Failed")) == ["deadline"]
    assert result_classes(wait_phase(kube, "t", "Failed")) == ["transient"]


def test_a_stopped_pod_without_a_kubelet_is_removed(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(make_task(timeoutSeconds=2, retry=NEVER))
    pod = set_pod_running(kube, wait_pod(kube, "t"))
    eventually(
        partial(_is_gone, kube, pod["metadata"]["name"]), what="that nobody waits for a kubelet that isn't"
    )
    assert result_classes(wait_phase(kube, "t", "Failed")) == ["deadline"]


def _is_gone(kube: Kube, name: str) -> bool:
    return kube.find("pods", name) is None


def test_at_a_runs_deadline_everything_of_it_ends(kube: Kube, operator: OperatorProcess) -> None:
    ends = stamp(now() + 12)
    kube.create(make_run("hard", max_agents=2, deadline=ends))
    for name, priority in (("quick", 1), ("live", 1), ("queued", 3)):
        kube.create(make_task(name, run="hard", priority=priority))
    kube.create(make_task("behind", run="hard", depends_on=["live"]))
    succeed(kube, set_pod_running(kube, wait_pod(kube, "quick")))
    kube.patch("bernsteinruns", "hard", {"spec": {"concurrency": {"maxAgents": 1}}})
    live = wait_pod(kube, "live")
    bind(kube, live["metadata"]["name"])
    set_pod_running(kube, live)
    warned = kube.wait_for(
        "bernsteinruns", "hard", lambda run: "deadlineWarned" in run["status"], what="a warning"
    )
    assert condition(warned, "DeadlineWarning")["status"] == "True"
    told = kube.wait_for("pods", live["metadata"]["name"], stopped, what="that it is told to stop")
    assert stopped(told) == "deadline"
    wait_phase(kube, "queued", "Failed")
    assert phase(kube.get("bernsteinruns", "hard")) == "Running", "not before its agents have ended"
    end_pod(kube, live, "Failed", 143, "Error")
    failed = wait_phase(kube, "live", "Failed")
    assert "its run's deadline" in attempts(failed)[0]["message"]
    wait_phase(kube, "behind", "Failed")
    run = wait_run(kube, "hard", "Failed")
    assert condition(run, "Failed")["reason"] == "DeadlineExceeded"
    assert "3 Failed, 1 Succeeded" in condition(run, "Failed")["message"]
    assert not pods_of(kube, "queued")


def test_a_shorter_deadline_acts_now_and_a_longer_one_with_the_next_attempt(
    kube: Kube, operator: OperatorProcess
) -> None:
    for name in ("shorter", "longer"):
        kube.create(make_task(name, deadline=stamp(now() + 25), retry=NEVER))
    pods = {name: set_pod_running(kube, wait_pod(kube, name)) for name in ("shorter", "longer")}
    for name in pods:
        wait_phase(kube, name, "Running")
    kube.patch("agenttasks", "longer", {"spec": {"deadline": stamp(now() + 3600)}})
    kube.patch("agenttasks", "shorter", {"spec": {"deadline": stamp(now() + 2)}})
    assert result_classes(wait_phase(kube, "shorter", "Failed")) == ["deadline"]
    assert phase(kube.get("agenttasks", "longer")) == "Running"
    assert result_classes(wait_phase(kube, "longer", "Failed")) == ["deadline"]
