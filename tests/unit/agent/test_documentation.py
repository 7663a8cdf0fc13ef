"""The reference pages name what the code has: every field, reason and directive."""

import dataclasses
from pathlib import Path

import pytest

from bernstein_agent import contract
from bernstein_agent.completion import NUDGE, Completion
from bernstein_agent.contract.encoding import json_name
from bernstein_agent.script import parser
from bernstein_agent.script.guards import Circumstances

REFERENCE = Path(__file__).parents[3] / "docs" / "reference"
CONTRACT = (REFERENCE / "contract.md").read_text()
SCRIPTS = (REFERENCE / "script-adapter.md").read_text()

WORDS = [
    *contract.Reason,
    *contract.ResultClass,
    *contract.AbandonReason,
    *contract.Effort,
    *contract.BudgetMode,
    *contract.Continuation,
    *Completion,
]
DOCUMENTED = [value for value in vars(contract).values() if dataclasses.is_dataclass(value)]


@pytest.mark.parametrize("cls", DOCUMENTED, ids=lambda cls: str(cls.__name__))
def test_every_field_of_the_contract_is_on_its_page(cls: type) -> None:
    missing = [
        json_name(field) for field in dataclasses.fields(cls) if f"`{json_name(field)}`" not in CONTRACT
    ]
    assert missing == []


@pytest.mark.parametrize("word", WORDS, ids=str)
def test_every_word_of_the_contract_is_on_its_page(word: str) -> None:
    assert f"`{word}`" in CONTRACT


def test_the_words_that_an_agent_is_told_are_on_the_page() -> None:
    quoted = " ".join(line.removeprefix("> ") for line in CONTRACT.splitlines() if line.startswith("> "))
    assert NUDGE in quoted


def test_every_directive_is_on_its_page_and_no_other() -> None:
    rows = [line.split("`")[1].split()[0] for line in SCRIPTS.splitlines() if line.startswith("| `")]
    assert set(rows) == parser.VERBS


def test_the_example_on_the_page_is_a_script() -> None:
    assert parser.parse_script(SCRIPTS)[0].acts_in(Circumstances(attempt=1))
