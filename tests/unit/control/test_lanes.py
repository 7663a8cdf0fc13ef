"""One sort of writes can't hold up another."""

from bernstein_operator.control.lanes import Lane, Lanes
from bernstein_operator.control.queue import Kind, WorkKey

A, B, C = (WorkKey(Kind.TASK, "ns", name) for name in "abc")


def lanes(width: int = 1) -> tuple[Lanes, list[WorkKey]]:
    again: list[WorkKey] = []
    return Lanes(again.append, width=width), again


def test_a_lane_takes_as_many_as_it_is_wide() -> None:
    found, _ = lanes(width=2)
    assert [found.enter(Lane.START, key) for key in (A, B, C)] == [True, True, False]


def test_full_lanes_do_not_hold_up_the_others() -> None:
    found, _ = lanes()
    assert found.enter(Lane.START, A)
    assert not found.enter(Lane.START, B)
    assert found.enter(Lane.CONTROL, B)
    assert found.enter(Lane.STATUS, C)


def test_who_was_parked_first_is_called_first_and_once() -> None:
    found, again = lanes(width=2)
    for key in (A, A, B, C, B):
        found.enter(Lane.START, key)
    found.leave(Lane.START)
    assert again == [B]
    found.leave(Lane.START)
    assert again == [B, C]


def test_leaving_calls_nobody_of_another_lane() -> None:
    found, again = lanes()
    found.enter(Lane.START, A)
    found.enter(Lane.START, B)
    found.enter(Lane.STATUS, C)
    found.leave(Lane.STATUS)
    assert again == []


def test_a_lane_that_was_left_has_room_again() -> None:
    found, _ = lanes()
    found.enter(Lane.START, A)
    found.leave(Lane.START)
    assert found.enter(Lane.START, B)
