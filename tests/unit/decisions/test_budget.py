"""Where a run's budget stands: bands on both sides of every boundary, jumps, a raised cap, both units."""

import pytest

from bernstein_operator.api.budget import BudgetStatus, RunBudget
from bernstein_operator.api.choices import BudgetBand, BudgetUnit, CapSource
from bernstein_operator.api.money import Money
from bernstein_operator.api.run_config import RunConfig
from bernstein_operator.api.spending import OperatorBudget, Spend
from bernstein_operator.decisions.budget import Limits, budget_of, limits_of
from bernstein_operator.decisions.caps import Cap
from tests.unit.objects import at

DOLLAR = 1_000_000
NONE, WARN, CRITICAL, STOP = BudgetBand.NONE, BudgetBand.WARN, BudgetBand.CRITICAL, BudgetBand.STOP


def usd(text: str) -> Money:
    return Money.parse(text)


def limits(
    cap: str | None = "1.00", *, tokens: int | None = None, warn: int = 80, critical: int = 95
) -> Limits:
    usd = Cap(Money.parse(cap), CapSource.SPEC) if cap else Cap()
    return Limits(usd, tokens, warn, critical)


def after(
    spent: str, under: Limits | None = None, *, stored: BudgetStatus | None = None, now: float = 0
) -> BudgetStatus:
    return budget_of(stored, under or limits(), Spend(spent=usd(spent).micros), now=at(now))


def bands(budget: BudgetStatus) -> list[tuple[str, float]]:
    return [(one.band.value, (one.time - at(0)).total_seconds()) for one in budget.reached]


@pytest.mark.parametrize(
    ("spent", "band", "percent", "remaining"),
    [
        pytest.param("0", NONE, 0, "1.00", id="nothing"),
        pytest.param("0.799999", NONE, 79, "0.200001", id="a hair under warn"),
        pytest.param("0.80", WARN, 80, "0.20", id="exactly warn"),
        pytest.param("0.949999", WARN, 94, "0.050001", id="a hair under critical"),
        pytest.param("0.95", CRITICAL, 95, "0.05", id="exactly critical"),
        pytest.param("0.999999", CRITICAL, 99, "0.000001", id="a hair under the cap"),
        pytest.param("1.00", STOP, 100, "0", id="exactly the cap"),
        pytest.param("1.01", STOP, 101, "0", id="a cent above the cap"),
    ],
)
def test_a_band_is_reached_at_its_percent_exactly(
    spent: str, band: BudgetBand, percent: int, remaining: str
) -> None:
    budget = after(spent)
    assert (budget.band, budget.percent, budget.remaining_usd) == (band, percent, usd(remaining))
    assert budget.should_stop is (band is STOP)
    assert (budget.stop_time == at(0)) is (band is STOP)


@pytest.mark.parametrize(
    ("warn", "critical", "spent", "band"),
    [
        pytest.param(50, 60, "0.499999", NONE, id="under a warn of its own"),
        pytest.param(50, 60, "0.50", WARN, id="exactly a warn of its own"),
        pytest.param(50, 60, "0.60", CRITICAL, id="exactly a critical of its own"),
        pytest.param(100, 100, "0.999999", NONE, id="both at the cap, under it"),
        pytest.param(100, 100, "1.00", STOP, id="both at the cap, at it"),
        pytest.param(1, 1, "0.01", CRITICAL, id="both at one percent"),
    ],
)
def test_a_run_may_say_where_its_bands_begin(warn: int, critical: int, spent: str, band: BudgetBand) -> None:
    assert after(spent, limits(warn=warn, critical=critical)).band is band


def test_a_cap_of_thirds_is_compared_without_rounding() -> None:
    third = limits("0.000003")
    assert [after(spent, third).band for spent in ("0.000002", "0.000003")] == [NONE, STOP]


@pytest.mark.parametrize(
    ("amounts", "told"),
    [
        pytest.param(["0.10"] * 8 + ["0.15", "0.05"], {8: "warn", 9: "critical", 10: "stop"}, id="8, 15, 5"),
        pytest.param(["0.10"] * 10, {8: "warn", 10: "stop"}, id="ten times a dime"),
        pytest.param(["1.01"], {1: "stop"}, id="one report of 1.01"),
    ],
)
def test_each_band_is_told_once_at_the_report_that_reaches_it(
    amounts: list[str], told: dict[int, str]
) -> None:
    budget: BudgetStatus | None = None
    spent = Money()
    crossed: dict[int, str] = {}
    for step, amount in enumerate(amounts, start=1):
        spent += usd(amount)
        before = budget.band if budget else NONE
        budget = after(str(spent), stored=budget, now=step)
        if budget.band is not before:
            crossed[step] = budget.band.value
    assert crossed == told
    assert budget
    assert [band for band, _ in bands(budget)] == ["warn", "critical", "stop"], "a jump records all"
    assert after(str(spent), stored=budget, now=99) == budget, "and looking again says nothing new"


