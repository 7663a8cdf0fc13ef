"""Dollars at the border: exact, and refused where they are no amount."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bernstein_agent.contract import dollars_text, parse_dollars


@pytest.mark.parametrize(
    ("value", "micros"),
    [
        ("0", 0),
        (5, 5_000_000),
        ("12.50", 12_500_000),
        ("0.000001", 1),
        ("0.1", 100_000),
        ("999999999.999999", 999_999_999_999_999),
    ],
    ids=str,
)
def test_amounts(value: object, micros: int) -> None:
    assert parse_dollars(value) == micros


@pytest.mark.parametrize(
    "value",
    [
        "nan",
        "inf",
        "-1",
        -1,
        "1e3",
        "",
        " 1",
        "1.0000001",
        "1000000000",
        ".5",
        "1.",
        "٣",
        0.1,
        True,
        None,
        "$5",
        "1\n",
    ],
    ids=repr,
)
def test_what_is_no_amount(value: object) -> None:
    with pytest.raises(ValueError, match="is no amount of dollars"):
        parse_dollars(value)


def test_a_negative_amount_has_no_text() -> None:
    with pytest.raises(ValueError, match="can't be negative"):
        dollars_text(-1)


@given(st.integers(min_value=0, max_value=999_999_999_999_999))
def test_text_and_amount_are_one(micros: int) -> None:
    assert parse_dollars(dollars_text(micros)) == micros
