"""Small makers of what the plugin answers from: scenes of run ``r`` in namespace ``ns``."""

from collections.abc import Iterable, Mapping
from typing import Any

from bernstein_operator.api.objects import ProfileObject, RunObject, TaskObject
from kubectl_bernstein.scene import Scene
from kubectl_bernstein.views.view import View
from tests.unit.objects import profile, run, stamp, task

SLOTS = {"configured": 3, "effective": 3, "live": 0}


def scene(
    *tasks: TaskObject,
    runs: Iterable[RunObject] | None = None,
    profiles: Iterable[ProfileObject] | None = None,
) -> Scene:
    """Return a scene with run ``r`` (three slots) and profile ``default``, unless it is said otherwise."""
    given = [run(status=stands("Running", concurrency=SLOTS))] if runs is None else runs
    return Scene.of(tasks=tasks, runs=given, profiles=[profile()] if profiles is None else profiles)


def said(kind: str, status: str, reason: str, message: str = "") -> dict[str, Any]:
    """Return a condition as the API has it."""
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "lastTransitionTime": stamp(0),
    }


def stands(phase: str, *conditions: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """Return a task's or run's status that the operator has brought up to date."""
    return {"phase": phase, "observedGeneration": 1, "conditions": list(conditions), **fields}


def begun(number: int = 1, **fields: Any) -> dict[str, Any]:
    """Return an attempt as the API has it, one that goes on unless ``fields`` say else."""
    return {"number": number, "podName": f"pod-{number}", "intentTime": stamp(0), **fields}


def at_work(number: int = 1, **fields: Any) -> dict[str, Any]:
    """Return the status of a task whose agent runs."""
    attempt = begun(number, startTime=stamp(5), node="node-1")
    return stands("Running", attempt=number, attempts=[attempt], **fields)


def waiting(name: str, /, *needs: str, **spec: Any) -> TaskObject:
    """Return a task that has had no attempt."""
    return task(name, dependsOn=list(needs), **{"status": stands("Pending"), **spec})


def data(view: View) -> dict[str, Any]:
    """Return what programs get of one object."""
    assert isinstance(view.data, Mapping)
    return dict(view.data)
