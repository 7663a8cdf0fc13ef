"""Failures that come again are known again, and failures of different kinds are kept apart."""

import pytest

from bernstein_agent.contract import ResultClass
from bernstein_operator.decisions.fingerprint import fingerprint


def of(message: str, result_class: ResultClass = ResultClass.AGENT, reason: str = "NonZeroExit") -> str:
    found = fingerprint(result_class, reason=reason, message=message)
    assert found
    return found


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param("exited with code 1", "exited with code 137", id="a number"),
        pytest.param("took 1.5 s", "took 12,000 s", id="a number with a point"),
        pytest.param("at 2026-01-01T12:00:00Z", "at 2026-11-30 08:15:59.123+01:00", id="a moment"),
        pytest.param("on Mon Jan 5 12:00:00", "on Tue Feb 17 08:01:02", id="a moment in words"),
        pytest.param("read at 0x7ffdeadbeef", "read at 0x10", id="an address"),
        pytest.param("commit 0a1b2c3d is lost", "commit ffee00112233 is lost", id="a commit"),
        pytest.param("commit " + "a1" * 20, "commit " + "0f" * 20, id="a whole commit"),
        pytest.param(
            "object 0b7c6a52-5f0e-4a39-8f6e-5a2c3b1d0e9f",
            "object aaaaaaaa-bbbb-cccc-dddd-eeeeeeeeeeee",
            id="a UID",
        ),
        pytest.param("Pod build-abcdef-a1 ended", "Pod build-0a1b2c-a12 ended", id="an attempt's Pod"),
        pytest.param("id req_011CSHoEeqs5C35K", "id req_01ZZaa9Qpq77KkLl", id="a request's id"),
        pytest.param("open /tmp/tmpabcdef/x.json: gone", "open /tmp/tmpzyxwvu/y: gone", id="a drawn name"),
        pytest.param("open /jobs/run-17/log: gone", "open /jobs/run-a4/log: gone", id="a path's part"),
        pytest.param("two  words", "Two\nwords ", id="space and case"),
    ],
)
def test_what_changes_with_each_telling_does_not_matter(first: str, second: str) -> None:
    assert of(first) == of(second)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param("the tests are red", "the linter is red", id="other words"),
        pytest.param("/src/app/main.py: broken", "/src/app/other.py: broken", id="another file"),
        pytest.param("model sonnet-4 is unknown", "model opus-4 is unknown", id="another name"),
        pytest.param("the facade is dead", "the decade is dead", id="words made of a to f"),
        pytest.param("", "something", id="nothing said"),
    ],
)
def test_what_tells_failures_apart_stays(first: str, second: str) -> None:
    assert of(first) != of(second)


def test_class_and_reason_count_too() -> None:
    told = {
        of("x"),
        of("x", result_class=ResultClass.BUSINESS),
        of("x", reason="NoCommit"),
    }
    assert len(told) == 3


def test_the_end_of_a_long_message_does_not_matter() -> None:
    head = "word " * 200
    assert of(head) == of(head + "cut he")


@pytest.mark.parametrize("result_class", ResultClass)
def test_only_failures_have_one(result_class: ResultClass) -> None:
    none = {"success", "abandoned", "cancelled", "asked", "disruption"}
    found = fingerprint(result_class, reason="X", message="m")
    assert (found is None) is (result_class in none)
    assert found is None or len(found) == 16