@pytest.mark.parametrize(
    ("cap", "band", "kept", "rearmed"),
    [
        pytest.param("2.00", NONE, [], True, id="far enough for all"),
        pytest.param("1.250001", NONE, [], True, id="just far enough for all"),
        pytest.param("1.25", WARN, [("warn", 1.0)], True, id="to exactly warn"),
        pytest.param("1.06", WARN, [("warn", 1.0)], True, id="far enough for critical"),
        pytest.param("1.05", CRITICAL, [("warn", 1.0), ("critical", 1.0)], True, id="from stop to critical"),
        pytest.param(None, NONE, [], True, id="to unlimited"),
        pytest.param("0.50", STOP, [("warn", 1.0), ("critical", 1.0), ("stop", 1.0)], False, id="lowered"),
    ],
)
def test_a_raised_cap_arms_what_lies_above_the_spend(
    cap: str | None, band: BudgetBand, kept: list[tuple[str, float]], rearmed: bool
) -> None:
    full = after("1.00", now=1)
    again = after("1.00", limits(cap), stored=full, now=5)
    assert (again.band, bands(again)) == (band, kept)
    assert again.rearmed_time == (at(5) if rearmed else None)
    assert (again.stop_time, again.should_stop) == (at(1) if band is STOP else None, band is STOP)


def test_what_was_armed_again_is_told_again_when_it_is_crossed_again() -> None:
    full = after("1.00", now=1)
    raised = after("1.00", limits("2.00"), stored=full, now=5)
    assert bands(after("1.599999", limits("2.00"), stored=raised, now=6)) == []
    assert bands(after("1.60", limits("2.00"), stored=raised, now=7)) == [("warn", 7.0)]


@pytest.mark.parametrize(
    ("cap", "cap_tokens", "spent", "tokens", "band", "percent", "limiting"),
    [
        pytest.param("1.00", None, "0.5", 10**9, NONE, 50, BudgetUnit.USD, id="dollars alone"),
        pytest.param(None, 1000, "99", 799, NONE, 79, BudgetUnit.TOKENS, id="tokens alone, under warn"),
        pytest.param(None, 1000, "99", 800, WARN, 80, BudgetUnit.TOKENS, id="tokens alone, exactly warn"),
        pytest.param(None, 1000, "99", 1000, STOP, 100, BudgetUnit.TOKENS, id="tokens alone, exactly all"),
        pytest.param("1.00", 1000, "0.5", 950, CRITICAL, 95, BudgetUnit.TOKENS, id="tokens are nearer"),
        pytest.param("1.00", 1000, "0.8", 500, WARN, 80, BudgetUnit.USD, id="dollars are nearer"),
        pytest.param("1.00", 1000, "0.5", 500, NONE, 50, BudgetUnit.USD, id="both are as near"),
        pytest.param("1.00", 1000, "0.501", 501, NONE, 50, BudgetUnit.USD, id="exactly as near"),
        pytest.param("1.00", 1000, "0.501", 502, NONE, 50, BudgetUnit.TOKENS, id="nearer by less than 1 %"),
        pytest.param(None, None, "99", 10**9, NONE, 0, None, id="neither has a limit"),
    ],
)
def test_the_nearer_of_the_two_caps_is_told(
    cap: str | None,
    cap_tokens: int | None,
    *,
    spent: str,
    tokens: int,
    band: BudgetBand,
    percent: int,
    limiting: BudgetUnit | None,
) -> None:
    spend = Spend(spent=usd(spent).micros, tokens=tokens)
    budget = budget_of(None, limits(cap, tokens=cap_tokens), spend, now=at(0))
    assert (budget.band, budget.percent, budget.limiting) == (band, percent, limiting)
    assert (budget.remaining_usd is None) is (cap is None)


def test_spend_never_falls_and_what_is_missing_counts_as_in_flight() -> None:
    stored = budget_of(None, limits(), Spend(spent=300_000, in_flight=300_000, tokens=30), now=at(0))
    after_restart = budget_of(stored, limits(), Spend(spent=0, tokens=10, in_flight_tokens=5), now=at(1))
    assert (after_restart.spent_usd, after_restart.in_flight_usd) == (usd("0.30"), usd("0.30"))
    assert (after_restart.tokens, after_restart.in_flight_tokens) == (30, 25)


def test_a_source_that_allows_more_than_the_spec_is_told_once() -> None:
    over = Limits(Cap(usd("9"), CapSource.ENVIRONMENT, overrides=True))
    first = budget_of(None, over, Spend(), now=at(1))
    assert first.overridden_time == at(1)
    assert budget_of(first, over, Spend(), now=at(2)).overridden_time == at(1)
    assert budget_of(first, limits(), Spend(), now=at(3)).overridden_time is None


@pytest.mark.parametrize(
    ("spec", "warn", "critical", "estimate", "tokens"),
    [
        pytest.param({}, 80, 95, "1.00", None, id="nothing said"),
        pytest.param({"warnPercent": 97}, 97, 97, "1.00", None, id="warn beyond the built-in critical"),
        pytest.param({"criticalPercent": 50}, 50, 50, "1.00", None, id="critical below the built-in warn"),
        pytest.param({"warnPercent": 10, "criticalPercent": 20}, 10, 20, "1.00", None, id="both said"),
        pytest.param({"estimatePerAttemptUsd": "0.2"}, 80, 95, "0.20", None, id="an estimate of its own"),
        pytest.param({"estimatePerAttemptUsd": 0}, 80, 95, "1.00", None, id="an estimate of nought is none"),
        pytest.param({"tokens": 0}, 80, 95, "1.00", None, id="nought tokens are unlimited"),
        pytest.param({"tokens": 7}, 80, 95, "1.00", 7, id="tokens"),
    ],
)
def test_what_a_spec_leaves_open_is_built_in(
    spec: dict[str, object], *, warn: int, critical: int, estimate: str, tokens: int | None
) -> None:
    found = limits_of(RunBudget.model_validate(spec), RunConfig(), OperatorBudget())
    assert found == Limits(Cap(), tokens, warn, critical, usd(estimate))
    assert found.unlimited is (tokens is None)
