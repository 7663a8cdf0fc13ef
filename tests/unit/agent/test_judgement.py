"""What the end of a program counts as, where several things say something about it."""

import pytest

from bernstein_agent.adapters.base import Failed, Said, Signal, Spent
from bernstein_agent.child import Cause, ChildEnd
from bernstein_agent.contract import Abandonment, AbandonReason, Reason, ResultClass, Usage
from bernstein_agent.failure import Verdict
from bernstein_agent.judgement import judge
from bernstein_agent.observation import TAIL_BYTES, Observation

GAVE_UP = Abandonment(reason=AbandonReason.OUT_OF_SCOPE)
LIMITED = Failed(Verdict(ResultClass.CAPACITY, Reason.RATE_LIMITED, "wait", retry_after_seconds=30))


def seen(*signals: Signal) -> Observation:
    observation = Observation()
    for signal in signals:
        observation.signal(signal)
    return observation


@pytest.mark.parametrize(
    ("end", "signals", "out_of_memory", "reason"),
    [
        (ChildEnd(Cause.STOP, 0), [LIMITED], False, Reason.TERMINATED),
        (ChildEnd(Cause.TIMEOUT, 0), [LIMITED], False, Reason.DEADLINE_EXCEEDED),
        (ChildEnd(Cause.STOP, 143, GAVE_UP), [], False, Reason.ABANDONED),
        (ChildEnd(Cause.TIMEOUT, 143, GAVE_UP), [], False, Reason.ABANDONED),
        (ChildEnd(Cause.ITSELF, 0, GAVE_UP), [], False, Reason.ABANDONED),
        (ChildEnd(Cause.ITSELF, 1, GAVE_UP), [LIMITED], True, Reason.ABANDONED),
        (ChildEnd(Cause.ITSELF, 0), [LIMITED], True, Reason.COMPLETED),
        (ChildEnd(Cause.ITSELF, 137), [LIMITED], True, Reason.OOM_KILLED),
        (ChildEnd(Cause.ITSELF, 1), [LIMITED], False, Reason.RATE_LIMITED),
        (ChildEnd(Cause.ITSELF, 137), [], False, Reason.KILLED),
        (ChildEnd(Cause.ITSELF, 143), [], False, Reason.NON_ZERO_EXIT),
        (ChildEnd(Cause.ITSELF, 0), [], False, Reason.COMPLETED),
    ],
    ids=[
        "a stop hides what the agent said",
        "so does a timeout",
        "giving up comes before the stop that follows",
        "and before the timeout",
        "it is no success",
        "it is the agent's own word",
        "a success overcomes limits on its way",
        "memory explains a kill better than a limit",
        "a limit explains a failure",
        "a kill from outside",
        "another signal is a failure",
        "a plain success",
    ],
)
def test_the_strongest_word_counts(
    end: ChildEnd, signals: list[Signal], out_of_memory: bool, reason: Reason
) -> None:
    assert judge(end, seen(*signals), out_of_memory=out_of_memory, seconds=60).reason is reason


@pytest.mark.parametrize(
    ("detail", "message"),
    [
        ("", "out_of_scope"),
        ("ask them", "out_of_scope: ask them"),
        ("ask them\r\nor them", "out_of_scope: ask them"),
        ("x" * 300, f"out_of_scope: {'x' * 200}"),
    ],
    ids=["no detail", "a line", "two lines", "a long line"],
)
def test_an_abandonment_is_told_in_one_line_and_kept_whole(detail: str, message: str) -> None:
    gave_up = Abandonment(reason=AbandonReason.OUT_OF_SCOPE, detail=detail)
    verdict = judge(ChildEnd(Cause.ITSELF, 0, gave_up), seen(), out_of_memory=False, seconds=60)
    assert (verdict.message, verdict.abandonment) == (message, gave_up)


def test_spend_is_the_highest_that_was_ever_reported() -> None:
    reports = [Usage(input_tokens=5, cost_micros=9), Usage(input_tokens=9, cost_micros=3), Usage()]
    assert seen(*map(Spent, reports)).tally.usage == Usage(input_tokens=9, cost_micros=9)


def test_an_agents_own_summary_comes_before_the_tail_of_its_output() -> None:
    observation = seen()
    observation.text("last line\n")
    assert observation.summary == "last line"
    observation.signal(Said("It is done."))
    assert observation.summary == "It is done."


def test_the_tail_of_the_output_is_bounded() -> None:
    observation = Observation()
    for number in range(10_000):
        observation.text(f"line {number}\n")
    observation.text("\n")
    assert observation.summary.endswith("line 9999")
    assert len(observation.summary) <= TAIL_BYTES
