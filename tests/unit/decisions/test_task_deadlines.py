"""A task and its limits, both sides of every boundary: warned once, stopped, granted again, given up."""

from typing import Any

import pytest

from bernstein_operator.api.choices import LimitKind
from bernstein_operator.api.objects import TaskObject
from bernstein_operator.api.pod import Pod
from bernstein_operator.api.snapshot import Dependency, TaskSnapshot
from bernstein_operator.api.task_status import AgentTaskStatus, DeadlineStatus
from bernstein_operator.api.vocabulary import TaskPhase
from bernstein_operator.decisions.plan import CreatePod, StopPod, TaskDecision
from bernstein_operator.decisions.task import decide
from tests.unit.objects import (
    at,
    attempt,
    name_of_pod,
    pod,
    raw_task,
    reasons,
    run,
    running,
    said,
    snapshot,
    stamp,
    status,
    task,
    terminated,
)

BEGUN = decide(snapshot(has_slot=True), now=at(0)).status
RUNS = status(
    attempt(pod_uid=f"{name_of_pod()}-uid", start_time=at(1)), phase="Running", first_admitted_time=at(0)
)
LIVE = pod(phase="Running", agent=running(1))
GATED = [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated", "message": "by a queue"}]
UNSCHEDULED = [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/1 nodes"}]
FAILED, PENDING, RUNNING = TaskPhase.FAILED, TaskPhase.PENDING, TaskPhase.RUNNING


def seen(
    before: AgentTaskStatus,
    *pods: Pod,
    run_deadline: float | None = None,
    deadline: float | None = None,
    facts: dict[str, Any] | None = None,
    **spec: Any,
) -> TaskSnapshot:
    """Return a snapshot of a task whose deadline and whose run's are so many seconds after T0."""
    mine = {} if deadline is None else {"deadline": stamp(deadline)}
    of_run = {} if run_deadline is None else {"deadline": stamp(run_deadline)}
    return snapshot(task(status=before, **mine, **spec), *pods, run=run(**of_run), **(facts or {}))


def on(shown: TaskSnapshot, now: float) -> TaskDecision:
    return decide(shown, now=at(now))


def warned(decision: TaskDecision) -> list[tuple[int, str, float]]:
    """Return attempt, limit and moment of each warning."""
    told = decision.status.deadline.warned if decision.status.deadline else ()
    return [(one.attempt, str(one.limit), (one.at - at(0)).total_seconds()) for one in told]


def conditions(decision: TaskDecision) -> set[str]:
    return {one for one in reasons(decision.status.conditions) if one.startswith("Deadline")}


# --- warnings ---------------------------------------------------------------------------------------------

WARN: dict[str, Any] = {"deadlineWarningSeconds": 30, "timeoutSeconds": 3600, "startTimeoutSeconds": 600}


@pytest.mark.parametrize(
    ("now", "told"),
    [
        pytest.param(69, [], id="a second more than deadlineWarningSeconds are left"),
        pytest.param(70, [(1, "deadline", 100)], id="exactly deadlineWarningSeconds are left"),
        pytest.param(99, [(1, "deadline", 100)], id="a second is left"),
    ],
)
def test_a_limit_is_told_once_it_is_near(now: float, told: list[tuple[int, str, float]]) -> None:
    decision = on(seen(RUNS, LIVE, deadline=100, **WARN), now)
    assert warned(decision) == told
    assert conditions(decision) == ({"DeadlineWarning"} if told else set())


def test_the_task_is_looked_at_again_when_its_limit_comes_near_and_when_it_is_there() -> None:
    shown = seen(RUNS, LIVE, deadline=100, **WARN)
    assert on(shown, 20).wake == at(70)
    again = TaskObject.parse(raw_task(status=on(shown, 70).status, deadline=stamp(100), **WARN))
    assert on(snapshot(again, LIVE), 71).wake == at(100)


@pytest.mark.parametrize("now", [70, 99], ids=["at once", "later"])
def test_nothing_is_told_twice(now: float) -> None:
    first = on(seen(RUNS, LIVE, deadline=100, **WARN), 70).status
    again = on(seen(first, LIVE, deadline=100, **WARN), now)
    assert again.status == first


def test_zero_seconds_turn_warnings_off() -> None:
    spec = {**WARN, "deadlineWarningSeconds": 0}
    decision = on(seen(RUNS, LIVE, deadline=100, **spec), 99)
    assert (warned(decision), decision.wake) == ([], at(100))


@pytest.mark.parametrize(
    ("before", "pods", "spec", "told"),
    [
        pytest.param(RUNS, [LIVE], {"timeoutSeconds": 20}, [(1, "timeoutSeconds", 21)], id="its timeout"),
        pytest.param(
            BEGUN, [pod()], {"startTimeoutSeconds": 25}, [(1, "startTimeoutSeconds", 25)], id="a late start"
        ),
        pytest.param(BEGUN, [pod()], {"deadline": 25}, [(1, "deadline", 25)], id="while its Pod is Pending"),
        pytest.param(status(), [], {"deadline": 25}, [(0, "deadline", 25)], id="before its first attempt"),
        pytest.param(RUNS, [LIVE], {"run_deadline": 25}, [(1, "runDeadline", 25)], id="its run's deadline"),
        pytest.param(
            RUNS,
            [LIVE],
            {"run_deadline": 25, "deadline": 24},
            [(1, "deadline", 24), (1, "runDeadline", 25)],
            id="two at once",
        ),
        pytest.param(
            status(attempt(end_time=at(5)), next_attempt_time=at(60)),
            [],
            {"deadline": 25},
            [(1, "deadline", 25)],
            id="between two attempts",
        ),
    ],
)
def test_each_limit_is_told_of_whether_or_not_anything_runs(
    before: AgentTaskStatus, pods: list[Pod], spec: dict[str, Any], told: list[tuple[int, str, float]]
) -> None:
    decision = on(seen(before, *pods, **{**WARN, **spec}), 10)
    assert warned(decision) == told
    assert "DeadlineWarning" in conditions(decision)


@pytest.mark.parametrize(
    ("before", "spec"),
    [
        pytest.param(status(phase="Succeeded"), {"deadline": 25}, id="a task that is done"),
        pytest.param(RUNS, {"deadline": 200}, id="a deadline that is far"),
        pytest.param(RUNS, {}, id="no deadline"),
    ],
)
def test_a_plain_task_costs_no_further_write(before: AgentTaskStatus, spec: dict[str, Any]) -> None:
    decision = on(seen(before, LIVE, **{**WARN, **spec}), 10)
    assert decision.status.deadline is None


def test_the_next_attempt_is_warned_of_its_own_limits() -> None:
    first = on(seen(RUNS, LIVE, deadline=40, **WARN), 20).status
    ended = pod(phase="Failed", agent=terminated(1, end=25))
    between = on(seen(first, ended, deadline=40, **WARN), 26)
    assert warned(between) == [(1, "deadline", 40)], "nothing new before it begins"
    ready = between.status.model_copy(update={"next_attempt_time": None})
    begun = on(seen(ready, ended, deadline=40, facts={"has_slot": True}, **WARN), 30)
    assert warned(begun) == [(1, "deadline", 40), (2, "deadline", 40)]


def test_a_warning_of_the_start_is_over_once_the_agent_runs() -> None:
    spec = {**WARN, "startTimeoutSeconds": 25}
    first = on(seen(BEGUN, pod(), **spec), 10).status
    assert conditions(on(seen(first, LIVE, **spec), 12)) == set()


# --- reached ----------------------------------------------------------------------------------------------

LIMITS: dict[str, Any] = {"timeoutSeconds": 60, "startTimeoutSeconds": 60, "deadlineWarningSeconds": 0}


@pytest.mark.parametrize(
    ("spec", "limit"),
    [
        pytest.param({"deadline": 40}, 40, id="the task's deadline"),
        pytest.param({"run_deadline": 40}, 40, id="the run's deadline"),
        pytest.param({"deadline": 50, "run_deadline": 40}, 40, id="the earlier of both"),
        pytest.param({"deadline": 90}, 61, id="its timeout before the deadline"),
    ],
)
def test_an_agent_is_stopped_at_the_earliest_limit(spec: dict[str, Any], limit: float) -> None:
    shown = seen(RUNS, LIVE, **LIMITS, **spec)
    assert on(shown, limit - 1).actions == ()
    assert on(shown, limit).actions == (StopPod(LIVE, "deadline"),)
    assert on(shown, limit + 1).actions == (StopPod(LIVE, "deadline"),)


def ended(end: float, *, message: str = "", code: int = 143, stop: str = "deadline") -> Pod:
    return pod(phase="Failed", agent=terminated(code, start=1, end=end, message=message), stop=stop)


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        pytest.param({}, "Stopped at its timeoutSeconds.", id="its timeout"),
        pytest.param({"deadline": 40}, "the task's deadline, 2026-01-01T12:00:40Z", id="the task's deadline"),
        pytest.param({"run_deadline": 40}, "its run's deadline, 2026-01-01T12:00:40Z", id="the run's"),
    ],
)
def test_the_attempt_says_which_limit_it_hit(spec: dict[str, Any], text: str) -> None:
    last = on(seen(RUNS, ended(62), **LIMITS, **spec), 63).status.attempts[-1]
    assert (last.result_class, last.reason) == ("deadline", "DeadlineExceeded")
    assert text in (last.message or "")


