"""What is spent is summed up over attempts, and what was reported is put on record."""

import pytest

from bernstein_agent.contract import Result, ResultClass, ResultSubject
from bernstein_agent.contract import Usage as Reported
from bernstein_operator.api.money import Money
from bernstein_operator.api.pod import Pod
from bernstein_operator.api.task_status import Usage
from bernstein_operator.decisions.task import decide
from bernstein_operator.decisions.usage import facts, of_contract, total
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
