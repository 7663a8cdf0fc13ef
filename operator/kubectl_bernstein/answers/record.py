"""What is on record of a task beside its attempts: who asked for what, and how its limits have moved.

A task that stands where nobody expected it often stands there because somebody said so. Conditions tell the
last word only; the requests in status keep the last ten, with what came of each.
"""

from collections.abc import Iterator
from typing import Any, Final

from bernstein_operator.api.objects import TaskObject
from bernstein_operator.api.task_status import Abandonment, DeadlineStatus, Escalation, Request
from bernstein_operator.decisions.requests import TRUE
from kubectl_bernstein.times import moment

_SHOWN: Final = 300
"""So many characters of somebody's words are shown to people; JSON has them all."""


def record(task: TaskObject) -> Iterator[str]:
    """Yield a line for each thing on record, what happened last at the end."""
    status = task.status
    if status.escalation:
        yield _escalation(status.escalation)
    if status.deadline:
        yield from _deadline(status.deadline)
    yield from map(_request, status.requests)
    if status.abandonment:
        yield _abandonment(status.abandonment)


def record_data(task: TaskObject) -> dict[str, Any]:
    """Return the same by the names that it has in status, None or empty where there is nothing."""
    status = task.status
    return {
        "abandonment": status.abandonment.manifest() if status.abandonment else None,
        "requests": [one.manifest() for one in status.requests],
        "escalation": status.escalation.manifest() if status.escalation else None,
        "deadline": status.deadline.manifest() if status.deadline else None,
    }


def _abandonment(found: Abandonment) -> str:
    said = f": {_short(found.detail)}" if found.detail else ""
    return f"abandoned as {found.reason} by {found.actor} at {moment(found.time)}{said}"


def _request(found: Request) -> str:
    words = "" if found.value in ("", TRUE) else f' "{_short(found.value)}"'
    return f"{found.verb}{words} by {found.actor} at {moment(found.time)}: {found.effect}"


def _escalation(found: Escalation) -> str:
    given = (("model", found.model), ("effort", found.effort), ("memory", found.memory))
    told = ", ".join(f"{name} {value}" for name, value in given if value)
    return f"escalated to level {found.level}{f': {told}' if told else ''}"


def _deadline(found: DeadlineStatus) -> Iterator[str]:
    if found.effective:
        yield f"deadline {moment(found.effective)}"
    for one in found.warned:
        of = f" of attempt {one.attempt}" if one.attempt else ""
        yield f"warned at {moment(one.time)} that {one.limit}{of} is reached at {moment(one.at)}"


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]}…"
