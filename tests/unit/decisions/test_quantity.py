"""Kubernetes quantities as exact numbers, in every form that the API writes them in."""

from fractions import Fraction

import pytest

from bernstein_operator.decisions.quantity import exact


@pytest.mark.parametrize(
    ("quantity", "number"),
    [
        pytest.param("3", Fraction(3), id="plain"),
        pytest.param("0", Fraction(0), id="zero"),
        pytest.param("0.5", Fraction(1, 2), id="plain with a point"),
        pytest.param(".5", Fraction(1, 2), id="nothing before the point"),
        pytest.param("2.", Fraction(2), id="nothing behind the point"),
        pytest.param("1900000001n", Fraction(1_900_000_001, 10**9), id="nano, as metrics-server writes it"),
        pytest.param("1900001u", Fraction(1_900_001, 10**6), id="micro"),
        pytest.param("1900m", Fraction(19, 10), id="milli"),
        pytest.param("2k", Fraction(2000), id="kilo"),
        pytest.param("2M", Fraction(2 * 10**6), id="mega"),
        pytest.param("2G", Fraction(2 * 10**9), id="giga"),
        pytest.param("2T", Fraction(2 * 10**12), id="tera"),
        pytest.param("2P", Fraction(2 * 10**15), id="peta"),
        pytest.param("2E", Fraction(2 * 10**18), id="exa, no exponent"),
        pytest.param("1Ki", Fraction(1024), id="kibi"),
        pytest.param("1Mi", Fraction(2**20), id="mebi"),
        pytest.param("1Gi", Fraction(2**30), id="gibi"),
        pytest.param("1Ti", Fraction(2**40), id="tebi"),
        pytest.param("1Pi", Fraction(2**50), id="pebi"),
        pytest.param("1Ei", Fraction(2**60), id="exbi"),
        pytest.param("19e-1", Fraction(19, 10), id="small exponent"),
        pytest.param("2E3", Fraction(2000), id="large exponent"),
        pytest.param("2e+3", Fraction(2000), id="exponent with a sign"),
    ],
)
def test_every_form_is_one_number(quantity: str, number: Fraction) -> None:
    assert exact(quantity) == number


@pytest.mark.parametrize(
    "text",
    ["", "m", "-1", "+1", "1.2.3", ".", "NaN", "inf", "1 k", "1K", "1ki", "1kB", "0x10", "1e", "\uff11"],
)
def test_anything_else_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no quantity"):
        exact(text)


def test_an_exponent_that_nobody_can_mean_is_not_computed_with() -> None:
    assert exact("1e999999999") == Fraction(10) ** 60
    assert exact("1e-999999999") == Fraction(10) ** -60
