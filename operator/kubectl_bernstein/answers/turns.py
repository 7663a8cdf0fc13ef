"""In which order the tasks of a run that wait for a slot will get theirs, by the operator's own admission.

Its queue is filled anew with what can be read, and emptied as if slots came free one after the other while
nothing ends. So the order holds until something does.
"""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from bernstein_operator.api.effective import EffectiveTask
from bernstein_operator.api.objects import RunObject, TaskObject
from bernstein_operator.decisions.admission import Waiting, role_limits
from bernstein_operator.decisions.starting import candidate_of
from kubectl_bernstein.answers.points import queues
from kubectl_bernstein.scene import Scene


@dataclass(frozen=True, slots=True)
class Turn:
    """A task that waits for a slot; ``position`` counts from 1, None where its role is full."""

    task: TaskObject
    effective: EffectiveTask
    position: int | None


def turns(scene: Scene, run: RunObject, *, now: datetime) -> Iterator[Turn]:
    """Yield the tasks of a run that wait for nothing but a slot, the next one first."""
    queue, waiting = Waiting(), {}
    for task in scene.tasks_of(run.meta.key):
        effective = scene.effective(task)
        if effective and queues(scene, task, now=now):
            waiting[task.meta.uid] = (task, effective)
            queue.put(candidate_of(task.meta, effective))
    live = Counter(_roles(scene, run))
    order = queue.take(free=len(waiting), live_by_role=live, limits=role_limits(run))
    for position, candidate in enumerate(order, start=1):
        yield Turn(*waiting.pop(candidate.uid), position)
    for task, effective in waiting.values():
        yield Turn(task, effective, None)


def _roles(scene: Scene, run: RunObject) -> Iterator[str]:
    for holder in scene.holders(run.meta.key):
        effective = scene.effective(holder)
        if effective:
            yield effective.role
