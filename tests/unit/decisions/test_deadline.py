"""Which limits hold for an attempt, what the kubelet's clock is set to, and when a Pod is taken for lost."""

from typing import Any

import pytest

from bernstein_operator.api.choices import LimitKind
from bernstein_operator.api.pod import Pod
from bernstein_operator.api.task_status import AgentTaskStatus
from bernstein_operator.decisions.deadline import (
    active_deadline_seconds,
    deadline_of,
    limits_of,
    overdue_since,
    timeout_seconds,
)
from tests.unit.objects import at, attempt, bounds, effective, pod, running, stamp, status, terminated

GATED = [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]
UNSCHEDULED = [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}]
DAY = 2_592_000


@pytest.mark.parametrize(
    ("start", "timeout", "deadline", "run_deadline", "seconds"),
    [
        pytest.param(600, 100, None, None, 700, id="both stretches, one after the other"),
        pytest.param(1, 1, None, None, 2, id="the smallest that can be said"),
        pytest.param(DAY, DAY, None, None, 2 * DAY, id="the largest that can be said"),
        pytest.param(600, 100, 709, None, 699, id="less to the task's deadline, from the intent"),
        pytest.param(600, 100, 710, None, 700, id="the same to the task's deadline"),
        pytest.param(600, 100, 711, None, 700, id="more to the task's deadline"),
        pytest.param(600, 100, 500, 400, 390, id="the run's deadline is the earlier one"),
        pytest.param(600, 100, 11, None, 1, id="one second left"),
        pytest.param(600, 100, 10, None, 1, id="nothing left"),
        pytest.param(600, 100, 5, None, 1, id="a deadline before the intent"),
    ],
)
def test_what_the_kubelets_clock_is_set_to(
    start: int, timeout: int, deadline: float | None, run_deadline: float | None, seconds: int
) -> None:
    spec: dict[str, Any] = {} if deadline is None else {"deadline": stamp(deadline)}
    found = bounds(startTimeoutSeconds=start, timeoutSeconds=timeout, run_deadline=run_deadline, **spec)
    assert active_deadline_seconds(found, intent=at(10)) == seconds
    assert 1 <= seconds <= 2_147_483_647


@pytest.mark.parametrize(
    ("deadline", "seconds"),
    [
        pytest.param(111, 100, id="more than its timeout"),
        pytest.param(110, 100, id="as much as its timeout"),
        pytest.param(109, 99, id="less than its timeout"),
        pytest.param(10, 1, id="nothing: never less than one second"),
    ],
)
def test_the_runner_gets_no_more_than_is_left_to_the_deadline(deadline: float, seconds: int) -> None:
    found = bounds(timeoutSeconds=100, deadline=stamp(deadline))
    assert timeout_seconds(found, intent=at(10)) == seconds


RUNS = pod(created=5, phase="Running", agent=running(50))


@pytest.mark.parametrize(
    ("seen", "limits"),
    [
        pytest.param(None, {"deadline": 300, "runDeadline": 400}, id="without a Pod the moments alone"),
        pytest.param(
            pod(created=5),
            {"deadline": 300, "runDeadline": 400, "startTimeoutSeconds": 605},
            id="from its creation until it starts",
        ),
        pytest.param(
            pod(created=5, runner=running(6)),
            {"deadline": 300, "runDeadline": 400, "startTimeoutSeconds": 605},
            id="the init container is no start",
        ),
        pytest.param(RUNS, {"timeoutSeconds": 110, "deadline": 300, "runDeadline": 400}, id="from its start"),
        pytest.param(
            pod(created=5, node="", conditions=GATED),
            {"startTimeoutSeconds": 95, "deadline": 300, "runDeadline": 400},
            id="behind scheduling gates",
        ),
    ],
)
def test_which_limits_hold_the_earliest_first(seen: Pod | None, limits: dict[str, float]) -> None:
    given = bounds(
        startTimeoutSeconds=600,
        timeoutSeconds=60,
        inputTimeoutSeconds=90,
        deadline=stamp(300),
        run_deadline=400,
    )
    found = limits_of(given, attempt(), seen, now=at(100))
    wanted = [(kind, at(moment)) for kind, moment in limits.items()]
    assert [(limit.kind, limit.at) for limit in found] == wanted


