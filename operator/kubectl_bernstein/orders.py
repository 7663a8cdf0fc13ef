"""What people may tell a run or a task: the patch that says it, or why it can't act.

Each order is what kubectl would write: an annotation or a field of the spec. Whoever repeats one changes
nothing and is told so; one that the operator would ignore is refused, since silence would pass for success.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from bernstein_operator.api.names import ANNOTATION_CANCEL
from bernstein_operator.api.objects import RunObject, TaskObject
from bernstein_operator.api.vocabulary import ENDED_RUN_PHASES, SETTLED_PHASES, RunPhase, TaskPhase
from bernstein_operator.decisions.attempt import open_attempt
from kubectl_bernstein.errors import CommandError
from kubectl_bernstein.naming import reference


@dataclass(frozen=True, slots=True)
class Order:
    """What to write to an object, and what to tell the person who asked for it.

    Attributes:
        target: the object.
        patch: a JSON merge patch; None where it holds already.
        message: what comes of it.
    """

    target: RunObject | TaskObject
    patch: Mapping[str, Any] | None
    message: str


def cancel(target: RunObject | TaskObject) -> Order:
    """Return the order that cancels a run or a task; CommandError where that ended otherwise already."""
    return _cancel_run(target) if isinstance(target, RunObject) else _cancel_task(target)


def pause(run: RunObject) -> Order:
    """Return the order that lets nothing new start in a run; CommandError where nothing would anyway."""
    _must_go_on(run, "be paused")
    if run.spec and run.spec.suspend:
        return Order(run, None, "is paused already")
    return Order(run, {"spec": {"suspend": True}}, "paused: nothing new starts, live agents go on")


def resume(run: RunObject) -> Order:
    """Return the order that lets a paused run go on; CommandError where it can't."""
    _must_go_on(run, "be resumed")
    if run.spec and not run.spec.suspend:
        return Order(run, None, "is not paused")
    return Order(run, {"spec": {"suspend": False}}, "resumed: waiting tasks start as slots are free")


def _cancel_run(run: RunObject) -> Order:
    if run.status.phase is RunPhase.CANCELLED:
        return Order(run, None, "was cancelled already")
    _must_not_have_ended(run, "be cancelled")
    if run.cancelled:
        return Order(run, None, "is being cancelled already")
    live = run.status.concurrency.live if run.status.concurrency else 0
    return Order(run, _CANCEL, f"cancelled, for good: nothing new starts, live agents are stopped ({live})")


def _cancel_task(task: TaskObject) -> Order:
    phase = task.status.phase
    if phase is TaskPhase.CANCELLED:
        return Order(task, None, "was cancelled already")
    if phase in SETTLED_PHASES:
        raise CommandError(f"{reference(task)} ended as {phase}: there is nothing to cancel")
    if task.cancelled:
        return Order(task, None, "is being cancelled already")
    then = "its agent is stopped" if open_attempt(task.status) else "it never starts"
    return Order(task, _CANCEL, f"cancelled, for good: {then}")


def _must_go_on(run: RunObject, verb: str) -> None:
    _must_not_have_ended(run, verb)
    if run.cancelled:
        raise CommandError(f"{reference(run)} is being cancelled: it can't {verb}")


def _must_not_have_ended(run: RunObject, verb: str) -> None:
    if run.status.phase in ENDED_RUN_PHASES:
        raise CommandError(f"{reference(run)} ended as {run.status.phase}: it can't {verb}")


_CANCEL: Mapping[str, Any] = {"metadata": {"annotations": {ANNOTATION_CANCEL: "true"}}}
