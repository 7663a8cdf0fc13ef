"""What each order writes, that repeating it writes nothing, and which can't act."""

from collections.abc import Callable
from typing import Any

import pytest

from bernstein_agent.contract import AbandonReason
from bernstein_operator.api.objects import RunObject, TaskObject
from bernstein_operator.api.vocabulary import RunPhase, TaskPhase
from kubectl_bernstein.errors import CommandError
from kubectl_bernstein.orders import Order, abandon, answer, cancel, drain, pause, quarantine, resume, retry
from kubectl_bernstein.views.order import order_view
from kubectl_bernstein.views.view import Line, Prose
from tests.unit.objects import at, run, task
from tests.unit.plugin.scenes import at_work, data, stands

CANCEL = {"metadata": {"annotations": {"bernstein.run/cancel": "true"}}}
PAUSE, RESUME = {"spec": {"suspend": True}}, {"spec": {"suspend": False}}
GOES_ON = stands("Running", concurrency={"live": 2})
ASKED = {"time": "2026-01-01T12:00:00Z"}

DRAINED = {"drainRequested": ASKED}
OTHER = AbandonReason.OTHER
QUARANTINED = stands("Quarantined")
ASKS = stands("AwaitingInput")

Target = RunObject | TaskObject


def annotated(verb: str, value: str) -> dict[str, Any]:
    """Return the patch that annotates with a command."""
    return {"metadata": {"annotations": {f"bernstein.run/{verb}": value}}}


def told(verb: str, value: str, phase: str = "Pending") -> TaskObject:
    """Return a task of which it is on record that it was told so."""
    request = {"verb": verb, "value": value, "time": ASKED["time"], "effect": "Ignored: the task is Failed."}
    return task(status=stands(phase, requests=[request]))


def asked(verb: str, value: str) -> TaskObject:
    """Return a task that was told so a moment ago, which the operator hasn't seen."""
    return task(metadata={"annotations": {f"bernstein.run/{verb}": value}})


def again(target: Target, of: RunObject | None = None) -> Order:
    """Return the order to retry ``target``, a task of run ``of``."""
    return retry(target, of, now=at(0.25))


RETRY = annotated("retry", "2026-01-01T12:00:00.250000Z")


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
        pytest.param(cancel(task(status=QUARANTINED)), CANCEL, "it never starts", id="one in quarantine"),
        pytest.param(
            abandon(task(status=at_work()), AbandonReason.UNSAFE_CHANGE, "it drops a table"),
            annotated("abandon", "unsafe_change: it drops a table"),
            "its agent is stopped",
            id="abandon a live task",
        ),
        pytest.param(
            abandon(task(), OTHER), annotated("abandon", "other"), "it never starts", id="without a detail"
        ),
        pytest.param(
            abandon(task(status=stands("BlockedByAbandon")), OTHER),
            annotated("abandon", "other"),
            "abandoned as other, for good",
            id="abandon a blocked task",
        ),
        pytest.param(
            abandon(task(status=QUARANTINED), OTHER),
            annotated("abandon", "other"),
            "abandoned",
            id="abandon one in quarantine",
        ),
        pytest.param(
            abandon(told("abandon", "other"), OTHER, "now"),
            annotated("abandon", "other: now"),
            "abandoned",
            id="abandon in other words than before",
        ),
        pytest.param(
            abandon(asked("abandon", "other: x"), OTHER, "x"), None, "told so already", id="abandon twice"
        ),
        pytest.param(
            abandon(task(status=stands("Abandoned")), OTHER), None, "was abandoned already", id="long ago"
        ),
        pytest.param(
            quarantine(task(status=at_work()), "odd"),
            annotated("quarantine", "odd"),
            "its agent is stopped",
            id="quarantine",
        ),
        pytest.param(
            quarantine(task(), "odd"), annotated("quarantine", "odd"), "it doesn't start", id="a waiting task"
        ),
        pytest.param(
            quarantine(task(status=QUARANTINED), "odd"), None, "in quarantine already", id="quarantine twice"
        ),
        pytest.param(
            answer(task(status=ASKS), "the first one"),
            annotated("answer", "the first one"),
            "another attempt goes on with it",
            id="answer",
        ),
        pytest.param(again(task(status=ASKS)), RETRY, "a fresh start", id="retry one that asks"),
        pytest.param(cancel(task(status=ASKS)), CANCEL, "it never starts", id="cancel one that asks"),
        pytest.param(
            drain(run(status=GOES_ON)), annotated("drain", "true"), "live agents finish (2)", id="drain"
        ),
        pytest.param(drain(run(status=stands("Draining", **DRAINED))), None, "already", id="drain twice"),
        pytest.param(drain(run(status=stands("Cancelled", **DRAINED))), None, "already", id="a drained run"),
        pytest.param(
            cancel(run(status=stands("Draining", **DRAINED))), CANCEL, "are stopped", id="cancel beats drain"
        ),
        pytest.param(again(task(status=stands("Failed"))), RETRY, "a fresh start", id="retry a failed task"),
        pytest.param(
            again(task(status=QUARANTINED), run(status=stands("Failed"))),
            RETRY,
            "a fresh start",
            id="retry one in quarantine of a failed run",
        ),
        pytest.param(
            again(task(status=stands("BlockedByFailure"))),
            RETRY,
            "looked at again",
            id="retry a blocked task",
        ),
        pytest.param(
            again(run(status=stands("Failed"))),
            RETRY,
            "what failed, asks or is in quarantine",
            id="retry a run",
        ),
        pytest.param(again(run(status=GOES_ON)), RETRY, "gets a fresh start", id="retry one that goes on"),
        pytest.param(pause(run(suspend="?")), PAUSE, "paused", id="pause a run whose spec can't be read"),
    ],
)
def test_what_an_order_writes_and_says(order: Order, patch: dict[str, Any] | None, words: str) -> None:
    assert order.patch == patch
    assert words in order.message


