"""Which source of a run's budget counts, with the value forms of each."""

import pytest

from bernstein_operator.api.choices import CapSource
from bernstein_operator.api.money import Money
from bernstein_operator.api.run_config import RunConfig
from bernstein_operator.api.spending import OperatorBudget
from bernstein_operator.decisions.caps import Cap, cap_of

ENVIRONMENT, RUN_CONFIG, SPEC = CapSource.ENVIRONMENT, CapSource.RUN_CONFIG, CapSource.SPEC
SEED, DEFAULT, MAXIMUM, UNLIMITED = (
    CapSource.SEED,
    CapSource.DEFAULT,
    CapSource.MAXIMUM,
    CapSource.UNLIMITED,
)


def usd(amount: int | None) -> Money | None:
    return None if amount is None else Money(amount * 1_000_000)


@pytest.mark.parametrize(
    ("said", "cap", "source"),
    [
        pytest.param((1, 2, 3, 4, 5), 1, ENVIRONMENT, id="the variable before all"),
        pytest.param((None, 2, 3, 4, 5), 2, RUN_CONFIG, id="then run_config.json"),
        pytest.param((None, None, 3, 4, 5), 3, SPEC, id="then the spec"),
        pytest.param((None, None, None, 4, 5), 4, SEED, id="then bernstein.yaml"),
        pytest.param((None, None, None, None, 5), 5, DEFAULT, id="then the operator's default"),
        pytest.param((None, None, None, None, None), None, UNLIMITED, id="nobody says anything"),
        pytest.param((0, 2, 3, 4, 5), None, UNLIMITED, id="a variable of nought is unlimited and wins"),
        pytest.param((None, 0, 3, 4, 5), 3, SPEC, id="run_config.json of nought says nothing"),
        pytest.param((None, None, 0, 4, 5), 4, SEED, id="a spec of nought says nothing"),
        pytest.param((None, None, None, 0, 5), 5, DEFAULT, id="bernstein.yaml of nought says nothing"),
        pytest.param((None, None, None, None, 0), None, UNLIMITED, id="a default of nought says nothing"),
    ],
)
def test_the_first_source_that_says_something_sets_the_cap(
    said: tuple[int | None, ...], cap: int | None, source: CapSource
) -> None:
    environment, run_config, spec, seed, default = said
    config = RunConfig(run_config_usd=usd(run_config), seed_usd=usd(seed))
    operator = OperatorBudget(max_cost=usd(environment), default=usd(default))
    found = cap_of(usd(spec), config, operator)
    assert (found.usd, found.source) == (usd(cap), source)


@pytest.mark.parametrize(
    ("spec", "environment", "most", "expected"),
    [
        pytest.param(5, None, 6, Cap(usd(5), SPEC), id="under the maximum"),
        pytest.param(6, None, 6, Cap(usd(6), SPEC), id="exactly the maximum"),
        pytest.param(7, None, 6, Cap(usd(6), MAXIMUM), id="above the maximum"),
        pytest.param(None, None, 6, Cap(usd(6), MAXIMUM), id="unlimited under a maximum"),
        pytest.param(None, 0, 6, Cap(usd(6), MAXIMUM), id="unlimited by the variable under a maximum"),
        pytest.param(7, None, 0, Cap(usd(7), SPEC), id="a maximum of nought says nothing"),
        pytest.param(5, 9, 6, Cap(usd(6), MAXIMUM, overrides=True), id="lowered, and still above the spec"),
        pytest.param(6, 9, 6, Cap(usd(6), MAXIMUM), id="lowered to what the spec allows"),
    ],
)
def test_the_maximum_limits_whatever_came_out(
    spec: int | None, environment: int | None, most: int | None, expected: Cap
) -> None:
    operator = OperatorBudget(max_cost=usd(environment), max_run_cost=usd(most))
    assert cap_of(usd(spec), RunConfig(), operator) == expected


@pytest.mark.parametrize(
    ("spec", "environment", "overrides"),
    [
        pytest.param(5, 4, False, id="less than the spec"),
        pytest.param(5, 5, False, id="the same as the spec"),
        pytest.param(5, 6, True, id="more than the spec"),
        pytest.param(5, 0, True, id="unlimited where the spec has a limit"),
        pytest.param(0, 6, False, id="where the spec says nothing"),
        pytest.param(None, 6, False, id="where the spec is silent"),
    ],
)
def test_a_source_that_allows_more_than_the_spec_is_told_of(
    spec: int | None, environment: int, overrides: bool
) -> None:
    found = cap_of(usd(spec), RunConfig(), OperatorBudget(max_cost=usd(environment)))
    assert found.overrides is overrides
