"""Who has a name of dependsOn, and what a task still waits for by its own spec."""

from typing import Any

import pytest

from bernstein_operator.api.vocabulary import TaskPhase
from bernstein_operator.decisions.naming import dependency, is_stuck, needs, owner, unmet
from tests.unit.objects import stamp, task


def claimant(name: str, born: float, phase: str = "Pending") -> Any:
    return task(name, metadata={"creationTimestamp": stamp(born)}, status={"phase": phase})


@pytest.mark.parametrize(
    ("claims", "has_it"),
    [
        pytest.param([], None, id="nobody wants it"),
        pytest.param([("a", 0, "Pending"), ("b", 1, "Running")], "a", id="of two the older"),
        pytest.param([("a", 0, "Failed"), ("b", 1, "Pending")], "b", id="one that failed gives it up"),
        pytest.param([("a", 0, "Cancelled"), ("b", 1, "Pending")], "b", id="so does a cancelled one"),
        pytest.param([("a", 0, "Abandoned"), ("b", 1, "Pending")], "b", id="and an abandoned one"),
        pytest.param([("a", 0, "Succeeded"), ("b", 1, "Pending")], "a", id="one that succeeded keeps it"),
        pytest.param([("a", 0, "Failed"), ("b", 1, "Failed")], "b", id="if all gave up, the newest"),
        pytest.param([("b", 0, "Pending"), ("a", 0, "Pending")], "a", id="of one second by name"),
    ],
)
def test_who_has_a_name(claims: list[tuple[str, float, str]], has_it: str | None) -> None:
    found = owner(claimant(*claim) for claim in claims)
    assert (found.meta.name if found else None) == has_it


def test_each_name_is_needed_once_in_the_authors_order() -> None:
    assert needs(task(dependsOn=["b", "a", "b"])) == ("b", "a")


@pytest.mark.parametrize("phase", TaskPhase)
def test_a_task_that_has_ended_waits_for_nothing(phase: TaskPhase) -> None:
    settled = phase in ("Succeeded", "Failed", "Cancelled", "Abandoned", "Quarantined")
    assert unmet(task(dependsOn=["a"], status={"phase": phase})) == (() if settled else ("a",))


@pytest.mark.parametrize(
    ("reason", "stuck"),
    [("InvalidSpec", True), ("InvalidGraph", True), ("DependencyPending", False)],
)
def test_an_invalid_task_is_stuck(reason: str, stuck: bool) -> None:
    said = {"type": "Admitted", "status": "False", "reason": reason, "lastTransitionTime": stamp(0)}
    found = task(status={"conditions": [said]})
    assert is_stuck(found) is stuck
    assert dependency("t", found).stuck is stuck


def test_a_name_that_nobody_has_means_no_task() -> None:
    assert dependency("t", None).uid == ""
