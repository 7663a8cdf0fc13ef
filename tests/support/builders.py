"""Small makers of the three kinds, so that a test names only what it is about.

Two profiles cover all tests on a control plane: with ``kwok_profile`` fake nodes play the Pods' lives by the
task's role; with ``hand_profile`` no node ever takes the Pod, and the test plays its life itself (see
``pods``).
"""

from collections.abc import Mapping, Sequence
from typing import Any

from tests.support.kube import Manifest

API_VERSION = "bernstein.run/v1alpha1"
HAND = {"bernstein.test/nodes": "none"}


def _object(kind: str, name: str, spec: Mapping[str, Any], annotations: Mapping[str, str] | None) -> Manifest:
    metadata: Manifest = {"name": name}
    if annotations:
        metadata["annotations"] = dict(annotations)
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": metadata, "spec": dict(spec)}


def make_run(
    name: str = "r",
    *,
    max_agents: int | None = None,
    tasks: Sequence[Manifest] = (),
    annotations: Mapping[str, str] | None = None,
    **spec: Any,
) -> Manifest:
    """Return a BernsteinRun; ``spec`` holds further fields by their names in the API."""
    whole: Manifest = {"goal": "a test", **spec}
    if max_agents is not None:
        whole["concurrency"] = {"maxAgents": max_agents}
    if tasks:
        whole["tasks"] = list(tasks)
    return _object("BernsteinRun", name, whole, annotations)


def inline_task(name: str, **spec: Any) -> Manifest:
    """Return an entry for a run's list of tasks."""
    return {"name": name, "prompt": f"do {name}", **spec}


def make_task(
    name: str = "t",
    /,
    *,
    run: str = "r",
    depends_on: Sequence[str] = (),
    annotations: Mapping[str, str] | None = None,
    **spec: Any,
) -> Manifest:
    """Return an AgentTask of ``run``; ``spec`` holds further fields by their names in the API."""
    whole: Manifest = {"runRef": {"name": run}, "prompt": f"do {name}", **spec}
    if depends_on:
        whole["dependsOn"] = list(depends_on)
    return _object("AgentTask", name, whole, annotations)


def make_profile(name: str = "default", *, pod: Manifest | None = None, **spec: Any) -> Manifest:
    """Return an AgentProfile with the scripted agent and Pods of the shape ``pod``."""
    whole: Manifest = {"adapter": "script", "image": "registry.invalid/agent:test", **spec}
    if pod:
        whole["pod"] = pod
    return _object("AgentProfile", name, whole, None)


def kwok_profile(name: str = "default", **spec: Any) -> Manifest:
    """Return a profile whose Pods run on fake nodes."""
    tolerated = [{"key": "type", "operator": "Equal", "value": "kwok", "effect": "NoSchedule"}]
    return make_profile(name, pod={"nodeSelector": {"type": "kwok"}, "tolerations": tolerated}, **spec)


def hand_profile(name: str = "default", **spec: Any) -> Manifest:
    """Return a profile whose Pods no node takes, so that the test plays their lives."""
    return make_profile(name, pod={"nodeSelector": HAND}, **spec)
