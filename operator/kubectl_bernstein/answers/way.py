"""The tasks that stand in another one's way, however far, each with why it isn't done itself.

A task that waits for one that waits for a third is helped by nothing but what helps the third. So the way is
followed to its ends, and those come first. Breadth first and without recursion: a chain may have any length,
and a circle is walked once.
"""

from collections import deque
from dataclasses import dataclass
from datetime import datetime

from bernstein_operator.api.objects import Key, TaskObject
from kubectl_bernstein.answers.point import Point
from kubectl_bernstein.answers.points import points, waits_for
from kubectl_bernstein.scene import Scene


@dataclass(frozen=True, slots=True)
class Obstacle:
    """A name that is waited for.

    Attributes:
        name: as in dependsOn.
        task: who has the name; None while nobody does.
        needed_by: the names of those that wait for it.
        points: why it isn't done; empty where there is no task.
        waits: whether it only waits for others itself.
    """

    name: str
    task: TaskObject | None
    needed_by: tuple[str, ...]
    points: tuple[Point, ...] = ()
    waits: bool = False


def in_the_way(scene: Scene, task: TaskObject, *, now: datetime) -> tuple[Obstacle, ...]:
    """Return everything that keeps ``task`` from starting, the ends of the ways first, then the nearest."""
    if not task.run_key:
        return ()
    needed_by = _reached(scene, task, task.run_key, now=now)
    obstacles = [
        _obstacle(scene, name, scene.owner_of(task.run_key, name), tuple(by), now=now)
        for name, by in needed_by.items()
    ]
    return tuple(sorted(obstacles, key=lambda one: one.waits))


def _reached(scene: Scene, task: TaskObject, run: Key, *, now: datetime) -> dict[str, list[str]]:
    """Return each name that is waited for, nearest first, with those who wait for it."""
    needed_by: dict[str, list[str]] = {}
    queue = deque([task])
    while queue:
        current = queue.popleft()
        for name in waits_for(scene, current, now=now):
            found = scene.owner_of(run, name)
            if found and name not in needed_by and found.meta.uid != task.meta.uid:
                queue.append(found)
            needed_by.setdefault(name, []).append(current.name)
    return needed_by


def _obstacle(
    scene: Scene, name: str, found: TaskObject | None, by: tuple[str, ...], *, now: datetime
) -> Obstacle:
    if not found:
        return Obstacle(name, None, by)
    waits = bool(waits_for(scene, found, now=now))
    return Obstacle(name, found, by, points(scene, found, now=now), waits)