@pytest.mark.parametrize(
    ("end", "result_class"),
    [
        pytest.param(39, "success", id="a second before the deadline"),
        pytest.param(40, "deadline", id="exactly at it"),
        pytest.param(41, "deadline", id="a second after it"),
    ],
)
def test_a_result_before_the_deadline_stands_however_late_it_is_seen(end: float, result_class: str) -> None:
    late = ended(end, message=said(name_of_pod()), code=0)
    decision = on(seen(RUNS, late, deadline=40, **LIMITS), 500)
    assert decision.status.attempts[-1].result_class == result_class


@pytest.mark.parametrize(
    ("now", "spec", "found"),
    [
        pytest.param(39, {"deadline": 40}, None, id="a second before the task's deadline"),
        pytest.param(40, {"deadline": 40}, "deadline DeadlineExceeded", id="exactly at the task's deadline"),
        pytest.param(40, {"run_deadline": 40}, "deadline DeadlineExceeded", id="at the run's deadline"),
        pytest.param(59, {"deadline": 90}, None, id="a second before the start timeout"),
        pytest.param(60, {"deadline": 90}, "transient StartTimeout", id="at the start timeout"),
        pytest.param(60, {"deadline": 60}, "transient StartTimeout", id="both at once: its own comes first"),
    ],
)
def test_a_pod_that_has_not_started_is_given_up_at_the_earliest_limit(
    now: float, spec: dict[str, Any], found: str | None
) -> None:
    shown = seen(BEGUN, pod(node="", conditions=UNSCHEDULED), **LIMITS, **spec)
    last = on(shown, now).status.attempts[0]
    assert (f"{last.result_class} {last.reason}" if last.end_time else None) == found
    assert not found or "0/1 nodes" in (last.message or ""), "the scheduler's text"


