"""Counters follow stored transitions, and no label grows without bound."""

from collections.abc import Mapping
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from bernstein_operator.api.choices import BudgetBand
from bernstein_operator.api.objects import RunObject
from bernstein_operator.api.task_status import AgentTaskStatus
from bernstein_operator.api.vocabulary import TaskPhase
from bernstein_operator.telemetry import metrics
from bernstein_operator.telemetry.run_series import run_series
from tests.unit.objects import at, attempt, run, stamp, status, task


def shown(name: str) -> dict[tuple[tuple[str, str], ...], float]:
    """Return the samples called ``name`` of the exposition text, by their labels."""
    families = text_string_to_metric_families(metrics.render().decode())
    samples = (sample for family in families for sample in family.samples if sample.name == name)
    return {tuple(sorted(sample.labels.items())): sample.value for sample in samples}


def value(name: str, labels: Mapping[str, str]) -> float:
    return shown(name).get(tuple(sorted(labels.items())), 0)


def count(before: AgentTaskStatus, after: AgentTaskStatus, *, role: str = "counted") -> None:
    metrics.count_transition(task(status=before), task(status=after), role=role, adapter="script")


ENDED = attempt(1, end_time=at(1), result_class="oom")


@pytest.mark.parametrize(
    ("before", "after", "more"),
    [
        pytest.param(status(attempt(1)), status(ENDED), 1, id="an attempt ended"),
        pytest.param(status(ENDED), status(ENDED), 0, id="it had ended before"),
        pytest.param(status(ENDED), status(ENDED, attempt(2)), 0, id="another one began"),
        pytest.param(status(), status(ENDED), 1, id="it was seen only at its end"),
    ],
)
def test_each_attempt_is_counted_once_at_its_end(
    before: AgentTaskStatus, after: AgentTaskStatus, more: int
) -> None:
    labels = {"result_class": "oom", "adapter": "script"}
    had = value("bernstein_attempts_total", labels)
    count(before, after)
    assert value("bernstein_attempts_total", labels) == had + more


FINISHED = attempt(1, end_time=at(1), result_class="success", finish_percent=18)


@pytest.mark.parametrize(
    ("before", "after", "more"),
    [
        pytest.param(status(attempt(1)), status(FINISHED), 1, id="an agent had its final turn"),
        pytest.param(status(FINISHED), status(FINISHED), 0, id="it is on record already"),
        pytest.param(status(attempt(1)), status(ENDED), 0, id="it ended without one"),
    ],
)
def test_each_final_turn_is_counted_once_with_what_was_left(
    before: AgentTaskStatus, after: AgentTaskStatus, more: int
) -> None:
    finishes, buckets = (
        "bernstein_task_budget_graceful_finish_total",
        "bernstein_task_budget_remaining_at_finish_pct_bucket",
    )
    role = {"role": "counted"}
    had = [value(finishes, role), *(value(buckets, {**role, "le": le}) for le in ("15.0", "20.0"))]
    count(before, after)
    now = [value(finishes, role), *(value(buckets, {**role, "le": le}) for le in ("15.0", "20.0"))]
    assert [one - two for one, two in zip(now, had, strict=True)] == [more, 0, more]


LATE = attempt(1, end_time=at(1), result_class="deadline")
MISSED = {"missed_time": at(9)}


@pytest.mark.parametrize(
    ("before", "after", "more"),
    [
        pytest.param(status(attempt(1)), status(LATE), 1, id="an attempt was stopped at a limit"),
        pytest.param(status(LATE), status(LATE), 0, id="it was stopped before"),
        pytest.param(status(attempt(1)), status(ENDED), 0, id="it ended otherwise"),
        pytest.param(status(), status(deadline=MISSED), 1, id="a deadline passed while it waited"),
        pytest.param(status(deadline=MISSED), status(deadline=MISSED), 0, id="it passed before"),
        pytest.param(status(deadline=MISSED), status(), 0, id="a person's retry"),
        pytest.param(
            status(deadline=MISSED), status(deadline={"missed_time": at(99)}), 1, id="missed once more"
        ),
    ],
)
def test_each_deadline_is_counted_once(before: AgentTaskStatus, after: AgentTaskStatus, more: int) -> None:
    had = value("bernstein_task_deadline_exceeded_total", {})
    count(before, after)
    assert value("bernstein_task_deadline_exceeded_total", {}) == had + more


@pytest.mark.parametrize(
    ("before", "after", "more"),
    [
        pytest.param("Running", "Succeeded", 1, id="it came to its end"),
        pytest.param("Succeeded", "Succeeded", 0, id="it had ended before"),
    ],
)
def test_each_task_is_counted_once_at_its_end(before: str, after: str, more: int) -> None:
    labels = {"phase": "Succeeded", "role": "counted", "adapter": "script"}
    had = value("bernstein_tasks_finished_total", labels)
    count(status(phase=before), status(phase=after))
    assert value("bernstein_tasks_finished_total", labels) == had + more


GIVEN_UP = {"reason": "out_of_scope", "actor": "agent", "time": at(1)}


@pytest.mark.parametrize(
    ("before", "after", "reason"),
    [
        pytest.param(
            status(phase="Running"), status(phase="Abandoned", abandonment=GIVEN_UP), "out_of_scope", id="why"
        ),
        pytest.param(status(phase="Running"), status(phase="Abandoned"), "other", id="not told why"),
        pytest.param(status(phase="Abandoned"), status(phase="Abandoned"), None, id="abandoned before"),
        pytest.param(status(phase="Running"), status(phase="Failed"), None, id="failed"),
    ],
)
def test_each_abandonment_is_counted_once_by_its_reason(
    before: AgentTaskStatus, after: AgentTaskStatus, reason: str | None
) -> None:
    had = shown("bernstein_abandonments_total")
    count(before, after)
    now = shown("bernstein_abandonments_total")
    more = {dict(labels)["reason"]: number - had.get(labels, 0) for labels, number in now.items()}
    assert {name: number for name, number in more.items() if number} == ({reason: 1} if reason else {})


