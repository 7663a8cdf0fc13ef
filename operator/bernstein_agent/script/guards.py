"""In which attempts a directive acts: by the attempt's number, its model and its effort.

A retry isn't the same order again: it may be sent to another model or be told to try harder. A script that is
to fail until then has to be able to tell.
"""

import math
import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from bernstein_agent.contract import Effort

_RANGE: Final = re.compile(r"(?P<first>[1-9][0-9]{0,5})(?P<open>\+)?(-(?P<last>[1-9][0-9]{0,5}))?")
_CONDITION: Final = re.compile(r"(?P<fact>attempt|model|effort)(?P<negated>!)?=(?P<values>.*)")


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What a script can tell of its attempt; model and effort are empty where none was ordered."""

    attempt: int
    model: str = ""
    effort: str = ""


class Fact(StrEnum):
    """What a condition looks at."""

    ATTEMPT = "attempt"
    MODEL = "model"
    EFFORT = "effort"


@dataclass(frozen=True, slots=True)
class Condition:
    """That a fact is one of ``values``, or with ``negated`` none of them."""

    fact: Fact
    values: tuple[str, ...]
    negated: bool = False

    def holds(self, here: Circumstances) -> bool:
        """Return whether it holds in an attempt."""
        return any(self._is(value, here) for value in self.values) is not self.negated

    def _is(self, value: str, here: Circumstances) -> bool:
        match self.fact:
            case Fact.ATTEMPT:
                first, last = _range(value)
                return first <= here.attempt <= last
            case Fact.MODEL:
                return value == here.model
            case Fact.EFFORT:
                return value == here.effort


def parse_attempts(text: str) -> Condition:
    """Return the condition that the attempt is among numbers and ranges as ``2``, ``1-3``, ``2+``.

    Raises:
        ValueError: one of them is none.
    """
    return _condition(Fact.ATTEMPT, text, negated=False)


def parse_conditions(text: str) -> tuple[Condition, ...]:
    """Return the conditions in a text as ``effort=high,max model!=small``.

    Raises:
        ValueError: one of them can't be understood.
    """
    return tuple(_parsed(word) for word in text.split())


def _parsed(word: str) -> Condition:
    found = _CONDITION.fullmatch(word)
    if not found:
        raise ValueError(
            f"{word!r} is no condition: write attempt=N, model=NAME, effort=WORD or, for not, !="
        )
    return _condition(Fact(found["fact"]), found["values"], negated=bool(found["negated"]))


def _condition(fact: Fact, text: str, *, negated: bool) -> Condition:
    values = tuple(text.split(","))
    for value in values:
        _check(fact, value)
    return Condition(fact, values, negated)


def _check(fact: Fact, value: str) -> None:
    if fact is Fact.ATTEMPT:
        _range(value)
    elif fact is Fact.EFFORT and value not in set(Effort):
        raise ValueError(f"{value!r} is no effort; there are {', '.join(Effort)}")
    elif not value:
        raise ValueError(f"a {fact} without a name")


def _range(text: str) -> tuple[int, float]:
    found = _RANGE.fullmatch(text)
    if not found or (found["open"] and found["last"]):
        raise ValueError(f"{text!r} is no attempt: write 2, 1-3 or 2+")
    first = int(found["first"])
    return first, math.inf if found["open"] else int(found["last"] or first)