def test_no_pod_is_asked_for_after_the_deadline() -> None:
    decision = on(seen(BEGUN, deadline=40, retry={"limit": 0}, **LIMITS), 40)
    assert decision.actions == ()
    assert (decision.status.phase, decision.status.attempts[-1].result_class) == (FAILED, "deadline")
    assert on(seen(BEGUN, deadline=40, **LIMITS), 39).actions == (CreatePod(),)


# --- behind scheduling gates ------------------------------------------------------------------------------

BEHIND = pod(node="", conditions=GATED)
FREED = pod(node="", conditions=UNSCHEDULED)
GATES: dict[str, Any] = {"startTimeoutSeconds": 60, "inputTimeoutSeconds": 200, "deadlineWarningSeconds": 0}


@pytest.mark.parametrize(
    ("now", "result_class"),
    [
        pytest.param(60, None, id="its start timeout doesn't count"),
        pytest.param(199, None, id="a second before inputTimeoutSeconds"),
        pytest.param(200, "transient", id="exactly at inputTimeoutSeconds"),
    ],
)
def test_gates_hold_a_pod_no_longer_than_the_input_timeout(now: float, result_class: str | None) -> None:
    last = on(seen(BEGUN, BEHIND, **GATES), now).status.attempts[0]
    assert last.result_class == result_class
    assert result_class is None or "inputTimeoutSeconds (200 s)" in (last.message or "")


