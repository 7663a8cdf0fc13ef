"""The lives that kwok's stages play for agent Pods: what a kubelet and the runner would have written."""

from typing import Any

import pytest

from bernstein_agent.contract.result import parse_result
from tests.support.kube import Kube

Manifest = dict[str, Any]


def agent_pod(
    name: str, *, role: str, deadline: int | None = None, finalizers: tuple[str, ...] = ()
) -> Manifest:
    """The smallest agent Pod that a namespace with Pod Security "restricted" takes, for fake nodes."""
    security = {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    container = {"image": "agent", "securityContext": security}
    labels = {"bernstein.run/component": "agent", "bernstein.run/role": role, "bernstein.run/attempt": "2"}
    spec = {
        "restartPolicy": "Never",
        "tolerations": [{"key": "type", "value": "kwok", "effect": "NoSchedule"}],
        "initContainers": [{"name": "runner", **container}],
        "containers": [{"name": "agent", **container}],
        **({"activeDeadlineSeconds": deadline} if deadline else {}),
    }
    metadata = {"name": name, "labels": labels, "finalizers": list(finalizers)}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def terminated(pod: Manifest) -> Manifest:
    """How the container `agent` ended."""
    [status] = pod["status"]["containerStatuses"]
    state: Manifest = status["state"]["terminated"]
    return state


def is_phase(phase: str) -> Any:
    """A condition for `Kube.wait_for`."""
    return lambda pod: pod["status"]["phase"] == phase


@pytest.mark.parametrize(
    ("role", "phase", "exit_code", "result_class"),
    [
        pytest.param("backend", "Succeeded", 0, "success", id="an ordinary role succeeds"),
        pytest.param("kwok-fail", "Failed", 1, "agent", id="kwok-fail fails"),
        pytest.param("kwok-slow", "Succeeded", 0, "success", id="kwok-slow succeeds in the end"),
    ],
)
def test_an_agent_ends_by_its_role(
    kube: Kube, role: str, phase: str, exit_code: int, result_class: str
) -> None:
    kube.create(agent_pod("played", role=role, deadline=60))
    pod = kube.wait_for("pods", "played", is_phase(phase), timeout=60)
    state = terminated(pod)
    result = parse_result(state["message"])
    assert state["exitCode"] == result.exit_code == exit_code
    assert result.result_class == result_class
    assert (result.subject.id, result.subject.attempt) == ("played", 2)
    assert pod["status"]["initContainerStatuses"][0]["state"]["terminated"]["exitCode"] == 0


@pytest.mark.parametrize("role", ["kwok-hang", "kwok-slow"])
def test_an_agent_is_ended_by_its_deadline(kube: Kube, role: str) -> None:
    kube.create(agent_pod("late", role=role, deadline=3))
    pod = kube.wait_for("pods", "late", is_phase("Failed"), timeout=60)
    assert pod["status"]["reason"] == "DeadlineExceeded"
    assert terminated(pod)["exitCode"] == 143


def test_a_stopped_agent_ends_with_the_deadline_reason_and_stays(kube: Kube) -> None:
    kube.create(agent_pod("stopped", role="kwok-hang", deadline=600))
    kube.wait_for("pods", "stopped", is_phase("Running"), timeout=60)
    stop = {
        "metadata": {"annotations": {"bernstein.run/stop": "cancelled"}},
        "spec": {"activeDeadlineSeconds": 1},
    }
    kube.patch("pods", "stopped", stop)
    pod = kube.wait_for("pods", "stopped", is_phase("Failed"), timeout=60)
    assert pod["status"]["reason"] == "DeadlineExceeded"
    assert terminated(pod)["exitCode"] == 143


def test_a_deleted_agent_goes(kube: Kube) -> None:
    kube.create(agent_pod("deleted", role="kwok-hang"))
    kube.wait_for("pods", "deleted", is_phase("Running"), timeout=60)
    kube.delete("pods", "deleted")
    kube.wait_gone("pods", "deleted", timeout=60)


def test_a_deleted_agent_with_a_finalizer_ends_and_waits_for_it(kube: Kube) -> None:
    kube.create(agent_pod("held", role="kwok-hang", finalizers=("example.test/held",)))
    kube.wait_for("pods", "held", is_phase("Running"), timeout=60)
    kube.delete("pods", "held")
    pod = kube.wait_for("pods", "held", is_phase("Failed"), timeout=60)
    assert terminated(pod)["exitCode"] == 143
    kube.patch("pods", "held", {"metadata": {"finalizers": None}})
    kube.wait_gone("pods", "held", timeout=60)
