"""The Bernstein program's files in a run's ConfigMap: what is read, and what is told of."""

from decimal import Decimal

import pytest

from bernstein_operator.api.choices import CapSource
from bernstein_operator.api.money import Money
from bernstein_operator.api.run_config import RunConfig
from bernstein_operator.decisions.run_config import read_config


def seed(text: str) -> dict[str, str]:
    return {"bernstein.yaml": text}


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        pytest.param("seed: {budget_usd: 5}", 5_000_000, id="seed.budget_usd"),
        pytest.param("budget_usd: 5.10", 5_100_000, id="budget_usd"),
        pytest.param("budget: $5", 5_000_000, id="budget with a dollar sign"),
        pytest.param('budget: "$12.50"', 12_500_000, id="budget in quotes"),
        pytest.param("budget: 0.1", 100_000, id="what no binary fraction is"),
        pytest.param("{budget: 3, budget_usd: 2, seed: {budget_usd: 1}}", 1_000_000, id="the first of three"),
        pytest.param("{budget: 3, budget_usd: 2}", 2_000_000, id="the second of three"),
        pytest.param("{budget: 3, seed: {budget_usd: 0}}", 3_000_000, id="nought says nothing"),
        pytest.param("{budget: 3, seed: {budget_usd: -1}}", 3_000_000, id="less says nothing"),
        pytest.param("{budget: 3, budget_usd: }", 3_000_000, id="an empty value says nothing"),
        pytest.param("{budget: 3, budget_usd: null}", 3_000_000, id="null says nothing"),
        pytest.param("goal: something else", None, id="no budget at all"),
        pytest.param("", None, id="an empty file"),
    ],
)
def test_a_budget_of_bernstein_yaml(text: str, micros: int | None) -> None:
    config = read_config(seed(text))
    assert config.seed_usd == (None if micros is None else Money(micros))
    assert config.warnings == ()


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        pytest.param('{"budget_usd": 5}', 5_000_000, id="a whole number"),
        pytest.param('{"budget_usd": 0.1}', 100_000, id="a number with places"),
        pytest.param('{"budget_usd": "$2.50"}', 2_500_000, id="text with a dollar sign"),
        pytest.param('{"budget_usd": 0}', None, id="nought says nothing"),
        pytest.param('{"budget_usd": -1}', None, id="less says nothing"),
        pytest.param('{"budget_usd": null}', None, id="null says nothing"),
        pytest.param("{}", None, id="no budget at all"),
    ],
)
def test_a_budget_of_run_config_json(text: str, micros: int | None) -> None:
    config = read_config({"run_config.json": text})
    assert config.run_config_usd == (None if micros is None else Money(micros))
    assert config.warnings == ()


@pytest.mark.parametrize(
    ("data", "told"),
    [
        pytest.param(
            seed("seed: {budget_usd: lots}"), "bernstein.yaml: seed.budget_usd: 'lots'", id="text in the seed"
        ),
        pytest.param(seed("budget_usd: .nan"), "bernstein.yaml: budget_usd: '.nan'", id="YAML's nan"),
        pytest.param(seed("budget_usd: .inf"), "bernstein.yaml: budget_usd: '.inf'", id="YAML's inf"),
        pytest.param(seed("budget: nan"), "bernstein.yaml: budget: 'nan'", id="nan"),
        pytest.param(seed("budget: [5]"), "bernstein.yaml: budget: ", id="a list"),
        pytest.param(seed("budget: true"), "bernstein.yaml: budget: 'true'", id="a truth value"),
        pytest.param(seed("budget: {"), "bernstein.yaml: it can't be read", id="no YAML"),
        pytest.param(seed("[" * 100_000), "bernstein.yaml: it can't be read", id="YAML without a bottom"),
        pytest.param(
            {"run_config.json": '{"budget_usd": NaN}'}, "run_config.json: budget_usd: 'NaN'", id="JSON's NaN"
        ),
        pytest.param(
            {"run_config.json": '{"budget_usd": Infinity}'},
            "run_config.json: budget_usd: 'Infinity'",
            id="JSON's Infinity",
        ),
        pytest.param(
            {"run_config.json": '{"budget_usd": true}'}, "run_config.json: budget_usd: 'True'", id="JSON true"
        ),
        pytest.param({"run_config.json": "{"}, "run_config.json: it can't be read", id="no JSON"),
        pytest.param({"other": "x"}, "spec.configFrom: it has neither", id="neither file"),
        pytest.param(seed("max_agents: 2.5"), "bernstein.yaml: max_agents", id="half an agent"),
        pytest.param(seed("max_agents: -1"), "bernstein.yaml: max_agents", id="fewer than no agents"),
        pytest.param(seed("max_agents: 1001"), "bernstein.yaml: max_agents", id="too many agents"),
        pytest.param(
            seed("defaults: {PARALLELISM: {error_rate_high: 1.01}}"),
            "bernstein.yaml: defaults.PARALLELISM.error_rate_high",
            id="a share above one",
        ),
        pytest.param(
            seed("defaults: {PARALLELISM: {cpu_pause_threshold: 0}}"),
            "bernstein.yaml: defaults.PARALLELISM.cpu_pause_threshold",
            id="no load",
        ),
    ],
)
def test_what_cannot_be_used_is_told_of_by_source_and_key(data: dict[str, str], told: str) -> None:
    config = read_config(data)
    (warning,) = config.warnings
    assert warning.startswith(told)
    assert config == RunConfig(warnings=config.warnings, unreadable=config.unreadable)
    assert bool(config.unreadable) == ("it can't be read" in told)


BOMB = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12))


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("seed: {budget_usd: *a11}", id="the seed's budget"),
        pytest.param("budget: *a11", id="the budget"),
        pytest.param("max_agents: *a11", id="agents"),
        pytest.param("defaults: {PARALLELISM: {error_rate_high: *a11}}", id="the rate"),
    ],
)
def test_a_value_that_is_as_good_as_endless_is_never_written_out(value: str) -> None:
    config = read_config(seed(f"a0: &a0 x\n{BOMB}{value}\n"))
    assert config == RunConfig(warnings=config.warnings)
    assert "a list is no" in config.warnings[0]


@pytest.mark.parametrize(
    ("size", "unreadable"),
    [
        pytest.param(64 * 1024, set(), id="64 KiB"),
        pytest.param(64 * 1024 + 1, {CapSource.SEED}, id="one byte more"),
    ],
)
def test_a_file_that_takes_long_to_parse_is_not_parsed(size: int, unreadable: set[CapSource]) -> None:
    text = "budget: 3\n#"
    config = read_config(seed(text + "x" * (size - len(text))))
    assert config.unreadable == unreadable
    assert config.seed_usd == (None if unreadable else Money(3_000_000))


def test_after_a_value_that_cannot_be_used_the_next_key_is_tried() -> None:
    config = read_config(seed("{seed: {budget_usd: lots}, budget: 3}"))
    assert config.seed_usd == Money(3_000_000)
    assert len(config.warnings) == 1


def test_the_other_limits_of_bernstein_yaml() -> None:
    text = "{max_agents: 0, defaults: {PARALLELISM: {error_rate_high: 0.20, cpu_pause_threshold: 300.0}}}"
    config = read_config(seed(text))
    assert config == RunConfig(
        max_agents=0, error_rate_high_percent=Decimal(20), cpu_pause_threshold=Decimal(300)
    )
