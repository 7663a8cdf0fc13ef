"""Why a task stands where it stands, on one screen: its points, what is in its way, how it went."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

from bernstein_operator.api.objects import TaskObject
from bernstein_operator.api.task_status import Attempt
from kubectl_bernstein.answers.point import Point
from kubectl_bernstein.answers.points import points
from kubectl_bernstein.answers.record import record, record_data
from kubectl_bernstein.answers.way import Obstacle, in_the_way
from kubectl_bernstein.naming import reference
from kubectl_bernstein.scene import Scene
from kubectl_bernstein.views.view import Line, Prose, View

_SHOWN: Final = 20
"""So many tasks in the way are shown to people; JSON has them all."""
_TOLD_OF_ATTEMPTS: Final = {
    "number",
    "pod_name",
    "result_class",
    "reason",
    "message",
    "start_time",
    "end_time",
}


def why_view(scene: Scene, task: TaskObject, *, now: datetime) -> View:
    """Return why ``task`` stands where it stands, and what would change it."""
    found, obstacles = points(scene, task, now=now), in_the_way(scene, task, now=now)
    run = task.run_key[1] if task.run_key else None
    data = {
        "namespace": task.meta.namespace,
        "task": task.meta.name,
        "name": task.name,
        "run": run,
        "phase": task.status.phase,
        "because": [_point_data(one) for one in found],
        "inTheWay": [_obstacle_data(one) for one in obstacles],
        "attempts": [_attempt_data(one) for one in task.status.attempts],
        **record_data(task),
    }
    title = Line(f"{reference(task)} ({task.name} of run {run}): {_standing(task, found)}")
    ways = (*_way_lines(obstacles), *_attempt_lines(scene, task), *_record_lines(task))
    return View(data, Prose((title, *_point_lines(found, 1), *ways)))


# --- for people -------------------------------------------------------------------------------------------


def _point_lines(found: tuple[Point, ...], indent: int) -> Iterator[Line]:
    for one in found:
        yield Line(one.says, indent)
        if one.change:
            yield Line(f"→ {one.change}", indent)


def _way_lines(obstacles: tuple[Obstacle, ...]) -> Iterator[Line]:
    if not obstacles:
        return
    yield from (Line(""), Line("In its way:"))
    for one in obstacles[:_SHOWN]:
        yield Line(_obstacle_title(one), 1)
        yield from _point_lines(one.points, 2)
        yield from _last_failure(one.task)
    if len(obstacles) > _SHOWN:
        yield Line(f"and {len(obstacles) - _SHOWN} more: see kubectl bernstein tree, or --output json", 1)


def _obstacle_title(one: Obstacle) -> str:
    standing = _standing(one.task, one.points) if one.task else "no task of the run has this name"
    return f"{one.name}: {standing} (needed by {', '.join(one.needed_by)})"


def _standing(task: TaskObject, found: tuple[Point, ...]) -> str:
    return ", ".join(dict.fromkeys((task.status.phase, found[0].reason)))


def _last_failure(task: TaskObject | None) -> Iterator[Line]:
    last = task.status.attempts[-1] if task and task.status.attempts else None
    if last and last.end_time:
        yield Line(f"Its last attempt, {_attempt_text(last)}", 2)


def _attempt_lines(scene: Scene, task: TaskObject) -> Iterator[Line]:
    status, effective = task.status, scene.effective(task)
    if not status.attempts:
        return
    used = f"retries used: {status.retries}{f' of {effective.retry.limit}' if effective else ''}"
    lost = f"lost Pods: {status.disruptions}{f' of {effective.retry.disruption_limit}' if effective else ''}"
    yield from (Line(""), Line(f"Attempts ({used}; {lost}):"))
    yield from (Line(_attempt_text(one), 1) for one in status.attempts)


def _record_lines(task: TaskObject) -> Iterator[Line]:
    lines = tuple(record(task))
    if lines:
        yield from (Line(""), Line("On record:"), *(Line(line, 1) for line in lines))


def _attempt_text(attempt: Attempt) -> str:
    if not attempt.end_time:
        return f"{attempt.number}: goes on, Pod {attempt.pod_name}"
    said = f": {attempt.message}" if attempt.message else ""
    return f"{attempt.number}: {attempt.result_class}, {attempt.reason}{said}"


# --- as JSON ----------------------------------------------------------------------------------------------


def _point_data(one: Point) -> dict[str, Any]:
    return {"reason": str(one.reason), "message": one.says, "change": one.change or None}


def _obstacle_data(one: Obstacle) -> dict[str, Any]:
    return {
        "name": one.name,
        "task": one.task.meta.name if one.task else None,
        "phase": one.task.status.phase if one.task else None,
        "neededBy": list(one.needed_by),
        "because": [_point_data(each) for each in one.points],
    }


def _attempt_data(attempt: Attempt) -> dict[str, Any]:
    return attempt.model_dump(mode="json", by_alias=True, include=_TOLD_OF_ATTEMPTS)
