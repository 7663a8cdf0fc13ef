"""What tokens cost where no dollars are told, and how reports of spend add up."""

import pytest

from bernstein_agent.adapters.base import Spent, Worked
from bernstein_agent.contract import Prices, Usage
from bernstein_agent.observation import Observation
from bernstein_agent.prices import priced
from bernstein_agent.tally import Tally

PRICES = Prices(input_micros=3_000_000, output_micros=15_000_000, cached_micros=300_000)
UNKNOWN = Usage(input_tokens=1_000, output_tokens=100, cached_tokens=10_000, cost_unknown=True)

COSTS = {
    "a thousand in, a hundred out, ten thousand cached": (UNKNOWN, PRICES, 3_000 + 1_500 + 3_000, False),
    "one token of 3.00 a million": (Usage(input_tokens=1, cost_unknown=True), PRICES, 3, False),
    "a third of a micro-dollar counts whole": (Usage(cached_tokens=1, cost_unknown=True), PRICES, 1, False),
    "three micro-dollars exactly": (Usage(cached_tokens=10, cost_unknown=True), PRICES, 3, False),
    "no price is known": (UNKNOWN, None, 0, True),
    "no tokens were told": (Usage(cost_unknown=True), PRICES, 0, True),
    "its program told the cost": (Usage(input_tokens=1_000_000, cost_micros=7), PRICES, 7, False),
}


@pytest.mark.parametrize(("usage", "prices", "micros", "unknown"), COSTS.values(), ids=COSTS)
def test_what_it_costs(usage: Usage, prices: Prices | None, micros: int, unknown: bool) -> None:
    found = priced(usage, prices)
    assert (found.cost_micros, found.cost_unknown) == (micros, unknown)
    assert found.tokens == usage.tokens


def seen(*turns: list[Spent | Worked], prices: Prices | None = None) -> Tally:
    """Return what is known of a program after some turns with these signals."""
    observation = Observation(prices)
    for signals in turns:
        observation.begin_turn()
        for signal in signals:
            observation.signal(signal)
        observation.end_turn()
    return observation.tally


def spent(tokens: int, micros: int | None) -> Spent:
    """Return a report of spend; None is a cost that isn't told."""
    return Spent(Usage(input_tokens=tokens, cost_micros=micros or 0, cost_unknown=micros is None))


TALLIES = {
    "no turn": ([], Tally()),
    "a turn that tells nothing is a step of unknown cost": ([[]], Tally(Usage(cost_unknown=True), 1)),
    "the highest of a turn": (
        [[spent(9, 5), spent(5, 9)]],
        Tally(Usage(input_tokens=9, cost_micros=9), 1),
    ),
    "the sum of the turns": (
        [[spent(9, 5), Worked(4, 2)], [spent(2, 1), Worked(1, 7)]],
        Tally(Usage(input_tokens=11, cost_micros=6), 5, 9),
    ),
    "a cost that is told at last": (
        [[spent(9, None), spent(9, 5)]],
        Tally(Usage(input_tokens=9, cost_micros=5), 1),
    ),
    "a turn of unknown cost among others": (
        [[spent(9, 5)], [spent(2, None)]],
        Tally(Usage(input_tokens=11, cost_micros=5, cost_unknown=True), 2),
    ),
    "work that says nothing of spend": ([[Worked(3, 1)]], Tally(Usage(cost_unknown=True), 3, 1)),
}


@pytest.mark.parametrize(("turns", "tally"), TALLIES.values(), ids=TALLIES)
def test_what_an_attempt_has_come_to(turns: list[list[Spent | Worked]], tally: Tally) -> None:
    assert seen(*turns) == tally


def test_only_what_a_turn_left_unsaid_is_priced() -> None:
    tally = seen([spent(1_000_000, 1)], [spent(1_000_000, None)], prices=PRICES)
    assert tally.usage == Usage(input_tokens=2_000_000, cost_micros=3_000_001)


def test_a_turn_under_way_is_no_step_yet() -> None:
    observation = Observation()
    observation.begin_turn()
    assert observation.tally.steps == 0
