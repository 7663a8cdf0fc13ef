"""What the next attempt gets more of, failure by failure."""

from typing import Any

import pytest

from bernstein_operator.api.profile import AgentProfileSpec
from bernstein_operator.api.task_status import Escalation
from bernstein_operator.decisions.escalation import climbed, means
from bernstein_operator.decisions.retry import Climb
from tests.unit.objects import effective

LADDER: dict[str, Any] = {"models": [{"name": "small"}, {"name": "middle"}, {"name": "big"}]}
GROWTH = {"memoryGrowth": {"percent": 150, "max": "2Gi"}}


def profile(**spec: Any) -> AgentProfileSpec:
    return AgentProfileSpec.model_validate({"adapter": "script", **spec})


def rungs(count: int, by: AgentProfileSpec | None, **spec: Any) -> list[tuple[str | None, str]]:
    """Return model and effort of so many levels, from 0 on."""
    task = effective(**spec)
    found = [means(Escalation(level=level), task, by) for level in range(count)]
    return [(one.model, str(one.effort)) for one in found]


@pytest.mark.parametrize(
    ("by", "spec", "expected"),
    [
        pytest.param(
            LADDER,
            {},
            [("small", "medium"), ("small", "high"), ("middle", "high"), ("big", "high"), ("big", "high")],
            id="effort first, then model after model",
        ),
        pytest.param(
            LADDER,
            {"effort": "low"},
            [("small", "low"), ("small", "medium"), ("middle", "high")],
            id="from low",
        ),
        pytest.param(
            LADDER,
            {"effort": "high"},
            [("small", "high"), ("small", "high"), ("middle", "high")],
            id="max is not for the taking",
        ),
        pytest.param(
            LADDER,
            {"effort": "max"},
            [("small", "max"), ("small", "max"), ("middle", "max")],
            id="max was asked for",
        ),
        pytest.param(
            {**LADDER, "maxEffort": "medium"},
            {"effort": "max"},
            [("small", "medium"), ("small", "medium"), ("middle", "medium")],
            id="never above the profile's most",
        ),
        pytest.param(
            {**LADDER, "maxEffort": "medium"},
            {"effort": "low"},
            [("small", "low"), ("small", "medium"), ("middle", "medium")],
            id="up to the profile's most",
        ),
        pytest.param(
            LADDER,
            {"model": "pinned"},
            [("pinned", "medium"), ("pinned", "high"), ("pinned", "high"), ("pinned", "high")],
            id="a pinned model is never replaced",
        ),
        pytest.param({}, {}, [(None, "medium"), (None, "high"), (None, "high")], id="no ladder"),
        pytest.param(LADDER, {"scope": "large"}, [("big", "high")] * 3, id="a large task starts at the top"),
        pytest.param(
            LADDER, {"role": "architect"}, [("big", "high")] * 3, id="an architect starts at the top"
        ),
        pytest.param(LADDER, {"role": "security"}, [("big", "high")] * 3, id="security starts at the top"),
        pytest.param(LADDER, {"role": "securit"}, [("small", "medium")], id="another role doesn't"),
        pytest.param(
            {**LADDER, "maxEffort": "low"},
            {"scope": "large"},
            [("big", "low")],
            id="the top of a timid profile",
        ),
        pytest.param(
            LADDER,
            {"scope": "large", "model": "pinned"},
            [("pinned", "high")],
            id="a large task with a pinned model",
        ),
        pytest.param(
            LADDER, {"scope": "large", "effort": "max"}, [("big", "max")], id="a large task that asks for max"
        ),
    ],
)
def test_the_ladder(by: dict[str, Any], spec: dict[str, Any], expected: list[tuple[str | None, str]]) -> None:
    assert rungs(len(expected), profile(**by), **spec) == expected


def test_without_its_profile_only_what_the_task_says_is_known() -> None:
    assert rungs(2, None) == [(None, "medium"), (None, "high")]
    assert rungs(1, None, model="pinned") == [("pinned", "medium")]


@pytest.mark.parametrize(
    ("before", "climb", "by", "after"),
    [
        pytest.param(None, Climb.NONE, LADDER, None, id="nothing to climb for"),
        pytest.param(None, Climb.STEP, LADDER, (1, "small", "high"), id="the first step"),
        pytest.param(Escalation(level=1), Climb.STEP, LADDER, (2, "middle", "high"), id="the second step"),
        pytest.param(
            Escalation(level=7), Climb.STEP, LADDER, (8, "big", "high"), id="steps count on at the top"
        ),
        pytest.param(None, Climb.TOP, LADDER, (3, "big", "high"), id="to the top at once"),
        pytest.param(
            Escalation(level=2), Climb.TOP, LADDER, (3, "big", "high"), id="to the top from below it"
        ),
        pytest.param(Escalation(level=3), Climb.TOP, LADDER, (4, "big", "high"), id="at the top already"),
        pytest.param(None, Climb.TOP, {}, (2, None, "high"), id="to the top without a ladder"),
        pytest.param(
            None, Climb.TOP, {"models": [{"name": "one"}]}, (2, "one", "high"), id="to the top of one rung"
        ),
    ],
)
def test_climbing(
    before: Escalation | None,
    climb: Climb,
    by: dict[str, Any],
    after: tuple[int, str | None, str] | None,
) -> None:
    found = climbed(before, climb, effective(), profile(**by))
    assert (found and (found.level, found.model, found.effort)) == after


@pytest.mark.parametrize(
    ("before", "by", "memory"),
    [
        pytest.param(None, GROWTH, "1536Mi", id="half as much again"),
        pytest.param(Escalation(memory="1536Mi"), GROWTH, "2Gi", id="up to the maximum"),
        pytest.param(Escalation(memory="2Gi"), GROWTH, "2Gi", id="and no further"),
        pytest.param(None, {}, None, id="where the profile lets nothing grow"),
        pytest.param(
            None,
            {**GROWTH, "pod": {"resources": {"limits": {"memory": "3Gi"}}}},
            None,
            id="where the profile's own limit is above the maximum",
        ),
    ],
)
def test_memory_grows_and_the_ladder_stays(
    before: Escalation | None, by: dict[str, Any], memory: str | None
) -> None:
    found = climbed(before, Climb.MEMORY, effective(), profile(**LADDER, **by))
    assert (found.memory if found else None) == memory
    assert (found.level if found else 0) == 0
    assert means(found, effective(), profile(**LADDER, **by)).memory == memory


def test_what_has_grown_stays_when_the_task_climbs() -> None:
    found = climbed(Escalation(memory="1536Mi"), Climb.STEP, effective(), profile(**LADDER, **GROWTH))
    assert found
    assert (found.level, found.memory) == (1, "1536Mi")


def test_no_memory_can_be_computed_while_the_profile_is_away() -> None:
    assert climbed(None, Climb.MEMORY, effective(), None) is None
