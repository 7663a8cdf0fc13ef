"""The tables of runs and tasks: which cell says what, for people and for programs."""

from typing import Any

import pytest

from kubectl_bernstein.times import age
from kubectl_bernstein.views.status import runs_view
from kubectl_bernstein.views.tasks import tasks_view
from kubectl_bernstein.views.view import Table, View
from tests.unit.objects import at, run, task
from tests.unit.plugin.scenes import at_work, said, scene, stands

COUNTS = {
    "total": 10,
    "succeeded": 4,
    "running": 2,
    "pending": 1,
    "failed": 1,
    "blockedByFailure": 1,
    "awaitingInput": 1,
}
BUSY = run(
    status=stands(
        "Running",
        said("Suspended", "False", "Running"),
        said("Reconciling", "True", "AtCeiling", "No slot is free."),
        concurrency={"configured": 3, "effective": 3, "live": 2},
        tasks=COUNTS,
        budget={"spentUsd": "1.50", "capUsd": "2.00"},
    )
)


def cells(view: View, row: int = 0) -> dict[str, str]:
    assert isinstance(view.shown, Table)
    return dict(zip(view.shown.heads, view.shown.rows[row], strict=True))


def first(view: View) -> dict[str, Any]:
    assert isinstance(view.data, list)
    return dict(view.data[0])


def test_a_run_in_one_row() -> None:
    view = runs_view([BUSY], everywhere=False, now=at(8))
    assert cells(view) == {
        "RUN": "r",
        "PHASE": "Running",
        "LIVE": "2/3",
        "DONE": "4/10",
        "SPENT": "1.50",
        "BUDGET": "2.00",
        "OTHERS": "2 running, 1 pending, 1 failed, 1 blocked, 1 waiting for an answer",
        "REASON": "AtCeiling",
        "AGE": "8s",
    }
    data = first(view)
    assert (data["phase"], data["reason"], data["message"]) == ("Running", "AtCeiling", "No slot is free.")
    assert data["concurrency"] == {"configured": 3, "effective": 3, "reduction": 0, "live": 2}
    assert data["tasks"]["blockedByFailure"] == 1
    assert data["budget"]["capUsd"] == "2.00"


def test_a_run_that_nobody_has_looked_at_claims_nothing() -> None:
    row = cells(runs_view([run()], everywhere=False, now=at(0)))
    assert (row["PHASE"], row["LIVE"], row["DONE"], row["REASON"]) == ("Pending", "", "", "")
    assert (row["SPENT"], row["BUDGET"]) == ("", "")


def test_a_run_that_nothing_limits_shows_no_budget() -> None:
    row = cells(runs_view([run(status={"budget": {"spentUsd": "1.50"}})], everywhere=False, now=at(0)))
    assert (row["SPENT"], row["BUDGET"]) == ("1.50", "")


def test_runs_of_all_namespaces_say_theirs_and_stand_in_its_order() -> None:
    runs = [run("a", metadata={"namespace": "z"}), run("b", metadata={"namespace": "y"})]
    view = runs_view(runs, everywhere=True, now=at(0))
    assert [(cells(view, row)["NAMESPACE"], cells(view, row)["RUN"]) for row in (0, 1)] == [
        ("y", "b"),
        ("z", "a"),
    ]


def test_a_task_in_one_row_with_its_runs_defaults() -> None:
    defaults = {"role": "writer", "retry": {"limit": 5}}
    status = at_work(2, retries=1, usage={"costUsd": "0.5"})
    found = scene(task(status=status), runs=[run(taskDefaults=defaults)])
    view = tasks_view(found, everywhere=False, now=at(300))
    assert cells(view) == {
        "TASK": "t",
        "RUN": "r",
        "ROLE": "writer",
        "PHASE": "Running",
        "ATTEMPT": "2",
        "RETRIES": "1/5",
        "REASON": "",
        "COST": "0.50",
        "AGE": "5m",
    }
    data = first(view)
    assert (data["role"], data["retryLimit"], data["usage"]["costUsd"]) == ("writer", 5, "0.50")


@pytest.mark.parametrize(
    ("condition", "reason"),
    [
        pytest.param(said("Admitted", "False", "BackingOff"), "BackingOff", id="why it waits"),
        pytest.param(said("Failed", "True", "RetriesExhausted"), "RetriesExhausted", id="why it failed"),
        pytest.param(said("Admitted", "True", "Admitted"), "", id="nothing where it does its work"),
        pytest.param(said("Complete", "True", "Completed"), "", id="nothing where it is done"),
    ],
)
def test_the_reason_of_a_task(condition: dict[str, Any], reason: str) -> None:
    found = scene(task(status=stands("Pending", condition)))
    assert cells(tasks_view(found, everywhere=False, now=at(0)))["REASON"] == reason


def test_a_task_that_cannot_be_read_is_still_listed() -> None:
    row = cells(tasks_view(scene(task(runRef={"name": ""})), everywhere=True, now=at(0)))
    assert (row["NAMESPACE"], row["TASK"], row["RUN"]) == ("ns", "t", "")


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (-5, "0s"),
        (119, "119s"),
        (120, "2m"),
        (7199, "119m"),
        (7200, "2h"),
        (172_799, "47h"),
        (172_800, "2d"),
    ],
)
def test_ages_grow_coarser(seconds: int, told: str) -> None:
    assert age(at(0), now=at(seconds)) == told
