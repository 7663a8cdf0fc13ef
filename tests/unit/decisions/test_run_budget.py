"""What a run's budget makes of the run: its phase, its conditions, and whether anything may start."""

from dataclasses import replace
from typing import Any

import pytest

from bernstein_operator.api.choices import CapSource
from bernstein_operator.api.money import Money
from bernstein_operator.api.objects import RunObject
from bernstein_operator.api.run_config import RunConfig
from bernstein_operator.api.spending import Need, OperatorBudget, Spend
from bernstein_operator.api.vocabulary import TaskPhase
from bernstein_operator.decisions.plan import RunDecision
from bernstein_operator.decisions.run import decide_run
from tests.unit.objects import at, raw_run, reasons, run, run_snapshot

PENDING, RUNNING, SUCCEEDED = TaskPhase.PENDING, TaskPhase.RUNNING, TaskPhase.SUCCEEDED
ONE = {"usd": "1.00"}
USED_UP, CRITICAL, HALF = Spend(spent=1_000_000), Spend(spent=950_000), Spend(spent=500_000)
NEARLY = Spend(spent=999_999)
PLAIN, EXTRA = frozenset({Need()}), frozenset({Need(essential=False)})
WAITS: dict[str, Any] = {"phases": {PENDING: 2}, "waiting": 1, "all_wait": True, "needs": PLAIN}


def decide(of: RunObject | None = None, *, now: float = 10, **facts: Any) -> RunDecision:
    return decide_run(run_snapshot(of or run(budget=ONE), **facts), now=at(now))


@pytest.mark.parametrize(
    ("facts", "phase"),
    [
        pytest.param({**WAITS, "spend": HALF}, "Pending", id="there is enough"),
        pytest.param({**WAITS, "spend": NEARLY}, "Stopped", id="less than a cent is left"),
        pytest.param({**WAITS, "spend": Spend(spent=990_000)}, "Pending", id="exactly a cent is left"),
        pytest.param({**WAITS, "spend": NEARLY, "live": 1}, "Running", id="an agent is live yet"),
        pytest.param(
            {**WAITS, "spend": replace(USED_UP, live=1)}, "Pending", id="an attempt's end isn't stored yet"
        ),
        pytest.param({**WAITS, "spend": NEARLY, "all_wait": False}, "Pending", id="one waits for else"),
        pytest.param({**WAITS, "spend": CRITICAL}, "Pending", id="critical, and one is essential"),
        pytest.param({**WAITS, "spend": CRITICAL, "needs": EXTRA}, "Stopped", id="critical, and none is"),
        pytest.param(
            {**WAITS, "spend": CRITICAL, "needs": EXTRA | PLAIN}, "Pending", id="critical, and one of two is"
        ),
        pytest.param({**WAITS, "spend": USED_UP}, "Stopped", id="used up"),
        pytest.param({**WAITS, "spend": USED_UP, "all_wait": False}, "Stopped", id="used up, whoever waits"),
        pytest.param({**WAITS, "spend": USED_UP, "live": 1}, "Running", id="used up, and an agent is live"),
        pytest.param(
            {"phases": {SUCCEEDED: 1}, "spend": USED_UP}, "Succeeded", id="used up, and all is done"
        ),
        pytest.param({"spend": USED_UP}, "Pending", id="no task at all"),
    ],
)
def test_the_phase(facts: dict[str, Any], phase: str) -> None:
    assert decide(**facts).status.phase == phase


@pytest.mark.parametrize(
    ("spec", "phase"),
    [
        pytest.param({"suspend": True}, "Paused", id="suspended"),
        pytest.param({"deadline": "2026-01-01T12:00:05Z"}, "Running", id="past its deadline"),
    ],
)
def test_what_a_person_has_said_comes_first(spec: dict[str, Any], phase: str) -> None:
    assert decide(run(budget=ONE, **spec), **WAITS, spend=USED_UP).status.phase == phase


