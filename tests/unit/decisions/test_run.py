"""A run's phase in every situation, what it starts, and which of its changes people wait for."""

from datetime import datetime
from typing import Any

import pytest

from bernstein_operator.api.objects import RunObject
from bernstein_operator.api.run import BernsteinRunStatus, TaskCounts
from bernstein_operator.api.snapshot import RunSnapshot
from bernstein_operator.api.spending import Spend
from bernstein_operator.api.vocabulary import TaskPhase
from bernstein_operator.decisions.plan import RunDecision
from bernstein_operator.decisions.run import decide_run
from tests.unit.objects import RUN_UID, at, raw_run, reasons, run, run_snapshot

PENDING, RUNNING, SUCCEEDED = TaskPhase.PENDING, TaskPhase.RUNNING, TaskPhase.SUCCEEDED
FAILED, CANCELLED, BLOCKED = TaskPhase.FAILED, TaskPhase.CANCELLED, TaskPhase.BLOCKED_BY_FAILURE
DONE = {SUCCEEDED: 2}
TWO_TASKS = [{"name": "a", "prompt": "do a"}, {"name": "b", "prompt": "do b"}]


def decide(of: RunObject | None = None, *, now: float = 10, **facts: Any) -> RunDecision:
    return decide_run(run_snapshot(of, **facts), now=at(now))


def stored(decision: RunDecision, **options: Any) -> RunObject:
    """Return the run as it is after its decision was written."""
    return RunObject.parse(raw_run(status=decision.status.manifest(), **options))


