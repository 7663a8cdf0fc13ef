"""What a live agent is answered: everything that is wanted of it at that moment, and the same again."""

from typing import Any

import pytest

from bernstein_agent.contract import Continuation, Instruction
from bernstein_operator.api.money import Money
from bernstein_operator.api.pod import Pod
from bernstein_operator.api.snapshot import Reading, TaskSnapshot
from bernstein_operator.api.task_status import Usage
from bernstein_operator.decisions.instructing import instruct
from bernstein_operator.decisions.task import decide
from tests.unit.objects import (
    at,
    attempt,
    name_of_pod,
    pod,
    run,
    running,
    snapshot,
    stamp,
    status,
    task,
)

REPOSITORY = {"url": "https://git/x.git", "ref": "main"}
AT_WORK = pod(phase="Running", agent=running(1))
STOPPED = pod(phase="Running", agent=running(1), stop="budget", stopped=5)
DELETED = pod(phase="Running", agent=running(1), deleted=5)


def working(
    seen: Pod = AT_WORK,
    *,
    cancel: str | None = None,
    reading: Reading | None = None,
    budget: dict[str, Any] | None = None,
    given: dict[str, Any] | None = None,
    told: dict[str, Any] | None = None,
    repository: dict[str, str] | None = REPOSITORY,
    **spec: Any,
) -> TaskSnapshot:
    """Return a task whose agent works; ``given`` is of its attempt, ``told`` of its status."""
    open_one = attempt(pod_uid=f"{name_of_pod()}-uid", start_time=at(1), **(given or {}))
    stored = status(open_one, **{"phase": "Running", **(told or {})})
    owner = task(status=stored, cancel=cancel, **spec)
    where: dict[str, Any] = {"repository": repository} if repository else {}
    of = run(status={"budget": budget} if budget else {}, **where)
    return snapshot(owner, seen, run=of, reading=reading)


def asked(snapshot: TaskSnapshot) -> Instruction:
    return instruct(snapshot, now=at(10))


def test_an_agent_of_which_nothing_is_wanted_is_told_nothing() -> None:
    assert asked(working()) == Instruction()


@pytest.mark.parametrize(
    ("seen", "stop"),
    [
        pytest.param(working(), False, id="at work"),
        pytest.param(working(STOPPED), True, id="told to stop"),
        pytest.param(working(DELETED), True, id="being deleted"),
        pytest.param(working(cancel="true"), True, id="a cancel, before anything was done about it"),
        pytest.param(working(cancel="yes"), False, id="no cancel"),
        pytest.param(working(told={"phase": "Abandoned"}), True, id="given up by a person"),
        pytest.param(snapshot(task(status=status(attempt(end_time=at(1))))), True, id="ended"),
    ],
)
def test_an_agent_is_told_to_stop(seen: TaskSnapshot, stop: bool) -> None:
    assert asked(seen).stop is stop


@pytest.mark.parametrize(
    ("budget", "essential", "finish"),
    [
        pytest.param({"band": "none"}, False, False, id="enough"),
        pytest.param({"band": "warn"}, False, False, id="warned"),
        pytest.param({"band": "critical"}, True, False, id="critical, but essential"),
        pytest.param({"band": "critical"}, False, True, id="critical, and not essential"),
        pytest.param({"band": "stop", "shouldStop": True}, True, True, id="used up"),
    ],
)
def test_an_agent_is_asked_to_finish_as_the_runs_budget_says(
    budget: dict[str, Any], essential: bool, finish: bool
) -> None:
    assert bool(asked(working(budget=budget, essential=essential)).finish) is finish


def test_warnings_of_its_attempt_and_of_its_run_reach_the_agent_each_under_one_name() -> None:
    warned = [
        {"attempt": 1, "limit": "timeoutSeconds", "time": stamp(2), "at": stamp(60)},
        {"attempt": 0, "limit": "deadline", "time": stamp(0), "at": stamp(90)},
        {"attempt": 1, "limit": "startTimeoutSeconds", "time": stamp(0), "at": stamp(40)},
    ]
    budget = {"reached": [{"band": "warn", "time": stamp(3)}]}
    seen = working(told={"deadline": {"warned": warned}}, budget=budget)
    heard = asked(seen).warnings
    assert [one.id.partition("-2026")[0] for one in heard] == ["timeoutSeconds", "budget-warn"]
    assert "2026-01-01T12:01:00Z" in heard[0].text
    assert asked(seen).warnings == heard