def test_a_stopped_run_is_no_ended_one() -> None:
    decision = decide(**WAITS, spend=USED_UP)
    assert decision.status.completion_time is None
    assert reasons(decision.status.conditions) == {
        "ShouldStop": ("True", "BudgetExhausted"),
        "Failed": ("True", "BudgetExhausted"),
        "Stalled": ("True", "BudgetExhausted"),
        "BudgetPressure": ("True", "Exhausted"),
    }
    assert (decision.urgent, decision.free) == (True, 0)


def test_a_higher_cap_lets_it_go_on() -> None:
    stopped = decide(**WAITS, spend=USED_UP).status
    raised = RunObject.parse(raw_run(budget={"usd": "2.00"}, status=stopped.manifest()))
    again = decide(raised, now=20, **WAITS, spend=USED_UP)
    assert (again.status.phase, again.free > 0) == ("Pending", True)
    assert set(reasons(again.status.conditions)) == {"Reconciling"}
    assert again.status.budget
    assert (again.status.budget.reached, again.status.budget.rearmed_time) == ((), at(20))


@pytest.mark.parametrize(
    ("cap", "facts", "phase"),
    [
        pytest.param("1.00", {}, "Stopped", id="none of its tasks has been looked at since a restart"),
        pytest.param("1.00", {"needs": PLAIN, "waiting": 1}, "Stopped", id="one has"),
        pytest.param("1.02", {}, "Pending", id="the cap was raised"),
        pytest.param("1.00", {"needs": frozenset({Need(metered=False)})}, "Pending", id="one costs nothing"),
        pytest.param("1.00", {"live": 1}, "Running", id="an agent is live"),
    ],
)
def test_a_run_that_was_stopped_stays_so_while_nothing_has_changed(
    cap: str, facts: dict[str, Any], phase: str
) -> None:
    stopped = decide(**WAITS, spend=NEARLY).status
    assert stopped.phase == "Stopped"
    known = RunObject.parse(raw_run(budget={"usd": cap}, status=stopped.manifest()))
    again = decide(known, now=20, **{"phases": {PENDING: 2}, "spend": NEARLY, **facts})
    assert again.status.phase == phase


@pytest.mark.parametrize(
    ("spend", "said"),
    [
        pytest.param(Spend(spent=799_999), {}, id="under warn"),
        pytest.param(Spend(spent=800_000), {"BudgetPressure": ("True", "Warn")}, id="warn"),
        pytest.param(CRITICAL, {"BudgetPressure": ("True", "Critical")}, id="critical"),
        pytest.param(
            USED_UP,
            {"BudgetPressure": ("True", "Exhausted"), "ShouldStop": ("True", "Exhausted")},
            id="used up while agents are live",
        ),
    ],
)
def test_each_band_is_said_in_the_conditions(spend: Spend, said: dict[str, Any]) -> None:
    found = decide(phases={RUNNING: 1}, live=1, spend=spend)
    wanted = {"Reconciling": ("True", "TasksActive"), **said}
    assert reasons(found.status.conditions) == wanted
    assert found.urgent


def test_amounts_alone_are_no_hurry_and_a_band_is() -> None:
    first = decide(phases={RUNNING: 1}, live=1, spend=Spend(spent=100_000))
    known = RunObject.parse(raw_run(budget=ONE, status=first.status.manifest()))
    more = decide(known, phases={RUNNING: 1}, live=1, spend=Spend(spent=200_000))
    assert (more.status != first.status, more.urgent) == (True, False)
    assert decide(known, phases={RUNNING: 1}, live=1, spend=Spend(spent=800_000)).urgent
    carried = decide(known, phases={RUNNING: 1}, live=1, spend=Spend(spent=200_000, carried=100_000))
    assert carried.urgent, "of a deleted task nothing is left but what is carried"


@pytest.mark.parametrize(
    ("of", "facts", "reason"),
    [
        pytest.param(run(budget=ONE), {"config": None}, "ConfigUnread", id="its ConfigMap isn't read yet"),
        pytest.param(
            run(), {"operator_budget": OperatorBudget(required=True)}, "BudgetRequired", id="a budget is due"
        ),
    ],
)
def test_nothing_starts_before_the_limits_are_known(
    of: RunObject, facts: dict[str, Any], reason: str
) -> None:
    decision = decide(of, **WAITS, **facts)
    assert decision.free == 0
    assert reasons(decision.status.conditions)["Reconciling"] == ("True", reason)


