"""Waiting for what tasks and runs come to, in the words of their API."""

import time
from collections.abc import Callable, Mapping
from typing import Any

from tests.support.kube import Kube, Manifest, condition
from tests.support.timeline import phase

TICK_SECONDS = 10.0
"""The longest that the operator may take to notice anything."""

_PATIENCE = 60.0
_LOOK_SECONDS = 0.2


def wait_phase(kube: Kube, task: str, wanted: str, *, timeout: float = _PATIENCE) -> Manifest:
    """Return the task once its phase is ``wanted``."""
    return kube.wait_for(
        "agenttasks", task, lambda found: phase(found) == wanted, timeout=timeout, what=wanted
    )


def wait_run(kube: Kube, run: str, wanted: str, *, timeout: float = _PATIENCE) -> Manifest:
    """Return the run once its phase is ``wanted``."""
    return kube.wait_for(
        "bernsteinruns", run, lambda found: phase(found) == wanted, timeout=timeout, what=wanted
    )


def wait_waiting(kube: Kube, task: str, reason: str, *, timeout: float = _PATIENCE) -> Manifest:
    """Return the task once it says that it waits for ``reason`` (Admitted=False)."""
    return kube.wait_for(
        "agenttasks",
        task,
        lambda found: waits_for(found) == reason,
        timeout=timeout,
        what=f"waiting: {reason}",
    )


def waits_for(task: Mapping[str, Any]) -> str | None:
    """Return the reason of Admitted=False, None if the task doesn't say that it waits."""
    admitted = condition(dict(task), "Admitted")
    return str(admitted["reason"]) if admitted.get("status") == "False" else None


def attempts(task: Mapping[str, Any]) -> list[Manifest]:
    """Return status.attempts, oldest first."""
    return list(task.get("status", {}).get("attempts", ()))


def result_classes(task: Mapping[str, Any]) -> list[str | None]:
    """Return how each attempt counted."""
    return [attempt.get("resultClass") for attempt in attempts(task)]


def holds_for(seconds: float, check: Callable[[], object], *, what: str) -> None:
    """Fail as soon as ``check`` is false during ``seconds``; for what must NOT happen."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        assert check(), f"did not last: {what}"
        time.sleep(_LOOK_SECONDS)