@pytest.mark.parametrize(
    ("of", "facts", "phase", "reason"),
    [
        pytest.param(run(), {}, "Pending", "NoTasks", id="no task at all"),
        pytest.param(run(tasks=TWO_TASKS), {}, "Pending", "TasksActive", id="tasks that are yet to be made"),
        pytest.param(
            run(), {"phases": {PENDING: 1}, "waiting": 1}, "Pending", "TasksActive", id="not started"
        ),
        pytest.param(
            run(), {"phases": {PENDING: 1}, "live": 1}, "Running", "TasksActive", id="its first slot is held"
        ),
        pytest.param(
            run(max_agents=1),
            {"phases": {PENDING: 2}, "live": 1, "waiting": 1},
            "Running",
            "AtCeiling",
            id="as many as may be live are, and work queues",
        ),
        pytest.param(
            run(max_agents=1),
            {"phases": {RUNNING: 1}, "live": 1},
            "Running",
            "TasksActive",
            id="as many as may be live are, and nothing queues",
        ),
        pytest.param(
            run(max_agents=0),
            {"phases": {PENDING: 1}, "waiting": 1},
            "Pending",
            "CeilingZero",
            id="ceiling zero",
        ),
        pytest.param(
            run(max_agents=3),
            {"phases": {PENDING: 1}, "operator_limit": 0},
            "Pending",
            "CeilingZero",
            id="the operator allows none",
        ),
        pytest.param(
            run(tasks=TWO_TASKS),
            {"refused": "b: no"},
            "Pending",
            "TaskCreationRefused",
            id="a refused inline task",
        ),
        pytest.param(run(suspend=True), {"phases": {PENDING: 1}}, "Paused", "Suspended", id="suspended"),
        pytest.param(
            run(suspend=True),
            {"phases": {RUNNING: 1}, "live": 1},
            "Paused",
            "Suspended",
            id="suspended and live",
        ),
        pytest.param(run(), {"phases": DONE}, "Succeeded", "AllSucceeded", id="all succeeded"),
        pytest.param(
            run(suspend=True), {"phases": DONE}, "Succeeded", "AllSucceeded", id="suspended and done"
        ),
        pytest.param(
            run(), {"phases": DONE, "live": 1}, "Running", "TasksActive", id="all succeeded, a Pod still ends"
        ),
        pytest.param(
            run(),
            {"phases": DONE, "spend": Spend(live=1)},
            "Pending",
            "TasksActive",
            id="all succeeded, what one has cost isn't on record",
        ),
        pytest.param(
            run(cancel="true"),
            {"phases": {CANCELLED: 1}, "spend": Spend(live=1)},
            "Draining",
            "Draining",
            id="cancelled, what one has cost isn't on record",
        ),
        pytest.param(
            run(tasks=TWO_TASKS),
            {"phases": DONE},
            "Pending",
            "TasksActive",
            id="done, with tasks yet to be made",
        ),
        pytest.param(run(), {"phases": {SUCCEEDED: 1, FAILED: 1}}, "Failed", "TasksFailed", id="one failed"),
        pytest.param(
            run(), {"phases": {FAILED: 1, PENDING: 1}}, "Pending", "TasksActive", id="one can still move"
        ),
        pytest.param(
            run(), {"phases": {FAILED: 1, BLOCKED: 3}}, "Failed", "TasksFailed", id="the rest is blocked"
        ),
        pytest.param(
            run(),
            {"phases": {SUCCEEDED: 1, PENDING: 2}, "stuck": 2},
            "Failed",
            "TasksFailed",
            id="the rest is invalid or a cycle",
        ),
        pytest.param(
            run(),
            {"phases": {PENDING: 2}, "stuck": 1},
            "Pending",
            "TasksActive",
            id="one is invalid, one is not",
        ),
        pytest.param(
            run(), {"phases": {CANCELLED: 2}}, "Failed", "TasksFailed", id="every task was cancelled"
        ),
        pytest.param(
            run(cancel="true"),
            {"phases": {RUNNING: 1}, "live": 1},
            "Draining",
            "Draining",
            id="cancelled and live",
        ),
        pytest.param(
            run(cancel="true"),
            {"phases": {PENDING: 1}},
            "Draining",
            "Draining",
            id="cancelled, one not settled yet",
        ),
        pytest.param(
            run(cancel="true"),
            {"phases": {CANCELLED: 1, PENDING: 1}, "stuck": 1},
            "Cancelled",
            "Cancelled",
            id="cancelled, one can't be read",
        ),
        pytest.param(
            run(cancel="true"),
            {"phases": {CANCELLED: 1}, "live": 1},
            "Draining",
            "Draining",
            id="cancelled, a Pod still ends",
        ),
        pytest.param(
            run(cancel="true"), {"phases": {CANCELLED: 1}}, "Cancelled", "Cancelled", id="cancelled and quiet"
        ),
        pytest.param(run(cancel="true"), {}, "Cancelled", "Cancelled", id="cancelled before any task"),
        pytest.param(
            run(cancel="true", suspend=True),
            {"phases": {PENDING: 1}},
            "Draining",
            "Draining",
            id="a cancel outranks a pause",
        ),
        pytest.param(
            run(cancel="yes"), {"phases": {PENDING: 1}}, "Pending", "TasksActive", id="cancel: only true"
        ),
        pytest.param(
            run(status={"phase": "Succeeded"}, cancel="true"),
            {"phases": DONE},
            "Succeeded",
            "Succeeded",
            id="a cancel after the end",
        ),
        pytest.param(
            run(status={"phase": "Failed"}),
            {"phases": {PENDING: 1}},
            "Failed",
            "Failed",
            id="a task after the end",
        ),
    ],
)
def test_the_phase_of_a_run(of: RunObject, facts: dict[str, Any], phase: str, reason: str) -> None:
    decision = decide(of, **facts)
    assert decision.status.phase == phase
    assert decision.status.conditions[0].reason == reason


@pytest.mark.parametrize(
    ("of", "facts", "free"),
    [
        pytest.param(
            run(max_agents=3), {"live": 1, "phases": {PENDING: 5}}, 2, id="what is left of the ceiling"
        ),
        pytest.param(run(max_agents=1), {"live": 3, "phases": {PENDING: 5}}, 0, id="a lowered ceiling"),
        pytest.param(run(), {"phases": {PENDING: 9}}, 6, id="the built-in ceiling"),
        pytest.param(run(), {"phases": {PENDING: 9}, "operator_limit": 2}, 2, id="the operator's limit"),
        pytest.param(run(max_agents=0), {"phases": {PENDING: 9}}, 0, id="zero"),
        pytest.param(run(suspend=True), {"phases": {PENDING: 9}}, 0, id="suspended"),
        pytest.param(run(cancel="true"), {"phases": {PENDING: 9}}, 0, id="cancelled"),
        pytest.param(run(status={"phase": "Failed"}), {"phases": {PENDING: 9}}, 0, id="ended"),
        pytest.param(run(goal=1), {"phases": {PENDING: 9}}, 0, id="invalid"),
        pytest.param(run(metadata={"deletionTimestamp": "2026-01-01T12:00:00Z"}), {}, 0, id="being deleted"),
    ],
)
def test_how_many_more_may_start(of: RunObject, facts: dict[str, Any], free: int) -> None:
    assert decide(of, **facts).free == free