def test_the_start_clock_begins_once_the_gates_are_seen_to_be_gone() -> None:
    gated = on(seen(BEGUN, BEHIND, **GATES), 1).status
    assert gated.attempts[-1].gated_until == at(200)
    freed = on(seen(gated, FREED, **GATES), 100).status
    assert freed.attempts[-1].gated_until == at(100)
    for now, over in ((159, False), (160, True)):
        last = on(seen(freed, FREED, **GATES), now).status.attempts[0]
        assert (last.result_class == "transient") is over


def test_the_condition_says_that_the_start_clock_stands_still() -> None:
    gated = on(seen(BEGUN, BEHIND, **GATES), 10).status
    [admitted] = [one for one in gated.conditions if one.type == "Admitted"]
    assert (admitted.status, admitted.reason) == ("True", "PodWaiting")
    assert "by a queue" in admitted.message
    assert "until 2026-01-01T12:03:20Z" in admitted.message


def test_deadlines_go_on_behind_gates() -> None:
    last = on(seen(BEGUN, BEHIND, deadline=40, **GATES), 40).status.attempts[-1]
    assert last.result_class == "deadline"


# --- again, or given up -----------------------------------------------------------------------------------

STOPPED = ended(40)


def holding(deadline: float | None) -> AgentTaskStatus:
    """Return the status of a task whose attempt began under that deadline."""
    if deadline is None:
        return RUNS
    kept = DeadlineStatus(effective=at(deadline), basis=at(deadline))
    return RUNS.model_copy(update={"deadline": kept})


@pytest.mark.parametrize(
    ("spec", "now", "phase", "effective"),
    [
        pytest.param({"deadline": 40}, 42, PENDING, 82, id="as long again as at the first admission"),
        pytest.param({"deadline": 40, "run_deadline": 83}, 42, PENDING, 82, id="the run's is later"),
        pytest.param({"deadline": 40, "run_deadline": 81}, 42, PENDING, 81, id="never past the run's"),
        pytest.param(
            {"deadline": 40, "retry": {"afterDeadline": "None"}}, 42, FAILED, 40, id="none is granted"
        ),
        pytest.param({"deadline": 40, "retry": {"limit": 0}}, 42, FAILED, 40, id="no attempt is left"),
        pytest.param({"run_deadline": 40}, 42, FAILED, None, id="the run's is hard"),
        pytest.param({}, 62, PENDING, None, id="its timeout: a fresh one for the next attempt"),
        pytest.param({"deadline": 90}, 62, PENDING, 90, id="its timeout: the deadline stands"),
    ],
)
def test_what_follows_an_attempt_that_was_stopped_at_a_limit(
    spec: dict[str, Any], now: float, phase: TaskPhase, effective: float | None
) -> None:
    moments = (
        {"effective": at(spec["deadline"]), "basis": at(spec["deadline"])} if "deadline" in spec else None
    )
    before = RUNS.model_copy(update={"deadline": status(deadline=moments).deadline})
    stop = STOPPED if now == 42 else ended(61)
    after = on(seen(before, stop, **LIMITS, **spec), now).status
    assert after.phase is phase
    assert after.next_attempt_time is None, "no back-off"
    found = after.deadline.effective if after.deadline else None
    assert found == (None if effective is None else at(effective))
    assert "DeadlineExceeded" in reasons(after.conditions)


@pytest.mark.parametrize(
    ("limit", "reason"),
    [(2, "DeadlineExceeded"), (0, "RetriesExhausted")],
    ids=["no grant", "no attempt left"],
)
def test_a_task_that_is_given_up_says_why(limit: int, reason: str) -> None:
    policy = {"limit": limit, "afterDeadline": "None"}
    after = on(seen(RUNS, STOPPED, deadline=40, retry=policy, **LIMITS), 42).status
    assert reasons(after.conditions)["Failed"] == ("True", reason)


