"""What is read out of the ledger, in which order, and what it comes to."""

import json
from typing import Any

import pytest

from kubectl_bernstein.ledger import Row, of_run, read
from kubectl_bernstein.views.abandonments import list_view, stats_view
from kubectl_bernstein.views.view import Rows, Table
from tests.unit.objects import profile, task
from tests.unit.plugin.scenes import begun, data, scene, stands

T0 = 1_767_268_800
"""2026-01-01T12:00:00Z"""


def line(**fields: Any) -> str:
    """Return a row as the operator writes it; None leaves a field out."""
    whole = {
        "timestamp": T0,
        "task_id": "t",
        "role": "writer",
        "reason": "other",
        "adapter": "command",
        "attempts": 1,
        "detail": "no idea",
        "run": "r",
        "run_uid": "run-uid",
        "namespace": "ns",
        "actor": "agent",
        "cost_to_date_usd": "0.25",
        **fields,
    }
    return json.dumps({name: value for name, value in whole.items() if value is not None}, sort_keys=True)


def segment(*lines: str, name: str = "r-abandonments", namespace: str = "ns") -> dict[str, Any]:
    """Return a ConfigMap of the ledger; the same name has the same tasks in it."""
    metadata = {"name": name, "namespace": namespace}
    return {"metadata": metadata, "data": {f"{name}-{n}": one for n, one in enumerate(lines)}}


def rows(*lines: str) -> tuple[Row, ...]:
    """Return what is read of these lines, of which each can be."""
    complaints: list[str] = []
    found = read([segment(*lines)], complaints.append)
    assert not complaints
    return found


def test_the_newest_comes_first_from_whatever_segment() -> None:
    older = segment(line(task_id="a"), line(task_id="b", timestamp=T0 + 2), name="one")
    newer = segment(line(task_id="c", timestamp=T0 + 1), name="two")
    assert [row.task_id for row in read([older, newer, segment()], print)] == ["b", "c", "a"]


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        pytest.param("{", "truncated", id="no JSON"),
        pytest.param("[]", "Expected `object`", id="no object"),
        pytest.param(line(timestamp=None), "`timestamp`", id="a field is missing"),
        pytest.param(line(attempts="two"), "$.attempts", id="a field of another type"),
        pytest.param(line(timestamp=1e300), "", id="no moment"),
    ],
)
def test_a_row_that_cannot_be_read_is_told_and_hides_no_other(bad: str, words: str) -> None:
    told: list[str] = []
    found = read([segment(bad, line())], told.append)
    assert [row.task_id for row in found] == ["t"]
    [complaint] = told
    assert complaint.startswith("row r-abandonments-0 of configmap/r-abandonments can't be read: ")
    assert words in complaint


@pytest.mark.parametrize(
    ("second", "count"),
    [pytest.param("ns", 1, id="here"), pytest.param("other", 2, id="in another namespace")],
)
def test_a_task_has_one_row_in_its_namespace(second: str, count: int) -> None:
    assert len(read([segment(line()), segment(line(), namespace=second)], print)) == count


def test_a_later_versions_fields_are_passed_over() -> None:
    assert rows(line(colour="red"))[0].detail == "no idea"


def test_rows_are_a_runs_by_its_whole_name() -> None:
    found = rows(line(task_id="a"), line(task_id="b", run="other"))
    assert [row.task_id for row in of_run(found, "r")] == ["a"]


@pytest.mark.parametrize(
    ("everywhere", "where"),
    [pytest.param(False, (), id="here"), pytest.param(True, ("ns",), id="everywhere")],
)
def test_a_row_is_shown_with_its_time_in_utc(everywhere: bool, where: tuple[str, ...]) -> None:
    view = list_view(rows(line(actor="alice")), everywhere=everywhere)
    assert isinstance(view.shown, Rows)
    what = ("r", "t", "writer", "other", "command", "1", "alice", "no idea")
    assert view.shown.rows == (("2026-01-01T12:00:00Z", *where, *what),)


def test_programs_get_the_row_as_it_is_in_the_ledger() -> None:
    assert json.dumps(list(list_view(rows(line()), everywhere=False).data)) == f"[{line()}]"


WORK = {"attempts": [begun(1, profile="default")]}


def test_counts_and_rates() -> None:
    given_up = rows(
        line(reason="other"), line(reason="unsafe_change"), line(reason="unsafe_change", adapter="none")
    )
    done = [
        task("a", role="writer", status=stands("Succeeded", **WORK)),
        task("b", role="checker", status=stands("Succeeded", **WORK)),
        task("c", role="checker", status=stands("Succeeded", attempts=[begun(1, profile="gone")])),
        task("d", role="writer", status=stands("Failed", **WORK)),
        task("e", role="writer", status=stands("Abandoned", **WORK)),
    ]
    view = stats_view(given_up, scene(*done, profiles=[profile("default", adapter="script")]))
    assert data(view) == {
        "total": 3,
        "by_reason": {"unsafe_change": 2, "other": 1},
        "by_role": {"writer": 3},
        "by_adapter": {"command": 2, "none": 1},
        "abandon_rate_by_role": {"writer": 0.75, "checker": 0.0},
        "abandon_rate_by_adapter": {"command": 1.0, "none": 1.0, "script": 0.0},
    }
    assert isinstance(view.shown, Table)
    assert view.shown.rows == (
        ("total", "", "3", ""),
        ("reason", "unsafe_change", "2", ""),
        ("reason", "other", "1", ""),
        ("role", "writer", "3", "75%"),
        ("role", "checker", "0", "0%"),
        ("adapter", "command", "2", "100%"),
        ("adapter", "none", "1", "100%"),
        ("adapter", "script", "0", "0%"),
    )


def test_of_nothing_there_is_no_rate() -> None:
    found = data(stats_view((), scene()))
    assert (found["total"], found["by_role"], found["abandon_rate_by_role"]) == (0, {}, {})


def test_a_scene_is_narrowed_to_runs_of_a_name() -> None:
    found = scene(task("a"), task("b", run="other")).of_runs_named("r")
    assert [one.meta.name for one in found.tasks] == ["a"]
