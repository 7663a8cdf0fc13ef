"""What an attempt is taken to have cost where nobody could tell."""

from typing import Any

import pytest

from bernstein_agent.contract import Usage as Reported
from bernstein_operator.api.money import Money
from bernstein_operator.api.spending import OperatorBudget
from bernstein_operator.api.task_status import AgentTaskStatus, Attempt
from bernstein_operator.decisions.task import decide
from tests.unit.objects import (
    at,
    attempt,
    name_of_pod,
    pod,
    profile,
    raw_profile,
    run,
    said,
    snapshot,
    status,
    task,
    terminated,
)

PRICES = {"inputUsd": "3", "outputUsd": "15", "cachedUsd": "0.30"}
PRICED = profile(models=[{"name": "m", "prices": PRICES}])
UNCACHED = profile(models=[{"name": "m", "prices": {"inputUsd": "3", "outputUsd": "15"}}])
TOKENS: dict[str, Any] = {"input_tokens": 1000, "output_tokens": 100, "cached_tokens": 10}


def ended(message: str = "", *, of: Attempt | None = None, **facts: Any) -> AgentTaskStatus:
    """Return a task's status after its only attempt ended, with or without a word."""
    begun = of or attempt(start_time=at(1), pod_uid="u", model="m")
    last = pod(phase="Failed", agent=terminated(137, end=40, message=message))
    owner = task(status=status(begun, phase="Running", usage=begun.usage))
    return decide(snapshot(owner, last, **facts), now=at(45)).status


def word(**usage: Any) -> str:
    return said(name_of_pod(), "agent", usage=Reported(**usage))


@pytest.mark.parametrize(
    ("message", "of", "cost", "estimated"),
    [
        pytest.param(word(cost_micros=70_000), profile(), "0.07", None, id="it was told"),
        pytest.param(word(), profile(), "0", None, id="nothing was spent"),
        pytest.param(word(cost_unknown=True, **TOKENS), PRICED, "0.004503", "0.004503", id="by its prices"),
        pytest.param(
            word(cost_unknown=True, **TOKENS), UNCACHED, "0.00453", "0.00453", id="cached ones as sent ones"
        ),
        pytest.param(word(cost_unknown=True, input_tokens=1), PRICED, "0.000003", "0.000003", id="one token"),
        pytest.param(word(cost_unknown=True, **TOKENS), profile(), "1.00", "1.00", id="no prices are known"),
        pytest.param(word(cost_unknown=True), PRICED, "1.00", "1.00", id="no tokens were told either"),
        pytest.param("", PRICED, "1.00", "1.00", id="it was killed without a word"),
    ],
)
def test_the_cost_of_an_attempt(message: str, of: Any, cost: str, estimated: str | None) -> None:
    after = ended(message, profile=of)
    [usage] = [one.usage for one in after.attempts]
    assert usage
    assert usage.cost_usd == Money.parse(cost)
    assert usage.estimated_usd == (Money.parse(estimated) if estimated else None)
    assert after.usage == usage, "and the task's is the same"


@pytest.mark.parametrize(
    ("reservation", "estimate", "cost"),
    [
        pytest.param("0.30", "0.20", "0.30", id="what it reserved"),
        pytest.param("0.10", "0.20", "0.20", id="the estimate, where that is more"),
        pytest.param(None, "0.20", "0.20", id="the estimate, where it reserved nothing"),
    ],
)
def test_the_greater_of_reservation_and_estimate(reservation: str | None, estimate: str, cost: str) -> None:
    begun = attempt(start_time=at(1), pod_uid="u", reservation_usd=reservation)
    after = ended(of=begun, run=run(budget={"estimatePerAttemptUsd": estimate}))
    assert after.usage
    assert after.usage.cost_usd == Money.parse(cost)


def test_the_operators_estimate_holds_where_the_run_has_none() -> None:
    after = ended(operator_budget=OperatorBudget(estimate=Money(50_000)))
    assert after.usage
    assert after.usage.cost_usd == Money(50_000)


