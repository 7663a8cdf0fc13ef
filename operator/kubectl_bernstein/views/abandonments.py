"""What was given up: row by row, and counted by reason, role and adapter.

A count says little by itself: three of four is a broken role, three of three hundred is none. So rates stand
beside it, of what was abandoned among all that was abandoned or has succeeded. Rows outlive their tasks and
tasks that succeeded don't, so after a clean-up rates are higher than they were.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from bernstein_operator.api.objects import TaskObject
from bernstein_operator.api.vocabulary import TaskPhase
from kubectl_bernstein.ledger import Row
from kubectl_bernstein.scene import Scene
from kubectl_bernstein.times import moment
from kubectl_bernstein.views.view import Rows, Table, View

_EMPTY = "Nothing was abandoned here."


def list_view(rows: Sequence[Row], *, everywhere: bool) -> View:
    """Return ``rows`` in their order; with ``everywhere`` each names its namespace to people too."""
    cells = tuple(_cells(row, everywhere=everywhere) for row in rows)
    return View([msgspec.to_builtins(row) for row in rows], Rows(cells, empty=_EMPTY))


def stats_view(rows: Sequence[Row], scene: Scene) -> View:
    """Return the counts of ``rows``, and the rates among them and the tasks of ``scene`` that succeeded."""
    done = [task for task in scene.tasks if task.status.phase is TaskPhase.SUCCEEDED]
    by_reason, by_role, by_adapter = (
        Counter(getattr(row, what) for row in rows) for what in ("reason", "role", "adapter")
    )
    role_rates = _rates(by_role, Counter(_roles(scene, done)))
    adapter_rates = _rates(by_adapter, Counter(_adapters(scene, done)))
    data: dict[str, Any] = {
        "total": len(rows),
        "by_reason": _most_first(by_reason),
        "by_role": _most_first(by_role),
        "by_adapter": _most_first(by_adapter),
        "abandon_rate_by_role": role_rates,
        "abandon_rate_by_adapter": adapter_rates,
    }
    told = (
        ("total", "", str(len(rows)), ""),
        *(("reason", name, str(count), "") for name, count in _most_first(by_reason).items()),
        *_told("role", by_role, role_rates),
        *_told("adapter", by_adapter, adapter_rates),
    )
    return View(data, Table(("BY", "NAME", "ABANDONED", "RATE"), told, empty=_EMPTY))


def _cells(row: Row, *, everywhere: bool) -> tuple[str, ...]:
    where = (row.namespace,) if everywhere else ()
    what = (row.run, row.task_id, row.role, row.reason, row.adapter, str(row.attempts), row.actor, row.detail)
    return (moment(row.time), *where, *what)


def _roles(scene: Scene, tasks: Iterable[TaskObject]) -> Iterable[str]:
    return (effective.role for effective in map(scene.effective, tasks) if effective)


def _adapters(scene: Scene, tasks: Iterable[TaskObject]) -> Iterable[str]:
    """Yield the adapter of each task's last attempt; where its profile is gone nobody knows it any more."""
    for task in tasks:
        last = task.status.attempts[-1].profile if task.status.attempts else None
        profile = scene.profiles.get((task.meta.namespace, last)) if last else None
        if profile and profile.spec:
            yield str(profile.spec.adapter)


def _rates(abandoned: Counter[str], succeeded: Counter[str]) -> dict[str, float]:
    names = _most_first(abandoned) | succeeded
    return {name: abandoned[name] / (abandoned[name] + succeeded[name]) for name in names}


def _most_first(counts: Counter[str]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda one: (-one[1], one[0])))


def _told(what: str, counts: Counter[str], rates: dict[str, float]) -> Iterable[tuple[str, ...]]:
    return ((what, name, str(counts[name]), f"{rate:.0%}") for name, rate in rates.items())