def test_a_blocked_task_has_not_finished() -> None:
    had = shown("bernstein_tasks_finished_total")
    count(status(), status(phase="BlockedByFailure"))
    assert shown("bernstein_tasks_finished_total") == had


def test_roles_beyond_a_bound_count_as_other() -> None:
    for number in range(2 * metrics.MAX_ROLES):
        count(status(), status(phase="Failed"), role=f"role-{number}")
    roles = {labels["role"] for labels in map(dict, shown("bernstein_tasks_finished_total"))}
    assert "other" in roles
    assert len(roles) <= metrics.MAX_ROLES + 1


def test_every_phase_is_shown_also_the_empty_ones() -> None:
    metrics.set_tasks([TaskPhase.PENDING, TaskPhase.PENDING, TaskPhase.FAILED])
    counts = {dict(labels)["phase"]: count for labels, count in shown("bernstein_agenttasks").items()}
    assert counts == {**dict.fromkeys(map(str, TaskPhase), 0), "Pending": 2, "Failed": 1}


def test_a_request_is_counted_by_its_answer_or_by_having_none() -> None:
    answered, lost = {"method": "GET", "code": "201"}, {"method": "GET", "code": "<error>"}
    had = value("rest_client_requests_total", answered), value("rest_client_requests_total", lost)
    with metrics.request_timer("GET") as done:
        done(201)
    with pytest.raises(TimeoutError), metrics.request_timer("GET"):
        raise TimeoutError
    now = value("rest_client_requests_total", answered), value("rest_client_requests_total", lost)
    assert now == (had[0] + 1, had[1] + 1)


def ceiling(**facts: Any) -> RunObject:
    return run(status={"concurrency": facts} if facts else {})


@pytest.mark.parametrize(
    ("before", "after", "counted"),
    [
        pytest.param(ceiling(), ceiling(configured=6, effective=6), [], id="its first"),
        pytest.param(
            ceiling(configured=6),
            ceiling(configured=6, reduction=1, lastLoweredTime=stamp(1)),
            [("down", "error_rate")],
            id="failures",
        ),
        pytest.param(
            ceiling(configured=6, reduction=1, lastLoweredTime=stamp(1)),
            ceiling(configured=6, lastLoweredTime=stamp(1), lastRaisedTime=stamp(9)),
            [("up", "error_rate")],
            id="no failures any more",
        ),
        pytest.param(
            ceiling(configured=6),
            ceiling(configured=6, pausedSince=stamp(1)),
            [("down", "nodes")],
            id="busy nodes",
        ),
        pytest.param(
            ceiling(configured=6, pausedSince=stamp(1)),
            ceiling(configured=6, resumedTime=stamp(9)),
            [("up", "nodes")],
            id="less busy nodes",
        ),
        pytest.param(
            ceiling(configured=6),
            ceiling(configured=2, reduction=1, lastLoweredTime=stamp(1)),
            [("down", "error_rate"), ("down", "configured")],
            id="two causes at once",
        ),
        pytest.param(ceiling(configured=2), ceiling(configured=3), [("up", "configured")], id="a higher one"),
        pytest.param(ceiling(configured=2), ceiling(configured=2, live=2), [], id="only its agents changed"),
    ],
)
def test_each_change_of_a_ceiling_is_counted_by_its_cause(
    before: RunObject, after: RunObject, counted: list[tuple[str, str]]
) -> None:
    name = "bernstein_ceiling_changes_total"
    had = shown(name)
    metrics.count_ceiling_changes(before, after)
    more = {labels: total - had.get(labels, 0) for labels, total in shown(name).items()}
    told = {
        (dict(labels)["direction"], dict(labels)["reason"]): value for labels, value in more.items() if value
    }
    assert told == dict.fromkeys(counted, 1)


def test_a_runs_ceiling_is_shown_until_some_time_after_its_end() -> None:
    labels = {"namespace": "ns", "run": "r"}
    metrics.show_run(ceiling(configured=6, effective=4))
    assert value("bernstein_parallelism_level", labels) == 4
    status = {"concurrency": {"effective": 0}, "completionTime": stamp(0)}
    metrics.show_run(run(status=status))
    assert shown("bernstein_parallelism_level")[tuple(labels.items())] == 0
    run_series.sweep(at(600))
    assert tuple(labels.items()) not in shown("bernstein_parallelism_level")


def test_a_runs_budget_is_shown_and_what_is_left_only_where_it_has_one() -> None:
    labels = {"namespace": "ns", "run": "spender"}
    told = {"spentUsd": "0.95", "capUsd": "1.00", "remainingUsd": "0.05", "band": "critical"}
    metrics.show_run(run("spender", status={"budget": told}))
    assert value("bernstein_run_cost_usd", labels) == 0.95
    assert value("bernstein_run_budget_remaining_usd", labels) == 0.05
    bands = {band: value("bernstein_run_budget_band", {**labels, "band": band}) for band in BudgetBand}
    assert bands == {"none": 0, "warn": 0, "critical": 1, "stop": 0}
    metrics.show_run(run("spender", status={"budget": {"spentUsd": "0.95"}}))
    assert tuple(labels.items()) not in shown("bernstein_run_budget_remaining_usd")
    assert value("bernstein_run_cost_usd", labels) == 0.95
