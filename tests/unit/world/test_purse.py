"""A run's money follows its tasks; what was spent stays so when they are deleted, and after a restart."""

from dataclasses import replace

import pytest

from bernstein_operator.api.budget import BudgetStatus
from bernstein_operator.api.choices import ScopeSize
from bernstein_operator.api.money import Money
from bernstein_operator.api.spending import Allotment, Sample
from bernstein_operator.decisions.accounts import Account
from bernstein_operator.world.purse import Purse

LIVE = Account(spent=5, in_flight=2, reserved=10, tokens=50, in_flight_tokens=20, reserved_tokens=7, live=1)
DONE = Account(spent=30, estimated=4, tokens=300, scope=ScopeSize.LARGE, sample=Sample(2, 30, 300))


def purse(**accounts: Account) -> Purse:
    made = Purse()
    for uid, account in accounts.items():
        made.put(uid, account)
    return made


def stored(spent: int, **more: int) -> BudgetStatus:
    money = {"spent_usd": spent, **{name: more.pop(name) for name in list(more) if name.endswith("usd")}}
    return BudgetStatus(**{name: Money(amount) for name, amount in money.items()}, **more)  # type: ignore[arg-type]


def test_all_accounts_are_added_up() -> None:
    spend = purse(a=LIVE, b=DONE).spend()
    assert (spend.spent, spend.estimated, spend.in_flight, spend.reserved, spend.live) == (35, 4, 2, 10, 1)
    assert (spend.tokens, spend.in_flight_tokens, spend.reserved_tokens) == (350, 20, 7)
    assert spend.sample(ScopeSize.LARGE) == Sample(2, 30, 300)
    assert spend.sample(ScopeSize.SMALL) == Sample()


def test_a_changed_account_replaces_the_one_before() -> None:
    made = purse(a=LIVE)
    made.put("a", DONE)
    assert made.spend() == purse(a=DONE).spend() or made.spend().sample(ScopeSize.LARGE).count == 2
    assert (made.spend().spent, made.spend().live) == (30, 0)
    assert list(made.live) == []


def test_a_share_holds_until_the_attempt_has_it_on_record() -> None:
    made = purse()
    made.share("a", Allotment(Money(10), 7))
    assert (made.spend().reserved, made.spend().reserved_tokens, made.spend().live) == (10, 7, 1)
    made.put("a", LIVE)
    made.settle("a")
    assert (made.spend().reserved, made.spend().live, made.share_of("a")) == (10, 1, None)


def test_what_a_deleted_task_has_spent_is_carried_on_and_what_it_reserved_is_free() -> None:
    made = purse(a=LIVE, b=DONE)
    made.share("c", Allotment(Money(10)))
    for uid in ("a", "b", "c"):
        made.drop(uid, counts=True)
    spend = made.spend()
    assert (spend.spent, spend.carried, spend.tokens, spend.carried_tokens) == (35, 35, 350, 350)
    assert (spend.estimated, spend.reserved, spend.in_flight, spend.live) == (4, 0, 0, 0)
    assert spend.sample(ScopeSize.LARGE).count == 2, "what it cost is still a measure"


def test_what_a_deleted_agent_never_told_is_taken_for_what_it_reserved() -> None:
    made = purse(a=Account(spent=5, reserved=10, live=1, untold=10))
    assert made.spend().spent == 5, "while it works it may yet tell"
    made.drop("a", counts=True)
    spend = made.spend()
    assert (spend.spent, spend.carried, spend.estimated, spend.reserved) == (15, 15, 10, 0)


def test_a_deleted_task_of_another_run_leaves_nothing() -> None:
    made = purse(a=DONE)
    made.drop("a", counts=False)
    spend = made.spend()
    assert (spend.spent, spend.carried, spend.tokens, spend.estimated) == (0, 0, 0, 0)


def test_a_restart_carries_what_no_task_accounts_for() -> None:
    made = purse(b=DONE)
    made.recall(stored(100, tokens=1000, estimated_usd=9))
    spend = made.spend()
    assert (spend.spent, spend.carried, spend.tokens, spend.carried_tokens) == (100, 70, 1000, 700)
    assert spend.estimated == 9
    made.recall(stored(100, tokens=1000, estimated_usd=9))
    assert made.spend() == spend, "and once is enough"


def test_what_was_in_flight_is_reported_again_and_not_carried() -> None:
    made = purse(a=Account(live=1), b=DONE)
    made.recall(stored(50, in_flight_usd=20, tokens=500, in_flight_tokens=200))
    assert (made.spend().carried, made.spend().carried_tokens) == (0, 0)


@pytest.mark.parametrize(
    ("told", "carried"),
    [
        pytest.param(Account(spent=20, tokens=200), (0, 0), id="all of it"),
        pytest.param(Account(spent=35, tokens=350), (0, 0), id="and more"),
        pytest.param(Account(spent=5, tokens=50), (15, 150), id="a part of it"),
        pytest.param(Account(), (20, 200), id="nothing"),
    ],
)
def test_what_is_not_reported_again_once_its_attempt_has_ended_is_carried(
    told: Account, carried: tuple[int, int]
) -> None:
    made = purse(a=Account(live=1), b=DONE)
    made.recall(stored(50, in_flight_usd=20, tokens=500, in_flight_tokens=200))
    made.put("a", replace(told, live=1))
    made.put("c", DONE)
    assert made.spend().spent == 50 + 30 + max(0, told.spent - 20), "another task's spend hides none of it"
    made.put("a", told)
    spend = made.spend()
    assert (spend.carried, spend.carried_tokens, spend.in_flight) == (*carried, 0)
    assert spend.spent == 50 + 30 + max(0, told.spent - 20)
    made.put("a", Account(spent=told.spent + 7, live=1))
    assert made.spend().carried == carried[0], "and a later attempt takes nothing of it back"


def test_what_was_in_flight_of_attempts_that_are_not_live_any_more_is_carried_at_once() -> None:
    made = purse(b=DONE)
    made.recall(stored(50, in_flight_usd=20, tokens=500, in_flight_tokens=200))
    assert (made.spend().spent, made.spend().carried, made.spend().carried_tokens) == (50, 20, 200)


def test_what_had_reached_its_task_before_the_restart_is_not_missing() -> None:
    made = purse(a=Account(spent=20, live=1), b=DONE)
    made.recall(stored(50, in_flight_usd=20))
    made.put("a", Account(spent=20))
    assert (made.spend().spent, made.spend().carried) == (50, 0)


def test_a_deleted_task_leaves_what_its_agent_may_have_spent_and_never_told() -> None:
    made = purse(a=Account(spent=5, live=1, reserved=10, untold=10))
    made.drop("a", counts=True)
    spend = made.spend()
    assert (spend.spent, spend.carried, spend.estimated, spend.reserved) == (15, 15, 10, 0)


def test_what_was_carried_before_stays_carried() -> None:
    made = purse(b=DONE)
    made.recall(stored(30, carried_usd=25, carried_tokens=250))
    assert (made.spend().spent, made.spend().carried_tokens) == (55, 250)


def test_nothing_stored_is_nothing_carried() -> None:
    made = purse(b=DONE)
    made.recall(None)
    assert made.spend().carried == 0


def test_a_deleted_task_of_another_run_is_not_waited_for() -> None:
    made = purse(a=Account(live=1))
    made.recall(stored(50, in_flight_usd=20))
    made.drop("a", counts=False)
    assert made.spend().spent == 50
