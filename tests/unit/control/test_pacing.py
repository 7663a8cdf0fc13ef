"""How often a run's status is written where nobody waits for what is new in it."""

from typing import Any

import pytest

from bernstein_operator.control.pacing import least_gap
from tests.unit.objects import run

SPENT = {"budget": {"spentUsd": "0.10"}, "concurrency": {"configured": 3, "effective": 3, "live": 1}}


@pytest.mark.parametrize(
    ("changes", "seconds"),
    [
        pytest.param({"budget": {"spentUsd": "0.20"}}, 10, id="what was spent"),
        pytest.param({"budget": {"spentUsd": "0.10", "reservedUsd": "1"}}, 10, id="what is reserved"),
        pytest.param({"concurrency": {"configured": 3, "effective": 3, "live": 2}}, 5, id="a count"),
        pytest.param({"budget": {"spentUsd": "0.20"}, "tasks": {"total": 1}}, 5, id="both"),
    ],
)
def test_amounts_have_more_time_than_counts(changes: dict[str, Any], seconds: float) -> None:
    assert least_gap(run(status=SPENT).status, run(status={**SPENT, **changes}).status) == seconds
