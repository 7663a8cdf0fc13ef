"""Small makers of what decisions are made from, so that a test names only what it is about.

Objects are written as the API server sends them and read by the operator's own parsers. Moments are seconds
after ``T0``; the run is ``r`` with UID ``run-uid``, the task ``t`` with UID ``t-uid``.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from bernstein_agent.contract import Result, ResultClass, ResultSubject
from bernstein_operator.api.effective import EffectiveTask
from bernstein_operator.api.names import labels, pod_name
from bernstein_operator.api.objects import ProfileObject, RunObject, TaskObject
from bernstein_operator.api.pod import Pod
from bernstein_operator.api.snapshot import RunSnapshot, Sighting, TaskSnapshot
from bernstein_operator.api.task_status import AgentTaskStatus, Attempt
from bernstein_operator.decisions.deadline import Bounds, bounds_of

T0 = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)
RUN_UID = "run-uid"
COMMIT_A, COMMIT_B = "a" * 40, "b" * 40

Raw = dict[str, Any]


def at(seconds: float) -> datetime:
    """Return the moment ``seconds`` after ``T0``."""
    return T0 + timedelta(seconds=seconds)


def stamp(seconds: float) -> str:
    """Return the same as the API server writes it: whole seconds."""
    return at(seconds).strftime("%Y-%m-%dT%H:%M:%SZ")


def owned_by(kind: str, name: str, uid: str) -> list[Raw]:
    """Return the owner references of what ``kind`` controls."""
    return [
        {"apiVersion": "bernstein.run/v1alpha1", "kind": kind, "name": name, "uid": uid, "controller": True}
    ]


def raw(kind: str, name: str, **metadata: Any) -> Raw:
    """Return an object of ours with nothing in it; ``metadata`` by the API's names, None left out."""
    whole = {
        "name": name,
        "namespace": "ns",
        "uid": f"{name}-uid",
        "resourceVersion": "1",
        "generation": 1,
        "creationTimestamp": stamp(0),
        **metadata,
    }
    given = {key: value for key, value in whole.items() if value is not None}
    return {"apiVersion": "bernstein.run/v1alpha1", "kind": kind, "metadata": given}


def raw_task(
    name: str = "t",
    /,
    *,
    run: str = "r",
    version: int = 1,
    owner: str = "",
    cancel: str | None = None,
    status: AgentTaskStatus | Raw | None = None,
    metadata: Raw | None = None,
    **spec: Any,
) -> Raw:
    """Return an AgentTask as JSON; ``owner`` is the UID of the run that made it."""
    extra = {
        "resourceVersion": str(version),
        "annotations": {"bernstein.run/cancel": cancel} if cancel else None,
        "ownerReferences": owned_by("BernsteinRun", run, owner) if owner else None,
        **(metadata or {}),
    }
    return {
        **raw("AgentTask", name, **extra),
        "spec": {"runRef": {"name": run}, "prompt": f"do {name}", **spec},
        "status": status.manifest() if isinstance(status, AgentTaskStatus) else dict(status or {}),
    }


def task(name: str = "t", /, **options: Any) -> TaskObject:
    """Return an AgentTask; options as of ``raw_task``."""
    return TaskObject.parse(raw_task(name, **options))


def raw_run(
    name: str = "r",
    *,
    version: int = 1,
    cancel: str | None = None,
    max_agents: int | None = None,
    status: Raw | None = None,
    metadata: Raw | None = None,
    **spec: Any,
) -> Raw:
    """Return a BernsteinRun as JSON."""
    extra = {
        "uid": RUN_UID,
        "resourceVersion": str(version),
        "annotations": {"bernstein.run/cancel": cancel} if cancel else None,
        **(metadata or {}),
    }
    concurrency = {} if max_agents is None else {"concurrency": {"maxAgents": max_agents}}
    return {
        **raw("BernsteinRun", name, **extra),
        "spec": {"goal": "a test", **concurrency, **spec},
        "status": dict(status or {}),
    }


def run(name: str = "r", **options: Any) -> RunObject:
    """Return a BernsteinRun; options as of ``raw_run``."""
    return RunObject.parse(raw_run(name, **options))


def raw_profile(
    name: str = "default", *, version: int = 1, generation: int = 1, status: Raw | None = None, **spec: Any
) -> Raw:
    """Return an AgentProfile as JSON."""
    whole = {"adapter": "script", **spec}
    bare = raw("AgentProfile", name, resourceVersion=str(version), generation=generation)
    return {**bare, "spec": whole, "status": dict(status or {})}


def profile(name: str = "default", **options: Any) -> ProfileObject:
    """Return an AgentProfile."""
    return ProfileObject.parse(raw_profile(name, **options))


def effective(owner: TaskObject | None = None, **spec: Any) -> EffectiveTask:
    """Return a task's spec with all defaults."""
    found = (owner or task(**spec)).effective(None)
    assert found, "the spec can be read"
    return found


