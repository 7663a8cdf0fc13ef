"""Who is told to wait makes everyone wait, for as long as was said and no longer than can be borne."""

import asyncio

import pytest

from bernstein_operator.control.clock import monotonic
from bernstein_operator.kube.gate import DEFAULT_WAIT_SECONDS, LONGEST_WAIT_SECONDS, Gate
from tests.unit.control.ticking import Ticking


async def is_open(gate: Gate) -> bool:
    passing = asyncio.create_task(gate.passed())
    await asyncio.sleep(0)
    if passing.done():
        return True
    passing.cancel()
    return False


async def test_a_gate_that_nobody_closed_is_open() -> None:
    assert await is_open(Gate(Ticking()))


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        pytest.param("7", 7.0, id="seconds"),
        pytest.param("0", 0.0, id="none"),
        pytest.param("99999", LONGEST_WAIT_SECONDS, id="longer than can be borne"),
        pytest.param(None, DEFAULT_WAIT_SECONDS, id="no header"),
        pytest.param("Wed, 21 Oct 2026 07:28:00 GMT", DEFAULT_WAIT_SECONDS, id="a date"),
        pytest.param("-5", DEFAULT_WAIT_SECONDS, id="nonsense"),
    ],
)
async def test_the_gate_opens_exactly_when_it_was_said(header: str | None, seconds: float) -> None:
    clock = Ticking()
    gate = Gate(clock)
    gate.close(header)
    if seconds:
        clock.now += seconds - 0.001
        assert not await is_open(gate)
        clock.now += 0.001
    assert await is_open(gate)


async def test_a_gate_may_bear_less_than_others() -> None:
    clock = Ticking()
    gate = Gate(clock, longest=1.0)
    gate.close("7")
    clock.now += 0.999
    assert not await is_open(gate)
    clock.now += 0.001
    assert await is_open(gate)


async def test_a_shorter_wait_does_not_cut_a_longer_one() -> None:
    clock = Ticking()
    gate = Gate(clock)
    gate.close("9")
    gate.close("1")
    clock.now += 8
    assert not await is_open(gate)


async def test_who_waits_goes_on_by_itself() -> None:
    # The clock runs a thousand times as fast as the loop's, so that nobody has to wait for the test.
    begun = monotonic()
    gate = Gate(lambda: begun + (monotonic() - begun) * 1000)
    gate.close("1")
    await gate.passed()
    assert await is_open(gate)