def test_of_two_deadlines_at_once_the_runs_is_told() -> None:
    found = limits_of(bounds(deadline=stamp(300), run_deadline=300), None, None, now=at(100))
    assert found[0].kind is LimitKind.RUN_DEADLINE


@pytest.mark.parametrize(
    ("gated_until", "now", "start_by"),
    [
        pytest.param(None, 700, 605, id="never gated"),
        pytest.param(400, 700, 1000, id="gated until 400"),
        pytest.param(86405, 700, 1300, id="found without gates just now"),
    ],
)
def test_the_start_clock_begins_when_the_gates_are_gone(
    gated_until: float | None, now: float, start_by: float
) -> None:
    known = attempt(gated_until=None if gated_until is None else at(gated_until))
    seen = pod(created=5, node="", conditions=UNSCHEDULED)
    [limit] = limits_of(bounds(startTimeoutSeconds=600), known, seen, now=at(now))
    assert limit.at == at(start_by)


OPEN, BETWEEN = attempt(), attempt(end_time=at(5))


def of_record(effective_: float | None, basis: float | None) -> dict[str, Any]:
    moments = {"effective": effective_, "basis": basis}
    return {name: at(moment) for name, moment in moments.items() if moment is not None}


@pytest.mark.parametrize(
    ("before", "wanted", "holds"),
    [
        pytest.param(status(), None, None, id="none"),
        pytest.param(status(), 100, 100, id="as the spec says"),
        pytest.param(status(BETWEEN, deadline=of_record(200, 100)), 100, 200, id="a later one was granted"),
        pytest.param(status(OPEN, deadline=of_record(100, 100)), 99, 99, id="a shorter one holds at once"),
        pytest.param(
            status(OPEN, deadline=of_record(100, 100)), 101, 100, id="a longer one not while an attempt runs"
        ),
        pytest.param(
            status(BETWEEN, deadline=of_record(100, 100)),
            101,
            101,
            id="a longer one for the next",
        ),
        pytest.param(
            status(OPEN, deadline=of_record(100, 100)), None, 100, id="taken off, not while an attempt runs"
        ),
        pytest.param(
            status(BETWEEN, deadline=of_record(100, 100)),
            None,
            None,
            id="taken off, for the next",
        ),
        pytest.param(
            status(OPEN, deadline=of_record(None, None)), 90, 90, id="a first one while an attempt runs"
        ),
        pytest.param(
            status(OPEN, deadline=of_record(200, 100)), 150, 150, id="a new one before the one granted"
        ),
        pytest.param(
            status(BETWEEN, deadline=of_record(200, 100)), 90, 90, id="a change takes back what was granted"
        ),
    ],
)
def test_when_a_changed_deadline_acts(
    before: AgentTaskStatus, wanted: float | None, holds: float | None
) -> None:
    said: dict[str, Any] = {} if wanted is None else {"deadline": stamp(wanted)}
    spec = effective(**said)
    assert deadline_of(before, spec) == (None if holds is None else at(holds))


@pytest.mark.parametrize(
    ("seen", "lost_at"),
    [
        pytest.param(pod(deleted=30), 90, id="60 s after the end of its deletion's grace"),
        pytest.param(pod(stop="deadline", stopped=30), 100, id="60 s after the grace of its stop"),
        pytest.param(pod(stop="deadline", stopped=30, deleted=200), 260, id="its deletion is the later word"),
        pytest.param(pod(stop="deadline", created=3), 73, id="from its creation where no moment was kept"),
        pytest.param(pod(stop="deadline", stopped=160, created=3), 230, id="a clock that is a little ahead"),
        pytest.param(pod(stop="deadline", stopped=161, created=3), 73, id="a moment that has yet to come"),
        pytest.param(pod(stop="deadline", stopped=251_635_031_999, created=3), 73, id="the end of all time"),
    ],
)
def test_when_a_pod_is_taken_for_lost(seen: Pod, lost_at: float) -> None:
    assert overdue_since(seen, now=at(100)) == at(lost_at)


@pytest.mark.parametrize(
    "text", ["yesterday", "2026-01-01T00:00:00", ""], ids=["words", "no zone", "nothing"]
)
def test_a_damaged_moment_of_a_stop_is_none(text: str) -> None:
    seen = pod(agent=terminated())
    annotations = {"bernstein.run/stop-time": text}
    damaged = Pod(metadata=type(seen.metadata)(name="p", annotations=annotations))
    assert damaged.stopped_at is None
