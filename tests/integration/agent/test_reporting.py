"""Reports to a real server: what is posted, what of the answer counts, and what goes wrong without harm."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain, repeat
from pathlib import Path

import pytest

from bernstein_agent.contract import (
    Continuation,
    Instruction,
    Notice,
    Reason,
    Report,
    Reporting,
    Result,
    ResultClass,
    ResultSubject,
    Usage,
)
from bernstein_agent.reporting import Reporter
from bernstein_agent.tally import Tally
from tests.support.endpoint import Answer, Endpoint, endpoint
from tests.unit.agent.examples import result

SUBJECT = ResultSubject(id="build-3f2a91-a1", attempt=1)
TALLY = Tally(Usage(input_tokens=1200, output_tokens=340, cost_micros=20_000), 3, 7)


@dataclass
class Attempt:
    """What a reporter reports on, and what it came back with."""

    tally: Tally = TALLY
    heard: list[Instruction] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@pytest.fixture
def operator() -> Iterator[Endpoint]:
    """Return an endpoint that accepts whatever it gets."""
    with endpoint() as served:
        yield served


@pytest.fixture
def attempt() -> Attempt:
    """Return an attempt under way."""
    return Attempt()


def reporter(url: str, attempt: Attempt, directory: Path, *, interval: int = 1) -> Reporter:
    """Return one that reports on ``attempt``, with a token in a file."""
    token = directory / "token"
    token.write_text("first\n")
    return Reporter(
        Reporting(url=url, token_file=str(token), interval_seconds=interval),
        SUBJECT,
        tally=lambda: attempt.tally,
        take=attempt.heard.append,
        now=time.monotonic,
        note=attempt.notes.append,
    )


def soon(seconds: float = 20.0) -> float:
    """Return a moment to wait until."""
    return time.monotonic() + seconds


def ended(reporting: Reporter, **changes: object) -> bool:
    """Close a reporter with a result."""
    ends = soon()
    return reporting.close(result(**changes), until=lambda: ends)


def test_it_posts_totals_every_interval_with_the_token_as_it_is_then(
    operator: Endpoint, attempt: Attempt, tmp_path: Path
) -> None:
    reporting = reporter(f"{operator.url}/", attempt, tmp_path)
    reporting.start()
    operator.wait(lambda it: len(it.reports) >= 1)
    (tmp_path / "token").write_text("second")
    attempt.tally = Tally(Usage(input_tokens=2000), 4, 8)
    operator.wait(lambda it: "Bearer second" in it.tokens and it.reports[-1].steps == 4)
    ended(reporting)
    first = operator.reports[0]
    assert first == Report(subject=SUBJECT, usage=TALLY.usage, steps=3, tool_calls=7)
    assert operator.tokens[0] == "Bearer first"
    assert set(operator.paths) == {"/v1/attempts/build-3f2a91-a1/report"}


def test_it_hands_over_every_answer(operator: Endpoint, attempt: Attempt, tmp_path: Path) -> None:
    wanted = Instruction(
        finish="the run's budget is critical",
        stop=True,
        warnings=(Notice(id="deadline:1", text="5 min are left."),),
        tokens=1000,
        cost_micros=500_000,
    )
    operator.rule = lambda _report: wanted
    reporting = reporter(operator.url, attempt, tmp_path)
    reporting.start()
    operator.wait(lambda it: len(it.reports) >= 2)
    ended(reporting)
    assert set(attempt.heard) == {wanted}


def test_the_last_report_has_the_result_and_none_follows(
    operator: Endpoint, attempt: Attempt, tmp_path: Path
) -> None:
    reporting = reporter(operator.url, attempt, tmp_path)
    reporting.start()
    operator.wait(lambda it: len(it.reports) >= 1)
    said = result(summary="Done.", result_class=ResultClass.BUSINESS, reason=Reason.NO_COMMIT)
    assert ended(reporting, summary="Done.", result_class=ResultClass.BUSINESS, reason=Reason.NO_COMMIT)
    with_result = [report for report in operator.reports if report.result]
    assert [report.result for report in with_result] == [said]
    assert with_result[0].usage == TALLY.usage


def test_a_summary_of_any_length_is_posted_in_part(
    operator: Endpoint, attempt: Attempt, tmp_path: Path
) -> None:
    assert ended(reporter(operator.url, attempt, tmp_path), summary="x" * 2_000_000)
    posted = operator.reports[-1].result
    assert isinstance(posted, Result)
    assert len(posted.summary) == 65_536


ANSWERS: dict[str, tuple[list[Continuation | None], bool]] = {
    "allowed at once": ([Continuation.ALLOWED], True),
    "refused at once": ([Continuation.REFUSED], False),
    "allowed once it is on record": ([Continuation.PENDING, None, Continuation.ALLOWED], True),
    "refused in the end": ([Continuation.PENDING, Continuation.REFUSED], False),
}


@pytest.mark.parametrize(("answers", "allowed"), ANSWERS.values(), ids=ANSWERS)
def test_a_continuation_is_announced_until_it_is_answered(
    operator: Endpoint, attempt: Attempt, tmp_path: Path, answers: list[Continuation | None], allowed: bool
) -> None:
    following = chain(answers, repeat(answers[-1]))
    operator.rule = lambda report: Instruction(
        continuation=None if report.continues is None else next(following)
    )
    reporting = reporter(operator.url, attempt, tmp_path, interval=3600)
    reporting.start()
    ends = soon()
    assert reporting.announce("session-1", until=lambda: ends) is allowed
    announced = [report.continues for report in operator.reports if report.continues is not None]
    assert announced == ["session-1"] * len(answers)
    ended(reporting)
    assert operator.reports[-1].continues is None


NO_ANSWER: dict[str, Answer] = {
    "the answer says nothing of it": Instruction(),
    "it never gets on record": Instruction(continuation=Continuation.PENDING),
    "reports are refused": 403,
}


@pytest.mark.parametrize("answer", NO_ANSWER.values(), ids=NO_ANSWER)
def test_without_leave_in_time_there_is_none(
    operator: Endpoint, attempt: Attempt, tmp_path: Path, answer: Answer
) -> None:
    operator.rule = lambda _report: answer
    reporting = reporter(operator.url, attempt, tmp_path)
    reporting.start()
    ends = soon(1.5)
    assert reporting.announce("", until=lambda: ends) is False
    assert "" in [report.continues for report in operator.reports]
    ended(reporting)


REFUSALS = {
    "not this Pod's token": 403,
    "no attempt of that name": 404,
    "the attempt is over": 409,
    "not the leader": 503,
    "a redirect, which nobody follows": 302,
}


@pytest.mark.parametrize("status", REFUSALS.values(), ids=REFUSALS)
def test_a_refusal_is_told_once_and_the_next_report_is_tried(
    operator: Endpoint, attempt: Attempt, tmp_path: Path, status: int
) -> None:
    operator.rule = lambda _report: status if len(operator.reports) < 2 else Instruction()
    reporting = reporter(operator.url, attempt, tmp_path)
    before = reporting.accepted_at
    reporting.start()
    operator.wait(lambda it: len(it.reports) >= 2)
    assert reporting.accepted_at == before
    operator.wait(lambda it: len(it.reports) >= 4)
    ended(reporting)
    assert reporting.accepted_at > before
    assert [note[:20] for note in attempt.notes] == [f"a report failed: {status}", "reports are accepted"]
    assert set(operator.paths) == {"/v1/attempts/build-3f2a91-a1/report"}


LAST_WORDS: dict[str, tuple[list[Answer], bool]] = {
    "accepted": ([Instruction()], True),
    "between two leaders": ([503, 503, Instruction()], True),
    "too many at once": ([429, Instruction()], True),
    "refused for good": ([409], False),
}


@pytest.mark.parametrize(("answers", "accepted"), LAST_WORDS.values(), ids=LAST_WORDS)
def test_the_last_report_is_repeated_where_that_can_help(
    operator: Endpoint, attempt: Attempt, tmp_path: Path, answers: list[Answer], accepted: bool
) -> None:
    operator.rule = lambda _report: answers[len(operator.reports)]
    assert ended(reporter(operator.url, attempt, tmp_path)) is accepted
    assert len(operator.reports) == len(answers)


def test_no_time_is_left_for_a_last_report(operator: Endpoint, attempt: Attempt, tmp_path: Path) -> None:
    over = time.monotonic()
    assert reporter(operator.url, attempt, tmp_path).close(result(), until=lambda: over) is False
    assert operator.reports == []


def test_a_server_that_isnt_there_and_a_token_that_isnt_are_told(attempt: Attempt, tmp_path: Path) -> None:
    ends = soon(0.2)
    reporting = reporter("http://127.0.0.1:1", attempt, tmp_path)
    assert reporting.close(result(), until=lambda: ends) is False
    (tmp_path / "token").unlink()
    ends = soon(0.2)
    assert reporting.close(result(), until=lambda: ends) is False
    assert len(attempt.notes) == 2
    assert "Connection refused" in attempt.notes[0]
    assert "No such file" in attempt.notes[1]


def test_an_answer_that_cant_be_read_accepts_nothing(
    operator: Endpoint, attempt: Attempt, tmp_path: Path
) -> None:
    operator.rule = lambda _report: 200
    reporting = reporter(operator.url, attempt, tmp_path)
    before, ends = reporting.accepted_at, soon(0.5)
    assert reporting.close(result(), until=lambda: ends) is False
    assert (reporting.accepted_at, attempt.heard) == (before, [])
    assert "contractVersion" in attempt.notes[0]
