"""A run's ceiling in its decision: what may start, what is told, and what can't wait to be written."""

from decimal import Decimal
from typing import Any

import pytest

from bernstein_operator.api.concurrency import ConcurrencyStatus
from bernstein_operator.api.run_config import RunConfig
from bernstein_operator.api.snapshot import OutcomeWindow
from bernstein_operator.api.vocabulary import TaskPhase
from bernstein_operator.decisions.plan import RunDecision
from bernstein_operator.decisions.run import decide_run
from tests.unit.load import load, measured, signal
from tests.unit.objects import at, run, run_snapshot, stamp

WAITING: dict[str, Any] = {"phases": {TaskPhase.PENDING: 9}, "waiting": 9}
FAILING = OutcomeWindow(total=10, errors=3, newest=at(9))
LOWERS: dict[str, Any] = {"outcomes": FAILING, "evaluated": at(0)}
BUSY = load(signal(measured(99, read=0), measured(99, read=10)))
REDUCED = {"concurrency": {"configured": 6, "effective": 4, "reduction": 2}}


def decide(status: dict[str, Any] | None = None, *, now: float = 10, **facts: Any) -> RunDecision:
    spec = facts.pop("spec", {})
    return decide_run(run_snapshot(run(status=status or {}, **spec), **{**WAITING, **facts}), now=at(now))


def told(decision: RunDecision) -> dict[str, tuple[str, str]]:
    return {one.type: (one.reason, one.message) for one in decision.status.conditions}


@pytest.mark.parametrize(
    ("status", "facts", "free"),
    [
        pytest.param({}, {}, 6, id="nothing is taken off"),
        pytest.param(REDUCED, {}, 4, id="what is stored was taken off"),
        pytest.param(REDUCED, {"live": 3}, 1, id="and some are live"),
        pytest.param(REDUCED, {"live": 5}, 0, id="more are live than may be now"),
        pytest.param(REDUCED, {"ceiling": ConcurrencyStatus(reduction=3)}, 3, id="concluded, not stored yet"),
        pytest.param(REDUCED, {"load": BUSY}, 0, id="busy nodes"),
        pytest.param({}, {"outcomes": FAILING, "evaluated": at(0)}, 5, id="lowered in this very moment"),
        pytest.param(REDUCED, {"spec": {"max_agents": 9}}, 7, id="a higher maxAgents acts at once"),
        pytest.param(REDUCED, {"spec": {"max_agents": 2}}, 1, id="a lower one too"),
    ],
)
def test_how_many_may_start(status: dict[str, Any], facts: dict[str, Any], free: int) -> None:
    assert decide(status, **facts).free == free


@pytest.mark.parametrize(
    ("facts", "free"),
    [
        pytest.param({"config": RunConfig(max_agents=4)}, 4, id="the ConfigMap says it"),
        pytest.param({"config": RunConfig(max_agents=4), "spec": {"max_agents": 8}}, 8, id="spec goes first"),
        pytest.param({"config": RunConfig(max_agents=4), "operator_limit": 3}, 3, id="the operator's number"),
        pytest.param({"config": RunConfig(max_agents=0)}, 0, id="zero"),
        pytest.param({"config": RunConfig()}, 6, id="it says nothing of that"),
        pytest.param(
            {"config": RunConfig(error_rate_high_percent=Decimal(30)), **LOWERS}, 6, id="exactly its rate"
        ),
        pytest.param(
            {"config": RunConfig(error_rate_high_percent=Decimal("29.9")), **LOWERS}, 5, id="above its rate"
        ),
    ],
)
def test_what_the_runs_configmap_says(facts: dict[str, Any], free: int) -> None:
    assert decide(**facts).free == free


