"""Slots and shares of a run's money are given together, and who is left without one learns why."""

from datetime import timedelta
from typing import Any

import pytest

from bernstein_operator.api.money import Money
from bernstein_operator.api.spending import Need
from bernstein_operator.api.vocabulary import AdmittedReason
from bernstein_operator.decisions.admission import Candidate
from bernstein_operator.decisions.reserving import Funds, Till
from bernstein_operator.decisions.task import decide
from tests.unit.objects import at, attempt, status
from tests.unit.world.test_world import RUN, Scene

CENT = 10_000
NEEDS_40 = Need(left_usd=Money(40 * CENT))


def wait(here: Scene, *names: str, need: Need = NEEDS_40, **options: Any) -> None:
    for name in names:
        task = here.put(name, **options)
        here.world.slots.offer(task, Candidate(task.meta.uid, 2, "auto", ("", name), need=need))


def grant(here: Scene, *, free: int = 9, cap: int = 100) -> None:
    here.world.grant(RUN, free=free, till=Till(Funds(cap_usd=Money(cap * CENT), spend=here.run.spend)))


def shares(here: Scene, *names: str) -> list[int]:
    given = [here.of(name).share for name in names]
    return [one.reservation_usd.micros // CENT if one else 0 for one in given]


def test_five_that_wait_at_once_share_what_is_there() -> None:
    here = Scene(budget={"usd": "1.00"})
    wait(here, *"abcde")
    here.marked.forget()
    grant(here)
    assert shares(here, *"abcde") == [40, 40, 0, 0, 0]
    assert [here.of(name).has_slot for name in "abcde"] == [True, True, False, False, False]
    assert [here.of(name).short for name in "cde"] == [AdmittedReason.BUDGET_RESERVED] * 3
    assert here.marked.tasks == set("abcde"), "those that start, and those that learn why they don't"
    assert (here.run.spend.reserved, here.run.spend.live) == (80 * CENT, 2)
    here.marked.forget()
    grant(here)
    assert here.marked.tasks == set(), "nothing is new"


def test_a_share_passes_to_the_attempt_and_is_free_again_after_its_end() -> None:
    here = Scene()
    wait(here, *"abc")
    grant(here)
    begun = attempt(task="a", reservation_usd="0.40")
    here.put("a", version=2, status=status(begun))
    assert (here.of("a").share, here.run.spend.reserved) == (None, 80 * CENT)
    ended = begun.model_copy(update={"end_time": at(5)})
    here.put("a", version=3, status=status(ended, phase="Succeeded", usage={"cost_usd": "0.10"}))
    assert (here.run.spend.spent, here.run.spend.reserved) == (10 * CENT, 40 * CENT)
    grant(here)
    assert shares(here, *"bc") == [40, 40]


def test_a_slot_that_is_not_used_gives_its_share_back() -> None:
    here = Scene()
    wait(here, "a")
    grant(here)
    here.world.slots.release(here.of("a").task)
    assert (here.of("a").share, here.run.spend.reserved, here.run.spend.live) == (None, 0, 0)


def test_a_deleted_task_leaves_its_spend_and_frees_its_reservation() -> None:
    here = Scene()
    here.put("a", status=status(attempt(task="a", reservation_usd="0.40"), usage={"cost_usd": "0.10"}))
    here.drop("a")
    spend = here.run.spend
    assert (spend.spent, spend.carried, spend.reserved) == (10 * CENT, 10 * CENT, 0)


def test_money_that_is_short_is_no_reason_to_keep_a_turn() -> None:
    here = Scene()
    wait(here, *"abc")
    wait(here, "d", need=Need(metered=False))
    nothing = Till(Funds(cap_usd=Money(1)))
    assert (here.world.startable(RUN), here.world.startable(RUN, nothing)) == (4, 1)


@pytest.mark.parametrize(
    ("others", "all_wait"),
    [
        pytest.param({}, True, id="nobody else is there"),
        pytest.param({"b": {"dependsOn": ["a"]}}, True, id="one is behind it"),
        pytest.param({"b": {"dependsOn": ["a"]}, "c": {"dependsOn": ["b"]}}, True, id="one is behind that"),
        pytest.param({"b": {"dependsOn": ["missing"]}}, False, id="one waits for a name that nobody has"),
        pytest.param({"b": {"suspend": True}}, False, id="one is held back by a person"),
        pytest.param({"b": {"status": {"phase": "Failed"}}}, True, id="one can't move"),
        pytest.param({"b": {"status": {"phase": "AwaitingInput"}}}, False, id="one waits for an answer"),
        pytest.param({"b": {"status": status(attempt(task="b"))}}, False, id="one is live"),
    ],
)
def test_whether_all_that_could_move_wait_for_a_slot_or_behind_such_a_task(
    others: dict[str, dict[str, Any]], all_wait: bool
) -> None:
    here = Scene()
    wait(here, "a")
    for name, options in others.items():
        here.put(name, **options)
    assert here.run.all_wait is all_wait


@pytest.mark.parametrize(
    ("waited", "reason"),
    [
        pytest.param(4.9, None, id="it may be over in a moment"),
        pytest.param(5, "BudgetReserved", id="it isn't"),
    ],
)
def test_a_task_tells_that_the_money_is_not_enough(waited: float, reason: str | None) -> None:
    here = Scene()
    wait(here, "a", "b")
    grant(here, cap=40)
    here.now += timedelta(seconds=waited)
    decision = decide(here.of("b"), now=here.now)
    told = {one.type: one for one in decision.status.conditions}
    assert (told["Admitted"].reason if told else None) == reason
    assert decision.candidate, "it queues all the same"
