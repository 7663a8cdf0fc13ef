"""What a live attempt has reported is put on record: at its end, with other writes, else once a minute."""

from typing import Any

import pytest

from bernstein_agent.contract import Usage as Reported
from bernstein_operator.api.money import Money
from bernstein_operator.api.snapshot import Reading, TaskSnapshot
from bernstein_operator.api.task_status import AgentTaskStatus, Usage
from bernstein_operator.decisions.task import decide
from tests.unit.objects import (
    at,
    attempt,
    name_of_pod,
    pod,
    run,
    running,
    said,
    snapshot,
    stamp,
    status,
    task,
    terminated,
)

CENTS = Usage(input_tokens=100, output_tokens=20, cached_tokens=3, cost_usd=Money.parse("0.30"))
MORE = Usage(input_tokens=200, output_tokens=20, cached_tokens=3, cost_usd=Money.parse("0.50"))
UID = f"{name_of_pod()}-uid"
AT_WORK = pod(phase="Running", agent=running(1))


def at_work(usage: Usage | None = None, **fields: Any) -> AgentTaskStatus:
    """Return the status that a decision about a working agent leaves as it is."""
    open_one = attempt(pod_uid=UID, node="node-1", start_time=at(1), usage=usage)
    raw = status(open_one, phase="Running", usage=usage, **fields)
    return decide(snapshot(task(status=raw), AT_WORK), now=at(2)).status


def heard(stored: AgentTaskStatus, usage: Usage, *, written: float = 10, **facts: Any) -> TaskSnapshot:
    reading = Reading(usage=usage, written=at(written))
    return snapshot(task(status=stored), AT_WORK, reading=reading, **facts)


@pytest.mark.parametrize(
    ("now", "stored"),
    [
        pytest.param(69.999, None, id="just not a minute after it was first heard of"),
        pytest.param(70, CENTS, id="a minute after"),
        pytest.param(500, CENTS, id="long after"),
    ],
)
def test_what_is_reported_is_stored_once_a_minute(now: float, stored: Usage | None) -> None:
    before = at_work()
    decision = decide(heard(before, CENTS), now=at(now))
    assert (decision.status.attempts[0].usage, decision.status.usage) == (stored, stored)
    assert (decision.status == before) is (stored is None)
    assert decision.wake
    assert stored or decision.wake == at(70)


def test_nothing_is_written_where_the_report_says_nothing_new() -> None:
    before = at_work(CENTS)
    assert decide(heard(before, CENTS), now=at(500)).status == before


def test_a_task_has_spent_what_its_attempts_have_at_any_moment() -> None:
    before = at_work(CENTS)
    after = decide(heard(before, MORE), now=at(70)).status
    assert after.usage == after.attempts[0].usage == MORE


def test_it_comes_along_with_any_other_write() -> None:
    before = at_work()
    changed = task(status=before, priority=1, metadata={"generation": 2})
    seen = snapshot(changed, AT_WORK, reading=Reading(usage=CENTS, written=at(10)))
    after = decide(seen, now=at(11)).status
    assert (after.observed_generation, after.usage) == (2, CENTS)


@pytest.mark.parametrize(
    ("reached", "stored"),
    [
        pytest.param(9, None, id="before what is stored was written"),
        pytest.param(10, CENTS, id="just when it was"),
        pytest.param(12, CENTS, id="since"),
    ],
)
def test_it_is_stored_at_once_where_the_runs_budget_has_reached_a_band(
    reached: float, stored: Usage | None
) -> None:
    budget = {"capUsd": "1", "reached": [{"band": "warn", "time": stamp(reached)}]}
    seen = heard(at_work(), CENTS, run=run(status={"budget": budget}))
    assert decide(seen, now=at(15)).status.usage == stored


@pytest.mark.parametrize(
    ("word", "whole"),
    [
        pytest.param(None, CENTS, id="no word"),
        pytest.param(Reported(cost_micros=100_000), CENTS, id="a lower one"),
        pytest.param(
            Reported(input_tokens=200, output_tokens=20, cached_tokens=3, cost_micros=500_000),
            MORE,
            id="a higher one",
        ),
    ],
)
def test_an_attempts_end_keeps_the_highest_that_it_ever_said(word: Reported | None, whole: Usage) -> None:
    told = said(name_of_pod(), "agent", usage=word) if word else ""
    over = pod(phase="Failed", version=2, agent=terminated(1, message=told))
    seen = snapshot(task(status=at_work()), over, reading=Reading(usage=CENTS, written=at(10)))
    after = decide(seen, now=at(12)).status
    assert after.attempts[0].end_time
    assert after.attempts[0].usage == after.usage == whole


def test_a_cancelled_attempt_whose_pod_vanished_keeps_what_it_reported() -> None:
    before = at_work()
    asked = task(status=before, cancel="true")
    seen = snapshot(asked, reading=Reading(usage=CENTS, written=at(10)))
    after = decide(seen, now=at(12)).status
    assert after.attempts[0].end_time
    assert after.attempts[0].usage == after.usage == CENTS