def test_every_task_is_counted_under_its_phase() -> None:
    phases = {phase: number for number, phase in enumerate(TaskPhase, start=1)}
    assert decide(phases=phases).status.tasks == TaskCounts(
        total=55,
        pending=phases[TaskPhase.PENDING],
        running=phases[TaskPhase.RUNNING],
        succeeded=phases[TaskPhase.SUCCEEDED],
        failed=phases[TaskPhase.FAILED],
        cancelled=phases[TaskPhase.CANCELLED],
        abandoned=phases[TaskPhase.ABANDONED],
        blocked_by_failure=phases[TaskPhase.BLOCKED_BY_FAILURE],
        blocked_by_abandon=phases[TaskPhase.BLOCKED_BY_ABANDON],
        quarantined=phases[TaskPhase.QUARANTINED],
        awaiting_input=phases[TaskPhase.AWAITING_INPUT],
    )


def test_the_ceiling_is_shown_with_what_is_under_it() -> None:
    shown = decide(run(max_agents=5), live=2, operator_limit=4, phases={RUNNING: 2}).status.concurrency
    assert shown
    assert (shown.configured, shown.effective, shown.live) == (4, 4, 2)


@pytest.mark.parametrize(
    ("of", "made"),
    [
        pytest.param(run(tasks=TWO_TASKS), ["a", "b"], id="a new run"),
        pytest.param(run(tasks=TWO_TASKS, status={"createdTasks": ["a"]}), ["b"], id="one was made before"),
        pytest.param(run(tasks=TWO_TASKS, status={"createdTasks": ["a", "b"]}), [], id="all were made"),
        pytest.param(run(tasks=TWO_TASKS, suspend=True), ["a", "b"], id="suspended: they may wait"),
        pytest.param(run(tasks=TWO_TASKS, cancel="true"), [], id="cancelled"),
        pytest.param(run(tasks=TWO_TASKS, status={"phase": "Succeeded"}), [], id="ended"),
    ],
)
def test_which_inline_tasks_are_made(of: RunObject, made: list[str]) -> None:
    assert [one.name for one in decide(of).create] == made


def test_the_counts_tell_how_a_run_failed() -> None:
    failed = decide(phases={SUCCEEDED: 3, FAILED: 1, BLOCKED: 2, PENDING: 0}).status
    assert failed.conditions[0].message == "2 BlockedByFailure, 1 Failed, 3 Succeeded."


def test_the_moments_of_a_run_are_kept() -> None:
    started = decide(live=1, phases={PENDING: 1}, now=10)
    ended = decide(stored(started), phases=DONE, now=20)
    again = decide(stored(ended), phases=DONE, now=30)
    assert (again.status.start_time, again.status.completion_time) == (at(10), at(20))
    assert again.status == ended.status


@pytest.mark.parametrize(
    ("facts", "start"),
    [
        pytest.param({"phases": {PENDING: 1}}, None, id="nothing was admitted"),
        pytest.param({"phases": {PENDING: 1}, "live": 1}, at(50), id="the first has its slot just now"),
        pytest.param(
            {"phases": {RUNNING: 1}, "live": 1, "first_admitted": at(40)}, at(40), id="it has begun"
        ),
        pytest.param({"phases": DONE, "first_admitted": at(40)}, at(40), id="it ended while nobody looked"),
        pytest.param({"phases": DONE, "first_admitted": at(-9)}, at(0), id="it is older than the run"),
    ],
)
def test_a_run_starts_with_its_first_task(facts: dict[str, Any], start: datetime | None) -> None:
    status = decide(now=50, **facts).status
    assert status.start_time == start
    assert (status.phase == "Pending") is (start is None)


