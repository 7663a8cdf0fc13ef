"""One thing that keeps a task where it is, with what would change it filled in for that very task."""

from dataclasses import dataclass

from bernstein_operator.api.effective import DEFAULT_PROFILE
from bernstein_operator.api.objects import TaskObject
from kubectl_bernstein.scene import Scene


@dataclass(frozen=True, slots=True)
class Point:
    """One thing that keeps a task where it is.

    Attributes:
        reason: a word of the API.
        says: the same for people.
        change: what would change it; empty where there is nothing to change.
    """

    reason: str
    says: str
    change: str = ""


def point(scene: Scene, task: TaskObject, reason: str, says: str, remedy: str) -> Point:
    """Return the point about ``task`` with the placeholders of ``remedy`` (see ``remedies``) filled in."""
    effective, by = scene.effective(task), task.status.blocked_by
    attempts = task.status.attempts
    change = remedy.format(
        task=task.meta.name,
        name=task.name,
        run=effective.run if effective else "",
        profile=effective.profile if effective else DEFAULT_PROFILE,
        pod=attempts[-1].pod_name if attempts else "",
        root=by.root_cause if by else "",
    )
    return Point(reason, says, change)
