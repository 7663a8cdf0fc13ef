"""What `kubectl bernstein budget` says of a run's money, to people and to programs."""

from typing import Any

import pytest

from kubectl_bernstein.views.budget import budget_view
from kubectl_bernstein.views.view import Prose, View
from tests.unit.objects import at, attempt, run, stamp, status, task
from tests.unit.plugin.scenes import stands

WARNED = {
    "capUsd": "1.00",
    "source": "spec",
    "spentUsd": "0.80",
    "remainingUsd": "0.20",
    "reservedUsd": "0.10",
    "carriedUsd": "0.05",
    "estimatedUsd": "0.30",
    "percent": 80,
    "limiting": "usd",
    "band": "warn",
    "reached": [{"band": "warn", "time": stamp(0)}],
}
TASKS = (
    task("cheap", status=status(attempt(1, task="cheap", end_time=at(1)), usage={"cost_usd": "0.10"})),
    task("dear", status=status(attempt(2, task="dear", end_time=at(1)), usage={"cost_usd": "0.65"})),
    task(
        "live", status=status(attempt(task="live", reservation_usd="0.10", cap_usd="0.20"), phase="Running")
    ),
    task("waits"),
)


def view(budget: dict[str, Any] | None, **more: Any) -> View:
    told = {} if budget is None else {"budget": budget}
    return budget_view(run(status=stands("Running", **told, **more)), TASKS, now=at(60))


def lines(of: View) -> list[str]:
    assert isinstance(of.shown, Prose)
    return [line.text for line in of.shown.lines]


def test_a_run_and_what_its_tasks_have_spent_the_dearest_first() -> None:
    assert lines(view(WARNED, warnings=["run_config.json: budget_usd: 'x'"])) == [
        "r  Running: $0.80 of $1.00 spent, cap from spec (80 % of its dollars).",
        "reached warn 60s ago",
        "$0.20 left, $0.10 of it reserved by live agents",
        "$0.05 spent by tasks that are deleted",
        "$0.30 estimated, since nobody told",
        "can't be used: run_config.json: budget_usd: 'x'",
        "dear  Pending: $0.65 in 2 attempts",
        "cheap  Pending: $0.10 in 1 attempt",
        "live  Running: $0.00 in 1 attempt, live with $0.10 reserved, at most $0.20",
    ]


@pytest.mark.parametrize(
    ("budget", "first"),
    [
        pytest.param(None, "r  Running: the operator hasn't told anything of its budget yet.", id="unseen"),
        pytest.param(
            {"spentUsd": "0.80", "source": "unlimited"},
            "r  Running: $0.80 spent, and no limit.",
            id="unlimited",
        ),
        pytest.param(
            {"spentUsd": "0.80", "capTokens": 10, "tokens": 9, "percent": 90, "limiting": "tokens"},
            "r  Running: $0.80 spent, and no limit (90 % of its tokens).",
            id="tokens alone",
        ),
    ],
)
def test_the_first_line_says_how_it_stands(budget: dict[str, Any] | None, first: str) -> None:
    assert lines(view(budget))[0] == first


def test_programs_get_the_same_as_data() -> None:
    data = view(WARNED).data
    assert isinstance(data, dict)
    assert (data["run"], data["phase"], data["budget"]["capUsd"]) == ("r", "Running", "1.00")
    live = {
        "name": "live",
        "task": "live",
        "phase": "Running",
        "attempts": 1,
        "costUsd": "0.00",
        "tokens": 0,
        "reservationUsd": "0.10",
        "capUsd": "0.20",
    }
    assert data["tasks"][-1] == live
