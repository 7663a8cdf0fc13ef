"""A run's series are there while it is of interest, and then they go."""

from datetime import timedelta

import pytest
from prometheus_client import CollectorRegistry, Gauge, generate_latest

from bernstein_operator.telemetry.run_series import KEPT_FOR, RunSeries
from tests.unit.objects import T0


class Board:
    """Series on a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.level = Gauge("level", "A level.", ["namespace", "run"], registry=self.registry)
        self.cost = Gauge("cost", "A cost.", ["namespace", "run"], registry=self.registry)
        self.series = RunSeries()

    def lines(self) -> list[str]:
        text = generate_latest(self.registry).decode()
        return [line for line in text.splitlines() if not line.startswith("#")]


def test_a_run_shows_its_latest_value() -> None:
    board = Board()
    board.series.set(board.level, "ns", "r", 3)
    board.series.set(board.level, "ns", "r", 2)
    assert board.lines() == ['level{namespace="ns",run="r"} 2.0']


def test_a_value_that_there_is_none_of_is_not_shown() -> None:
    board = Board()
    board.series.absent(board.level, "ns", "r")
    board.series.set(board.level, "ns", "r", 3)
    board.series.set(board.cost, "ns", "r", 1)
    board.series.absent(board.level, "ns", "r")
    board.series.absent(board.level, "ns", "r")
    assert board.lines() == ['cost{namespace="ns",run="r"} 1.0']


@pytest.mark.parametrize(
    ("later", "shown"),
    [
        pytest.param(timedelta(), True, id="at its end"),
        pytest.param(KEPT_FOR - timedelta(seconds=1), True, id="a little later"),
        pytest.param(KEPT_FOR, False, id="ten minutes later"),
    ],
)
def test_a_runs_series_go_some_time_after_its_end(later: timedelta, *, shown: bool) -> None:
    board = Board()
    for gauge in (board.level, board.cost):
        board.series.set(gauge, "ns", "r", 3)
        board.series.set(gauge, "ns", "goes-on", 3)
    board.series.ended("ns", "r", T0)
    board.series.sweep(T0 + later)
    assert len(board.lines()) == (4 if shown else 2)


def test_a_run_that_goes_on_again_keeps_its_series() -> None:
    board = Board()
    board.series.set(board.level, "ns", "r", 3)
    board.series.ended("ns", "r", T0)
    board.series.ended("ns", "r", None)
    board.series.sweep(T0 + 2 * KEPT_FOR)
    assert len(board.lines()) == 1


def test_a_run_of_which_nothing_is_shown_ends_quietly() -> None:
    board = Board()
    board.series.ended("ns", "r", T0)
    board.series.sweep(T0 + KEPT_FOR)
    assert board.lines() == []


def test_a_series_with_a_further_label_goes_with_the_others() -> None:
    board = Board()
    band = Gauge("band", "A band.", ["namespace", "run", "band"], registry=board.registry)
    for name in ("warn", "stop"):
        board.series.set(band, "ns", "r", 1, name)
    board.series.absent(band, "ns", "r", "warn")
    assert board.lines() == ['band{band="stop",namespace="ns",run="r"} 1.0']
    board.series.ended("ns", "r", T0)
    board.series.sweep(T0 + KEPT_FOR)
    assert board.lines() == []
