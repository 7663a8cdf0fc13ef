"""What a task adds to its run's money, and what it would take of it."""

from typing import Any

import pytest

from bernstein_operator.api.choices import ScopeSize
from bernstein_operator.api.money import Money
from bernstein_operator.api.spending import Allotment, Need, Sample
from bernstein_operator.api.task_status import AgentTaskStatus, Usage
from bernstein_operator.decisions.accounts import Account, account_of, need_of, promised
from tests.unit.objects import at, attempt, effective, profile, run, status, task

CENT = 10_000


def usage(cents: int, tokens: int = 0, **more: Any) -> Usage:
    return Usage(input_tokens=tokens, cached_tokens=7, cost_usd=Money(cents * CENT), **more)


ENDED = attempt(1, end_time=at(5), usage=usage(10, 100))
FREE = attempt(2, end_time=at(6), usage=Usage())
RESERVED: dict[str, Any] = {"reservation_usd": Money(30 * CENT), "reservation_tokens": 300}


def whole(*attempts: Any, **spent: Any) -> AgentTaskStatus:
    return status(*attempts, usage=usage(**spent) if spent else None)


@pytest.mark.parametrize(
    ("of", "reported", "expected"),
    [
        pytest.param(AgentTaskStatus(), None, Account(), id="nothing happened yet"),
        pytest.param(
            whole(ENDED, FREE, cents=10, tokens=100),
            None,
            Account(spent=10 * CENT, tokens=100, sample=Sample(1, 10 * CENT, 100)),
            id="attempts that ended, one of which cost nothing",
        ),
        pytest.param(
            whole(attempt(**RESERVED)),
            None,
            Account(reserved=30 * CENT, reserved_tokens=300, live=1),
            id="one that has reported nothing",
        ),
        pytest.param(
            whole(attempt(start_time=at(1), **RESERVED)),
            None,
            Account(reserved=30 * CENT, reserved_tokens=300, live=1, untold=30 * CENT),
            id="one whose agent works and has reported nothing",
        ),
        pytest.param(
            whole(attempt(start_time=at(1), **RESERVED)),
            usage(1),
            Account(spent=CENT, in_flight=CENT, reserved=29 * CENT, reserved_tokens=300, live=1),
            id="one whose agent works and has reported something",
        ),
        pytest.param(
            whole(attempt(**RESERVED), cents=0),
            usage(20, 100),
            Account(
                spent=20 * CENT,
                in_flight=20 * CENT,
                reserved=10 * CENT,
                tokens=100,
                in_flight_tokens=100,
                reserved_tokens=200,
                live=1,
            ),
            id="one whose report isn't stored yet",
        ),
        pytest.param(
            whole(attempt(usage=usage(15, 50), **RESERVED), cents=15, tokens=50),
            usage(20, 100),
            Account(
                spent=20 * CENT,
                in_flight=5 * CENT,
                reserved=10 * CENT,
                tokens=100,
                in_flight_tokens=50,
                reserved_tokens=200,
                live=1,
            ),
            id="one whose last report is stored in part",
        ),
        pytest.param(
            whole(attempt(usage=usage(40, 400), **RESERVED), cents=40, tokens=400),
            usage(40, 400),
            Account(spent=40 * CENT, tokens=400, live=1),
            id="one that has cost more than it reserved",
        ),
        pytest.param(
            whole(attempt(12, end_time=at(5), usage=usage(10)), cents=99),
            None,
            Account(spent=99 * CENT, sample=Sample(1, 10 * CENT, 0)),
            id="attempts that aren't listed any more",
        ),
        pytest.param(
            status(
                attempt(end_time=at(5), usage=usage(10, estimated_usd=Money(4 * CENT))),
                usage=usage(10, estimated_usd=Money(4 * CENT)),
            ),
            None,
            Account(spent=10 * CENT, estimated=4 * CENT, sample=Sample(1, 10 * CENT, 0)),
            id="a part that was estimated",
        ),
    ],
)
def test_the_account_of_a_task(of: AgentTaskStatus, reported: Usage | None, expected: Account) -> None:
    assert account_of(of, ScopeSize.MEDIUM, reported) == expected


def test_a_share_counts_from_the_moment_in_which_it_is_given() -> None:
    given = Allotment(Money(30 * CENT), 300)
    assert promised(given) == Account(reserved=30 * CENT, reserved_tokens=300, live=1)


@pytest.mark.parametrize(
    ("spec", "of", "expected"),
    [
        pytest.param({}, {"adapter": "script"}, Need(), id="the usual"),
        pytest.param({"scope": "large"}, {"adapter": "script"}, Need(scope=ScopeSize.LARGE), id="its scope"),
        pytest.param({"essential": False}, {"adapter": "script"}, Need(essential=False), id="not essential"),
        pytest.param({}, {"adapter": "script", "metering": "none"}, Need(metered=False), id="not metered"),
        pytest.param(
            {}, {"adapter": "command", "command": {"args": ["x"]}}, Need(metered=False), id="any program"
        ),
        pytest.param(
            {},
            {"adapter": "command", "command": {"args": ["x"]}, "metering": "end"},
            Need(),
            id="any program that tells",
        ),
        pytest.param(
            {"budget": {"usd": "0.40", "tokens": 150}},
            {"adapter": "script"},
            Need(left_usd=Money(30 * CENT), left_tokens=50),
            id="what is left of its budget",
        ),
        pytest.param(
            {"budget": {"usd": "0.05", "tokens": 50}},
            {"adapter": "script"},
            Need(left_usd=Money(), left_tokens=0),
            id="nothing is left of its budget",
        ),
    ],
)
def test_what_a_task_needs(spec: dict[str, Any], of: dict[str, Any], expected: Need) -> None:
    spent = whole(ENDED, cents=10, tokens=100)
    assert need_of(spent, effective(**spec), profile(**of).spec) == expected


@pytest.mark.parametrize("level", ["task", "run"])
def test_task_and_run_say_what_a_task_needs(level: str) -> None:
    said = {"essential": False, "budget": {"usd": "0.40", "tokens": 150}}
    owner = task(**(said if level == "task" else {}))
    of = run(taskDefaults=said if level == "run" else {}).spec
    assert of
    found = owner.effective(of.task_defaults)
    assert found
    expected = Need(essential=False, left_usd=Money(30 * CENT), left_tokens=50)
    assert need_of(whole(ENDED, cents=10, tokens=100), found, profile().spec) == expected
