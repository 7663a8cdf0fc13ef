"""Who tries again after a refused Pod, and when."""

import pytest

from bernstein_operator.api.snapshot import Refusal
from bernstein_operator.api.vocabulary import AdmittedReason
from bernstein_operator.control.holds import Holds
from tests.unit.control.ticking import Ticking

FULL = Refusal(AdmittedReason.QUOTA_EXCEEDED, "full")


@pytest.fixture
def clock() -> Ticking:
    return Ticking()


@pytest.fixture
def holds(clock: Ticking) -> Holds:
    return Holds(clock)


def refuse(holds: Holds, name: str, *, namespace: str = "ns", times: int = 1) -> None:
    for _ in range(times):
        holds.refused((namespace, name), f"{name}-uid", FULL)


def test_nothing_is_held_before_anything_was_refused(holds: Holds) -> None:
    assert holds.allowance("ns", 7) == (7, None)
    assert (holds.task_wait("a-uid"), holds.turns("a-uid"), holds.refusal("a-uid")) == (0, 0, None)


@pytest.mark.parametrize(("times", "seconds"), [(1, 5), (2, 10), (3, 20), (4, 40), (5, 60), (500, 60)])
def test_a_refused_task_tries_again_less_and_less_often(holds: Holds, times: int, seconds: float) -> None:
    refuse(holds, "a", times=times)
    assert (holds.task_wait("a-uid"), holds.turns("a-uid"), holds.refusal("a-uid")) == (seconds, times, FULL)


def test_a_wait_is_over_exactly_at_its_end(holds: Holds, clock: Ticking) -> None:
    refuse(holds, "a")
    clock.now += 5
    assert holds.task_wait("a-uid") == 0


def test_one_refusal_holds_its_own_task_only(holds: Holds) -> None:
    refuse(holds, "a")
    assert holds.allowance("ns", 7) == (7, None)
    assert holds.task_wait("b-uid") == 0


def test_two_in_a_row_hold_the_namespace_and_one_at_a_time_is_tried(holds: Holds, clock: Ticking) -> None:
    refuse(holds, "a")
    refuse(holds, "b")
    assert holds.allowance("ns", 7) == (0, 10)
    clock.now += 10
    assert holds.allowance("ns", 7) == (1, 10), "the probe that is due"
    assert holds.allowance("ns", 7) == (0, 10), "it was used up by asking"
    assert holds.allowance("elsewhere", 7) == (7, None)


def test_a_probe_is_not_used_up_while_no_slot_is_free(holds: Holds, clock: Ticking) -> None:
    refuse(holds, "a", times=2)
    clock.now += 60
    assert holds.allowance("ns", 0) == (0, None)
    assert holds.allowance("ns", 1)[0] == 1


def test_the_first_accepted_pod_ends_the_hold(holds: Holds) -> None:
    refuse(holds, "a", times=3)
    holds.accepted(("ns", "b"))
    assert holds.allowance("ns", 7) == (7, None)
    assert holds.task_wait("a-uid") > 0, "its own refusals hold a task still"


def test_an_accepted_task_is_forgotten(holds: Holds) -> None:
    refuse(holds, "a", times=3)
    holds.accepted(("ns", "a"))
    assert (holds.task_wait("a-uid"), holds.turns("a-uid"), holds.refusal("a-uid")) == (0, 0, None)


def test_a_deleted_task_is_forgotten_and_others_are_not(holds: Holds) -> None:
    refuse(holds, "a")
    refuse(holds, "b")
    holds.forget(("ns", "a"))
    assert (holds.task_wait("a-uid"), holds.turns("a-uid"), holds.refusal("a-uid")) == (0, 0, None)
    assert holds.refusal("b-uid") == FULL


def test_room_in_a_namespace_lets_its_tasks_try_at_once_and_no_others(holds: Holds) -> None:
    refuse(holds, "a")
    refuse(holds, "b")
    refuse(holds, "c", namespace="elsewhere")
    assert holds.freed("ns") == [("ns", "a"), ("ns", "b")]
    assert (holds.task_wait("a-uid"), holds.task_wait("c-uid")) == (0, 5)
    assert holds.allowance("ns", 7)[0] == 1, "still one at a time"
    assert holds.turns("a-uid") == 1, "and by turns"


def test_room_where_nothing_was_refused_is_nobodys_business(holds: Holds) -> None:
    assert holds.freed("ns") == []
