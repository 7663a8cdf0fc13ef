"""What people ask of runs: ends that stay, retries that reopen, runs that wait for more, and tidying up."""

from typing import Any

import pytest

from bernstein_operator.api.objects import RunObject
from bernstein_operator.api.vocabulary import TaskPhase
from bernstein_operator.decisions.plan import RunDecision
from bernstein_operator.decisions.run import decide_run
from tests.unit.objects import at, reasons, run, run_snapshot, stamp

PENDING, FAILED = TaskPhase.PENDING, TaskPhase.FAILED
OVER = {"phase": "Failed", "startTime": stamp(0), "completionTime": stamp(5)}


def decide(of: RunObject, *, now: float = 10, **facts: Any) -> RunDecision:
    return decide_run(run_snapshot(of, **facts), now=at(now))


def asked(verb: str, value: str, **options: Any) -> RunObject:
    marks = {f"bernstein.run/{verb}": value, "bernstein.run/actor": "ada"}
    return run(metadata={"annotations": marks}, **options)


@pytest.mark.parametrize(
    ("of", "facts", "effect"),
    [
        (asked("drain", "true"), {}, "Drained."),
        (asked("drain", "1"), {}, 'Ignored: only exactly "true" acts.'),
        (asked("cancel", "true"), {}, "Cancelled."),
        (asked("cancel", "true", status=OVER), {}, "Ignored: the run is Failed."),
        (asked("retry", "1"), {"phases": {FAILED: 2}, "retriable": 2}, "A fresh start for 2 tasks."),
        (asked("retry", "1"), {}, "Ignored: none of its tasks is Failed, Quarantined or AwaitingInput."),
        (asked("abandon", "other"), {}, "Ignored: only a task can be asked this."),
        (
            asked("retry", "1", deadline=stamp(10)),
            {"retriable": 1},
            "Ignored: its deadline has passed; it needs a later one first.",
        ),
    ],
    ids=["drain", "drain 1", "cancel", "cancel late", "retry", "retry for nothing", "abandon", "too late"],
)
def test_every_command_is_kept_with_its_effect(of: RunObject, facts: dict[str, Any], effect: str) -> None:
    decision = decide(of, **facts)
    assert [(one.actor, one.effect) for one in decision.status.requests] == [("ada", effect)]
    assert decision.urgent


@pytest.mark.parametrize(
    ("facts", "phase"),
    [
        ({"phases": {TaskPhase.RUNNING: 1}, "live": 1}, "Draining"),
        ({"phases": {TaskPhase.SUCCEEDED: 1, TaskPhase.CANCELLED: 1}}, "Cancelled"),
    ],
    ids=["an agent finishes", "all are done"],
)
@pytest.mark.parametrize("options", [{}, {"suspend": True}], ids=["", "also suspended"])
def test_a_drained_run(facts: dict[str, Any], phase: str, options: dict[str, Any]) -> None:
    decision = decide(asked("drain", "true", tasks=[{"name": "a", "prompt": "do a"}], **options), **facts)
    assert (decision.status.phase, decision.free, decision.create) == (phase, 0, ())
    assert decision.status.drain_requested


def test_a_cancel_of_a_run_that_a_retry_reopens_is_obeyed() -> None:
    status = decide(asked("cancel", "true", status=OVER), phases={PENDING: 1}, resumed=1).status
    assert (status.phase, status.requests[-1].effect) == ("Draining", "Cancelled.")


def test_a_drain_that_is_taken_back_goes_on() -> None:
    kept = run(status={"phase": "Draining", "drainRequested": {"time": stamp(1)}})
    assert decide(kept, phases={TaskPhase.CANCELLED: 1}).status.phase == "Cancelled"


