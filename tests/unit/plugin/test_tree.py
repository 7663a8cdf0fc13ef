"""The graph as trees: each task once, whatever the graph looks like."""

from typing import Any

import pytest

from bernstein_operator.api.objects import TaskObject
from kubectl_bernstein.views.tree import tree_view
from kubectl_bernstein.views.view import Forest
from tests.unit.objects import run, task
from tests.unit.plugin.scenes import data, said, scene, stands, waiting


def drawn(*tasks: TaskObject) -> dict[str, str | None]:
    """Return what each name hangs from."""
    return {node.name: node.parent for node in forest(*tasks).nodes}


def forest(*tasks: TaskObject) -> Forest:
    shown = tree_view(scene(*tasks), run(status={"phase": "Running"})).shown
    assert isinstance(shown, Forest)
    return shown


def cells(name: str, *tasks: TaskObject) -> tuple[str, ...]:
    [node] = [node for node in forest(*tasks).nodes if node.name == name]
    return node.cells


@pytest.mark.parametrize(
    ("tasks", "parents"),
    [
        pytest.param([waiting("a"), waiting("b")], {"a": None, "b": None}, id="tasks without dependencies"),
        pytest.param([waiting("a"), waiting("b", "a")], {"a": None, "b": "a"}, id="one below the other"),
        pytest.param(
            [waiting("c", "b", "a"), waiting("a"), waiting("b")],
            {"a": None, "b": None, "c": "b"},
            id="one with two stands under the first",
        ),
        pytest.param([waiting("b", "lost")], {"lost": None, "b": "lost"}, id="a name that nobody has"),
        pytest.param(
            [waiting("a", "b"), waiting("b", "a"), waiting("c", "b")],
            {"a": None, "b": "a", "c": "b"},
            id="a circle is cut at one of its members",
        ),
    ],
)
def test_where_a_task_stands(tasks: list[TaskObject], parents: dict[str, str | None]) -> None:
    assert drawn(*tasks) == parents


def test_a_line_says_phase_reason_and_the_other_dependencies() -> None:
    pending = stands("Pending", said("Admitted", "False", "DependencyPending"))
    tasks = [waiting("a"), waiting("b"), waiting("c", "a", "b", status=pending)]
    assert cells("c", *tasks) == ("c", "Pending", "DependencyPending", "(after b, too)")


@pytest.mark.parametrize(
    ("record", "told"),
    [
        pytest.param({"name": "gone"}, "no task of the run has this name", id="it has never been there"),
        pytest.param({"name": "gone", "uid": "u"}, "deleted, before it succeeded", id="it was deleted"),
        pytest.param(
            {"name": "gone", "uid": "u", "succeeded": True}, "deleted, after it succeeded", id="it was done"
        ),
    ],
)
def test_a_name_without_a_task_says_what_is_known(record: dict[str, Any], told: str) -> None:
    depends = waiting("b", "gone", status=stands("Pending", dependencies=[record]))
    assert cells("gone", depends) == ("gone", told)


def test_a_task_that_took_a_failed_ones_place_is_drawn_instead() -> None:
    failed = task("old", name="a", status=stands("Failed"))
    assert cells("a", failed, waiting("new", name="a"), waiting("b", "a")) == ("a", "Pending")


def test_a_long_chain_is_drawn() -> None:
    chain = [waiting("t0"), *(waiting(f"t{number}", f"t{number - 1}") for number in range(1, 1500))]
    assert drawn(*chain)["t1499"] == "t1498"


def test_programs_get_the_whole_graph() -> None:
    found = data(tree_view(scene(waiting("a"), waiting("c", "a", "b")), run()))
    assert found["tasks"] == [
        {"name": "a", "task": "a", "phase": "Pending", "reason": None, "dependsOn": []},
        {"name": "c", "task": "c", "phase": "Pending", "reason": None, "dependsOn": ["a", "b"]},
    ]
