"""The banner, character by character, and the roundings in it."""

import pytest

from bernstein_agent.contract import Budget, BudgetMode, Usage
from bernstein_agent.countdown import format_countdown
from bernstein_agent.tally import Tally, percent_left


def used(*, tokens: int = 0, micros: int = 0, steps: int = 0) -> Tally:
    """Return a tally of so many tokens, half of them sent, and cached ones on top that don't count."""
    sent = tokens // 2
    usage = Usage(input_tokens=sent, output_tokens=tokens - sent, cached_tokens=7_777_777, cost_micros=micros)
    return Tally(usage, steps)


HARD = BudgetMode.HARD
LINES = {
    "the published example": (
        Budget(tokens=64_000, cost_micros=1_500_000, steps=30),
        used(tokens=45_580, micros=420_000, steps=7),
        "[budget] tokens left: 18,420 of 64,000 (28%) | $0.42 of $1.50 | steps: 7 of 30 | mode: graceful-finish-on-low",  # noqa: E501
    ),
    "nothing is limited": (
        Budget(),
        used(tokens=5, micros=420_000, steps=7),
        "[budget] tokens left: 0 of 0 (100%) | $0.42 of $0.00 | steps: 7 of 0 | mode: graceful-finish-on-low",
    ),
    "more than all is used": (
        Budget(tokens=100, cost_micros=1_000_000, steps=3, mode=HARD),
        used(tokens=101, micros=1_250_000, steps=4),
        "[budget] tokens left: 0 of 100 (0%) | $1.25 of $1.00 | steps: 4 of 3 | mode: hard-stop-on-zero",
    ),
    "separators are for tokens only": (
        Budget(tokens=2_000, cost_micros=1_234_500_000, steps=2000),
        used(tokens=1, micros=1_000_000_000, steps=1000),
        "[budget] tokens left: 1,999 of 2,000 (99%) | $1000.00 of $1234.50 | steps: 1000 of 2000 | mode: graceful-finish-on-low",  # noqa: E501
    ),
    "nothing was given": (
        Budget(tokens=0, cost_micros=0),
        used(),
        "[budget] tokens left: 0 of 0 (0%) | $0.00 of $0.00 | steps: 0 of 0 | mode: graceful-finish-on-low",
    ),
}


@pytest.mark.parametrize(("budget", "tally", "line"), LINES.values(), ids=LINES)
def test_the_banner(budget: Budget, tally: Tally, line: str) -> None:
    assert format_countdown(budget, tally) == line


CENTS = {
    "half a cent goes to the even one below": (425_000, "$0.42"),
    "half a cent goes to the even one above": (435_000, "$0.44"),
    "just under a half": (434_999, "$0.43"),
    "just over a half": (425_001, "$0.43"),
    "a micro-dollar": (1, "$0.00"),
    "the largest amount there is": (999_999_999_999_999, "$1000000000.00"),
}


@pytest.mark.parametrize(("micros", "shown"), CENTS.values(), ids=CENTS)
def test_dollars_have_two_places_and_are_rounded_half_even(micros: int, shown: str) -> None:
    assert f" | {shown} of " in format_countdown(Budget(), used(micros=micros))


PERCENT = {
    "exactly 28 % of 64,000": (64_000, 46_080, 28),
    "a token less than 28 %": (64_000, 46_081, 27),
    "a token less than 29 %": (64_000, 45_441, 28),
    "all": (64_000, 0, 100),
    "all but one": (64_000, 1, 99),
    "one of many": (64_000, 63_999, 0),
    "one of one hundred": (100, 99, 1),
    "none": (64_000, 64_000, 0),
    "less than none": (64_000, 64_001, 0),
    "no limit": (None, 64_000, 100),
    "a limit of nothing": (0, 0, 0),
    "a limit that floats can't hold": (2**53, 2**53 // 2 + 1, 49),
}


@pytest.mark.parametrize(("cap", "spent", "percent"), PERCENT.values(), ids=PERCENT)
def test_percent_is_rounded_down_and_stays_in_range(cap: int | None, spent: int, percent: int) -> None:
    assert percent_left(cap, spent) == percent
