"""What each phase says to kubectl wait, Helm, Flux and Argo CD, by kstatus' rules."""

import pytest

from bernstein_operator.api.conditions import Condition
from bernstein_operator.api.vocabulary import ConditionStatus, ConditionType, RunPhase, TaskPhase
from bernstein_operator.decisions.conditions import (
    Standing,
    Wanted,
    merge,
    run_conditions,
    stalled,
    task_conditions,
)
from tests.unit.objects import at

WHY = Standing(reason="Why", message="because")


def shown(wanted: list[Wanted]) -> str:
    return " ".join(f"{one.type}={one.status}" for one in wanted)


@pytest.mark.parametrize(
    ("phase", "run_ended", "conditions"),
    [
        ("Pending", False, "Admitted=False Reconciling=True"),
        ("Pending", True, "Admitted=False Stalled=True Finished=True"),
        ("Running", False, "Admitted=True Reconciling=True"),
        ("Succeeded", False, "Complete=True Finished=True"),
        ("Failed", False, "Failed=True Stalled=True Finished=True"),
        ("Cancelled", False, "Failed=True Stalled=True Finished=True"),
        ("Abandoned", False, "Failed=True Stalled=True Finished=True"),
        ("BlockedByFailure", False, "Blocked=True Failed=True Stalled=True"),
        ("BlockedByFailure", True, "Blocked=True Failed=True Stalled=True Finished=True"),
        ("BlockedByAbandon", False, "Blocked=True Failed=True Stalled=True"),
        ("BlockedByAbandon", True, "Blocked=True Failed=True Stalled=True Finished=True"),
    ],
)
def test_the_conditions_of_a_task(phase: str, run_ended: bool, conditions: str) -> None:
    assert shown(task_conditions(TaskPhase(phase), WHY, run_ended=run_ended)) == conditions


@pytest.mark.parametrize("reason", ["InvalidSpec", "InvalidGraph"])
def test_a_task_that_cannot_be_understood_is_stalled(reason: str) -> None:
    wanted = task_conditions(TaskPhase.PENDING, Standing(reason, "no"), run_ended=False)
    assert shown(wanted) == "Admitted=False Stalled=True"


def test_a_task_with_a_slot_is_admitted_before_it_runs() -> None:
    standing = Standing("Admitted", "has its slot", admitted=True)
    assert (
        shown(task_conditions(TaskPhase.PENDING, standing, run_ended=False))
        == "Admitted=True Reconciling=True"
    )


@pytest.mark.parametrize(
    ("phase", "conditions"),
    [
        ("Pending", "Reconciling=True"),
        ("Running", "Reconciling=True"),
        ("Draining", "Reconciling=True"),
        ("Paused", "Suspended=True"),
        ("Succeeded", "Complete=True Finished=True"),
        ("Failed", "Failed=True Stalled=True Finished=True"),
        ("Cancelled", "Failed=True Stalled=True Finished=True"),
    ],
)
def test_the_conditions_of_a_run(phase: str, conditions: str) -> None:
    assert shown(run_conditions(RunPhase(phase), WHY, resumed=False)) == conditions
    resumed = shown(run_conditions(RunPhase(phase), WHY, resumed=True))
    assert resumed == (conditions if phase == "Paused" else f"{conditions} Suspended=False")


@pytest.mark.parametrize("run_ended", [False, True])
@pytest.mark.parametrize("phase", TaskPhase)
@pytest.mark.parametrize("reason", ["Why", "InvalidSpec", "InvalidGraph"])
def test_no_task_is_reconciling_and_stalled_at_once(phase: TaskPhase, run_ended: bool, reason: str) -> None:
    for admitted in (False, True):
        standing = Standing(reason, "", admitted=admitted)
        types = [one.type for one in task_conditions(phase, standing, run_ended=run_ended)]
        assert len(types) == len(set(types))
        assert (ConditionType.RECONCILING in types) + (ConditionType.STALLED in types) <= 1


@pytest.mark.parametrize("phase", RunPhase)
def test_no_run_is_reconciling_and_stalled_at_once(phase: RunPhase) -> None:
    types = [one.type for one in run_conditions(phase, WHY, resumed=True)]
    assert len(types) == len(set(types))
    assert (ConditionType.RECONCILING in types) + (ConditionType.STALLED in types) <= 1


def test_what_cannot_be_read_is_stalled_and_nothing_else() -> None:
    assert shown(stalled("InvalidSpec", "spec.goal: too long")) == "Stalled=True"


def before(status: str) -> Condition:
    return Condition(
        type="Admitted",
        status=ConditionStatus(status),
        reason="Before",
        message="before",
        last_transition_time=at(0),
        observed_generation=1,
    )


@pytest.mark.parametrize(
    ("old", "since"),
    [
        pytest.param([], 9, id="new"),
        pytest.param([before("True")], 0, id="the same status, another reason"),
        pytest.param([before("False")], 9, id="another status"),
    ],
)
def test_the_transition_time_changes_with_the_status_only(old: list[Condition], since: float) -> None:
    wanted = [Wanted(ConditionType.ADMITTED, "Now", "now")]
    (found,) = merge(old, wanted, generation=2, now=at(9))
    assert found.last_transition_time == at(since)
    assert (found.reason, found.message, found.observed_generation) == ("Now", "now", 2)


def test_conditions_that_are_no_longer_wanted_go() -> None:
    assert merge([before("True")], [], generation=1, now=at(9)) == ()


def test_a_text_too_long_for_a_condition_is_cut() -> None:
    (found,) = merge([], stalled("InvalidSpec", "x" * 2000), generation=1, now=at(0))
    assert len(found.message) == 1024