@pytest.mark.parametrize(
    "budget", [pytest.param(ONE, id="dollars"), pytest.param({"tokens": 5}, id="tokens alone")]
)
def test_a_budget_that_is_required_and_there_holds_nobody_up(budget: dict[str, Any]) -> None:
    decision = decide(run(budget=budget), **WAITS, operator_budget=OperatorBudget(required=True))
    assert decision.free > 0


def test_while_its_config_map_cannot_be_read_what_was_known_holds() -> None:
    named: dict[str, Any] = {"configFrom": {"configMapRef": {"name": "x"}}}
    config = RunConfig(seed_usd=Money(2_000_000), warnings=("seed: something",))
    first = decide(run(**named), **WAITS, config=config, spend=HALF).status
    assert first.budget
    assert (first.budget.cap_usd, first.warnings) == (Money(2_000_000), ("seed: something",))
    known = RunObject.parse(raw_run(status=first.manifest(), **named))
    after = decide(known, **WAITS, config=None, spend=Spend(spent=600_000)).status
    assert after.budget
    assert (after.budget.cap_usd, after.budget.source) == (first.budget.cap_usd, first.budget.source)
    assert (after.budget.spent_usd, after.warnings) == (Money(600_000), first.warnings)


@pytest.mark.parametrize("lost", [{CapSource.SEED}, {CapSource.RUN_CONFIG}, {*CapSource}])
def test_a_run_whose_config_map_could_never_be_read_starts_nothing(lost: set[CapSource]) -> None:
    config = RunConfig(unreadable=frozenset(lost), warnings=("there is no ConfigMap 'x'",))
    decision = decide(run(configFrom={"configMapRef": {"name": "x"}}), **WAITS, config=config)
    assert (decision.free, decision.status.budget) == (0, None)
    assert decision.status.warnings == config.warnings
    assert reasons(decision.status.conditions)["Reconciling"] == ("True", "ConfigUnread")


@pytest.mark.parametrize(
    ("unreadable", "spec", "cap", "source"),
    [
        pytest.param({CapSource.SEED}, {}, 2_000_000, "bernstein.yaml", id="its source is lost"),
        pytest.param({CapSource.RUN_CONFIG}, {}, None, "unlimited", id="another one is lost"),
        pytest.param(set(), {}, None, "unlimited", id="its source says nothing any more"),
        pytest.param({CapSource.SEED}, ONE, 1_000_000, "spec", id="a stronger source says something"),
    ],
)
def test_a_lost_source_lifts_no_cap_that_it_has_set(
    unreadable: set[CapSource], spec: dict[str, Any], cap: int | None, source: str
) -> None:
    named: dict[str, Any] = {"configFrom": {"configMapRef": {"name": "x"}}, "budget": spec}
    stored = {"budget": {"capUsd": "2", "source": "bernstein.yaml"}}
    config = RunConfig(unreadable=frozenset(unreadable))
    after = decide(run(status=stored, **named), **WAITS, config=config).status.budget
    assert after
    assert (after.cap_usd, after.source) == (Money(cap) if cap else None, source)


def test_bands_stay_where_the_spec_has_them_while_its_config_map_is_not_read() -> None:
    named: dict[str, Any] = {"configFrom": {"configMapRef": {"name": "x"}}}
    spec = {"usd": "1.00", "warnPercent": 50}
    first = decide(run(budget=spec, **named), **WAITS, spend=Spend(spent=600_000)).status
    known = RunObject.parse(raw_run(status=first.manifest(), budget=spec, **named))
    after = decide(known, **WAITS, config=None, spend=Spend(spent=600_000)).status
    assert after.budget == first.budget


def test_after_a_restart_funds_are_reckoned_from_what_was_stored() -> None:
    stored = {"budget": {"spentUsd": "0.90"}}
    decision = decide(run(budget=ONE, status=stored), **WAITS, spend=Spend())
    assert decision.funds.left == 100_000