@pytest.mark.parametrize(
    ("status", "facts", "reason", "text"),
    [
        pytest.param({}, {"live": 6}, "AtCeiling", "6 of 6 held)", id="full"),
        pytest.param(REDUCED, {"live": 4}, "AtCeiling", "4 of 4 held, 6 configured", id="full and reduced"),
        pytest.param(REDUCED, {"live": 6}, "AtCeiling", "6 of 4 held", id="agents from before go on"),
        pytest.param({}, {"live": 2, "operator_room": 0}, "AtOperatorCeiling", "take turns", id="all runs"),
        pytest.param({}, {"live": 2, "operator_room": 1}, "TasksActive", "", id="room for one more"),
        pytest.param({}, {"load": BUSY}, "SpawningPaused", "CPU", id="busy nodes"),
        pytest.param({}, {"spec": {"max_agents": 0}, "load": BUSY}, "CeilingZero", "", id="zero by choice"),
    ],
)
def test_why_no_more_start(status: dict[str, Any], facts: dict[str, Any], reason: str, text: str) -> None:
    said, message = told(decide(status, **facts))["Reconciling"]
    assert said == reason
    assert text in message


def test_a_reduced_ceiling_is_a_condition_until_the_end_of_the_run() -> None:
    assert told(decide(REDUCED))["CeilingReduced"][0] == "CeilingReduced"
    assert "CeilingReduced" not in told(decide())
    over = decide(REDUCED, phases={TaskPhase.SUCCEEDED: 1}, waiting=0)
    assert over.status.phase == "Succeeded"
    assert "CeilingReduced" not in told(over)


@pytest.mark.parametrize(
    ("before", "facts", "urgent"),
    [
        pytest.param(REDUCED, {"outcomes": FAILING, "evaluated": at(0)}, True, id="one step down"),
        pytest.param(
            {"concurrency": {**REDUCED["concurrency"], "lowErrorSince": stamp(-300)}},
            {"evaluated": at(0)},
            True,
            id="one step up",
        ),
        pytest.param(REDUCED, {"evaluated": at(0)}, False, id="the rate has become low"),
        pytest.param(REDUCED, {"live": 1}, False, id="another agent is live"),
    ],
)
def test_a_step_is_written_at_once(before: dict[str, Any], facts: dict[str, Any], *, urgent: bool) -> None:
    facts = {"phases": {TaskPhase.RUNNING: 1}, "waiting": 0, "live": 0, **facts}
    first = decide(before, **{**facts, "evaluated": None, "outcomes": OutcomeWindow()})
    stored = {**first.status.manifest(), "concurrency": before["concurrency"]}
    assert decide(stored, **facts).urgent is urgent


@pytest.mark.parametrize(
    ("facts", "evaluated", "wake"),
    [
        pytest.param({}, None, None, id="nothing failed"),
        pytest.param({"outcomes": FAILING}, 10, 20, id="the first failure"),
        pytest.param({"outcomes": FAILING, "evaluated": at(4)}, 4, 14, id="not yet"),
        pytest.param({"outcomes": FAILING, "evaluated": at(0)}, 10, 20, id="now"),
        pytest.param({"outcomes": FAILING, "spec": {"cancel": "true"}}, None, None, id="a cancelled run"),
    ],
)
def test_when_it_is_looked_at_again(
    facts: dict[str, Any], evaluated: float | None, wake: float | None
) -> None:
    decision = decide(**facts)
    assert decision.evaluated == (None if evaluated is None else at(evaluated))
    assert decision.wake == (None if wake is None else at(wake))


def test_after_its_end_failures_move_nothing() -> None:
    ended = {"phase": "Failed", "completionTime": stamp(5), **REDUCED}
    decision = decide(ended, outcomes=FAILING, evaluated=at(0), phases={TaskPhase.FAILED: 3}, waiting=0)
    shown = decision.status.concurrency
    assert shown
    assert (shown.reduction, shown.effective, decision.evaluated) == (2, 4, None)


@pytest.mark.parametrize(
    ("stored", "spec", "configured"),
    [
        pytest.param({"configured": 2, "effective": 2}, {}, 2, id="what it came to last"),
        pytest.param({"configured": 0}, {}, 0, id="zero too"),
        pytest.param({"configured": 2, "effective": 2}, {"max_agents": 8}, 8, id="spec goes first as ever"),
        pytest.param(None, {}, 6, id="it was never read"),
    ],
)
def test_while_its_config_map_cannot_be_read_the_ceiling_stays(
    stored: dict[str, Any] | None, spec: dict[str, Any], configured: int
) -> None:
    decision = decide({"concurrency": stored} if stored else {}, config=None, spec=spec)
    assert decision.status.concurrency
    assert decision.status.concurrency.configured == configured
    assert decision.free == 0
