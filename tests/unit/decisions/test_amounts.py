"""Limits as they are written in variables and files: every form, and what is refused."""

from decimal import Decimal

import pytest

from bernstein_operator.api.money import MoneyError
from bernstein_operator.decisions.amounts import limit


@pytest.mark.parametrize(
    ("value", "micros"),
    [
        pytest.param("5", 5_000_000, id="whole dollars"),
        pytest.param("5.00", 5_000_000, id="with cents"),
        pytest.param("$5", 5_000_000, id="with a dollar sign"),
        pytest.param("$12.50", 12_500_000, id="with both"),
        pytest.param(" 0.1 ", 100_000, id="with blanks around"),
        pytest.param("1e2", 100_000_000, id="with an exponent"),
        pytest.param(".5", 500_000, id="without a leading nought"),
        pytest.param(7, 7_000_000, id="a whole number"),
        pytest.param(Decimal("0.1"), 100_000, id="an exact decimal"),
        pytest.param("0.000001", 1, id="the smallest amount"),
        pytest.param("0.0000010", 1, id="noughts beyond the sixth place"),
        pytest.param("999999999", 999_999_999_000_000, id="the greatest amount"),
        pytest.param("0", 0, id="nought"),
        pytest.param("0.0", 0, id="nought with places"),
        pytest.param("-3", 0, id="less than nought"),
        pytest.param("-0.0000001", 0, id="a little less than nought"),
    ],
)
def test_an_amount_is_read_exactly(value: object, micros: int) -> None:
    assert limit(value).micros == micros


NOT_AMOUNTS = [
    *("", "nan", "inf", "-inf", "lots", "$", "$$5", "5 USD", "5,00", "0.0000001", "999999999.000001"),
    *("1e400", "1e-400", "1e999999999", True, False, None, [5], {"usd": 5}, float("nan"), float("inf")),
]


@pytest.mark.parametrize("value", NOT_AMOUNTS)
def test_what_is_no_amount_is_refused(value: object) -> None:
    with pytest.raises(MoneyError):
        limit(value)
