"""Who gets the next slot, and how many there may be."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bernstein_operator.api.money import Money
from bernstein_operator.api.spending import Need, Spend
from bernstein_operator.decisions.admission import Candidate, Waiting, configured_ceiling
from bernstein_operator.decisions.reserving import Funds, Till


@pytest.mark.parametrize(
    ("spec", "operator", "ceiling"),
    [
        pytest.param(None, None, 6, id="nobody says anything"),
        pytest.param(3, None, 3, id="the run says"),
        pytest.param(3, 2, 2, id="the operator allows less"),
        pytest.param(3, 9, 3, id="the operator would allow more"),
        pytest.param(None, 4, 4, id="the operator allows less than the built-in"),
        pytest.param(0, None, 0, id="zero is zero, never unlimited"),
        pytest.param(3, 0, 0, id="the operator allows none"),
    ],
)
def test_the_ceiling(spec: int | None, operator: int | None, ceiling: int) -> None:
    assert configured_ceiling(spec=spec, operator=operator) == ceiling


def candidate(uid: str, *, priority: int = 2, role: str = "auto", age: str = "0", turn: int = 0) -> Candidate:
    return Candidate(uid, priority, role, (age, uid), turn)


def order(*candidates: Candidate, free: int = 100, **live: int) -> list[str]:
    waiting = Waiting()
    for one in candidates:
        waiting.put(one)
    return [one.uid for one in waiting.take(free=free, live_by_role=live)]


def test_the_lowest_priority_number_goes_first() -> None:
    young_and_urgent = candidate("a", priority=1, age="9")
    assert order(candidate("b", priority=2), candidate("c", priority=100), young_and_urgent) == [
        "a",
        "b",
        "c",
    ]


def test_priority_goes_before_fairness_and_age() -> None:
    assert order(candidate("qa", role="qa", priority=2), candidate("be", role="be", priority=1), be=5) == [
        "be",
        "qa",
    ]


def test_the_role_with_the_fewest_live_agents_goes_next() -> None:
    first, second = candidate("a", role="be", age="1"), candidate("b", role="qa", age="2")
    assert order(first, second, be=1, qa=0) == ["b", "a"]
    assert order(first, second, be=1, qa=2) == ["a", "b"]


def test_roles_take_turns_while_slots_are_given() -> None:
    backend = [candidate(f"be{one}", role="be", age=f"1{one}") for one in range(3)]
    docs = [candidate(f"docs{one}", role="docs", age=f"2{one}") for one in range(3)]
    assert order(*backend, *docs, free=4) == ["be0", "docs0", "be1", "docs1"]


def test_in_one_role_age_decides_and_then_the_name() -> None:
    assert order(candidate("b", age="1"), candidate("c", age="0"), candidate("a", age="1")) == ["c", "a", "b"]


def test_who_was_refused_less_often_is_tried_first() -> None:
    assert order(candidate("old", age="0", turn=1), candidate("new", age="9")) == ["new", "old"]


@pytest.mark.parametrize(
    ("limits", "live", "started"),
    [
        pytest.param({}, {}, ["be0", "qa0", "be1", "qa1"], id="no role has a ceiling"),
        pytest.param({"be": 1}, {}, ["be0", "qa0", "qa1"], id="a role up to its ceiling"),
        pytest.param({"be": 2}, {"be": 2}, ["qa0", "qa1"], id="a role that is full"),
        pytest.param({"be": 2}, {"be": 1}, ["qa0", "be0", "qa1"], id="one short of full"),
        pytest.param({"be": 0}, {}, ["qa0", "qa1"], id="a role that may not start"),
        pytest.param({"be": 0, "qa": 0}, {}, [], id="no role may"),
        pytest.param({"docs": 0}, {}, ["be0", "qa0", "be1", "qa1"], id="a role that nobody has"),
    ],
)
def test_full_roles_are_passed_over(limits: dict[str, int], live: dict[str, int], started: list[str]) -> None:
    waiting = Waiting()
    for role in ("be", "qa"):
        for number in range(2):
            waiting.put(candidate(f"{role}{number}", role=role, age=f"{number}{role}"))
    assert waiting.startable(live_by_role=live, limits=limits) == len(started)
    taken = waiting.take(free=9, live_by_role=live, limits=limits)
    assert [one.uid for one in taken] == started
    assert len(waiting) == 4 - len(started)


def test_a_full_role_of_higher_priority_lets_a_lower_one_pass() -> None:
    waiting = Waiting()
    waiting.put(candidate("first", role="be", priority=1))
    waiting.put(candidate("second", role="qa", priority=9))
    assert [one.uid for one in waiting.take(free=1, live_by_role={}, limits={"be": 0})] == ["second"]
    assert list(waiting.of_role("be")) == ["first"]


def test_no_more_are_taken_than_are_free_and_the_rest_still_waits() -> None:
    waiting = Waiting()
    for uid in "abc":
        waiting.put(candidate(uid))
    assert [one.uid for one in waiting.take(free=2, live_by_role={})] == ["a", "b"]
    assert waiting.take(free=0, live_by_role={}) == []
    assert (len(waiting), "c" in waiting, "a" in waiting) == (1, True, False)


def test_a_task_put_again_moves_and_is_in_once() -> None:
    waiting = Waiting()
    waiting.put(candidate("a", priority=9))
    waiting.put(candidate("b", priority=5))
    waiting.put(candidate("a", priority=1))
    assert [one.uid for one in waiting.take(free=9, live_by_role={})] == ["a", "b"]


def test_taking_out_what_is_not_in_is_no_error() -> None:
    waiting = Waiting()
    waiting.remove("nobody")
    assert len(waiting) == 0


CANDIDATES = st.lists(
    st.builds(
        candidate,
        st.sampled_from([f"u{one}" for one in range(12)]),
        priority=st.integers(1, 3),
        role=st.sampled_from(["a", "b", "c"]),
        age=st.sampled_from("012"),
        turn=st.integers(0, 2),
    ),
    max_size=20,
)


@given(candidates=CANDIDATES, removed=st.sets(st.sampled_from([f"u{one}" for one in range(12)])))
def test_the_sorted_picks_are_those_of_a_plain_search(candidates: list[Candidate], removed: set[str]) -> None:
    waiting, left = Waiting(), dict[str, Candidate]()
    for one in candidates:
        waiting.put(one)
        left[one.uid] = one
    for uid in removed:
        waiting.remove(uid)
        left.pop(uid, None)
    live = {"a": 1, "b": 0, "c": 2}
    expected = []
    while left:
        best = min(left.values(), key=lambda one: (one.priority, live[one.role], one.turn, one.age))
        live[best.role] += 1
        expected.append(left.pop(best.uid))
    assert waiting.take(free=100, live_by_role={"a": 1, "c": 2}) == expected


@pytest.mark.parametrize(
    ("left", "taken"),
    [
        pytest.param(100, ["first", "second"], id="enough for both"),
        pytest.param(70, ["first"], id="enough for the first, which goes first"),
        pytest.param(50, ["second"], id="too little for the first: it is passed over, whatever its priority"),
        pytest.param(30, [], id="too little for either while an agent is live"),
    ],
)
def test_a_task_for_which_the_money_is_not_enough_is_passed_over(left: int, taken: list[str]) -> None:
    waiting = Waiting()
    for uid, priority, cents in (("first", 1, 60), ("second", 2, 40)):
        need = Need(left_usd=Money(cents * 10_000))
        waiting.put(Candidate(uid, priority, "auto", ("0", uid), need=need))
    till = Till(Funds(cap_usd=Money(left * 10_000), spend=Spend(live=1)))
    assert [one.uid for one in waiting.take(free=9, live_by_role={}, till=till)] == taken
    assert list(till.given) == taken
    assert len(waiting) == 2 - len(taken), "and it waits on"
