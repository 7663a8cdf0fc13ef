"""What a run may cost, has cost and may yet, and which of its tasks it went to."""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any, Final

from bernstein_operator.api.budget import BudgetStatus
from bernstein_operator.api.choices import BudgetUnit
from bernstein_operator.api.money import Money
from bernstein_operator.api.objects import RunObject, TaskObject
from bernstein_operator.api.task_status import Attempt
from bernstein_operator.decisions.accounts import tokens_of
from bernstein_operator.decisions.attempt import open_attempt
from kubectl_bernstein.times import age
from kubectl_bernstein.views.view import Line, Prose, View

_NOTHING: Final = Money()
_UNITS: Final = {BudgetUnit.USD: "dollars", BudgetUnit.TOKENS: "tokens"}


def budget_view(run: RunObject, tasks: Iterable[TaskObject], *, now: datetime) -> View:
    """Return the budget of ``run`` with the spend of its ``tasks``, the dearest first."""
    spenders = sorted((task for task in tasks if _has_part(task)), key=_by_cost)
    stands = run.status.budget
    data = {
        "namespace": run.meta.namespace,
        "run": run.meta.name,
        "phase": run.status.phase,
        "budget": stands.manifest() if stands else None,
        "warnings": list(run.status.warnings),
        "tasks": [_data(task) for task in spenders],
    }
    lines = (*_of_run(run, now=now), *(Line(_row(task), 1) for task in spenders))
    return View(data, Prose(lines))


def _of_run(run: RunObject, *, now: datetime) -> Iterator[Line]:
    stands = run.status.budget
    if not stands:
        yield Line(
            f"{run.meta.name}  {run.status.phase}: the operator hasn't told anything of its budget yet."
        )
        return
    yield Line(f"{run.meta.name}  {run.status.phase}: {_spent(stands)}")
    for one in stands.reached:
        yield Line(f"reached {one.band} {age(one.time, now=now)} ago", 1)
    yield from (Line(text, 1) for text in _parts(stands))
    yield from (Line(f"can't be used: {text}", 1) for text in run.status.warnings)


def _spent(stands: BudgetStatus) -> str:
    if stands.cap_usd is None:
        money = f"${stands.spent_usd} spent, and no limit"
    else:
        money = f"${stands.spent_usd} of ${stands.cap_usd} spent, cap from {stands.source}"
    nearest = f" ({stands.percent} % of its {_UNITS[stands.limiting]})" if stands.limiting else ""
    return f"{money}{nearest}."


def _parts(stands: BudgetStatus) -> Iterator[str]:
    if stands.cap_tokens is not None:
        yield f"{stands.tokens} of {stands.cap_tokens} tokens used"
    if stands.remaining_usd is not None:
        yield f"${stands.remaining_usd} left, ${stands.reserved_usd} of it reserved by live agents"
    if stands.carried_usd.micros:
        yield f"${stands.carried_usd} spent by tasks that are deleted"
    if stands.estimated_usd.micros:
        yield f"${stands.estimated_usd} estimated, since nobody told"


def _has_part(task: TaskObject) -> bool:
    return task.status.usage is not None or open_attempt(task.status) is not None


def _by_cost(task: TaskObject) -> tuple[int, str]:
    return -_cost(task).micros, task.meta.name


def _cost(task: TaskObject) -> Money:
    return task.status.usage.cost_usd if task.status.usage else _NOTHING


def _row(task: TaskObject) -> str:
    attempt = open_attempt(task.status)
    attempts = f"{task.status.attempt} attempt{'' if task.status.attempt == 1 else 's'}"
    live = f", {_live(attempt)}" if attempt else ""
    return f"{task.name}  {task.status.phase}: ${_cost(task)} in {attempts}{live}"


def _live(attempt: Attempt) -> str:
    reserved = attempt.reservation_usd or _NOTHING
    return f"live with ${reserved} reserved" + (f", at most ${attempt.cap_usd}" if attempt.cap_usd else "")


def _data(task: TaskObject) -> dict[str, Any]:
    attempt, usage = open_attempt(task.status), task.status.usage
    return {
        "name": task.name,
        "task": task.meta.name,
        "phase": task.status.phase,
        "attempts": task.status.attempt,
        "costUsd": str(_cost(task)),
        "tokens": tokens_of(usage) if usage else 0,
        "reservationUsd": str(attempt.reservation_usd) if attempt and attempt.reservation_usd else None,
        "capUsd": str(attempt.cap_usd) if attempt and attempt.cap_usd else None,
    }
