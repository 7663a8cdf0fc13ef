"""What people may tell a run or a task: the patch that says it, or why it can't act.

Each order is what kubectl would write: an annotation or a field of the spec. Whoever repeats one changes
nothing and is told so; one that the operator would ignore is refused, since silence would pass for success.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from msgspec import structs

from bernstein_agent.contract import AbandonReason
from bernstein_operator.api.choices import CommandVerb
from bernstein_operator.api.names import GROUP
from bernstein_operator.api.objects import RunObject, TaskObject
from bernstein_operator.api.vocabulary import (
    BLOCKED_PHASES,
    CLOSED_PHASES,
    ENDED_RUN_PHASES,
    FINAL_PHASES,
    FINAL_RUN_PHASES,
    RunPhase,
    TaskPhase,
)
from bernstein_operator.decisions.attempt import open_attempt
from bernstein_operator.decisions.commands import RETRIABLE_PHASES
from bernstein_operator.decisions.requests import TRUE, new_value
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


def abandon(task: TaskObject, reason: AbandonReason, detail: str = "") -> Order:
    """Return the order that gives a task up; CommandError where it ended otherwise already."""
    if task.status.phase is TaskPhase.ABANDONED:
        return Order(task, None, "was abandoned already")
    _must_be_there(task, "be abandoned")
    value = f"{reason}: {detail}" if detail else str(reason)
    text = f"abandoned as {reason}, for good: {_what_follows(task, 'it never starts')}"
    return _in_words(task, CommandVerb.ABANDON, value, text)


def quarantine(task: TaskObject, why: str) -> Order:
    """Return the order that stops a task until somebody has looked; CommandError where it can't."""
    if task.status.phase is TaskPhase.QUARANTINED:
        return Order(task, None, "is in quarantine already")
    _must_be_there(task, "be put into quarantine")
    follows = _what_follows(task, "it doesn't start")
    text = f"put into quarantine until it is retried, cancelled or abandoned: {follows}"
    return _in_words(task, CommandVerb.QUARANTINE, why, text)


def answer(task: TaskObject, words: str) -> Order:
    """Return the order that answers what a task asks; CommandError where it asks nothing."""
    _must_be_there(task, "be answered")
    if task.status.phase is not TaskPhase.AWAITING_INPUT:
        raise CommandError(f"{reference(task)} is {task.status.phase}: it asks nothing")
    if not words.strip():
        raise CommandError("an answer needs words")
    return _in_words(task, CommandVerb.ANSWER, words, "answered: another attempt goes on with it")


def drain(run: RunObject) -> Order:
    """Return the order that lets a run's live agents finish and starts nothing; CommandError if it can't."""
    if run.status.phase is RunPhase.CANCELLED:
        return Order(run, None, "has ended already, as Cancelled")
    if run.drained and not run.cancelled and run.status.phase not in ENDED_RUN_PHASES:
        return Order(run, None, "is being drained already")
    _must_go_on(run, "be drained")
    text = f"drained, for good: nothing new starts, live agents finish ({_live(run)}), then it is Cancelled"
    return Order(run, _annotated(CommandVerb.DRAIN, TRUE), text)


def retry(target: RunObject | TaskObject, run: RunObject | None, *, now: datetime) -> Order:
    """Return the order that gives a task, or what failed of a run, a fresh start.

    ``run`` is the task's, None where there is none. CommandError where there is nothing to retry.
    """
    said = _retry_run(target) if isinstance(target, RunObject) else _retry_task(target, run)
    return Order(target, _annotated(CommandVerb.RETRY, f"{now:%Y-%m-%dT%H:%M:%S.%fZ}"), said)


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
    text = f"cancelled, for good: nothing new starts, live agents are stopped ({_live(run)})"
    return Order(run, _annotated(CommandVerb.CANCEL, TRUE), text)


def _cancel_task(task: TaskObject) -> Order:
    phase = task.status.phase
    if phase is TaskPhase.CANCELLED:
        return Order(task, None, "was cancelled already")
    if phase in CLOSED_PHASES:
        raise CommandError(f"{reference(task)} ended as {phase}: there is nothing to cancel")
    if task.cancelled:
        return Order(task, None, "is being cancelled already")
    text = f"cancelled, for good: {_what_follows(task, 'it never starts')}"
    return Order(task, _annotated(CommandVerb.CANCEL, TRUE), text)


def _retry_run(run: RunObject) -> str:
    if run.status.phase in FINAL_RUN_PHASES:
        raise CommandError(f"{reference(run)} ended as {run.status.phase}, for good: it can't be retried")
    _must_not_wind_down(run, "be retried")
    return "retried: what failed, asks or is in quarantine gets a fresh start"


def _retry_task(task: TaskObject, run: RunObject | None) -> str:
    phase = task.status.phase
    if phase in FINAL_PHASES:
        raise CommandError(f"{reference(task)} ended as {phase}, for good: it can't be retried")
    if phase not in (*RETRIABLE_PHASES, *BLOCKED_PHASES):
        raise CommandError(f"{reference(task)} is {phase}: there is nothing to retry")
    if task.cancelled:
        raise CommandError(f"{reference(task)} is being cancelled: it can't be retried")
    if run:
        _retry_run(run)
    if phase in BLOCKED_PHASES:
        return "is looked at again: it moves once what blocks it has"
    return "retried: a fresh start, as if nothing had been tried"


def _in_words(task: TaskObject, verb: CommandVerb, value: str, message: str) -> Order:
    """Return the order to annotate a task with words; the operator hears the same ones only once."""
    patch = _annotated(verb, value)
    told = structs.replace(task.meta, annotations=patch["metadata"]["annotations"])
    if new_value(told, task.status.requests, verb) is None:
        raise CommandError(f"{reference(task)} was told to {verb} in these very words before: use others")
    known = task.meta.annotation(f"{GROUP}/{verb}") == value
    return Order(task, None, "was told so already") if known else Order(task, patch, message)


def _what_follows(task: TaskObject, without_agent: str) -> str:
    return "its agent is stopped" if open_attempt(task.status) else without_agent


def _live(run: RunObject) -> int:
    return run.status.concurrency.live if run.status.concurrency else 0


def _must_be_there(task: TaskObject, verb: str) -> None:
    if task.status.phase in CLOSED_PHASES:
        raise CommandError(f"{reference(task)} ended as {task.status.phase}: it can't {verb}")
    if task.cancelled:
        raise CommandError(f"{reference(task)} is being cancelled: it can't {verb}")


def _must_go_on(run: RunObject, verb: str) -> None:
    _must_not_have_ended(run, verb)
    _must_not_wind_down(run, verb)


def _must_not_wind_down(run: RunObject, verb: str) -> None:
    if run.cancelled or run.drained:
        how = "cancelled" if run.cancelled else "drained"
        raise CommandError(f"{reference(run)} is being {how}: it can't {verb}")


def _must_not_have_ended(run: RunObject, verb: str) -> None:
    if run.status.phase in ENDED_RUN_PHASES:
        raise CommandError(f"{reference(run)} ended as {run.status.phase}: it can't {verb}")


def _annotated(verb: CommandVerb, value: str) -> dict[str, Any]:
    return {"metadata": {"annotations": {f"{GROUP}/{verb}": value}}}
