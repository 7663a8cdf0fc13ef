"""What the tasks that a task depends on mean for it: wait, start, or never."""

from datetime import timedelta

import pytest

from bernstein_operator.api.snapshot import Dependency
from bernstein_operator.api.task_status import BlockedBy, DependencyStatus
from bernstein_operator.api.vocabulary import BlockCause, TaskPhase
from bernstein_operator.decisions.dependencies import Verdict, judge
from tests.unit.objects import COMMIT_A, COMMIT_B, at, status

TIMEOUT = timedelta(seconds=60)


def verdict(
    *found: Dependency,
    now: float = 0,
    remembered: tuple[DependencyStatus, ...] = (),
    since: float | None = None,
) -> Verdict:
    before = status(dependencies=remembered, waiting_since=None if since is None else at(since))
    return judge(found, before, timeout=TIMEOUT, now=at(now))


def there(phase: TaskPhase, name: str = "a", **more: object) -> Dependency:
    return Dependency(name=name, uid=f"{name}-uid", phase=phase, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("phase", [TaskPhase.PENDING, TaskPhase.RUNNING])
def test_a_dependency_that_can_still_succeed_is_waited_for(phase: TaskPhase) -> None:
    found = verdict(there(phase))
    assert found.waits_for == ("a",)
    assert (found.unknown, found.blocked, found.until) == ((), None, None)
    assert found.records == (DependencyStatus(name="a", uid="a-uid"),)


def test_what_succeeded_is_not_waited_for_and_its_commit_is_kept() -> None:
    found = verdict(there(TaskPhase.SUCCEEDED, commit=COMMIT_A, branch="b/a"))
    assert found.waits_for == ()
    assert found.records == (
        DependencyStatus(name="a", uid="a-uid", succeeded=True, commit=COMMIT_A, branch="b/a"),
    )


def test_a_commit_counts_only_once_its_task_succeeded() -> None:
    assert verdict(there(TaskPhase.FAILED, commit=COMMIT_A, branch="b/a")).records[0].commit is None


@pytest.mark.parametrize(
    ("found", "phase", "cause"),
    [
        pytest.param(there(TaskPhase.FAILED), "BlockedByFailure", "Failed", id="failed for good"),
        pytest.param(there(TaskPhase.CANCELLED), "BlockedByFailure", "Cancelled", id="cancelled"),
        pytest.param(there(TaskPhase.ABANDONED), "BlockedByAbandon", "Abandoned", id="abandoned"),
        pytest.param(
            there(TaskPhase.PENDING, stuck=True), "BlockedByFailure", "Invalid", id="invalid itself"
        ),
    ],
)
def test_a_dependency_that_never_will_succeed_blocks(found: Dependency, phase: str, cause: str) -> None:
    blocked = verdict(found).blocked
    assert blocked == (phase, BlockedBy(task="a", root_cause="a", cause=BlockCause(cause)))


@pytest.mark.parametrize("phase", [TaskPhase.BLOCKED_BY_FAILURE, TaskPhase.BLOCKED_BY_ABANDON])
def test_blocking_is_passed_on_with_its_root_cause(phase: TaskPhase) -> None:
    why = BlockedBy(task="b", root_cause="z", cause=BlockCause.MISSING)
    found = verdict(there(phase, blocked_by=why)).blocked
    assert found == (phase, BlockedBy(task="a", root_cause="z", cause=BlockCause.MISSING))


@pytest.mark.parametrize(
    ("now", "blocked"),
    [
        pytest.param(10, False, id="just seen to be missing"),
        pytest.param(69.999, False, id="a moment before its time is over"),
        pytest.param(70, True, id="exactly when its time is over"),
    ],
)
def test_a_missing_dependency_is_given_up_at_its_timeout(now: float, blocked: bool) -> None:
    found = verdict(Dependency("a"), now=now, since=10)
    assert found.unknown == ("a",)
    assert (found.waiting_since, found.until) == (at(10), at(70))
    missing = (TaskPhase.BLOCKED_BY_FAILURE, BlockedBy(task="a", root_cause="a", cause=BlockCause.MISSING))
    assert found.blocked == (missing if blocked else None)


def test_the_time_starts_when_a_name_is_first_missed_and_stops_when_it_turns_up() -> None:
    assert verdict(Dependency("a"), now=5).waiting_since == at(5)
    assert verdict(there(TaskPhase.PENDING), now=500, since=5).waiting_since is None


def test_no_patience_at_all_can_be_asked_for() -> None:
    found = judge((Dependency("a"),), status(), timeout=timedelta(), now=at(0))
    assert found.blocked


def known(*, succeeded: bool) -> DependencyStatus:
    return DependencyStatus(
        name="a", uid="old-uid", succeeded=succeeded, commit=COMMIT_A if succeeded else None, branch="b/a"
    )


def test_what_succeeded_and_was_deleted_still_counts() -> None:
    found = verdict(Dependency("a"), remembered=(known(succeeded=True),))
    assert (found.waits_for, found.blocked) == ((), None)
    assert found.records == (known(succeeded=True),)


def test_what_was_deleted_before_it_succeeded_blocks_at_once() -> None:
    found = verdict(Dependency("a"), remembered=(known(succeeded=False),))
    assert found.unknown == ()
    assert found.blocked
    assert found.blocked[1].cause is BlockCause.DELETED


@pytest.mark.parametrize("succeeded", [False, True])
def test_a_new_task_under_an_old_name_is_the_one_that_is_meant(succeeded: bool) -> None:
    found = verdict(there(TaskPhase.PENDING), remembered=(known(succeeded=succeeded),))
    assert found.records == (DependencyStatus(name="a", uid="a-uid"),)
    assert (found.waits_for, found.blocked) == (("a",), None)


def test_of_several_the_first_that_blocks_is_named() -> None:
    found = verdict(
        there(TaskPhase.SUCCEEDED, "a", commit=COMMIT_B, branch="b/a"),
        there(TaskPhase.RUNNING, "b"),
        there(TaskPhase.CANCELLED, "c"),
        there(TaskPhase.FAILED, "d"),
    )
    assert found.waits_for == ("b", "c", "d")
    assert found.blocked
    assert found.blocked[1].task == "c"


def test_nothing_is_waited_for_where_nothing_is_depended_on() -> None:
    assert verdict() == Verdict()


@pytest.mark.parametrize(
    ("unrecorded", "blocked_before", "blocked"),
    [
        pytest.param(True, False, False, id="nobody has tried to write its row"),
        pytest.param(False, False, True, id="its row was tried"),
        pytest.param(True, True, True, id="the dependent is blocked already"),
    ],
)
def test_an_abandonment_is_followed_once_its_row_was_tried(
    unrecorded: bool, blocked_before: bool, blocked: bool
) -> None:
    why = BlockedBy(task="a", root_cause="a", cause=BlockCause.ABANDONED)
    before = status(phase="BlockedByAbandon", blocked_by=why) if blocked_before else status()
    found = judge([there(TaskPhase.ABANDONED, unrecorded=unrecorded)], before, timeout=TIMEOUT, now=at(0))
    assert (found.blocked == (TaskPhase.BLOCKED_BY_ABANDON, why)) == blocked
    assert found.waits_for == ("a",)
