"""What a run does to its tasks that could start: hold them all back, or have no slot free for this one."""

from collections.abc import Iterator
from typing import Final

from bernstein_operator.api.conditions import find
from bernstein_operator.api.objects import RunObject, TaskObject
from bernstein_operator.api.vocabulary import (
    ENDED_RUN_PHASES,
    AdmittedReason,
    ConditionType,
    RunPhase,
    RunReason,
)
from kubectl_bernstein.answers.point import Point, point
from kubectl_bernstein.answers.remedies import RUN, WAITING
from kubectl_bernstein.scene import Scene

_NAMED: Final = 10
"""So many holders of slots are named; further ones are counted."""


def run_points(scene: Scene, task: TaskObject) -> Iterator[Point]:
    """Yield what keeps all tasks of the run from starting, whatever else this one waits for."""
    run = scene.run_of(task)
    if not run or run.status.phase in ENDED_RUN_PHASES:
        return
    if run.invalid:
        text = f"The run's own spec can't be used: {run.invalid}"
        yield _of_run(scene, task, RunReason.INVALID_SPEC, text)
    elif run.cancelled:
        yield _of_run(scene, task, RunReason.DRAINING, "The run is being cancelled, and this task with it.")
    elif run.drained:
        text = "The run is being drained: nothing new starts, and this task is cancelled."
        yield _of_run(scene, task, RunReason.DRAINING, text)
    elif run.status.phase is RunPhase.STOPPED:
        text = "The run was stopped: its budget is used up, or what is left can't pay for any of its tasks."
        yield _of_run(scene, task, RunReason.BUDGET_EXHAUSTED, text)
    elif run.spec and run.spec.suspend:
        yield _of_run(scene, task, RunReason.SUSPENDED, "The run is paused: nothing new starts.")


def slot_point(scene: Scene, task: TaskObject) -> Point:
    """Return why a task that waits for nothing else has no slot so far."""
    run = scene.run_of(task)
    slots = run.status.concurrency if run else None
    if not run or not slots:
        return _queued(scene, task, "The operator has not counted the run's slots yet.")
    if slots.paused_since:
        text = f"The nodes that the run could use are too busy: {slots.message or ''}"
        return _of_run(scene, task, RunReason.SPAWNING_PAUSED, text)
    if slots.effective == 0:
        text = "The run's ceiling is 0: nothing starts."
        return _of_run(scene, task, RunReason.CEILING_ZERO, text)
    holders = scene.holders(run.meta.key)
    if max(len(holders), slots.live) < slots.effective:
        told = find(run.status.conditions, ConditionType.RECONCILING)
        if told and told.reason == RunReason.AT_OPERATOR_CEILING:
            return _of_run(scene, task, RunReason.AT_OPERATOR_CEILING, told.message)
        return _queued(scene, task, "It waits for a slot of its run, and one is free.")
    held = _all_held(run, holders, ceiling=slots.effective)
    why = f" {slots.message}" if slots.reduction and slots.message else ""
    return _of_run(scene, task, RunReason.AT_CEILING, f"{held}{why}")


def _all_held(run: RunObject, holders: tuple[TaskObject, ...], *, ceiling: int) -> str:
    named = ", ".join(holder.name for holder in holders[:_NAMED])
    more = f" and {len(holders) - _NAMED} more" if len(holders) > _NAMED else ""
    by = f", by {named}{more}" if named else ""
    return f"It waits for a slot; run {run.meta.name} has {ceiling}, and all are held{by}."


def _queued(scene: Scene, task: TaskObject, text: str) -> Point:
    return point(scene, task, AdmittedReason.QUEUED, text, WAITING[AdmittedReason.QUEUED])


def _of_run(scene: Scene, task: TaskObject, reason: RunReason, text: str) -> Point:
    return point(scene, task, reason, text, RUN[reason])
