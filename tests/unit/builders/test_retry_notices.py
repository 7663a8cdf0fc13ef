"""Which retries a task's status tells of."""

from typing import Any

import pytest

from bernstein_operator.api.event_reasons import EventReason
from bernstein_operator.api.objects import TaskObject
from bernstein_operator.builders.task_notices import task_notices

DAY = "2030-01-01T00:00"


def _attempt(number: int, *, end: str | None = None) -> dict[str, Any]:
    ended = {"endTime": end, "resultClass": "agent", "reason": "NonZeroExit"} if end else {}
    return {"number": number, "podName": f"t-a{number}", "intentTime": f"{DAY}:0{number}Z", **ended}


def _task(*attempts: dict[str, Any], due: str | None = None) -> TaskObject:
    status = {"attempts": list(attempts), **({"nextAttemptTime": due} if due else {})}
    metadata = {"name": "t", "namespace": "n", "uid": "u", "resourceVersion": "1", "generation": 1}
    spec = {"runRef": {"name": "r"}, "prompt": "p"}
    return TaskObject.parse({"metadata": metadata, "spec": spec, "status": status})


@pytest.mark.parametrize(
    ("task", "notes"),
    [
        pytest.param(_task(), [], id="no attempt yet"),
        pytest.param(_task(_attempt(1)), [], id="the first goes on"),
        pytest.param(_task(_attempt(1, end=f"{DAY}:02Z")), [], id="the last failed"),
        pytest.param(
            _task(_attempt(1, end=f"{DAY}:02Z"), due=f"{DAY}:30Z"),
            ["Attempt 2 follows attempt 1 (agent)."],
            id="a retry is due",
        ),
        pytest.param(
            _task(_attempt(1, end=f"{DAY}:02Z"), _attempt(2)),
            ["Attempt 2 follows attempt 1 (agent)."],
            id="a retry has begun",
        ),
    ],
)
def test_each_retry_is_told_once(task: TaskObject, notes: list[str]) -> None:
    told = [one.note for one in task_notices(task) if one.reason is EventReason.RETRY_SCHEDULED]
    assert told == notes
