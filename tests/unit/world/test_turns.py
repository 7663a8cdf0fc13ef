"""The operator's limits on all runs together: how many, and whose turn it is."""

import pytest

from bernstein_operator.world.turns import UNLIMITED, Limits, Turns
from tests.unit.world.marks import Marked

A, B, C = ("one", "a"), ("one", "b"), ("two", "c")


@pytest.mark.parametrize(
    ("limits", "room"),
    [
        pytest.param(UNLIMITED, None, id="no limit"),
        pytest.param(Limits(per_run=1), None, id="a limit of each run is no shared one"),
        pytest.param(Limits(total=5), 2, id="in all"),
        pytest.param(Limits(per_namespace=2), 0, id="in the namespace"),
        pytest.param(Limits(per_namespace=3, total=9), 1, id="the lower one"),
        pytest.param(Limits(per_namespace=9, total=4), 1, id="the lower one, the other way round"),
        pytest.param(Limits(total=2), 0, id="more are live than are allowed"),
        pytest.param(Limits(total=0), 0, id="none at all"),
    ],
)
def test_how_many_more_may_start(limits: Limits, room: int | None) -> None:
    turns = Turns(Marked(), limits)
    turns.held("one", 2)
    turns.held("two", 1)
    assert turns.room("one") == room


def test_without_a_shared_limit_a_run_has_what_it_wants() -> None:
    turns = Turns(Marked(), UNLIMITED)
    assert (turns.share(A, 7), turns.share(B, 9)) == (7, 9)


def test_free_slots_are_dealt_one_by_one() -> None:
    turns = Turns(Marked(), Limits(total=5))
    assert turns.share(A, 4) == 4
    assert turns.share(B, 4) == 2
    assert turns.share(C, 1) == 1
    assert turns.share(A, 4) == 2


def test_who_was_given_a_slot_goes_to_the_end_of_the_line() -> None:
    turns = Turns(Marked(), Limits(total=1))
    got = []
    for run in (A, B, C):
        turns.share(run, 2)
    for _ in range(6):
        run = next(one for one in (A, B, C) if turns.share(one, 2))
        turns.held(run[0], 1)
        turns.given(run, 1, still_wanted=1)
        got.append(run)
        turns.held(run[0], -1)
    assert got == [A, B, C, A, B, C]


def test_who_had_no_turn_yet_goes_before_who_had_one() -> None:
    turns = Turns(Marked(), Limits(total=3))
    turns.share(A, 5)
    turns.held("one", 2)
    turns.given(A, 2, still_wanted=3)
    assert turns.share(B, 1) == 1
    assert turns.share(A, 3) == 0
    assert turns.share(A, 0) == 0, "it leaves the line"
    assert (turns.share(A, 3), turns.share(B, 1)) == (0, 1), "and has no better place when it comes back"


def test_a_full_namespace_passes_its_turn_on() -> None:
    turns = Turns(Marked(), Limits(per_namespace=1, total=2))
    turns.held("one", 1)
    assert (turns.share(A, 3), turns.share(B, 3), turns.share(C, 3)) == (0, 0, 1)


def test_a_freed_slot_wakes_the_run_whose_turn_it_is() -> None:
    marked = Marked()
    turns = Turns(marked, Limits(total=1))
    turns.held("one", 1)
    for run in (C, A):
        turns.share(run, 1)
    marked.forget()
    turns.held("one", -1)
    assert marked.runs == {"c"}


@pytest.mark.parametrize("leaves", ["wants nothing", "can use nothing now", "is gone"])
def test_what_a_run_does_not_take_wakes_the_next(leaves: str) -> None:
    marked = Marked()
    turns = Turns(marked, Limits(total=1))
    for run in (A, B):
        turns.share(run, 1)
    marked.forget()
    match leaves:
        case "wants nothing":
            turns.share(A, 0)
        case "can use nothing now":
            turns.given(A, 0, still_wanted=0)
        case _:
            turns.forget(A)
    assert marked.runs == {"b"}
    assert turns.share(B, 1) == 1


def test_more_slots_than_wants_leave_the_rest_free() -> None:
    turns = Turns(Marked(), Limits(total=100))
    assert (turns.share(A, 2), turns.share(B, 3), turns.room("one")) == (2, 3, 100)
