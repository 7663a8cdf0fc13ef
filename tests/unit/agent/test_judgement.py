"""What the end of a program counts as, where several things say something about it."""

import pytest

from bernstein_agent.adapters.base import GaveUp, RateLimited, Said, Signal, Spent
from bernstein_agent.child import Cause, ChildEnd
from bernstein_agent.contract import Reason, Usage
from bernstein_agent.judgement import judge
from bernstein_agent.observation import TAIL_BYTES, Observation

GAVE_UP = GaveUp("out_of_scope")
LIMITED = RateLimited(30)


def seen(*signals: Signal) -> Observation:
    observation = Observation()
    for signal in signals:
        observation.signal(signal)
    return observation


@pytest.mark.parametrize(
    ("end", "signals", "out_of_memory", "reason"),
    [
        (ChildEnd(Cause.STOP, 0), [GAVE_UP], False, Reason.TERMINATED),
        (ChildEnd(Cause.TIMEOUT, 0), [GAVE_UP], False, Reason.DEADLINE_EXCEEDED),
        (ChildEnd(Cause.ITSELF, 1), [GAVE_UP, LIMITED], True, Reason.ABANDONED),
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
        "giving up is the agent's own word",
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


def test_spend_is_the_highest_that_was_ever_reported() -> None:
    reports = [Usage(input_tokens=5, cost_micros=9), Usage(input_tokens=9, cost_micros=3), Usage()]
    assert seen(*map(Spent, reports)).usage == Usage(input_tokens=9, cost_micros=9)


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
