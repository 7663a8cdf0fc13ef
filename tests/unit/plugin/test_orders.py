"""What each order writes, that repeating it writes nothing, and which can't act."""

from collections.abc import Callable
from typing import Any

import pytest

from bernstein_operator.api.objects import RunObject, TaskObject
from bernstein_operator.api.vocabulary import RunPhase, TaskPhase
from kubectl_bernstein.errors import CommandError
from kubectl_bernstein.orders import Order, cancel, pause, resume
from kubectl_bernstein.views.order import order_view
from kubectl_bernstein.views.view import Line, Prose
from tests.unit.objects import run, task
from tests.unit.plugin.scenes import at_work, data, stands

CANCEL = {"metadata": {"annotations": {"bernstein.run/cancel": "true"}}}
PAUSE, RESUME = {"spec": {"suspend": True}}, {"spec": {"suspend": False}}
GOES_ON = stands("Running", concurrency={"live": 2})
ASKED = {"time": "2026-01-01T12:00:00Z"}

Target = RunObject | TaskObject


@pytest.mark.parametrize(
    ("order", "patch", "words"),
    [
        pytest.param(cancel(run(status=GOES_ON)), CANCEL, "live agents are stopped (2)", id="cancel a run"),
        pytest.param(cancel(run(cancel="yes")), CANCEL, "cancelled", id="cancel one with another annotation"),
        pytest.param(cancel(task(status=at_work())), CANCEL, "its agent is stopped", id="cancel a live task"),
        pytest.param(cancel(task()), CANCEL, "it never starts", id="cancel a waiting task"),
        pytest.param(
            cancel(task(status=stands("BlockedByFailure"))), CANCEL, "it never starts", id="a blocked one"
        ),
        pytest.param(cancel(run(cancel="true")), None, "is being cancelled already", id="cancel a run twice"),
        pytest.param(
            cancel(run(status=stands("Draining", cancelRequested=ASKED))),
            None,
            "already",
            id="a draining one",
        ),
        pytest.param(cancel(run(status=stands("Cancelled"))), None, "was cancelled", id="a cancelled run"),
        pytest.param(cancel(task(cancel="true")), None, "is being cancelled already", id="a task twice"),
        pytest.param(cancel(task(status=stands("Cancelled"))), None, "was cancelled", id="a cancelled task"),
        pytest.param(pause(run(status=GOES_ON)), PAUSE, "live agents go on", id="pause"),
        pytest.param(pause(run(suspend=True)), None, "is paused already", id="pause twice"),
        pytest.param(resume(run(suspend=True)), RESUME, "resumed", id="resume"),
        pytest.param(resume(run()), None, "is not paused", id="resume twice"),
        pytest.param(pause(run(suspend="?")), PAUSE, "paused", id="pause a run whose spec can't be read"),
    ],
)
def test_what_an_order_writes_and_says(order: Order, patch: dict[str, Any] | None, words: str) -> None:
    assert order.patch == patch
    assert words in order.message


@pytest.mark.parametrize("phase", [RunPhase.SUCCEEDED, RunPhase.FAILED])
@pytest.mark.parametrize("order", [cancel, pause, resume])
def test_a_run_that_ended_takes_no_order(order: Callable[[Target], Order], phase: RunPhase) -> None:
    with pytest.raises(CommandError, match=f"bernsteinrun/r ended as {phase}"):
        order(run(suspend=True, status=stands(phase)))


@pytest.mark.parametrize("order", [pause, resume])
@pytest.mark.parametrize(
    "ends",
    [run(cancel="true"), run(status=stands("Draining", cancelRequested=ASKED))],
    ids=["asked", "drains"],
)
def test_a_run_that_is_being_cancelled_is_neither_paused_nor_resumed(
    order: Callable[[Target], Order], ends: RunObject
) -> None:
    with pytest.raises(CommandError, match="bernsteinrun/r is being cancelled"):
        order(ends)


@pytest.mark.parametrize("phase", [TaskPhase.SUCCEEDED, TaskPhase.FAILED, TaskPhase.ABANDONED])
def test_a_task_that_ended_by_itself_is_not_cancelled(phase: TaskPhase) -> None:
    with pytest.raises(CommandError, match=f"agenttask/t ended as {phase}"):
        cancel(task(status=stands(phase)))


def test_what_was_done_is_told_as_kubectl_tells_it() -> None:
    view = order_view(pause(run(status=GOES_ON)))
    assert view.shown == Prose(
        (Line("bernsteinrun.bernstein.run/r paused: nothing new starts, live agents go on"),)
    )
    assert view.data == {
        "kind": "BernsteinRun",
        "namespace": "ns",
        "name": "r",
        "changed": True,
        "message": "paused: nothing new starts, live agents go on",
    }


def test_what_held_already_is_told_apart() -> None:
    assert data(order_view(resume(run())))["changed"] is False
