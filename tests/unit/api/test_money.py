"""Dollars at the border and inside."""

from decimal import Decimal

import pytest

from bernstein_operator.api.money import Money, MoneyError
from bernstein_operator.api.task_status import Usage


@pytest.mark.parametrize(
    ("value", "micros"),
    [
        pytest.param(0, 0, id="zero"),
        pytest.param(5, 5_000_000, id="whole dollars"),
        pytest.param("5", 5_000_000, id="whole dollars as text"),
        pytest.param("12.50", 12_500_000, id="cents"),
        pytest.param("0.1", 100_000, id="a tenth, exactly"),
        pytest.param("0.000001", 1, id="the smallest amount"),
        pytest.param(Decimal("1E+2"), 100_000_000, id="a decimal with an exponent"),
        pytest.param(999_999_999, 999_999_999_000_000, id="the largest amount"),
    ],
)
def test_an_amount_is_read_exactly(value: object, micros: int) -> None:
    assert Money.parse(value) == Money(micros)


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(-1, id="negative"),
        pytest.param("-0.01", id="negative text"),
        pytest.param("0.0000001", id="seven places"),
        pytest.param(1_000_000_000, id="too large"),
        pytest.param("NaN", id="nan"),
        pytest.param(Decimal("nan"), id="nan as a decimal"),
        pytest.param(Decimal("inf"), id="infinite"),
        pytest.param(float("nan"), id="nan as a binary fraction"),
        pytest.param(0.5, id="binary fraction"),
        pytest.param("1e400", id="exponent"),
        pytest.param("$5", id="currency sign"),
        pytest.param("5\n", id="line end"),
        pytest.param("\N{ARABIC-INDIC DIGIT FIVE}", id="digits of another script"),
        pytest.param("", id="empty"),
        pytest.param("five", id="words"),
        pytest.param(True, id="a boolean"),
        pytest.param(None, id="nothing"),
    ],
)
def test_what_is_no_amount_is_refused(value: object) -> None:
    with pytest.raises(MoneyError):
        Money.parse(value)


def test_the_error_shows_the_value_but_not_at_any_length() -> None:
    with pytest.raises(MoneyError, match="xxx") as refusal:
        Money.parse("x" * 10_000)
    assert len(str(refusal.value)) < 200


def test_a_negative_amount_can_not_be_made() -> None:
    with pytest.raises(MoneyError):
        Money(-1)


def test_tenths_add_up_to_the_limit_they_are_compared_with() -> None:
    spent = sum((Money.parse("0.10") for _ in range(8)), start=Money())
    assert spent == Money.parse("0.80")
    assert spent.dollars == Decimal("0.8")


@pytest.mark.parametrize(
    ("micros", "text"),
    [(0, "0.00"), (100_000, "0.10"), (12_500_000, "12.50"), (1, "0.000001"), (1_234_500, "1.2345")],
)
def test_text_has_two_places_and_more_where_needed(micros: int, text: str) -> None:
    assert str(Money(micros)) == text
    assert Money.parse(text) == Money(micros)


def test_models_read_both_forms_and_write_text() -> None:
    assert Usage.model_validate({"costUsd": 5}).cost_usd == Usage(cost_usd=Money(5_000_000)).cost_usd
    assert Usage.model_validate({"costUsd": "0.5"}).manifest()["costUsd"] == "0.50"
