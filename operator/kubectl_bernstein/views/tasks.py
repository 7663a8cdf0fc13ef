"""Tasks with what holds for them once their run's defaults are laid under their own spec."""

from datetime import datetime
from typing import Any

from bernstein_operator.api.conditions import find
from bernstein_operator.api.objects import TaskObject
from bernstein_operator.api.vocabulary import ConditionStatus, ConditionType
from kubectl_bernstein.scene import Scene
from kubectl_bernstein.times import age
from kubectl_bernstein.views.view import Table, View

_HEADS = ("TASK", "RUN", "ROLE", "PHASE", "ATTEMPT", "RETRIES", "REASON", "COST", "AGE")


def tasks_view(scene: Scene, *, everywhere: bool, now: datetime) -> View:
    """Return the table of all tasks of ``scene``, by run and age."""
    rows = tuple(
        (*((task.meta.namespace,) if everywhere else ()), *_row(scene, task, now=now)) for task in scene.tasks
    )
    heads = ("NAMESPACE", *_HEADS) if everywhere else _HEADS
    return View(
        [_data(scene, task) for task in scene.tasks], Table(heads, rows, empty="There is no task here.")
    )


def reason(task: TaskObject) -> str:
    """Return why a task waits, asks, or ended otherwise than well; empty for one that does its work."""
    admitted = find(task.status.conditions, ConditionType.ADMITTED)
    if admitted and admitted.status == ConditionStatus.FALSE:
        return admitted.reason
    conditions = task.status.conditions
    told = find(conditions, ConditionType.FAILED) or find(conditions, ConditionType.INPUT_REQUIRED)
    return told.reason if told else ""


def _row(scene: Scene, task: TaskObject, *, now: datetime) -> tuple[str, ...]:
    effective, status = scene.effective(task), task.status
    return (
        task.meta.name,
        effective.run if effective else "",
        effective.role if effective else "",
        status.phase,
        str(status.attempt or ""),
        f"{status.retries}/{effective.retry.limit}" if effective and status.attempt else "",
        reason(task),
        str(status.usage.cost_usd) if status.usage else "",
        age(task.meta.creation_timestamp, now=now),
    )


def _data(scene: Scene, task: TaskObject) -> dict[str, Any]:
    effective, status = scene.effective(task), task.status
    return {
        "namespace": task.meta.namespace,
        "task": task.meta.name,
        "name": task.name,
        "run": effective.run if effective else None,
        "role": effective.role if effective else None,
        "priority": effective.priority if effective else None,
        "phase": status.phase,
        "reason": reason(task) or None,
        "attempt": status.attempt,
        "retries": status.retries,
        "retryLimit": effective.retry.limit if effective else None,
        "usage": status.usage.manifest() if status.usage else None,
    }
