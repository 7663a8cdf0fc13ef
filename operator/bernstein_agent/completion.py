"""What an agent that ended well has done about its commits, and what is still to be tried.

A common failure of coding agents is to report success while the work tree has no new commit. One that keeps
its session is told so, once in its task's life, and what it does then is the end of it. Pure tables; the
order is part of the rule, because the first thing that applies is what is reported.
"""

from enum import StrEnum
from typing import Final, Protocol

from bernstein_agent.allowance import Clock
from bernstein_agent.contract import Reason, ResultClass
from bernstein_agent.failure import Verdict

NUDGE: Final = (
    "You exited successfully but the workspace has no new commit. Either commit your work or explain in plain"
    " prose why no commit was needed for this task."
)
ANNOUNCEMENT_SECONDS: Final = 60.0
"""How long the operator has to put a continuation on record before it isn't tried."""

_QUOTED: Final = 200


class Reporter(Protocol):
    """What tells the operator of the attempt while it runs."""

    def announce(self, session: str, *, until: Clock) -> bool:
        """Tell that the agent is to go on with ``session``; return whether it is on record by ``until()``."""


class Completion(StrEnum):
    """What the check of an agent's commits came to."""

    NON_ZERO_EXIT = "non_zero_exit"
    """The program failed, so nobody looked at its commits."""
    HEAD_UNKNOWN = "head_unknown"
    """HEAD can't be read."""
    COMMITTED = "committed"
    """There is a commit of the agent's own."""
    ADAPTER_UNSUPPORTED = "adapter_unsupported"
    """There is none, and the program can't be told anything more."""
    RETRY_CAP_REACHED = "retry_cap_reached"
    """There is none, and the task's agents may not be told again."""
    CONTINUE = "continue"
    """There is none, and the agent is to be told."""


def completion(*, exited_well: bool, head: str | None, can_go_on: bool, may_continue: bool) -> Completion:
    """Return what the check comes to.

    Args:
        exited_well: whether the program did not fail.
        head: the last commit of the agent's own, empty where it made none, None where HEAD can't be read.
        can_go_on: whether the program can be told something more.
        may_continue: whether its task's agents may still be told.
    """
    if not exited_well:
        return Completion.NON_ZERO_EXIT
    if head is None:
        return Completion.HEAD_UNKNOWN
    if head:
        return Completion.COMMITTED
    if not can_go_on:
        return Completion.ADAPTER_UNSUPPORTED
    return Completion.CONTINUE if may_continue else Completion.RETRY_CAP_REACHED


def nudge(title: str) -> str:
    """Return the prompt that tells an agent that it left no commit."""
    return f"Your task was: {title}\n\n{NUDGE}\n"


def without_commit(*, left: int, prose: str, allow_no_change: bool) -> Verdict:
    """Return what it means that an agent ended well without a commit.

    Args:
        left: how many files it left changed or new and uncommitted.
        prose: its last words to people.
        allow_no_change: whether the task may succeed where they say why no commit was needed.
    """
    if left:
        text = "the agent ended well and left its work uncommitted"
        return Verdict(ResultClass.BUSINESS, Reason.NO_COMMIT, text)
    if prose and allow_no_change:
        text = f"no commit was needed: {prose.splitlines()[0][:_QUOTED]}"
        return Verdict(ResultClass.SUCCESS, Reason.NO_CHANGE_NEEDED, text)
    return Verdict(ResultClass.BUSINESS, Reason.NO_COMMIT, "the agent ended well and left no commit")
