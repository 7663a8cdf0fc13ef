"""Playing a Pod's life by hand: what a scheduler and a kubelet would write, written by the test.

Only so can a test end a Pod in the ways that no kubelet can be talked into on demand: evicted before any
container has a status, killed for memory with exit code 0, gone with its node.
"""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from tests.support import clock
from tests.support.kube import STRATEGIC, ApiError, Kube, Manifest, condition, eventually
from tests.support.timeline import LABEL_COMPONENT, is_live, owner_uid

NODE = "played-by-hand"


def stamp(seconds: float | None = None) -> str:
    """Return a moment (seconds since the epoch, default now) as the API writes it."""
    moment = datetime.fromtimestamp(clock.now() if seconds is None else seconds, UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def pods_of(kube: Kube, task: str) -> list[Manifest]:
    """Return the agent Pods that the AgentTask called ``task`` owns, by attempt."""
    found = kube.find("agenttasks", task)
    uid = found["metadata"]["uid"] if found else None
    agents = kube.items("pods", labels=f"{LABEL_COMPONENT}=agent")
    owned = [pod for pod in agents if owner_uid(pod) == uid]
    return sorted(owned, key=attempt_of)


def attempt_of(pod: Mapping[str, Any]) -> int:
    """Return the number of the attempt that the Pod is."""
    return int(pod["metadata"]["labels"]["bernstein.run/attempt"])


def live_pods(kube: Kube) -> list[Manifest]:
    """Return the agent Pods of the namespace that hold a slot."""
    return [pod for pod in kube.items("pods", labels=f"{LABEL_COMPONENT}=agent") if is_live(pod)]


def wait_pod(kube: Kube, task: str, *, attempt: int = 1, timeout: float = 30.0) -> Manifest:
    """Return the Pod of the attempt once it exists; else fail and show the task."""

    def find() -> Manifest | None:
        return next((pod for pod in pods_of(kube, task) if attempt_of(pod) == attempt), None)

    try:
        return eventually(find, timeout=timeout, what=f"the Pod of attempt {attempt} of {task}")
    except AssertionError:
        kube.wait_for("agenttasks", task, lambda _: find(), timeout=0, what=f"the Pod of attempt {attempt}")
        raise


def bind(kube: Kube, pod: str, node: str = NODE) -> None:
    """Put the Pod on ``node`` (made if missing), as a scheduler would; an unbound Pod vanishes on delete."""
    if kube.find("nodes", node) is None:
        kube.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": node}})
    target = {"apiVersion": "v1", "kind": "Node", "name": node}
    binding = {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod}, "target": target}
    kube.request("POST", f"/api/v1/namespaces/{kube.namespace}/pods/{pod}/binding", body=binding)


def set_pod_running(kube: Kube, pod: Mapping[str, Any], *, started: float | None = None) -> Manifest:
    """Let the Pod run: init containers done, the agent container started at ``started`` (default now)."""
    at = stamp(started)
    status = {
        "phase": "Running",
        "startTime": at,
        "initContainerStatuses": _statuses(pod, "initContainers", _terminated(0, "Completed", at, at)),
        "containerStatuses": _statuses(pod, "containers", {"running": {"startedAt": at}}),
    }
    return set_pod_status(kube, pod, status)


def set_pod_waiting(kube: Kube, pod: Mapping[str, Any], *, reason: str, message: str = "") -> Manifest:
    """Let the agent container wait (ErrImagePull, InvalidImageName …) in a Pod that stays Pending."""
    waiting = {"waiting": {"reason": reason, "message": message}}
    return set_pod_status(
        kube, pod, {"phase": "Pending", "containerStatuses": _statuses(pod, "containers", waiting)}
    )