def bounds(
    before: AgentTaskStatus | None = None, *, run_deadline: float | None = None, **spec: Any
) -> Bounds:
    """Return what the attempt of a task is allowed, with all defaults."""
    owner = run(**({} if run_deadline is None else {"deadline": stamp(run_deadline)}))
    return bounds_of(before or AgentTaskStatus(), effective(**spec), owner)


def name_of_pod(attempt: int = 1, *, task: str = "t") -> str:
    """Return what the Pod of a task's attempt is called."""
    return pod_name(task=task, task_uid=f"{task}-uid", attempt=attempt)


def attempt(number: int = 1, *, task: str = "t", **fields: Any) -> Attempt:
    """Return an attempt that began at its hundredfold number of seconds before T0, unless said otherwise."""
    given = {"number": number, "pod_name": name_of_pod(number, task=task), "intent_time": at(0), **fields}
    return Attempt.model_validate(given)


def status(*attempts: Attempt, **fields: Any) -> AgentTaskStatus:
    """Return a task's status with these attempts."""
    number = attempts[-1].number if attempts else 0
    return AgentTaskStatus.model_validate({"attempt": number, "attempts": attempts, **fields})


def said(pod: str, result_class: str = "success", *, attempt: int = 1, **fields: Any) -> str:
    """Return a termination message about the Pod named ``pod``."""
    reason = fields.pop("reason", "Completed" if result_class == "success" else "ItSaysSo")
    subject = ResultSubject(id=pod, attempt=attempt)
    return Result(
        subject=subject, result_class=ResultClass(result_class), reason=reason, **fields
    ).to_termination_message()


def terminated(exit_code: int = 0, *, start: float = 1, end: float = 10, **fields: Any) -> Raw:
    """Return the state of a container that ended."""
    state = {"exitCode": exit_code, "startedAt": stamp(start), "finishedAt": stamp(end), **fields}
    return {"terminated": state}


def running(start: float = 1) -> Raw:
    """Return the state of a container that runs."""
    return {"running": {"startedAt": stamp(start)}}


def waiting(reason: str, message: str = "") -> Raw:
    """Return the state of a container that hasn't started."""
    return {"waiting": {"reason": reason, "message": message}}


def pod(
    number: int = 1,
    *,
    task: str = "t",
    name: str | None = None,
    version: int = 1,
    uid: str | None = None,
    phase: str = "Pending",
    node: str = "node-1",
    agent: Raw | None = None,
    runner: Raw | None = None,
    stop: str = "",
    stopped: float | None = None,
    deleted: float | None = None,
    created: float = 0,
    owner: list[Raw] | None = None,
    role: str = "auto",
    **pod_status: Any,
) -> Pod:
    """Return the Pod of a task's attempt; ``agent`` and ``runner`` are states of its containers."""
    called = name or name_of_pod(number, task=task)
    marks = {"bernstein.run/stop": stop} if stop else {}
    if stopped is not None:
        marks["bernstein.run/stop-time"] = at(stopped).isoformat()
    metadata = {
        "name": called,
        "namespace": "ns",
        "uid": uid or f"{called}-uid",
        "resourceVersion": str(version),
        "creationTimestamp": stamp(created),
        "labels": labels(run="r", task=task, component="agent", extra={"bernstein.run/role": role}),
        "annotations": marks,
        "ownerReferences": owned_by("AgentTask", task, f"{task}-uid") if owner is None else owner,
        **({"deletionTimestamp": stamp(deleted)} if deleted is not None else {}),
    }
    says = {
        "phase": phase,
        **({"containerStatuses": [{"name": "agent", "state": agent}]} if agent else {}),
        **({"initContainerStatuses": [{"name": "runner", "state": runner}]} if runner else {}),
        **pod_status,
    }
    return msgspec.convert({"metadata": metadata, "spec": {"nodeName": node}, "status": says}, Pod)


def snapshot(owner: TaskObject | None = None, *pods: Pod, **facts: Any) -> TaskSnapshot:
    """Return a snapshot of a task with its run and its profile there, unless ``facts`` says otherwise."""
    whole = TaskSnapshot(
        task=owner or task(), run=run(), profile=profile(), sightings=tuple(Sighting(one) for one in pods)
    )
    return replace(whole, **facts)


def run_snapshot(of: RunObject | None = None, **facts: Any) -> RunSnapshot:
    """Return a snapshot of a run; ``facts`` by the snapshot's names."""
    return RunSnapshot(run=of or run(), **facts)


def reasons(conditions: Any) -> Mapping[str, tuple[str, str]]:
    """Return status and reason of each condition by its type."""
    return {str(one.type): (str(one.status), one.reason) for one in conditions}


def merged(target: Any, patch: Any) -> Any:
    """Return what a server makes of a merge patch, word for word as RFC 7386 has it."""
    if not isinstance(patch, dict):
        return patch
    result = dict(target) if isinstance(target, dict) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value)
    return result
