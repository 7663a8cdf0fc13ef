"""What an entry of a run's list becomes."""

from typing import Any

import pytest

from bernstein_operator.api.objects import TaskObject
from bernstein_operator.builders.inline import inline_task
from tests.unit.objects import RUN_UID, run

EVERYTHING = {
    "name": "api",
    "title": "The API",
    "prompt": "write it",
    "dependsOn": ["design"],
    "suspend": True,
    "role": "backend",
    "priority": 1,
    "scope": "large",
    "dependencyTimeoutSeconds": 5,
    "profile": "fast",
    "timeoutSeconds": 6,
    "startTimeoutSeconds": 7,
    "deadline": "2026-01-01T12:00:00Z",
    "deadlineWarningSeconds": 8,
    "inputTimeoutSeconds": 9,
    "model": "big",
    "effort": "low",
    "effects": "external",
    "retry": {
        "limit": 1,
        "backoffSeconds": 2,
        "maxBackoffSeconds": 3,
        "disruptionLimit": 4,
        "onExhausted": "Abandon",
        "afterDeadline": "None",
    },
    "essential": False,
    "budget": {
        "usd": "1.50",
        "tokens": 64_000,
        "steps": 30,
        "toolCalls": 100,
        "mode": "hard-stop-on-zero",
        "onExhausted": "Abandon",
    },
    "acceptance": {"allowNoChange": True},
}


def made(entry: dict[str, Any], *, run_name: str = "r") -> dict[str, Any]:
    of = run(run_name, tasks=[entry])
    assert of.spec
    return inline_task(of, of.spec.tasks[0])


def test_an_entry_of_the_list_becomes_its_task() -> None:
    assert made(EVERYTHING)["spec"] == {"runRef": {"name": "r"}, **EVERYTHING}


def test_only_what_the_entry_says_is_copied() -> None:
    assert made({"name": "a", "prompt": "p"})["spec"] == {"runRef": {"name": "r"}, "name": "a", "prompt": "p"}


def test_the_task_belongs_to_its_run_and_dies_with_it() -> None:
    metadata = made(EVERYTHING)["metadata"]
    assert (metadata["name"], metadata["namespace"]) == ("r-api", "ns")
    assert metadata["ownerReferences"] == [
        {
            "apiVersion": "bernstein.run/v1alpha1",
            "kind": "BernsteinRun",
            "name": "r",
            "uid": RUN_UID,
            "controller": True,
            "blockOwnerDeletion": True,
        }
    ]


@pytest.mark.parametrize("length", [63, 64, 253])
def test_names_of_every_length_fit(length: int) -> None:
    metadata = made(EVERYTHING, run_name="r" * length)["metadata"]
    assert len(metadata["name"]) <= 253
    assert len(metadata["labels"]["bernstein.run/run"]) <= 63


def test_two_entries_of_a_long_run_stay_apart() -> None:
    names = {
        made({"name": name, "prompt": "p"}, run_name="r" * 253)["metadata"]["name"] for name in ("a", "b")
    }
    assert len(names) == 2


def test_the_operator_can_read_what_it_makes() -> None:
    assert TaskObject.parse(made(EVERYTHING)).invalid == ""