def test_what_was_reported_before_it_was_killed_stands() -> None:
    begun = attempt(start_time=at(1), pod_uid="u", usage={"cost_usd": "0.45"})
    after = ended(of=begun)
    assert after.usage
    assert (after.usage.cost_usd, after.usage.estimated_usd) == (Money(450_000), None)


@pytest.mark.parametrize(
    ("reservation", "now", "cost"),
    [
        pytest.param("0.30", None, "1.00", id="it cost something, and its profile is gone"),
        pytest.param("0.30", {"metering": "none"}, "1.00", id="it cost something, and its profile says else"),
        pytest.param(None, None, None, id="it cost nothing, and its profile is gone"),
    ],
)
def test_a_profile_that_is_changed_meanwhile_changes_no_bill(
    reservation: str | None, now: Any, cost: str | None
) -> None:
    begun = attempt(start_time=at(1), pod_uid="u", reservation_usd=reservation)
    usage = ended(of=begun, profile=profile(**now) if now else None).usage
    assert (usage.cost_usd if usage else None) == (Money.parse(cost) if cost else None)


@pytest.mark.parametrize(
    ("begun", "of"),
    [
        pytest.param(attempt(pod_uid="u"), None, id="its container never started"),
        pytest.param(attempt(start_time=at(1), pod_uid="u"), {"metering": "none"}, id="it costs nothing"),
    ],
)
def test_nothing_is_charged_where_nothing_can_have_been_spent(begun: Attempt, of: Any) -> None:
    owner = task(status=status(begun))
    agent = terminated(137, end=40) if begun.start_time else None
    last = pod(phase="Failed", agent=agent, reason="Evicted")
    used = profile(**of) if of else profile()
    after = decide(snapshot(owner, last, profile=used), now=at(45)).status
    assert after.attempts[0].end_time
    assert after.usage is None


@pytest.mark.parametrize(
    ("micros", "cost", "estimated"),
    [
        pytest.param(300_000, "1.00", "1.00", id="less than was estimated"),
        pytest.param(1_200_000, "1.20", None, id="more than was estimated"),
        pytest.param(1_000_000, "1.00", None, id="exactly what was estimated"),
    ],
)
def test_a_word_that_turns_up_late_never_lowers_the_spend(
    micros: int, cost: str, estimated: str | None
) -> None:
    lost = ended()
    late = pod(phase="Failed", agent=terminated(137, end=40, message=word(cost_micros=micros)))
    after = decide(snapshot(task(status=lost), late), now=at(50)).status
    assert after.usage
    assert after.usage.cost_usd == Money.parse(cost)
    assert after.usage.estimated_usd == (Money.parse(estimated) if estimated else None)


@pytest.mark.parametrize(
    ("metering", "cost"),
    [
        pytest.param({}, 0, id="nothing by itself"),
        pytest.param({"metering": "none"}, 0, id="nothing where that is said"),
        pytest.param({"metering": "end"}, 1_000_000, id="the estimate where it is metered"),
        pytest.param({"metering": "turn"}, 1_000_000, id="the estimate, too"),
    ],
)
@pytest.mark.parametrize("message", ["", word(cost_unknown=True)], ids=["killed", "it tells no cost"])
def test_what_an_attempt_of_any_program_costs(metering: dict[str, Any], cost: int, message: str) -> None:
    command = raw_profile(adapter="command", command={"args": ["x"]}, **metering)
    after = ended(message, profile=profile(**command["spec"]))
    assert (after.usage.cost_usd.micros if after.usage else 0) == cost


@pytest.mark.parametrize(
    ("reservation", "cost"),
    [
        pytest.param("0.30", Money(1_000_000), id="it was given a share"),
        pytest.param(None, None, id="it was given none: it cost nothing"),
    ],
)
def test_of_a_profile_that_is_gone_its_share_tells_whether_it_cost_anything(
    reservation: str | None, cost: Money | None
) -> None:
    begun = attempt(start_time=at(1), pod_uid="u", reservation_usd=reservation)
    after = ended(of=begun, profile=None)
    assert (after.usage.cost_usd if after.usage else None) == cost