@pytest.mark.parametrize(
    ("end", "effective"),
    [
        pytest.param(34, 40, id="long before: its word widens nothing"),
        pytest.param(35, 75, id="a moment before, by the clock of its node"),
    ],
)
def test_an_agents_own_word_of_a_deadline_counts_where_one_is_near(end: float, effective: float) -> None:
    own = ended(end, message=said(name_of_pod(), "deadline", reason="DeadlineExceeded"), code=1, stop="")
    after = on(seen(holding(40), own, deadline=40, **LIMITS), 35).status
    assert after.deadline
    assert (after.phase, after.deadline.effective) == (PENDING, at(effective))


@pytest.mark.parametrize(
    ("before", "facts"),
    [
        pytest.param(status(), {"has_slot": True}, id="it has just got its slot"),
        pytest.param(status(), {}, id="it queues"),
        pytest.param(status(attempt(end_time=at(5)), next_attempt_time=at(60)), {}, id="it backs off"),
    ],
)
@pytest.mark.parametrize("which", ["deadline", "run_deadline"])
def test_a_task_that_waits_beyond_a_deadline_fails_without_a_pod(
    before: AgentTaskStatus, facts: dict[str, Any], which: str
) -> None:
    late: dict[str, Any] = {which: 40}
    early = on(seen(before, facts=facts, **LIMITS, **late), 39).status
    assert early.phase is PENDING
    for now in (40, 41):
        decision = on(seen(before, facts=facts, **LIMITS, **late), now)
        assert (decision.status.phase, decision.actions) == (FAILED, ())
        assert decision.status.deadline
        assert decision.status.deadline.missed_time == at(now)
        assert reasons(decision.status.conditions)["Failed"] == ("True", "DeadlineExceeded")
        assert "DeadlineExceeded" in reasons(decision.status.conditions)
        assert len(decision.status.attempts) == len(before.attempts)


def test_a_blocked_task_keeps_its_phase_beyond_its_deadline() -> None:
    blocked = status(phase="BlockedByFailure", blocked_by={"task": "a", "root_cause": "a", "cause": "Failed"})
    failed = Dependency("a", uid="a-uid", phase=FAILED)
    shown = seen(blocked, deadline=40, dependsOn=["a"], facts={"dependencies": (failed,)}, **LIMITS)
    assert on(shown, 41).status.phase is TaskPhase.BLOCKED_BY_FAILURE


@pytest.mark.parametrize(
    ("before", "pods"),
    [
        pytest.param(status(), [], id="it queues"),
        pytest.param(BEGUN, [pod(node="")], id="its Pod waits"),
        pytest.param(RUNS, [STOPPED], id="its agent was stopped"),
    ],
)
def test_a_cancel_that_was_seen_beats_the_deadline(before: AgentTaskStatus, pods: list[Pod]) -> None:
    asked = task(status=before, deadline=stamp(40), cancel="true", retry={"limit": 0}, **LIMITS)
    assert on(snapshot(asked, *pods), 41).status.phase is TaskPhase.CANCELLED


def test_a_persons_retry_gets_a_fresh_grant() -> None:
    missed = status(
        phase="Failed",
        completion_time=at(40),
        deadline={"effective": at(40), "basis": at(40), "missed_time": at(40)},
    )
    metadata = {"annotations": {"bernstein.run/retry": "1"}}
    asked = task(status=missed, deadline=stamp(40), metadata=metadata, **LIMITS)
    after = on(snapshot(asked), 100).status
    assert (after.phase, after.deadline and after.deadline.effective) == (PENDING, at(140))
    assert "DeadlineExceeded" not in reasons(after.conditions)


def test_an_attempt_keeps_the_deadline_that_it_began_with() -> None:
    begun = on(seen(status(), deadline=400, facts={"has_slot": True}, **LIMITS), 10).status
    assert begun.deadline
    assert (begun.deadline.effective, begun.deadline.basis) == (at(400), at(400))
    assert LimitKind.DEADLINE not in {one.limit for one in begun.deadline.warned}
