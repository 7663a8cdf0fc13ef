"""Which phase can follow which: the whole matrix, and that no path leads out of an end."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bernstein_operator.api.task_status import AgentTaskStatus
from bernstein_operator.api.vocabulary import FINAL_PHASES, TaskPhase
from bernstein_operator.decisions.phases import MOVES, illegal_move
from tests.unit.objects import at, status

EVERY = frozenset(str(phase) for phase in TaskPhase)
ENDS = {"Succeeded", "Failed", "Cancelled", "Abandoned", "Quarantined"}
BLOCKED = {"BlockedByFailure", "BlockedByAbandon"}
LEGAL: dict[str, set[str]] = {
    "Pending": {"Running", "AwaitingInput", *ENDS, *BLOCKED},
    "Running": {"Pending", "AwaitingInput", *ENDS, *BLOCKED},
    "AwaitingInput": {"Pending", *BLOCKED, *(ENDS - {"Succeeded"})},
    "BlockedByFailure": {"Pending", "BlockedByAbandon", *(ENDS - {"Succeeded"})},
    "BlockedByAbandon": {"Pending", "BlockedByFailure", *(ENDS - {"Succeeded"})},
    "Quarantined": {"Cancelled", "Abandoned"},
    "Failed": set(),
    "Succeeded": set(),
    "Cancelled": set(),
    "Abandoned": set(),
}
BY_RETRY: dict[str, set[str]] = {
    "Failed": set(EVERY) - {"Failed"},
    "Quarantined": set(EVERY) - {"Quarantined"},
    "AwaitingInput": set(EVERY) - {"AwaitingInput"},
}


def moved(old: str, new: str, *, retried: bool) -> str:
    before = status(phase=old, retried_time=at(1))
    return illegal_move(before, status(phase=new, retried_time=at(2 if retried else 1)))


@pytest.mark.parametrize(("old", "new"), list(product(sorted(EVERY), repeat=2)))
def test_a_phase_is_followed_by_what_the_table_allows(old: str, new: str) -> None:
    legal = old == new or new in LEGAL[old]
    assert (moved(old, new, retried=False) == "") is legal
    by_retry = legal or new in BY_RETRY.get(old, set())
    assert (moved(old, new, retried=True) == "") is by_retry


def test_an_illegal_move_is_told_in_words() -> None:
    assert moved("Succeeded", "Running", retried=False) == "Succeeded can't become Running"


def test_a_retry_that_was_taken_away_is_none() -> None:
    assert illegal_move(status(phase="Failed", retried_time=at(1)), status(phase="Pending"))


def test_every_phase_has_its_row() -> None:
    assert set(MOVES) == set(TaskPhase)


@given(
    path=st.lists(st.tuples(st.sampled_from(TaskPhase), st.booleans()), max_size=30),
)
def test_no_path_leaves_an_end(path: list[tuple[TaskPhase, bool]]) -> None:
    stands = AgentTaskStatus()
    ended: TaskPhase | None = None
    for seconds, (phase, retried) in enumerate(path):
        changes = {"phase": phase, **({"retried_time": at(seconds)} if retried else {})}
        wanted = stands.model_copy(update=changes)
        if not illegal_move(stands, wanted):
            stands = wanted
        assert ended in (None, stands.phase)
        ended = stands.phase if stands.phase in FINAL_PHASES else None
