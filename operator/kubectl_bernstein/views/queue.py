"""Tasks that wait for a slot, in the order in which they get theirs."""

from datetime import datetime
from typing import Any, Final

from bernstein_operator.api.vocabulary import ENDED_RUN_PHASES, AdmittedReason
from kubectl_bernstein.answers.slots import run_points, slot_point
from kubectl_bernstein.answers.turns import Turn, turns
from kubectl_bernstein.scene import Scene
from kubectl_bernstein.times import age
from kubectl_bernstein.views.view import Table, View

_HEADS: Final = ("RUN", "POSITION", "TASK", "ROLE", "PRIORITY", "REASON", "AGE")


def queue_view(scene: Scene, *, now: datetime) -> View:
    """Return the queues of all runs of ``scene`` that have tasks in it."""
    named = {task.run_key for task in scene.tasks}
    runs = [run for key, run in sorted(scene.runs.items()) if key in named]
    going = [run for run in runs if run.status.phase not in ENDED_RUN_PHASES]
    found = [turn for run in going for turn in turns(scene, run, now=now)]
    rows = tuple(_row(scene, one, now=now) for one in found)
    return View([_data(scene, one) for one in found], Table(_HEADS, rows, empty="No task waits for a slot."))


def _row(scene: Scene, turn: Turn, *, now: datetime) -> tuple[str, ...]:
    meta, task = turn.task.meta, turn.effective
    return (
        task.run,
        str(turn.position or ""),
        meta.name,
        task.role,
        str(task.priority),
        _reason(scene, turn),
        age(meta.creation_timestamp, now=now),
    )


def _reason(scene: Scene, turn: Turn) -> str:
    """Return why it has no slot: what holds the whole run, then its role, then the slots."""
    held = next(run_points(scene, turn.task), None)
    if held:
        return held.reason
    return slot_point(scene, turn.task).reason if turn.position else AdmittedReason.ROLE_CEILING


def _data(scene: Scene, turn: Turn) -> dict[str, Any]:
    return {
        "namespace": turn.task.meta.namespace,
        "run": turn.effective.run,
        "position": turn.position,
        "task": turn.task.meta.name,
        "name": turn.effective.name,
        "role": turn.effective.role,
        "priority": turn.effective.priority,
        "reason": str(_reason(scene, turn)),
    }
