"""What an attempt is given of its run's budget, and who waits for what."""

from dataclasses import replace

import pytest

from bernstein_operator.api.choices import BudgetBand, ScopeSize
from bernstein_operator.api.money import Money
from bernstein_operator.api.spending import Allotment, Need, Sample, Spend
from bernstein_operator.api.vocabulary import AdmittedReason
from bernstein_operator.decisions.reserving import Funds, Till, allot

RESERVED, CRITICAL = AdmittedReason.BUDGET_RESERVED, AdmittedReason.BUDGET_CRITICAL
MEAN = ((ScopeSize.MEDIUM, Sample(count=3, micros=300_000, tokens=900)),)


def usd(text: str) -> Money:
    return Money.parse(text)


def funds(
    cap: str | None = "1.00", *, spent: str = "0", reserved: str = "0", live: int = 0, **more: object
) -> Funds:
    spend = Spend(spent=usd(spent).micros, reserved=usd(reserved).micros, live=live)
    whole = Funds(cap_usd=usd(cap) if cap else None, spend=spend)
    return replace(whole, **more)  # type: ignore[arg-type]


def with_mean(of: Funds) -> Funds:
    return replace(of, spend=replace(of.spend, samples=MEAN))


def reserved(answer: Allotment | AdmittedReason) -> Money:
    assert isinstance(answer, Allotment)
    return answer.reservation_usd


@pytest.mark.parametrize(
    ("need", "of", "amount"),
    [
        pytest.param(Need(left_usd=usd("0.40")), funds(), "0.40", id="what is left of the task's budget"),
        pytest.param(Need(), with_mean(funds()), "0.10", id="the mean of its scope"),
        pytest.param(Need(scope=ScopeSize.LARGE), with_mean(funds()), "1.00", id="none of its scope ended"),
        pytest.param(Need(), funds(estimate=usd("0.25")), "0.25", id="the estimate"),
        pytest.param(Need(left_usd=usd("0.40")), with_mean(funds()), "0.40", id="its budget before the mean"),
        pytest.param(Need(metered=False), funds(), "0", id="what costs nothing reserves nothing"),
        pytest.param(Need(), funds(None), "1.00", id="without a cap it is told all the same"),
    ],
)
def test_the_reservation(need: Need, of: Funds, amount: str) -> None:
    assert reserved(allot(need, of)) == usd(amount)


def test_a_mean_is_rounded_down_to_a_millionth() -> None:
    thirds = ((ScopeSize.MEDIUM, Sample(count=3, micros=100_000)),)
    of = funds()
    assert reserved(allot(Need(), replace(of, spend=replace(of.spend, samples=thirds)))) == Money(33_333)


@pytest.mark.parametrize(
    ("of", "answer"),
    [
        pytest.param(funds(spent="0.50", reserved="0.10", live=1), "0.40", id="exactly what is left"),
        pytest.param(funds(spent="0.500001", reserved="0.10", live=1), RESERVED, id="a millionth too much"),
        pytest.param(funds(spent="0.70", live=1), RESERVED, id="too much while something is live"),
        pytest.param(funds(spent="0.70", live=0), "0.30", id="clamped while nothing is live"),
        pytest.param(funds(spent="0.99", live=0), "0.01", id="clamped to exactly a cent"),
        pytest.param(funds(spent="0.990001", live=0), RESERVED, id="a millionth under a cent is too little"),
    ],
)
def test_a_task_that_needs_forty_cents(of: Funds, answer: str | AdmittedReason) -> None:
    found = allot(Need(left_usd=usd("0.40")), of)
    assert found == answer if isinstance(answer, AdmittedReason) else reserved(found) == usd(answer)


@pytest.mark.parametrize(
    ("need", "of", "cap"),
    [
        pytest.param(Need(left_usd=usd("0.40")), funds(), "0.40", id="what is left of the task's budget"),
        pytest.param(Need(left_usd=usd("0.40")), funds(spent="0.70"), "0.30", id="clamped with the run's"),
        pytest.param(Need(), with_mean(funds(spent="0.20", reserved="0.30", live=1)), "0.50", id="the run's"),
        pytest.param(Need(), funds(None), None, id="nobody limits it"),
        pytest.param(Need(left_usd=usd("0.40")), funds(None), "0.40", id="only its task does"),
        pytest.param(Need(metered=False), funds(), None, id="what costs nothing needs no cap"),
    ],
)
def test_the_cap_of_an_attempt(need: Need, of: Funds, cap: str | None) -> None:
    found = allot(need, of)
    assert isinstance(found, Allotment)
    assert found.cap_usd == (usd(cap) if cap else None)


@pytest.mark.parametrize(
    ("band", "essential", "metered", "waits"),
    [
        pytest.param(BudgetBand.WARN, False, True, None, id="warn holds nobody back"),
        pytest.param(BudgetBand.CRITICAL, True, True, None, id="critical lets the essential start"),
        pytest.param(BudgetBand.CRITICAL, False, True, CRITICAL, id="critical holds the others back"),
        pytest.param(BudgetBand.STOP, True, True, CRITICAL, id="stop holds all back"),
        pytest.param(BudgetBand.STOP, True, False, CRITICAL, id="even what costs nothing"),
    ],
)
def test_the_bands(band: BudgetBand, essential: bool, metered: bool, waits: AdmittedReason | None) -> None:
    answer = allot(Need(essential=essential, metered=metered), funds(band=band))
    assert (answer if isinstance(answer, AdmittedReason) else None) == waits


@pytest.mark.parametrize(
    ("spend", "need", "reserves", "cap"),
    [
        pytest.param(Spend(tokens=100), Need(), 0, 900, id="without a mean none are set aside"),
        pytest.param(Spend(tokens=100, samples=MEAN), Need(), 300, 900, id="the mean of its scope"),
        pytest.param(Spend(tokens=100), Need(left_tokens=900), 900, 900, id="exactly what is left"),
        pytest.param(Spend(tokens=101), Need(left_tokens=900), 899, 899, id="clamped while nothing is live"),
        pytest.param(Spend(tokens=101, live=1), Need(left_tokens=900), None, None, id="one token too much"),
        pytest.param(
            Spend(tokens=100, reserved_tokens=601, live=1, samples=MEAN), Need(), None, None, id="mean"
        ),
        pytest.param(Spend(tokens=1000), Need(left_tokens=1), None, None, id="nothing left to clamp to"),
    ],
)
def test_tokens_follow_the_same_rules(
    spend: Spend, need: Need, reserves: int | None, cap: int | None
) -> None:
    answer = allot(need, Funds(cap_tokens=1000, spend=spend))
    found = (answer.reservation_tokens, answer.cap_tokens) if isinstance(answer, Allotment) else (None, None)
    assert found == (reserves, cap)


@pytest.mark.parametrize(
    ("needs", "given"),
    [
        pytest.param(["0.40"] * 5, ["0.40", "0.40"], id="two of five fit"),
        pytest.param(["0.60", "0.60", "0.40"], ["0.60", "0.40"], id="one that doesn't fit is passed over"),
        pytest.param(["2.00", "2.00"], ["1.00"], id="the first alone is clamped"),
    ],
)
def test_all_that_are_let_in_at_once_stay_within_the_cap(needs: list[str], given: list[str]) -> None:
    till = Till(funds())
    for number, amount in enumerate(needs):
        need = Need(left_usd=usd(amount))
        if not till.refusal(need):
            till.give(str(number), need)
    assert [one.reservation_usd for one in till.given.values()] == [usd(amount) for amount in given]
    assert sum(one.reservation_usd.micros for one in till.given.values()) <= 1_000_000
