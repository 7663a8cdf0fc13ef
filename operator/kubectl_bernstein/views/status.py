"""Runs at a glance: the agents at work under their ceiling, what became of the tasks, and the money."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

from bernstein_operator.api.concurrency import ConcurrencyStatus
from bernstein_operator.api.conditions import Condition
from bernstein_operator.api.objects import RunObject
from bernstein_operator.api.run import TaskCounts
from bernstein_operator.api.vocabulary import ConditionStatus
from kubectl_bernstein.times import age
from kubectl_bernstein.views.view import Table, View

_TOLD: Final = (
    ("running", "running"),
    ("pending", "pending"),
    ("failed", "failed"),
    ("blocked_by_failure", "blocked"),
    ("blocked_by_abandon", "blocked by an abandoned one"),
    ("abandoned", "abandoned"),
    ("quarantined", "in quarantine"),
    ("awaiting_input", "waiting for an answer"),
    ("cancelled", "cancelled"),
)


def runs_view(runs: Iterable[RunObject], *, everywhere: bool, now: datetime) -> View:
    """Return the table of ``runs``; with ``everywhere`` each row names its namespace."""
    ordered = sorted(runs, key=lambda run: run.meta.key)
    heads = ("RUN", "PHASE", "LIVE", "DONE", "SPENT", "BUDGET", "OTHERS", "REASON", "AGE")
    rows = tuple((*((run.meta.namespace,) if everywhere else ()), *_row(run, now=now)) for run in ordered)
    shown = Table(("NAMESPACE", *heads) if everywhere else heads, rows, empty="There is no run here.")
    return View([_data(run) for run in ordered], shown)


def verdict(run: RunObject) -> Condition | None:
    """Return the condition of a run that says why it stands as it does: the first that is True."""
    return next((one for one in run.status.conditions if one.status == ConditionStatus.TRUE), None)


def _row(run: RunObject, *, now: datetime) -> tuple[str, ...]:
    slots, counts = run.status.concurrency or ConcurrencyStatus(), run.status.tasks or TaskCounts()
    budget, said = run.status.budget, verdict(run)
    others = ((getattr(counts, name), word) for name, word in _TOLD)
    return (
        run.meta.name,
        run.status.phase,
        f"{slots.live}/{slots.effective}" if run.status.concurrency else "",
        f"{counts.succeeded}/{counts.total}" if run.status.tasks else "",
        str(budget.spent_usd) if budget else "",
        str(budget.cap_usd) if budget and budget.cap_usd else "",
        ", ".join(f"{count} {word}" for count, word in others if count),
        said.reason if said else "",
        age(run.meta.creation_timestamp, now=now),
    )


def _data(run: RunObject) -> dict[str, Any]:
    slots, counts, said = run.status.concurrency, run.status.tasks, verdict(run)
    budget = run.status.budget
    return {
        "namespace": run.meta.namespace,
        "run": run.meta.name,
        "phase": run.status.phase,
        "reason": said.reason if said else None,
        "message": said.message if said else None,
        "concurrency": slots.manifest() if slots else None,
        "tasks": counts.manifest() if counts else None,
        "budget": budget.manifest() if budget else None,
    }
