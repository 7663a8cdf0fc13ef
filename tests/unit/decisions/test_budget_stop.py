"""When a run's budget ends live agents, what that means for their tasks, and who is believed to say so."""

from typing import Any

import pytest

from bernstein_agent.contract import Usage as Reported
from bernstein_operator.api.objects import RunObject
from bernstein_operator.api.task_status import AgentTaskStatus
from bernstein_operator.decisions.budget_stop import stopped_at
from bernstein_operator.decisions.plan import StopPod
from bernstein_operator.decisions.task import decide
from tests.unit.objects import (
    at,
    attempt,
    effective,
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


def spent(*bands: tuple[str, float], **spec: Any) -> RunObject:
    """Return a run that has reached these bands, each at its second."""
    reached = [{"band": band, "time": stamp(seconds)} for band, seconds in bands]
    stop = next((stamp(seconds) for band, seconds in bands if band == "stop"), None)
    found: dict[str, Any] = {"reached": reached, **({"stopTime": stop} if stop else {})}
    return run(status={"phase": "Running", "budget": found}, **spec)


WARNED = spent(("warn", 0))
CRITICAL = spent(("warn", 0), ("critical", 10))
STOPPED = spent(("warn", 0), ("critical", 10), ("stop", 20))


@pytest.mark.parametrize(
    ("of", "essential", "seconds"),
    [
        pytest.param(run(), False, None, id="nothing is known of its budget"),
        pytest.param(WARNED, False, None, id="warn stops nobody"),
        pytest.param(CRITICAL, True, None, id="critical lets the essential go on"),
        pytest.param(CRITICAL, False, 130, id="critical gives the others 120 seconds"),
        pytest.param(STOPPED, True, 50, id="stop gives 30 seconds"),
        pytest.param(STOPPED, False, 50, id="the earlier of the two counts"),
        pytest.param(spent(("critical", 0), ("stop", 200)), False, 120, id="also where critical was earlier"),
        pytest.param(spent(("stop", 20), budget={"stopGraceSeconds": 0}), True, 20, id="a grace of nought"),
        pytest.param(spent(("stop", 20), budget={"stopGraceSeconds": 5}), True, 25, id="a grace of its own"),
    ],
)
def test_when_an_agent_is_stopped(of: RunObject, essential: bool, seconds: float | None) -> None:
    assert stopped_at(of, effective(essential=essential)) == (None if seconds is None else at(seconds))


LIVE = pod(phase="Running", agent=running())


def at_work(**more: Any) -> AgentTaskStatus:
    return status(attempt(start_time=at(1), pod_uid="u", **more), phase="Running")


@pytest.mark.parametrize(
    ("now", "stops"),
    [pytest.param(49.9, False, id="within the grace"), pytest.param(50, True, id="exactly at its end")],
)
def test_the_pod_is_told_to_end_when_the_grace_is_over(now: float, stops: bool) -> None:
    decision = decide(snapshot(task(status=at_work()), LIVE, run=STOPPED), now=at(now))
    assert decision.actions == ((StopPod(LIVE, "budget"),) if stops else ())
    assert stops or decision.wake == at(50)


def test_a_task_that_was_stopped_waits_again_and_has_lost_no_retry() -> None:
    ended = pod(phase="Failed", stop="budget", agent=terminated(143, end=60))
    after = decide(snapshot(task(status=at_work()), ended, run=STOPPED), now=at(70)).status
    assert (after.phase, after.retries, after.next_attempt_time) == ("Pending", 0, None)
    assert (after.attempts[0].result_class, after.attempts[0].reason) == ("budget", "BudgetExhausted")


def test_work_that_was_done_in_time_stands() -> None:
    word = said(name_of_pod())
    ended = pod(phase="Succeeded", stop="budget", agent=terminated(0, end=60, message=word))
    after = decide(snapshot(task(status=at_work()), ended, run=STOPPED), now=at(70)).status
    assert after.phase == "Succeeded"


def test_what_was_done_outside_is_unknown_then() -> None:
    ended = pod(phase="Failed", stop="budget", agent=terminated(143, end=60))
    owner = task(status=at_work(), effects="external")
    assert decide(snapshot(owner, ended, run=STOPPED), now=at(70)).status.phase == "Quarantined"


HARD = {"mode": "hard-stop-on-zero"}


@pytest.mark.parametrize(
    ("of", "caps", "budget", "usage", "result_class"),
    [
        pytest.param(STOPPED, {}, {}, Reported(), "budget", id="the run's budget is used up"),
        pytest.param(
            run(), {"cap_usd": "0.50"}, {}, Reported(cost_micros=400_000), "budget", id="80 % of its cap"
        ),
        pytest.param(
            run(), {"cap_usd": "0.50"}, {}, Reported(cost_micros=399_999), "agent", id="not yet 80 % of it"
        ),
        pytest.param(
            run(), {"cap_usd": "0.50"}, HARD, Reported(cost_micros=500_000), "budget", id="hard: all of it"
        ),
        pytest.param(
            run(), {"cap_usd": "0.50"}, HARD, Reported(cost_micros=499_999), "agent", id="hard: not all of it"
        ),
        pytest.param(run(), {"cap_tokens": 10}, {}, Reported(input_tokens=8), "budget", id="80 % of tokens"),
        pytest.param(run(), {"cap_tokens": 10}, {}, Reported(input_tokens=7), "agent", id="less of them"),
        pytest.param(run(), {}, {}, Reported(cost_micros=10**9), "agent", id="nobody has limited it"),
    ],
)
def test_an_agent_that_blames_the_budget_is_believed_if_something_speaks_for_it(
    of: RunObject, caps: dict[str, Any], budget: dict[str, Any], usage: Reported, result_class: str
) -> None:
    after = judged("budget", usage=usage, caps=caps, budget=budget, of=of)
    assert after.attempts[0].result_class == result_class
    assert after.retries == (1 if result_class == "agent" else 0)


@pytest.mark.parametrize("said_class", ["budget", "agent", "business"])
@pytest.mark.parametrize(
    ("budget", "usage", "phase"),
    [
        pytest.param({"usd": "0.40"}, Reported(cost_micros=400_000), "Failed", id="all its dollars"),
        pytest.param({"usd": "0.40"}, Reported(cost_micros=399_999), "Pending", id="not all of them"),
        pytest.param({"tokens": 10}, Reported(output_tokens=10), "Failed", id="all its tokens"),
        pytest.param({"tokens": 10}, Reported(output_tokens=9), "Pending", id="not all tokens"),
    ],
)
def test_whether_its_tasks_own_budget_is_used_up_is_found_here(
    said_class: str, budget: dict[str, Any], usage: Reported, phase: str
) -> None:
    caps = {"cap_usd": "0.40", "cap_tokens": 10}
    after = judged(said_class, usage=usage, caps=caps, budget=budget)
    assert after.phase == phase
    assert (after.attempts[0].result_class == "task_budget") is (phase == "Failed")
    assert (after.attempts[0].reason == "TaskBudgetExhausted") is (phase == "Failed")


def judged(
    said_class: str,
    *,
    usage: Reported,
    caps: dict[str, Any],
    budget: dict[str, Any],
    of: RunObject | None = None,
) -> AgentTaskStatus:
    """Return the status of a task after its agent said how it ended and what it spent."""
    word = said(name_of_pod(), said_class, usage=usage)
    ended = pod(phase="Failed", agent=terminated(1, end=40, message=word))
    owner = task(status=at_work(**caps), budget=budget)
    return decide(snapshot(owner, ended, run=of or run()), now=at(45)).status
