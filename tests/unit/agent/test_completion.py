"""The check of an agent's commits: what it comes to, in its order, and what an end without one means."""

import pytest

from bernstein_agent.completion import NUDGE, Completion, completion, nudge, without_commit
from bernstein_agent.contract import Reason, ResultClass

HEAD = "a" * 40


@pytest.mark.parametrize(
    ("exited_well", "head", "can_go_on", "may_continue", "found"),
    [
        (False, None, False, False, Completion.NON_ZERO_EXIT),
        (False, HEAD, True, True, Completion.NON_ZERO_EXIT),
        (True, None, False, False, Completion.HEAD_UNKNOWN),
        (True, None, True, True, Completion.HEAD_UNKNOWN),
        (True, HEAD, False, False, Completion.COMMITTED),
        (True, HEAD, True, True, Completion.COMMITTED),
        (True, "", False, False, Completion.ADAPTER_UNSUPPORTED),
        (True, "", False, True, Completion.ADAPTER_UNSUPPORTED),
        (True, "", True, False, Completion.RETRY_CAP_REACHED),
        (True, "", True, True, Completion.CONTINUE),
    ],
    ids=[
        "a failure comes before an unknown head",
        "a failure is none of it whatever it committed",
        "an unknown head comes before what the program can do",
        "an unknown head is left alone",
        "a commit comes before what the program can do",
        "a commit ends it",
        "a program that can't go on comes before the cap",
        "a program that can't go on",
        "a task that was told before",
        "all of it",
    ],
)
def test_the_first_thing_that_applies_is_found(
    exited_well: bool, head: str | None, can_go_on: bool, may_continue: bool, found: Completion
) -> None:
    assert (
        completion(exited_well=exited_well, head=head, can_go_on=can_go_on, may_continue=may_continue)
        is found
    )


def test_the_words_of_the_check() -> None:
    assert list(Completion) == [
        "non_zero_exit",
        "head_unknown",
        "committed",
        "adapter_unsupported",
        "retry_cap_reached",
        "continue",
    ]


def test_the_nudge_comes_after_a_blank_line() -> None:
    assert NUDGE == (
        "You exited successfully but the workspace has no new commit. Either commit your work or explain in"
        " plain prose why no commit was needed for this task."
    )
    assert nudge("Build the parser").endswith(f"Build the parser\n\n{NUDGE}\n")


NO_COMMIT = (ResultClass.BUSINESS, Reason.NO_COMMIT)


@pytest.mark.parametrize(
    ("left", "prose", "allowed", "expected", "told"),
    [
        (0, "", False, NO_COMMIT, "left no commit"),
        (0, "", True, NO_COMMIT, "left no commit"),
        (0, "It was so before.", False, NO_COMMIT, "left no commit"),
        (
            0,
            "It was so before.\nReally.",
            True,
            (ResultClass.SUCCESS, Reason.NO_CHANGE_NEEDED),
            "no commit was needed: It was so before.",
        ),
        (1, "It was so before.", True, NO_COMMIT, "left its work uncommitted"),
        (1, "", False, NO_COMMIT, "left its work uncommitted"),
    ],
    ids=[
        "nothing at all",
        "no reason where one would do",
        "a reason where none will do",
        "a reason where it will do",
        "changes speak against the reason",
        "changes",
    ],
)
def test_what_an_end_without_a_commit_means(
    left: int, prose: str, allowed: bool, expected: tuple[ResultClass, Reason], told: str
) -> None:
    verdict = without_commit(left=left, prose=prose, allow_no_change=allowed)
    assert (verdict.result_class, verdict.reason) == expected
    assert verdict.message.endswith(told)
