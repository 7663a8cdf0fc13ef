"""Limits that are near: each is told once for each attempt, and the next one is looked out for.

Also while nothing runs yet: a task that waits for its slot, or a Pod for its node, misses its deadline just
as well, and whoever could help would like to know before.
"""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from typing import Final

from bernstein_operator.api.choices import LimitKind
from bernstein_operator.api.task_status import AgentTaskStatus, DeadlineStatus, LimitWarning
from bernstein_operator.api.vocabulary import (
    BLOCKED_PHASES,
    ENDED_RUN_PHASES,
    SETTLED_PHASES,
    AdmittedReason,
    ConditionType,
)
from bernstein_operator.decisions.attempt import open_attempt
from bernstein_operator.decisions.conditions import Standing, Wanted
from bernstein_operator.decisions.course import Course, Question
from bernstein_operator.decisions.deadline import Limit, limits_of
from bernstein_operator.decisions.granting import on_record

_AT_REST: Final = SETTLED_PHASES | BLOCKED_PHASES
_QUEUED: Final = Standing(AdmittedReason.QUEUED, "Waits for a slot of its run.")


def watch(course: Course, question: Question) -> Course:
    """Return the course with a warning of each limit that has come near, and the moments of the others."""
    status, now = course.status, question.now
    ahead = [limit for limit in _limits(status, question) if limit.at > now]
    untold = [limit for limit in ahead if not _is_told(status, limit.kind)]
    early = timedelta(seconds=question.effective.deadline_warning_seconds)
    near = [limit for limit in untold if limit.at - now <= early]
    moments = [limit.at - early for limit in untold if early and limit not in near]
    course = replace(course, wake=(*course.wake, *moments, *(limit.at for limit in ahead)))
    return _told(course, near, question) if near else course


def near_limits(status: AgentTaskStatus, question: Question) -> Iterator[Wanted]:
    """Yield the condition that tells of limits which are near, the earliest first."""
    early = timedelta(seconds=question.effective.deadline_warning_seconds)
    told = [limit for limit in _limits(status, question) if _is_told(status, limit.kind)]
    texts = [_text(limit) for limit in told if question.now >= limit.at - early]
    if texts:
        yield Wanted(ConditionType.DEADLINE_WARNING, ConditionType.DEADLINE_WARNING, " ".join(texts))


def _limits(status: AgentTaskStatus, question: Question) -> tuple[Limit, ...]:
    """Return the limits that a task can still run into; none for one that can't move."""
    run = question.snapshot.run
    ended = run is not None and run.status.phase in ENDED_RUN_PHASES
    if status.phase in _AT_REST or ended or question.snapshot.task.invalid:
        return ()
    attempt = open_attempt(status)
    sighting = question.sighting(attempt.pod_name) if attempt else None
    pod = sighting.pod if sighting else None
    return limits_of(question.bounds(status), attempt, pod, now=question.now)


def _is_told(status: AgentTaskStatus, kind: LimitKind) -> bool:
    warned = status.deadline.warned if status.deadline else ()
    return any((one.attempt, one.limit) == (status.attempt, kind) for one in warned)


def _told(course: Course, near: list[Limit], question: Question) -> Course:
    status = course.status
    # What was told of the attempt before is kept: one that is refused its Pod is taken back.
    kept = [
        one
        for one in (status.deadline.warned if status.deadline else ())
        if one.attempt >= status.attempt - 1
    ]
    fresh = [
        LimitWarning(attempt=status.attempt, limit=limit.kind, time=question.now, at=limit.at)
        for limit in near
    ]
    known = status.deadline or DeadlineStatus()
    if not open_attempt(status):
        known = on_record(status, question.effective) or known
    warned = known.model_copy(update={"warned": (*kept, *fresh)})
    silent = not course.standing and not status.conditions
    return replace(
        course,
        status=status.model_copy(update={"deadline": warned}),
        standing=_QUEUED if silent and not open_attempt(status) else course.standing,
    )


def _text(limit: Limit) -> str:
    at = f"{limit.at:%Y-%m-%dT%H:%M:%SZ}"
    own = limit.kind in (LimitKind.TIMEOUT, LimitKind.START_TIMEOUT)
    return f"Near: {limit.called}, over at {at}." if own else f"Near: {limit.called}."
