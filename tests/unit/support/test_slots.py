"""How the use of slots is counted: second by second, only while work is queued."""

import pytest

from tests.support.invariants import Limits
from tests.support.slots import slot_usage
from tests.unit.support.stories import Story

WAITS = [{"type": "Admitted", "status": "False", "reason": "DependencyPending", "message": "waits"}]


@pytest.mark.parametrize(
    ("story", "used", "offered"),
    [
        pytest.param(
            Story().run(2).task("a").pod("pa", task="a"), 0, 1, id="one waits a second for one of two"
        ),
        pytest.param(
            Story().run(2).task("a").task("b").task("c"),
            0,
            1 + 2 + 2 * 7,
            id="three wait, two slots are offered",
        ),
        pytest.param(
            Story().run(1).pod("pa", "Running", task="a").task("a", "Running").task("b"), 7, 7, id="full"
        ),
        pytest.param(
            Story().run(2).pod("pa", "Running", task="a").task("a", "Running").task("b"),
            7,
            14,
            id="half used",
        ),
        pytest.param(
            Story()
            .run(2, concurrency={"effective": 1})
            .pod("pa", "Running", task="a")
            .task("a", "Running")
            .task("b"),
            7,
            7,
            id="failures have lowered the ceiling to what is used",
        ),
        pytest.param(
            Story().run(2).task("a", conditions=WAITS), 0, 0, id="what waits for others isn't queued"
        ),
        pytest.param(Story().run(2).task("a", "Running"), 0, 0, id="nothing queued"),
    ],
)
def test_slots_are_offered_while_work_is_queued(story: Story, used: float, offered: float) -> None:
    usage = slot_usage(story.told, run="n/r", start=0, end=10, limits=Limits())
    assert (usage.used, usage.offered) == (used, offered)


def test_excluded_times_do_not_count() -> None:
    story = Story().run(1).task("a")
    usage = slot_usage(story.told, run="n/r", start=0, end=10, limits=Limits(), excluded=[(2.0, 9.0)])
    assert usage.offered == 2


def test_nothing_queued_is_full_use() -> None:
    assert slot_usage([], run="n/r", start=0, end=10, limits=Limits()).share == 1
