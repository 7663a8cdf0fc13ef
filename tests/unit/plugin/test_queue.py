"""The queue: whose turn is next, by the operator's own order, and who isn't in it."""

from typing import Any

import pytest

from bernstein_operator.api.objects import TaskObject
from kubectl_bernstein.scene import Scene
from kubectl_bernstein.views.queue import queue_view
from kubectl_bernstein.views.view import Table
from tests.unit.objects import at, run, stamp, task
from tests.unit.plugin.scenes import SLOTS, at_work, said, scene, stands, waiting

FULL = {**SLOTS, "effective": 2, "live": 2}


def queued(name: str, born: int = 0, **spec: Any) -> TaskObject:
    """Return a task that waits for a slot, made at second ``born``."""
    return waiting(name, metadata={"creationTimestamp": stamp(born)}, **spec)


def order(found: Scene) -> list[tuple[int | None, str, str]]:
    """Return position, task and reason of each row."""
    rows: Any = queue_view(found, now=at(10)).data
    return [(one["position"], one["task"], one["reason"]) for one in rows]


@pytest.mark.parametrize(
    ("tasks", "names"),
    [
        pytest.param((queued("a", 2), queued("b", 1)), ["b", "a"], id="the older one"),
        pytest.param((queued("a", 1), queued("b", 2, priority=1)), ["b", "a"], id="the more urgent one"),
        pytest.param(
            (task("x", role="qa", status=at_work()), queued("a", 1, role="qa"), queued("b", 2)),
            ["b", "a"],
            id="the role with fewer live agents",
        ),
        pytest.param(
            (queued("a", 1, role="qa"), queued("b", 2, role="qa"), queued("c", 3)),
            ["a", "c", "b"],
            id="each that is taken counts for its role",
        ),
    ],
)
def test_whose_turn_is_next(tasks: tuple[TaskObject, ...], names: list[str]) -> None:
    full = run(status=stands("Running", concurrency={**FULL, "effective": 0, "configured": 1}))
    assert [name for _, name, _ in order(scene(*tasks, runs=[full]))] == names


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(task("x", status=at_work()), id="it runs"),
        pytest.param(queued("x", suspend=True), id="it is suspended"),
        pytest.param(waiting("x", "nobody"), id="it waits for another task"),
        pytest.param(task("x", status=stands("Succeeded")), id="it is done"),
        pytest.param(task("x", status=stands("AwaitingInput")), id="it asks"),
        pytest.param(
            task("x", status=stands("Pending", said("Admitted", "False", "BudgetReserved"))),
            id="it waits for money",
        ),
    ],
)
def test_who_is_not_in_the_queue(other: TaskObject) -> None:
    assert [name for _, name, _ in order(scene(queued("a"), other))] == ["a"]


def test_a_full_role_has_no_position() -> None:
    limited = run(
        concurrency={"maxPerRole": [{"role": "qa", "max": 1}]}, status=stands("Running", concurrency=FULL)
    )
    told = stands("Pending", said("Admitted", "False", "RoleCeiling"))
    tasks = (queued("a", 1, role="qa"), queued("b", 2, role="qa", status=told), queued("c", 3))
    holders = (task("x", status=at_work()), task("y", status=at_work()))
    assert order(scene(*tasks, *holders, runs=[limited])) == [
        (1, "a", "AtCeiling"),
        (2, "c", "AtCeiling"),
        (None, "b", "RoleCeiling"),
    ]


@pytest.mark.parametrize(
    ("of", "reason"),
    [
        pytest.param(run(suspend=True, status=stands("Paused")), "Suspended", id="a paused run"),
        pytest.param(run(status=stands("Stopped", concurrency=SLOTS)), "BudgetExhausted", id="a stopped run"),
    ],
)
def test_what_holds_the_whole_run_is_told(of: Any, reason: str) -> None:
    assert order(scene(queued("a"), runs=[of])) == [(1, "a", reason)]


def test_an_ended_run_has_no_queue_and_nothing_is_said_plainly() -> None:
    view = queue_view(scene(queued("a"), runs=[run(status=stands("Failed"))]), now=at(10))
    assert view.shown == Table(
        ("RUN", "POSITION", "TASK", "ROLE", "PRIORITY", "REASON", "AGE"),
        (),
        empty="No task waits for a slot.",
    )


def test_a_row_for_people() -> None:
    shown = queue_view(scene(queued("a", 2)), now=at(10)).shown
    assert isinstance(shown, Table)
    assert shown.rows == (("r", "1", "a", "auto", "2", "Queued", "8s"),)
