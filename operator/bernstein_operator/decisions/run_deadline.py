"""What a run's own deadline does: a warning when it is near, and the end when it is there.

It is hard: each task stops its agent or gives up waiting by itself at that moment, no retry is granted past
it, and the run starts nothing more and ends as soon as nothing is live.
"""

from datetime import datetime, timedelta
from typing import Final

from bernstein_operator.api.objects import RunObject
from bernstein_operator.api.vocabulary import ENDED_RUN_PHASES, ConditionType, RunPhase
from bernstein_operator.decisions.conditions import Wanted
from bernstein_operator.decisions.deadline import run_deadline_of

DEFAULT_WARNING_SECONDS: Final = 300


def has_passed(run: RunObject, *, now: datetime) -> bool:
    """Whether the run's deadline is there."""
    at = run_deadline_of(run)
    return at is not None and now >= at


def warned_at(run: RunObject, *, now: datetime) -> datetime | None:
    """Return when the deadline was told to be near: before, or now; None while it isn't near.

    A deadline that was moved away is told again once it is near.
    """
    at, early = run_deadline_of(run), _early(run)
    if not at or not early or now < at - early:
        return None
    over = now >= at or run.status.phase in ENDED_RUN_PHASES
    return run.status.deadline_warned or (None if over else now)


def next_look(run: RunObject, *, now: datetime) -> tuple[datetime, ...]:
    """Return the moments that are still ahead: of the warning, and of the end."""
    at, early = run_deadline_of(run), _early(run)
    if not at or run.status.phase in ENDED_RUN_PHASES:
        return ()
    return tuple(moment for moment in {at - early, at} if moment > now)


def warning(run: RunObject, *, phase: RunPhase, warned: datetime | None) -> list[Wanted]:
    """Return the condition that the deadline is near, for a run that goes on."""
    at = run_deadline_of(run)
    if not warned or not at or phase in ENDED_RUN_PHASES:
        return []
    text = f"Its deadline is {at:%Y-%m-%dT%H:%M:%SZ}."
    return [Wanted(ConditionType.DEADLINE_WARNING, ConditionType.DEADLINE_WARNING, text)]


def _early(run: RunObject) -> timedelta:
    seconds = run.spec.deadline_warning_seconds if run.spec else None
    return timedelta(seconds=DEFAULT_WARNING_SECONDS if seconds is None else seconds)