@pytest.mark.parametrize("phase", [RunPhase.SUCCEEDED, RunPhase.FAILED])
@pytest.mark.parametrize("order", [cancel, pause, resume, drain])
def test_a_run_that_ended_takes_no_order(order: Callable[[Target], Order], phase: RunPhase) -> None:
    with pytest.raises(CommandError, match=f"bernsteinrun/r ended as {phase}"):
        order(run(suspend=True, status=stands(phase)))


@pytest.mark.parametrize("order", [pause, resume])
@pytest.mark.parametrize(
    "ends",
    [
        run(cancel="true"),
        run(status=stands("Draining", cancelRequested=ASKED)),
        run(status=stands("Draining", **DRAINED)),
    ],
    ids=["asked", "cancelled", "drained"],
)
def test_a_run_that_winds_down_is_neither_paused_nor_resumed(
    order: Callable[[Target], Order], ends: RunObject
) -> None:
    with pytest.raises(CommandError, match=r"bernsteinrun/r is being (cancelled|drained)"):
        order(ends)


@pytest.mark.parametrize("phase", [TaskPhase.SUCCEEDED, TaskPhase.FAILED, TaskPhase.ABANDONED])
def test_a_task_that_ended_by_itself_is_not_cancelled(phase: TaskPhase) -> None:
    with pytest.raises(CommandError, match=f"agenttask/t ended as {phase}"):
        cancel(task(status=stands(phase)))


def given_up(target: TaskObject) -> Order:
    return abandon(target, OTHER)


def told_this(target: TaskObject) -> Order:
    return answer(target, "this")


def put_aside(target: TaskObject) -> Order:
    return quarantine(target, "odd")


@pytest.mark.parametrize(
    ("order", "target", "line"),
    [
        pytest.param(given_up, task(status=stands("Succeeded")), "agenttask/t ended as Succeeded", id="done"),
        pytest.param(given_up, task(status=stands("Failed")), "agenttask/t ended as Failed", id="failed"),
        pytest.param(given_up, task(cancel="true"), "agenttask/t is being cancelled", id="cancel came first"),
        pytest.param(given_up, told("abandon", "other"), "in these very words before", id="the same words"),
        pytest.param(
            put_aside, task(status=stands("Failed")), "agenttask/t ended as Failed", id="why bother"
        ),
        pytest.param(put_aside, task(cancel="true"), "is being cancelled", id="a cancelled one put aside"),
        pytest.param(
            put_aside, told("quarantine", "odd"), "in these very words", id="put aside for the same"
        ),
        pytest.param(told_this, task(), "agenttask/t is Pending: it asks nothing", id="unasked"),
        pytest.param(told_this, task(status=stands("Failed")), "ended as Failed", id="answered too late"),
        pytest.param(told_this, task(cancel="true", status=ASKS), "is being cancelled", id="a cancelled one"),
        pytest.param(
            told_this, told("answer", "this", "AwaitingInput"), "in these very words", id="the same answer"
        ),
        pytest.param(again, task(), "agenttask/t is Pending: there is nothing to retry", id="not tried yet"),
        pytest.param(again, task(status=at_work()), "is Running: there is nothing to retry", id="at work"),
        pytest.param(again, task(status=stands("Abandoned")), "ended as Abandoned, for good", id="abandoned"),
        pytest.param(
            again, task(cancel="true", status=QUARANTINED), "is being cancelled", id="a cancelled one retried"
        ),
        pytest.param(again, run(status=stands("Succeeded")), "ended as Succeeded, for good", id="a good run"),
        pytest.param(again, run(cancel="true"), "bernsteinrun/r is being cancelled", id="a cancelled run"),
        pytest.param(
            again, run(status=stands("Draining", **DRAINED)), "is being drained", id="a drained run"
        ),
    ],
)
def test_an_order_that_would_be_ignored_is_refused(
    order: Callable[[Target], Order], target: Target, line: str
) -> None:
    with pytest.raises(CommandError, match=line):
        order(target)


@pytest.mark.parametrize(
    "of",
    [run(status=stands("Cancelled")), run(status=stands("Draining", **DRAINED)), run(cancel="true")],
    ids=["ended for good", "drained", "cancelled"],
)
def test_no_task_is_retried_in_a_run_that_takes_none(of: RunObject) -> None:
    with pytest.raises(CommandError, match=r"bernsteinrun/r .*: it can't be retried"):
        again(task(status=stands("Failed")), of)


def test_an_answer_needs_words() -> None:
    with pytest.raises(CommandError, match="an answer needs words"):
        answer(task(status=ASKS), " ")


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