@pytest.mark.parametrize(
    ("of", "facts", "phase"),
    [
        pytest.param(
            asked("retry", "1", status=OVER), {"retriable": 1, "retrying": 1}, "Running", id="of the run"
        ),
        pytest.param(asked("retry", "1", status=OVER), {"retriable": 0}, "Failed", id="for nothing"),
        pytest.param(run(status=OVER), {"last_retried": at(5)}, "Running", id="of a task, at its very end"),
        pytest.param(run(status=OVER), {"last_retried": at(4)}, "Failed", id="of a task, long before"),
        pytest.param(
            run(status=OVER), {"last_retried": at(4), "resumed": 1}, "Running", id="of a task, stored late"
        ),
        pytest.param(asked("cancel", "true", status=OVER), {}, "Failed", id="an end that comes too late"),
        pytest.param(
            run(status={**OVER, "phase": "Cancelled"}),
            {"last_retried": at(6)},
            "Cancelled",
            id="cancelled stays",
        ),
    ],
)
def test_a_retry_reopens_a_failed_run(of: RunObject, facts: dict[str, Any], phase: str) -> None:
    decision = decide(of, phases={FAILED: 1, PENDING: 1}, **facts)
    assert decision.status.phase == phase
    assert (decision.status.completion_time is None) == (phase == "Running")
    assert ("Finished" in reasons(decision.status.conditions)) == (phase != "Running")


def test_a_run_whose_tasks_are_yet_to_obey_its_retry_goes_on() -> None:
    assert decide(run(), phases={FAILED: 2}, retrying=1).status.phase == "Pending"
    assert decide(run(), phases={FAILED: 2}, retrying=0).status.phase == "Failed"


@pytest.mark.parametrize(("is_open", "phase"), [(True, "Running"), (False, "Failed")], ids=["open", "closed"])
def test_an_open_run_waits_for_more(is_open: bool, phase: str) -> None:
    decision = decide(run(open=is_open), phases={FAILED: 1})
    assert decision.status.phase == phase
    expected = ("True", "Open") if is_open else None
    assert reasons(decision.status.conditions).get("Reconciling") == expected


TTL = {"succeededSeconds": 10, "failedSeconds": 20, "cancelledSeconds": 30}


@pytest.mark.parametrize(
    ("phase", "now", "clear"),
    [
        ("Succeeded", 14.9, False),
        ("Succeeded", 15, True),
        ("Failed", 24.9, False),
        ("Failed", 25, True),
        ("Cancelled", 34.9, False),
        ("Cancelled", 35, True),
        ("Running", 1000, False),
    ],
)
def test_tasks_go_once_they_were_kept_long_enough(phase: str, now: float, clear: bool) -> None:
    of = run(ttl=TTL, status={**OVER, "phase": phase})
    decision = decide(of, now=now, phases={TaskPhase.RUNNING: 1}, present=1)
    assert decision.clear == clear


@pytest.mark.parametrize(
    ("phase", "clear"), [("Failed", False), ("Cancelled", True)], ids=["may be reopened", "is final"]
)
def test_a_task_that_has_yet_to_answer_a_retry_is_kept(phase: str, clear: bool) -> None:
    of = run(ttl=TTL, status={**OVER, "phase": phase})
    assert decide(of, now=100, phases={FAILED: 1}, present=1, retrying=1).clear == clear


def test_a_runs_end_is_written_before_its_tasks_go() -> None:
    at_once = run(ttl={"failedSeconds": 0}, status={"phase": "Running"})
    first = decide(at_once, phases={FAILED: 1}, present=1)
    assert (first.status.phase, first.clear) == ("Failed", False)


@pytest.mark.parametrize(
    ("ttl", "present", "clear", "whole"),
    [
        ({"failedSeconds": 1}, 1, True, False),
        ({"failedSeconds": 1}, 0, False, False),
        ({"failedSeconds": 1, "deleteRun": True}, 0, True, True),
        ({}, 1, False, False),
    ],
    ids=["tasks", "a tombstone", "the run too", "for good"],
)
def test_what_goes(ttl: dict[str, Any], present: int, clear: bool, whole: bool) -> None:
    decision = decide(run(ttl=ttl, status=OVER), phases={FAILED: 1}, present=present)
    assert (decision.clear, decision.whole) == (clear, whole)


def test_a_tombstone_keeps_its_counts() -> None:
    counts = {"total": 3, "failed": 2, "succeeded": 1}
    of = run(ttl={"failedSeconds": 1}, status={**OVER, "tasks": counts})
    found = decide(of, phases={TaskPhase.CANCELLED: 2, TaskPhase.SUCCEEDED: 1}).status.tasks
    assert found
    assert (found.total, found.failed, found.succeeded, found.cancelled) == (3, 2, 1, 0)
