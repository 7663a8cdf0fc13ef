"""What is spent is summed up over attempts, and what was reported is put on record."""

import pytest

from bernstein_agent.contract import Result, ResultClass, ResultSubject
from bernstein_agent.contract import Usage as Reported
from bernstein_operator.api.money import Money
from bernstein_operator.api.pod import Pod
from bernstein_operator.api.task_status import Usage
from bernstein_operator.decisions.task import decide
from bernstein_operator.decisions.usage import facts, highest, of_contract, rise, total, with_spend
from tests.unit.objects import (
    COMMIT_A,
    COMMIT_B,
    at,
    attempt,
    name_of_pod,
    pod,
    said,
    snapshot,
    status,
    task,
    terminated,
)

SOME = Usage(input_tokens=1, output_tokens=2, cached_tokens=3, cost_usd=Money.parse("0.10"))
MORE = Usage(input_tokens=10, output_tokens=20, cached_tokens=30, cost_usd=Money.parse("0.70"))
BOTH = Usage(input_tokens=11, output_tokens=22, cached_tokens=33, cost_usd=Money.parse("0.80"))


@pytest.mark.parametrize(
    ("before", "spent", "after"),
    [
        pytest.param(None, None, None, id="nothing was ever reported"),
        pytest.param(None, SOME, SOME, id="the first report"),
        pytest.param(SOME, None, SOME, id="an attempt that reported nothing"),
        pytest.param(SOME, MORE, BOTH, id="a further report"),
    ],
)
def test_a_task_spent_what_its_attempts_spent(
    before: Usage | None, spent: Usage | None, after: Usage | None
) -> None:
    assert total(before, spent) == after


def test_eight_dimes_are_eighty_cents() -> None:
    spent: Usage | None = None
    for _ in range(8):
        spent = total(spent, Usage(cost_usd=Money.parse("0.1")))
    assert spent == Usage(cost_usd=Money.parse("0.8"))


@pytest.mark.parametrize(
    ("known", "heard", "now"),
    [
        pytest.param(None, None, None, id="nothing was ever reported"),
        pytest.param(None, SOME, SOME, id="the first report"),
        pytest.param(SOME, None, SOME, id="none since"),
        pytest.param(SOME, MORE, MORE, id="a higher one"),
        pytest.param(MORE, SOME, MORE, id="one that was overtaken"),
        pytest.param(SOME, SOME, SOME, id="a repeat"),
        pytest.param(
            Usage(input_tokens=5, output_tokens=1),
            Usage(input_tokens=1, output_tokens=5),
            Usage(input_tokens=5, output_tokens=5),
            id="each number for itself",
        ),
    ],
)
def test_of_two_reports_the_higher_of_each_number_holds(
    known: Usage | None, heard: Usage | None, now: Usage | None
) -> None:
    assert highest(known, heard) == now
    assert total(known, rise(known, now)) == now


def test_what_an_attempt_reports_again_and_again_counts_once() -> None:
    stored = status(attempt(1, end_time=at(1), usage=SOME), attempt(2), usage=SOME)
    for heard in (SOME, MORE, SOME, MORE, None):
        stored = with_spend(stored, 2, heard)
    assert [one.usage for one in stored.attempts] == [SOME, MORE]
    assert stored.usage == BOTH
    assert with_spend(stored, 3, MORE) == stored, "an attempt that isn't listed has no say"


def test_an_agent_that_claims_more_than_a_status_can_hold_does_not_make_it_unwritable() -> None:
    claim = Reported(input_tokens=2**53, output_tokens=2**53, cached_tokens=2**53, cost_micros=10**15 - 1)
    stored = status(attempt(1, end_time=at(1)), attempt(2))
    for number in (1, 2):
        stored = with_spend(stored, number, of_contract(claim))
    assert type(stored).model_validate(stored.manifest()) == stored


def test_a_result_goes_on_record() -> None:
    result = Result(
        subject=ResultSubject(id="p", attempt=1),
        result_class=ResultClass.SUCCESS,
        reason="Completed",
        head_before=COMMIT_A,
        head_after=COMMIT_B,
        branch="b/r/t",
        rescue_branch="b/r/t.rescue-1",
        usage=Reported(input_tokens=1, output_tokens=2, cached_tokens=3, cost_micros=100_000),
        retry_after_seconds=7,
        finish_percent=18,
    )
    assert of_contract(result.usage) == SOME
    assert facts(result) == {
        "head_before": COMMIT_A,
        "head_after": COMMIT_B,
        "branch": "b/r/t",
        "rescue_branch": "b/r/t.rescue-1",
        "retry_after_seconds": 7,
        "finish_percent": 18,
    }


NAME = name_of_pod()
WORD = said(NAME, usage=Reported(input_tokens=10, output_tokens=20, cached_tokens=30, cost_micros=700_000))
LATE = pod(phase="Succeeded", agent=terminated(message=WORD))
STRANGER = pod(phase="Succeeded", name="other", agent=terminated(message=WORD))
CLOSED = attempt(end_time=at(2), result_class="cancelled", reason="Cancelled")


@pytest.mark.parametrize(
    ("seen", "own", "whole"),
    [
        pytest.param(LATE, MORE, BOTH, id="it told its spend"),
        pytest.param(pod(phase="Failed", agent=terminated(1)), None, SOME, id="it left no word"),
        pytest.param(STRANGER, None, SOME, id="no attempt's"),
    ],
)
def test_of_a_pod_whose_attempt_was_closed_only_the_spend_counts(
    seen: Pod, own: Usage | None, whole: Usage
) -> None:
    ended = task(status=status(CLOSED, phase="Cancelled", completion_time=at(2), usage=SOME))
    once = decide(snapshot(ended, seen), now=at(20)).status
    assert (once.attempts[0].usage, once.usage) == (own, whole)
    assert (once.phase, once.attempts[0].result_class) == ("Cancelled", "cancelled")
    again = decide(snapshot(task(status=once), seen), now=at(30)).status
    assert again.usage == whole, "and it counts once"


def test_a_late_last_word_adds_only_what_was_not_reported_before() -> None:
    told = attempt(end_time=at(2), result_class="disruption", reason="PodDeleted", usage=SOME)
    ended = task(status=status(told, phase="Cancelled", completion_time=at(2), usage=SOME))
    after = decide(snapshot(ended, LATE), now=at(20)).status
    assert after.attempts[0].usage == after.usage == MORE