@pytest.mark.parametrize(
    ("of", "remembered"),
    [
        pytest.param(run(cancel="true"), True, id="a run that can end at once"),
        pytest.param(run(), False, id="a run that nobody cancelled"),
        pytest.param(run(cancel="true", status={"phase": "Failed"}), False, id="a run that had ended"),
    ],
)
def test_a_cancel_is_remembered(of: RunObject, remembered: bool) -> None:
    assert bool(decide(of).status.cancel_requested) is remembered


def test_a_remembered_cancel_acts_without_its_annotation() -> None:
    seen = decide(run(cancel="true"), phases={RUNNING: 1}, live=1, now=10)
    later = decide(stored(seen), phases={CANCELLED: 1}, now=30)
    assert later.status.phase == "Cancelled"
    assert later.status.cancel_requested == seen.status.cancel_requested


@pytest.mark.parametrize(
    ("after", "facts", "suspended"),
    [
        pytest.param({}, {"phases": {PENDING: 1}}, ("False", "Pending"), id="resumed"),
        pytest.param(
            {"suspend": True}, {"phases": {PENDING: 1}}, ("True", "Suspended"), id="still suspended"
        ),
        pytest.param({"suspend": True}, {"phases": DONE}, None, id="it ended, and was not resumed"),
        pytest.param(
            {"suspend": True, "cancel": "true"}, {"phases": {PENDING: 1}}, None, id="it was cancelled"
        ),
    ],
)
def test_what_follows_a_pause(
    after: dict[str, Any], facts: dict[str, Any], suspended: tuple[str, str] | None
) -> None:
    paused = decide(run(suspend=True), phases={PENDING: 1}, now=10)
    following = decide(stored(paused, **after), now=20, **facts).status
    assert reasons(following.conditions).get("Suspended") == suspended


def urgent(before: RunSnapshot, after: dict[str, Any]) -> bool:
    told = decide_run(before, now=at(10))
    facts = {"phases": before.phases, "live": before.live, "waiting": before.waiting, **after}
    options = facts.pop("options", {})
    return decide(stored(told, max_agents=2, **options), now=20, **facts).urgent


BUSY = run_snapshot(run(max_agents=2), phases={RUNNING: 1, PENDING: 3}, live=1, waiting=0)


@pytest.mark.parametrize(
    ("after", "is_news"),
    [
        pytest.param({}, False, id="nothing"),
        pytest.param({"phases": {RUNNING: 2, PENDING: 2}, "live": 2}, False, id="counts"),
        pytest.param({"live": 2, "waiting": 1}, False, id="the ceiling is reached, as so often"),
        pytest.param({"refused": "x: no"}, True, id="a refused inline task"),
        pytest.param({"phases": DONE, "live": 0}, True, id="the end"),
        pytest.param({"options": {"suspend": True}}, True, id="a pause"),
        pytest.param({"options": {"cancel": "true"}}, True, id="a cancel"),
        pytest.param({"options": {"metadata": {"generation": 2}}}, True, id="a changed spec"),
    ],
)
def test_which_changes_people_wait_for(after: dict[str, Any], is_news: bool) -> None:
    assert urgent(BUSY, after) is is_news


def test_a_draining_runs_count_is_no_news() -> None:
    draining = decide(run(cancel="true"), phases={RUNNING: 2}, live=2, now=10)
    assert not decide(stored(draining), phases={RUNNING: 1}, live=1, now=20).urgent


def test_an_invalid_run_says_which_field_and_keeps_the_rest() -> None:
    before = {"phase": "Running", "startTime": "2026-01-01T12:00:00Z"}
    decision = decide(run(suspend="perhaps", status=before), phases={PENDING: 1})
    assert reasons(decision.status.conditions) == {"Stalled": ("True", "InvalidSpec")}
    assert decision.status.conditions[0].message.startswith("spec.suspend")
    assert (decision.status.phase, decision.status.start_time) == ("Running", at(0))


def test_a_run_that_is_being_deleted_is_left_alone() -> None:
    going = run(tasks=TWO_TASKS, metadata={"deletionTimestamp": "2026-01-01T12:00:00Z", "uid": RUN_UID})
    assert decide(going) == RunDecision(status=BernsteinRunStatus())
