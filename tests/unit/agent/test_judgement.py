"""What the end of a program counts as, where several things say something about it."""

import pytest

from bernstein_agent.adapters.base import Failed, Said, Session, Signal, Spent, Worked
from bernstein_agent.child import Cause, ChildEnd
from bernstein_agent.contract import Abandonment, AbandonReason, Reason, ResultClass, Usage
from bernstein_agent.failure import Verdict
from bernstein_agent.judgement import judge
from bernstein_agent.mailbox import Question
from bernstein_agent.observation import TAIL_BYTES, Observation
from bernstein_agent.tally import Tally

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
        (ChildEnd(Cause.ITSELF, 1, Question("which?")), [LIMITED], True, Reason.ASKED),
        (ChildEnd(Cause.STOP, 143, Question("which?")), [], False, Reason.ASKED),
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
        "so is a question",
        "a question comes before the stop that follows",
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


@pytest.mark.parametrize(
    ("question", "message"),
    [
        ("which?", "it asks: which?"),
        ("which?\nthis?", "it asks: which?"),
        ("x" * 300, f"it asks: {'x' * 200}"),
    ],
    ids=["a line", "two lines", "a long line"],
)
def test_a_question_is_told_in_one_line_and_kept_whole(question: str, message: str) -> None:
    end = ChildEnd(Cause.ITSELF, 0, Question(question))
    verdict = judge(end, seen(), out_of_memory=False, seconds=60)
    assert (verdict.result_class, verdict.message, verdict.question) == (ResultClass.ASKED, message, question)


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


def test_each_turn_counts_on_top_of_those_before() -> None:
    observation = Observation()
    observation.begin_turn()
    observation.signal(Spent(Usage(input_tokens=5, cost_micros=2)))
    observation.signal(Worked(steps=3, tool_calls=4))
    observation.end_turn()
    observation.begin_turn()
    observation.signal(Spent(Usage(input_tokens=1)))
    observation.signal(Spent(Usage(output_tokens=7)))
    observation.end_turn()
    expected = Usage(input_tokens=6, output_tokens=7, cost_micros=2)
    assert observation.tally == Tally(expected, steps=4, tool_calls=4)


def test_a_turn_is_a_step_even_if_its_program_tells_none() -> None:
    observation = Observation()
    counts = [observation.tally.steps]
    for _ in range(2):
        observation.begin_turn()
        observation.end_turn()
        counts.append(observation.tally.steps)
    assert counts == [0, 1, 2]


def test_what_failed_and_what_was_said_belong_to_their_turn_and_the_rest_to_the_attempt() -> None:
    observation = seen(LIMITED, Said("It is done."), Session("s-1"))
    observation.text("a line")
    observation.begin_turn()
    assert (observation.failed, observation.prose) == (None, "")
    assert (observation.summary, observation.session) == ("It is done.", "s-1")


@pytest.mark.parametrize(
    ("lines", "prose"),
    [
        (["It was so before.\n"], "It was so before."),
        (["It was so before.\n", "\n", "...\n"], "It was so before."),
        (["one\n", "two\n"], "two"),
        (['{"text": "It was so before."}\n'], ""),
        (['  {"a": 1}\n', "100 %\n"], ""),
        (["Es war schon so: 变更不必要\n"], "Es war schon so: 变更不必要"),
        ([], ""),
    ],
    ids=[
        "a line",
        "a line and signs",
        "the last of two",
        "JSON",
        "JSON and a number",
        "any language",
        "nothing",
    ],
)
def test_what_is_prose(lines: list[str], prose: str) -> None:
    observation = Observation()
    for line in lines:
        observation.spoke(line)
    assert observation.prose == prose


def test_the_warnings_of_a_program_are_no_prose() -> None:
    observation = Observation()
    observation.text("warning: something is deprecated\n")
    assert observation.prose == ""


def test_a_summary_is_prose() -> None:
    assert seen(Said("It was so before.")).prose == "It was so before."
