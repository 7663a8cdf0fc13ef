"""Slots and shares of a run's money are given together, and who is left without one learns why."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from bernstein_agent.contract import Report, ResultSubject, Usage
from bernstein_operator.api.money import Money
from bernstein_operator.api.spending import Need
from bernstein_operator.api.vocabulary import AdmittedReason
from bernstein_operator.decisions.admission import Candidate
from bernstein_operator.decisions.reserving import Funds, Till
from bernstein_operator.decisions.task import decide
from tests.unit.objects import at, attempt, pod, raw_run, running, said, status, terminated
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


def test_a_deleted_tasks_last_report_is_spent_however_short_a_while_ago_it_came() -> None:
    here = Scene()
    begun = attempt(task="a", reservation_usd="0.40", start_time=at(1))
    task = here.put("a", status=status(begun, phase="Running"))
    assert here.run.spend.spent == 0
    said = Report(subject=ResultSubject(id=begun.pod_name, attempt=1), usage=Usage(cost_micros=30 * CENT))
    here.world.meter.take(task, begun, said)
    here.drop("a")
    assert (here.run.spend.spent, here.run.spend.estimated) == (30 * CENT, 0)


def test_what_an_agent_has_spent_is_known_before_its_slot_is_free() -> None:
    here = Scene()
    begun = attempt(task="a", reservation_usd="0.10", pod_uid="p", start_time=at(1))
    here.put("a", status=status(begun, phase="Running"))
    here.world.seen(pod(task="a", uid="p", phase="Running", agent=running()))
    assert (here.run.live, here.run.spend.spent, here.run.spend.reserved) == (1, 0, 10 * CENT)
    word = said(begun.pod_name, usage=Usage(cost_micros=50 * CENT))
    over = pod(task="a", uid="p", version=2, phase="Succeeded", agent=terminated(0, message=word))
    here.world.seen(over)
    spend = here.run.spend
    assert (here.run.live, spend.spent, spend.reserved, spend.live) == (0, 50 * CENT, 0, 1)
    here.drop("a")
    assert (here.run.spend.spent, here.run.spend.estimated) == (50 * CENT, 0), (
        "and a task that is deleted then"
    )


@pytest.mark.parametrize(
    ("started", "spent"),
    [
        pytest.param(at(1), 40, id="its agent has worked and told nothing"),
        pytest.param(None, 0, id="its agent has never started"),
    ],
)
def test_a_deleted_tasks_agent_may_have_spent_what_it_reserved(started: Any, spent: int) -> None:
    here = Scene()
    begun = attempt(task="a", reservation_usd="0.40", start_time=started)
    here.put("a", status=status(begun, phase="Running"))
    here.drop("a")
    spend = here.run.spend
    assert (spend.spent, spend.carried, spend.estimated) == (spent * CENT, spent * CENT, spent * CENT)


def test_a_run_that_is_made_again_gives_its_tasks_slots_and_shares_anew() -> None:
    here = Scene()
    wait(here, "a")
    grant(here)
    here.world.put_run(raw_run(version=2, metadata={"uid": "another"}))
    assert (here.of("a").has_slot, here.of("a").share, here.run.live) == (False, None, 0)


@pytest.mark.parametrize(
    ("change", "marked"),
    [
        pytest.param({}, set(), id="nothing has changed"),
        pytest.param({"need": Need(left_usd=Money(CENT))}, {"r"}, id="it needs less"),
        pytest.param({"role": "docs"}, {"r"}, id="it has another role"),
        pytest.param({"priority": 1}, {"r"}, id="it is more urgent"),
    ],
)
def test_a_waiting_task_that_asks_for_something_else_wakes_its_run(
    change: dict[str, Any], marked: set[str]
) -> None:
    here = Scene()
    wait(here, "a")
    here.marked.forget()
    task = here.of("a").task
    asked = Candidate(task.meta.uid, 2, "auto", ("", "a"), need=NEEDS_40)
    here.world.slots.offer(task, replace(asked, **change))
    assert here.marked.runs == marked


def test_a_shorter_grace_wakes_the_tasks_that_it_stops() -> None:
    here = Scene(budget={"stopGraceSeconds": 3600})
    here.put("a", status=status(attempt(task="a"), phase="Running"))
    here.marked.forget()
    here.world.put_run(raw_run(version=2, budget={"stopGraceSeconds": 0}))
    assert here.marked.tasks == {"a"}


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
