"""Reads the files of the Bernstein program that a run's ConfigMap holds.

Numbers are read as they are written: a YAML or JSON parser that makes binary fractions of them would have
changed the limit before anybody compares with it. Each value stands for itself; one that can't be used is
told of by its source and key, and costs no other one.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Final, TypeVar

import yaml

from bernstein_operator.api.choices import CapSource
from bernstein_operator.api.concurrency import MAX_AGENTS
from bernstein_operator.api.money import Money
from bernstein_operator.api.run_config import RunConfig
from bernstein_operator.decisions.amounts import limit, number

SEED_FILE: Final = "bernstein.yaml"
RUN_CONFIG_FILE: Final = "run_config.json"
_BUDGETS: Final = ("seed.budget_usd", "budget_usd", "budget")
_UNSAID: Final = (None, "", "~", "null")
_SHOWN: Final = 200
MOST_BYTES: Final = 64 * 1024
"""A larger file isn't read: parsing it again and again would take the time that other runs need."""

_Value = TypeVar("_Value")


def read_config(data: Mapping[str, str]) -> RunConfig:
    """Return what a ConfigMap's ``data`` says of a run's limits."""
    seed, other = _File(SEED_FILE), _File(RUN_CONFIG_FILE)
    seed.load(data.get(SEED_FILE), _yaml)
    other.load(data.get(RUN_CONFIG_FILE), _json)
    config = RunConfig(
        run_config_usd=other.read("budget_usd", _budget),
        seed_usd=next((found for found in (seed.read(key, _budget) for key in _BUDGETS) if found), None),
        max_agents=seed.read("max_agents", _agents),
        error_rate_high_percent=seed.read("defaults.PARALLELISM.error_rate_high", _rate),
        cpu_pause_threshold=seed.read("defaults.PARALLELISM.cpu_pause_threshold", _load),
        warnings=(*other.warnings, *seed.warnings),
        unreadable=frozenset(CapSource(one.name) for one in (other, seed) if one.unreadable),
    )
    if SEED_FILE in data or RUN_CONFIG_FILE in data:
        return config
    return RunConfig(warnings=(f"spec.configFrom: it has neither {SEED_FILE} nor {RUN_CONFIG_FILE}.",))


@dataclass(slots=True)
class _File:
    """One file: what is in it, what of that can't be used, and whether that is all of it."""

    name: str
    content: object = None
    warnings: list[str] = field(default_factory=list)
    unreadable: bool = False

    def load(self, text: str | None, parse: Callable[[str], object]) -> None:
        if text is None:
            return
        try:
            self.content = parse(_of_fair_size(text))
        # The parsers go down one level for each bracket.
        except (ValueError, yaml.YAMLError, RecursionError) as error:
            self.unreadable = True
            self.warnings.append(f"{self.name}: it can't be read: {' '.join(str(error).split())[:_SHOWN]}")

    def read(self, key: str, parse: Callable[[object], _Value]) -> _Value | None:
        value = next(reversed(list(_down(self.content, key))))
        if value in _UNSAID:
            return None
        try:
            return parse(value)
        except ValueError as error:
            self.warnings.append(f"{self.name}: {key}: {error}; the next source is tried.")
            return None


def _down(content: object, key: str) -> Iterator[object]:
    """Yield what stands at each step of a key with dots in it; None where there is no such step."""
    yield content
    for step in key.split("."):
        content = content.get(step) if isinstance(content, dict) else None
        yield content


def _of_fair_size(text: str) -> str:
    if len(text.encode()) > MOST_BYTES:
        raise ValueError(f"it has more than {MOST_BYTES} bytes")
    return text


def _yaml(text: str) -> object:
    # This loader leaves every scalar the text that it is.
    return yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506


def _json(text: str) -> object:
    return json.loads(text, parse_float=Decimal, parse_constant=str)


def _budget(value: object) -> Money | None:
    return limit(value) if limit(value).micros else None


def _agents(value: object) -> int:
    agents = number(value)
    if agents != agents.to_integral_value() or not 0 <= agents <= MAX_AGENTS:
        raise ValueError(f"a whole number between 0 and {MAX_AGENTS} is expected")
    return int(agents)


def _rate(value: object) -> Decimal:
    rate = number(value)
    if not 0 <= rate <= 1:
        raise ValueError("a share between 0 and 1 is expected")
    return rate * 100


def _load(value: object) -> Decimal:
    load = number(value)
    if load <= 0:
        raise ValueError("a number above 0 is expected")
    return load
