"""A run's own deadline: told once when it is near, and hard when it is there."""

from typing import Any

import pytest

from bernstein_operator.api.objects import RunObject
from bernstein_operator.api.vocabulary import TaskPhase
from bernstein_operator.decisions.plan import RunDecision
from bernstein_operator.decisions.run import decide_run
from tests.unit.objects import at, raw_run, reasons, run, run_snapshot, stamp

PENDING, RUNNING, SUCCEEDED, FAILED = (
    TaskPhase.PENDING,
    TaskPhase.RUNNING,
    TaskPhase.SUCCEEDED,
    TaskPhase.FAILED,
)
BUSY: dict[str, Any] = {"phases": {PENDING: 1, RUNNING: 1}, "live": 1, "waiting": 1}
TASKS = [{"name": "a", "prompt": "do a"}]


def on(now: float, *, deadline: float = 100, facts: dict[str, Any] | None = None, **spec: Any) -> RunDecision:
    of = run(deadline=stamp(deadline), **{"deadlineWarningSeconds": 30, **spec})
    return decide_run(run_snapshot(of, **(BUSY if facts is None else facts)), now=at(now))


@pytest.mark.parametrize(
    ("now", "warned"),
    [
        pytest.param(69, None, id="a second more than deadlineWarningSeconds are left"),
        pytest.param(70, 70, id="exactly deadlineWarningSeconds are left"),
        pytest.param(99, 99, id="a second is left"),
        pytest.param(100, None, id="it is there: too late for a warning"),
    ],
)
def test_a_deadline_that_is_near_is_told(now: float, warned: float | None) -> None:
    decision = on(now)
    assert decision.status.deadline_warned == (None if warned is None else at(warned))
    assert ("DeadlineWarning" in reasons(decision.status.conditions)) is (warned is not None)


@pytest.mark.parametrize(
    ("seconds", "now", "warned"),
    [
        pytest.param(None, 699, False, id="unsaid: not yet"),
        pytest.param(None, 700, True, id="unsaid: 300"),
        pytest.param(0, 999, False, id="0: never"),
    ],
)
def test_how_early_it_is_told(seconds: int | None, now: float, warned: bool) -> None:
    said: dict[str, Any] = {} if seconds is None else {"deadlineWarningSeconds": seconds}
    of = run(deadline=stamp(1000), **said)
    found = decide_run(run_snapshot(of, **BUSY), now=at(now)).status.deadline_warned
    assert (found is not None) is warned


def again(before: RunDecision, now: float, *, deadline: float) -> RunDecision:
    raw = raw_run(status=before.status.manifest(), deadline=stamp(deadline), deadlineWarningSeconds=30)
    return decide_run(run_snapshot(RunObject.parse(raw), **BUSY), now=at(now))


def test_it_is_told_once() -> None:
    first = on(70)
    assert first.urgent
    later = again(first, 90, deadline=100)
    assert later.status == first.status


def test_a_deadline_that_was_moved_away_is_told_again_once_it_is_near() -> None:
    moved = again(on(70), 75, deadline=200)
    assert moved.status.deadline_warned is None
    assert again(moved, 170, deadline=200).status.deadline_warned == at(170)


@pytest.mark.parametrize(
    ("now", "wake"), [(20, 70), (70, 100), (100, None)], ids=["the warning", "the end", "no more"]
)
def test_when_the_run_is_looked_at_again(now: float, wake: float | None) -> None:
    assert on(now).wake == (None if wake is None else at(wake))


@pytest.mark.parametrize(
    ("now", "free"),
    [
        pytest.param(99, 5, id="a second before"),
        pytest.param(100, 0, id="exactly at it"),
        pytest.param(101, 0, id="a second after"),
    ],
)
def test_nothing_starts_from_the_deadline_on(now: float, free: int) -> None:
    decision = on(now, tasks=TASKS)
    assert decision.free == free
    assert bool(decision.create) is (free > 0)
    assert decision.status.phase == "Running"
    assert reasons(decision.status.conditions)["Reconciling"][1] == (
        "TasksActive" if free else "DeadlineExceeded"
    )


@pytest.mark.parametrize(
    ("facts", "spec", "phase", "reason"),
    [
        pytest.param(
            {"phases": {FAILED: 1, SUCCEEDED: 1}}, {}, "Failed", "DeadlineExceeded", id="not all succeeded"
        ),
        pytest.param({"phases": {SUCCEEDED: 2}}, {"open": True}, "Succeeded", "AllSucceeded", id="all did"),
        pytest.param({}, {"tasks": TASKS}, "Failed", "DeadlineExceeded", id="no task was made"),
        pytest.param(
            {"phases": {FAILED: 1}}, {"suspend": True}, "Failed", "DeadlineExceeded", id="it is suspended"
        ),
    ],
)
def test_how_a_run_ends_at_its_deadline(
    facts: dict[str, Any], spec: dict[str, Any], phase: str, reason: str
) -> None:
    status = on(100, facts=facts, **spec).status
    assert (status.phase, status.completion_time) == (phase, at(100))
    assert reasons(status.conditions)["Finished"] == ("True", reason)


def test_the_end_counts_the_tasks() -> None:
    status = on(100, facts={"phases": {FAILED: 2, SUCCEEDED: 1}}).status
    [finished] = [one for one in status.conditions if one.type == "Finished"]
    assert finished.message == "spec.deadline passed: 2 Failed, 1 Succeeded."


def test_a_cancel_comes_before_the_deadline() -> None:
    of = run(deadline=stamp(100), cancel="true")
    assert decide_run(run_snapshot(of, phases={FAILED: 1}), now=at(101)).status.phase == "Cancelled"
