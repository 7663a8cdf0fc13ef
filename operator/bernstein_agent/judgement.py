"""What the end of an agent's program counts as, before its commits are looked at.

A pure table. The order matters: giving up and asking are the agent's own decisions, whatever comes after
them; a program that was stopped can't know why; and one that says why it failed knows better than its exit
code.
"""

from typing import Final

from bernstein_agent.child import Cause, ChildEnd
from bernstein_agent.contract import Abandonment, Reason, ResultClass
from bernstein_agent.failure import Verdict
from bernstein_agent.mailbox import Letter, Question
from bernstein_agent.observation import Observation
from bernstein_agent.orders import Order

_KILLED: Final = 137
_QUOTED: Final = 200

TERMINATED: Final = Verdict(
    ResultClass.DISRUPTION, Reason.TERMINATED, "the Pod was asked to stop before the agent was done"
)


def deadline_verdict(seconds: float) -> Verdict:
    """Return what it means that the attempt's time, ``seconds`` in all, is over."""
    text = (
        f"stopped on its deadline after {seconds:.0f} s"
        if seconds > 0
        else "its deadline passed before it began"
    )
    return Verdict(ResultClass.DEADLINE, Reason.DEADLINE_EXCEEDED, text)


def judge(end: ChildEnd, seen: Observation, *, out_of_memory: bool, seconds: float) -> Verdict:
    """Return what the end of a program means; success is only that it did not fail.

    ``seconds`` is the time that the attempt had.
    """
    if end.letter:
        return _own_word(end.letter)
    match end.cause:
        case Order(verdict):
            return verdict
        case Cause.STOP:
            return TERMINATED
        case Cause.TIMEOUT:
            return deadline_verdict(seconds)
        case Cause.ITSELF:
            return _by_itself(end.exit_code, seen, out_of_memory=out_of_memory)


def _by_itself(code: int, seen: Observation, *, out_of_memory: bool) -> Verdict:
    if code == 0:
        return Verdict(ResultClass.SUCCESS, Reason.COMPLETED, "the agent ended well")
    if out_of_memory:
        text = "the kernel killed a process of the agent: the container's memory was used up"
        return Verdict(ResultClass.OOM, Reason.OOM_KILLED, text)
    if seen.failed:
        return seen.failed
    if code == _KILLED:
        return Verdict(ResultClass.TRANSIENT, Reason.KILLED, "the agent was killed from outside")
    told = f": {seen.last_line[:_QUOTED]}" if seen.last_line else ""
    return Verdict(ResultClass.AGENT, Reason.NON_ZERO_EXIT, f"the agent exited with code {code}{told}")


def _own_word(letter: Letter) -> Verdict:
    match letter:
        case Question(question):
            text = f"it asks: {_head(question)}"
            return Verdict(ResultClass.ASKED, Reason.ASKED, text, question=question)
        case Abandonment():
            return _abandoned(letter)


def _abandoned(why: Abandonment) -> Verdict:
    head = _head(why.detail)
    text = f"{why.reason}: {head}" if head else str(why.reason)
    return Verdict(ResultClass.ABANDONED, Reason.ABANDONED, text, abandonment=why)


def _head(text: str) -> str:
    return next(iter(text.splitlines()), "")[:_QUOTED]