SPENT = {"usage": Usage(input_tokens=30, output_tokens=10, cost_usd=Money.parse("0.40"))}
OWN = Usage(input_tokens=20, output_tokens=10, cost_usd=Money.parse("0.25"))


@pytest.mark.parametrize(
    ("budget", "given", "money", "tokens"),
    [
        pytest.param({}, {}, None, None, id="unbounded"),
        pytest.param({"usd": "1"}, {"cap_usd": "0.85"}, None, None, id="as it was given"),
        pytest.param({"usd": "2"}, {"cap_usd": "0.85"}, None, None, id="more: only from the next attempt on"),
        pytest.param({"usd": "0.999999"}, {"cap_usd": "0.85"}, 849_999, None, id="less: at once"),
        pytest.param({"usd": "0.10"}, {"cap_usd": "0.85"}, 0, None, id="less than others have spent"),
        pytest.param({"usd": "1"}, {}, 850_000, None, id="a first limit"),
        pytest.param({"tokens": 100}, {"cap_tokens": 90}, None, None, id="tokens as given"),
        pytest.param({"tokens": 99}, {"cap_tokens": 90}, None, 89, id="fewer tokens"),
        pytest.param({"tokens": 99}, {}, None, 89, id="a first limit of tokens"),
    ],
)
def test_limits_that_shrank_hold_at_once(
    budget: dict[str, Any], given: dict[str, Any], money: int | None, tokens: int | None
) -> None:
    spec = {"budget": budget} if budget else {}
    told = asked(_with_budget(spec, given))
    assert (told.cost_micros, told.tokens) == (money, tokens)


def _with_budget(spec: dict[str, Any], given: dict[str, Any]) -> TaskSnapshot:
    shape = working(given={"usage": OWN, **given}, told=SPENT)
    return snapshot(task(status=shape.task.status, **spec), AT_WORK, run=shape.run)


ANNOUNCED = Reading(usage=Usage(), written=at(5), continues="s-1")
ON_RECORD = {"attempt": 1, "time": stamp(4), "sessionId": "s-1"}
BEFORE = {"attempt": 7, "time": stamp(4)}


@pytest.mark.parametrize(
    ("seen", "answer"),
    [
        pytest.param(working(), None, id="none was announced"),
        pytest.param(working(reading=ANNOUNCED), Continuation.PENDING, id="not on record yet"),
        pytest.param(
            working(reading=ANNOUNCED, told={"continuation": ON_RECORD}), Continuation.ALLOWED, id="on record"
        ),
        pytest.param(
            working(reading=ANNOUNCED, told={"continuation": BEFORE}),
            Continuation.REFUSED,
            id="the task has had its one",
        ),
        pytest.param(
            working(reading=ANNOUNCED, effects="none"), Continuation.REFUSED, id="no commit is wanted"
        ),
        pytest.param(
            working(reading=ANNOUNCED, repository=None), Continuation.REFUSED, id="there is no repository"
        ),
        pytest.param(
            working(reading=ANNOUNCED, told={"phase": "Pending"}),
            Continuation.PENDING,
            id="before its start was seen",
        ),
        pytest.param(working(STOPPED, reading=ANNOUNCED), Continuation.REFUSED, id="told to stop"),
        pytest.param(working(reading=ANNOUNCED, cancel="true"), Continuation.REFUSED, id="cancelled"),
    ],
)
def test_a_continuation_is_allowed_once_it_is_on_record(
    seen: TaskSnapshot, answer: Continuation | None
) -> None:
    assert asked(seen).continuation is answer
    stored = decide(seen, now=at(10)).status.continuation
    may_go_on = answer in (Continuation.PENDING, Continuation.ALLOWED)
    assert bool(stored and stored.attempt == 1) is may_go_on


def test_an_announced_continuation_goes_on_record_with_its_session_at_once_and_once() -> None:
    seen = working(reading=ANNOUNCED)
    stored = decide(seen, now=at(10)).status.continuation
    assert stored
    assert (stored.attempt, stored.time, stored.session_id) == (1, at(10), "s-1")
    again = working(reading=ANNOUNCED, told={"continuation": stored})
    assert decide(again, now=at(20)).status.continuation == stored
