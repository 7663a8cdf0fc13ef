"""What people ask of a run by annotation.

A run's retry is kept in its status and read there by each of its tasks, so that a thousand tasks need no
annotation of their own. It is ignored where no task could obey it: a run that was reopened for nothing would
only fail again.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from types import MappingProxyType
from typing import Final, TypeAlias

from bernstein_operator.api.choices import CommandVerb
from bernstein_operator.api.run import BernsteinRunStatus
from bernstein_operator.api.snapshot import RunSnapshot
from bernstein_operator.api.task_status import CancelRequest, Request
from bernstein_operator.api.vocabulary import ENDED_RUN_PHASES, FINAL_RUN_PHASES
from bernstein_operator.decisions.requests import (
    IGNORED,
    ONLY_TRUE,
    TRUE,
    kept,
    latest_of,
    new_value,
    request,
)
from bernstein_operator.decisions.run_deadline import has_passed

_Effect: TypeAlias = Callable[[RunSnapshot, str, datetime], str]


def heard(snapshot: RunSnapshot, *, now: datetime) -> BernsteinRunStatus:
    """Return the run's status with what people have asked for since it was last looked at."""
    run, status = snapshot.run, snapshot.run.status
    new: list[Request] = []
    for verb, effect in _EFFECTS.items():
        value = new_value(run.meta, status.requests, verb)
        if value is not None:
            new.append(request(run.meta, verb, value, effect(snapshot, value, now), now=now))
    if not new:
        return status
    return status.model_copy(update={"requests": kept(status.requests, *new)})


def sticky(snapshot: RunSnapshot, *, now: datetime) -> dict[str, CancelRequest | None]:
    """Return the requests for an end that stay, whatever becomes of the annotation."""
    run, stored = snapshot.run, snapshot.run.status
    ended = stored.phase in ENDED_RUN_PHASES
    seen = CancelRequest(time=now)
    return {
        "cancel_requested": stored.cancel_requested or (seen if run.cancelled and not ended else None),
        "drain_requested": stored.drain_requested or (seen if run.drained and not ended else None),
    }


def retry_of(status: BernsteinRunStatus) -> datetime | None:
    """Return when a retry of the run was asked for last, if it acts."""
    asked = latest_of(status.requests, CommandVerb.RETRY)
    return asked.time if asked and not asked.effect.startswith(IGNORED) else None


def _end(effect: str) -> _Effect:
    def told(snapshot: RunSnapshot, value: str, _: datetime) -> str:
        if value != TRUE:
            return ONLY_TRUE
        phase = snapshot.run.status.phase
        return f"{IGNORED}the run is {phase}." if phase in ENDED_RUN_PHASES else effect

    return told


def _retry(snapshot: RunSnapshot, _: str, now: datetime) -> str:
    run = snapshot.run
    if has_passed(run, now=now):
        return f"{IGNORED}its deadline has passed; it needs a later one first."
    if run.status.phase in FINAL_RUN_PHASES:
        return f"{IGNORED}the run is {run.status.phase}, which is final."
    if run.cancelled or run.drained:
        how = "cancelled" if run.cancelled else "drained"
        return f"{IGNORED}the run is being {how}, or its annotation says so."
    if not snapshot.retriable:
        return f"{IGNORED}none of its tasks is Failed, Quarantined or AwaitingInput."
    return f"A fresh start for {snapshot.retriable} tasks."


def _not_of_a_run(*_: object) -> str:
    return f"{IGNORED}only a task can be asked this."


_EFFECTS: Final[Mapping[CommandVerb, _Effect]] = MappingProxyType(
    {
        CommandVerb.CANCEL: _end("Cancelled."),
        CommandVerb.DRAIN: _end("Drained."),
        CommandVerb.RETRY: _retry,
        CommandVerb.ABANDON: _not_of_a_run,
        CommandVerb.QUARANTINE: _not_of_a_run,
        CommandVerb.ANSWER: _not_of_a_run,
    }
)