def set_unschedulable(
    kube: Kube, pod: Mapping[str, Any], *, reason: str = "Unschedulable", message: str = "0/1 nodes"
) -> Manifest:
    """Say what a scheduler says of a Pod that fits nowhere (or, SchedulingGated, that it may not place).

    The cluster's own scheduler has its say first: it would write over what is said here.
    """
    name = pod["metadata"]["name"]
    kube.wait_for("pods", name, lambda one: condition(one, "PodScheduled"), what="the scheduler's word")
    scheduled = {"type": "PodScheduled", "status": "False", "reason": reason, "message": message}
    return set_pod_status(kube, pod, {"conditions": [{**scheduled, "lastTransitionTime": stamp()}]})


def end_pod(
    kube: Kube,
    pod: Mapping[str, Any],
    phase: str = "Succeeded",
    exit_code: int = 0,
    reason: str = "Completed",
    *,
    result: Mapping[str, Any] | None = None,
    started: float | None = None,
) -> Manifest:
    """End the Pod as a kubelet reports it; ``result`` becomes the agent's termination message."""
    begun = started if started is not None else _started(pod)
    ended = _terminated(exit_code, reason, stamp(begun), stamp())
    if result is not None:
        ended["terminated"]["message"] = json.dumps(result)
    return set_pod_status(
        kube, pod, {"phase": phase, "containerStatuses": _statuses(pod, "containers", ended)}
    )


def succeed(kube: Kube, pod: Mapping[str, Any]) -> Manifest:
    """End the Pod with an agent's success."""
    return end_pod(kube, pod, result=make_result(pod))


def fail(kube: Kube, pod: Mapping[str, Any], *, message: str = "the tests are red") -> Manifest:
    """End the Pod with an agent's own failure."""
    result = make_result(pod, result_class="agent", exit_code=1, reason="NonZeroExit", message=message)
    return end_pod(kube, pod, "Failed", 1, "Error", result=result)


def set_pod_status(kube: Kube, pod: Mapping[str, Any], status: Manifest) -> Manifest:
    """Merge ``status`` into the Pod's; lists of containers and conditions are merged by name and type."""
    name = pod["metadata"]["name"]
    return kube.patch("pods", name, {"status": status}, sub="status", content_type=STRATEGIC)


def make_result(
    pod: Mapping[str, Any],
    *,
    result_class: str = "success",
    exit_code: int = 0,
    reason: str = "Completed",
    message: str = "",
    cost_usd: str = "0",
    **further: Any,
) -> Manifest:
    """Return the termination message that a runner in ``pod`` would leave."""
    usage = {"inputTokens": 0, "outputTokens": 0, "cachedTokens": 0, "costUsd": cost_usd}
    return {
        "contractVersion": "1.0",
        "subject": {"id": pod["metadata"]["name"], "attempt": attempt_of(pod)},
        "class": result_class,
        "reason": reason,
        "exitCode": exit_code,
        "usage": usage,
        "summary": "played by hand",
        "message": message,
        **further,
    }


def remove_pod(kube: Kube, name: str) -> None:
    """Delete the Pod at once; one that is gone already is no error."""
    try:
        kube.delete("pods", name, grace_seconds=0)
    except ApiError as error:
        if error.status != 404:
            raise


def _statuses(pod: Mapping[str, Any], which: str, state: Mapping[str, Any]) -> list[Manifest]:
    """Return the same state for all containers; the states that it isn't are taken away."""
    others = dict.fromkeys(("waiting", "running", "terminated"))
    return [
        {
            "name": container["name"],
            "image": container["image"],
            "imageID": "",
            "ready": "running" in state,
            "restartCount": 0,
            "state": {**others, **state},
        }
        for container in pod["spec"].get(which, ())
    ]


def _terminated(exit_code: int, reason: str, started: str, finished: str) -> Manifest:
    return {
        "terminated": {
            "exitCode": exit_code,
            "reason": reason,
            "startedAt": started,
            "finishedAt": finished,
        }
    }


def _started(pod: Mapping[str, Any]) -> float | None:
    begun = pod.get("status", {}).get("startTime")
    return datetime.fromisoformat(begun).timestamp() if begun else None
