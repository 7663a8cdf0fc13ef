"""Each invariant finds what it is there for, and nothing in the story that is nearly the same but right."""

import pytest

from tests.support.invariants import Invariant, Limits, violations
from tests.support.timeline import Change, Kind, Outages
from tests.unit.support.stories import Story

AN_HOUR = 3600.0


def broken(story: Story, *, limits: Limits | None = None, uptime_from: float = 0.0) -> list[Invariant]:
    """Return the invariants that ``story`` breaks, judged an hour after its end."""
    outages = Outages(since=0.0)
    outages.up(uptime_from)
    found = violations(story.told, now=story.now + AN_HOUR, outages=outages, limits=limits or Limits())
    return [violation.invariant for violation in found]


def two_running(ceiling: int | None = 2) -> Story:
    return Story().run(ceiling).pod("a", "Running", task="a").pod("b", "Running", task="b")


@pytest.mark.parametrize(
    ("story", "expected"),
    [
        pytest.param(two_running(), [], id="as many as the ceiling"),
        pytest.param(two_running().pod("c", task="c"), ["I1"], id="one above the ceiling"),
        pytest.param(two_running().pod("c", "Failed", task="c"), ["I1"], id="one above, already ended"),
        pytest.param(
            two_running().pod("a", "Succeeded", task="a").pod("c", task="c"),
            [],
            id="an ended Pod frees its slot",
        ),
        pytest.param(
            two_running().pod("a", "Running", task="a", terminating=True).pod("c", task="c"),
            ["I1"],
            id="a terminating Pod holds its slot",
        ),
        pytest.param(
            two_running().gone(Kind.POD, "a").pod("c", task="c"), [], id="a deleted Pod frees its slot"
        ),
        pytest.param(two_running().run(1), [], id="the ceiling lowered below what runs"),
        pytest.param(
            two_running().run(3).run(1).run(1).run(1).run(1).pod("c", task="c"),
            ["I1"],
            id="a start long after the ceiling was lowered",
        ),
        pytest.param(
            two_running(3).run(1).pod("c", task="c"), [], id="a start that crossed the lowering on the way"
        ),
        pytest.param(two_running().run(3).pod("c", task="c"), [], id="the ceiling raised"),
        pytest.param(Story().run(0).pod("a", task="a"), ["I1"], id="a start under ceiling 0"),
        pytest.param(
            two_running(None).pod("c", task="c").pod("d", task="d").pod("e", task="e").pod("f", task="f"),
            [],
            id="the default ceiling is six",
        ),
        pytest.param(
            two_running(None)
            .pod("c", task="c")
            .pod("d", task="d")
            .pod("e", task="e")
            .pod("f", task="f")
            .pod("g", task="g"),
            ["I1"],
            id="a seventh under the default ceiling",
        ),
    ],
)
def test_no_pod_is_created_above_the_ceiling(story: Story, expected: list[str]) -> None:
    assert broken(story) == expected


def test_the_operators_own_ceiling_binds_too() -> None:
    story = two_running(5)
    assert broken(story, limits=Limits(operator_ceiling=1)) == [Invariant.CEILING]


@pytest.mark.parametrize(
    ("story", "expected"),
    [
        pytest.param(Story().run().pod("a1").pod("a2"), ["I2"], id="a second Pod beside the first"),
        pytest.param(
            Story().run().pod("a1").pod("a1", "Running", terminating=True).pod("a2"),
            ["I2"],
            id="a second beside a terminating one",
        ),
        pytest.param(
            Story().run().pod("a1").pod("a2").gone(Kind.POD, "a2").pod("a1", "Succeeded"),
            ["I2"],
            id="a second that was gone at the end",
        ),
        pytest.param(Story().run().pod("a1").pod("a1", "Failed").pod("a2"), [], id="a retry after the end"),
        pytest.param(
            Story().run().pod("a1").gone(Kind.POD, "a1").pod("a2"), [], id="a replacement of one that is gone"
        ),
        pytest.param(Story().run().pod("a", task="a").pod("b", task="b"), [], id="one Pod each of two tasks"),
    ],
)
def test_a_task_never_has_two_live_pods(story: Story, expected: list[str]) -> None:
    assert broken(story) == expected


def spent(dollars: str) -> dict[str, str]:
    return {"costUsd": dollars}


def _spending(story: Story, *, shown: str = "0.3") -> Story:
    """Return the story with a run to its end whose one task cost 0.3."""
    return (
        story.run()
        .task("t", "Succeeded", attempt=1, attempts=[{"usage": spent("0.3")}])
        .run(budget={"spentUsd": shown}, completionTime="2026-01-01T00:00:00Z")
    )


def _only_ends(story: Story) -> Story:
    """Return what somebody saw of a story who came when its objects were deleted."""
    return Story([seen for seen in story.told if seen.change is Change.DELETED])


@pytest.mark.parametrize(
    ("story", "expected"),
    [
        pytest.param(
            Story().run(budget={"spentUsd": "0.9"}).run(budget={"spentUsd": "0.45"}), ["I3"], id="run falls"
        ),
        pytest.param(Story().run(budget={"spentUsd": "0.9"}).run(), ["I3"], id="run forgets what it spent"),
        pytest.param(
            Story().run().task("t", "Running", usage=spent("0.2")).task("t", "Running", usage=spent("0.1")),
            ["I3"],
            id="task falls",
        ),
        pytest.param(
            Story().run(budget={"spentUsd": "0.10"}).run(budget={"spentUsd": "0.1"}), [], id="same amount"
        ),
        pytest.param(
            Story()
            .run()
            .task("t", "Failed", attempt=2, attempts=[{"usage": spent("0.45")}, {"usage": spent("0.45")}])
            .run(budget={"spentUsd": "0.90"}, completionTime="2026-01-01T00:00:00Z"),
            [],
            id="the sum over the attempts",
        ),
        pytest.param(
            Story()
            .run()
            .task("t", "Failed", attempt=2, attempts=[{"usage": spent("0.45")}, {"usage": spent("0.45")}])
            .run(budget={"spentUsd": "0.45"}, completionTime="2026-01-01T00:00:00Z"),
            ["I3"],
            id="only the last attempt charged",
        ),
        pytest.param(
            Story()
            .run()
            .task("t", "Succeeded", attempt=1, attempts=[{"usage": spent("0.3")}])
            .gone(Kind.TASK, "t")
            .run(budget={"spentUsd": "0.3"}, completionTime="2026-01-01T00:00:00Z"),
            [],
            id="a deleted task stays charged",
        ),
        *(
            pytest.param(
                Story()
                .run()
                .task("t", "Running", attempt=1, attempts=[{"reservationUsd": "0.5"}])
                .gone(Kind.TASK, "t")
                .run(budget={"spentUsd": shown}, completionTime="2026-01-01T00:00:00Z"),
                broken_rules,
                id=f"deleted at work, charged {shown}",
            )
            for shown, broken_rules in (("0", []), ("0.5", []), ("0.51", ["I3"]))
        ),
        pytest.param(
            _only_ends(_spending(Story()).gone(Kind.RUN, "r").gone(Kind.TASK, "t")),
            [],
            id="both were only seen to go",
        ),
        pytest.param(
            _spending(_spending(Story()).gone(Kind.TASK, "t").gone(Kind.RUN, "r")),
            [],
            id="a run of the same name that went before",
        ),
        pytest.param(
            _spending(_spending(Story()).gone(Kind.RUN, "r").gone(Kind.TASK, "t"), shown="0.6"),
            ["I3"],
            id="a run that is charged for the one before",
        ),
    ],
)
def test_spend_is_the_sum_of_all_attempts_and_never_falls(story: Story, expected: list[str]) -> None:
    assert broken(story) == expected


RETRY = {"bernstein.run/retry": "1"}


@pytest.mark.parametrize(
    ("story", "expected"),
    [
        *(
            pytest.param(
                Story().run().task("t", end).task("t", "Pending", attempt=1, conditions=[]).task("t", end),
                ["I4"],
                id=f"{end} left and taken again",
            )
            for end in ("Succeeded", "Cancelled", "Abandoned")
        ),
        pytest.param(
            Story().run().task("t", "Cancelled").task("t", "Succeeded"), ["I4"], id="a late success"
        ),
        pytest.param(
            Story().run().task("t", "Failed").task("t", "Running"), ["I4"], id="Failed left unasked"
        ),
        pytest.param(
            Story()
            .run()
            .task("t", "Failed")
            .task("t", "Failed", annotations=RETRY)
            .task("t", "Running", annotations=RETRY),
            [],
            id="Failed left by a human's retry",
        ),
        pytest.param(
            Story().run().task("t", "Failed", annotations=RETRY).task("t", "Running", annotations=RETRY),
            ["I4"],
            id="Failed left by a retry that was answered before",
        ),
        pytest.param(
            Story().run().task("t", "Running").task("t", "Failed").task("t", "Failed", summary="x"),
            [],
            id="an end with a later note",
        ),
    ],
)
def test_an_end_stays_the_end(story: Story, expected: list[str]) -> None:
    assert broken(story) == expected


WAITS = {"type": "Admitted", "status": "False", "reason": "DependencyPending", "message": "waits for a"}


@pytest.mark.parametrize(
    ("story", "expected"),
    [
        pytest.param(Story().run(2).task("t"), ["I5"], id="a free slot and no reason"),
        pytest.param(Story().task("t"), ["I5"], id="no run and no reason"),
        pytest.param(Story().run(2).task("t", conditions=[WAITS]), [], id="a reason in words"),
        pytest.param(
            Story().run(2).task("t", conditions=[{**WAITS, "message": ""}]),
            ["I5"],
            id="a reason without words",
        ),
        pytest.param(
            Story().run(1).pod("a", "Running", task="a").task("t"), [], id="covered by its run, which is full"
        ),
        pytest.param(
            Story().run(1, conditions=[]).pod("a", "Running", task="a").task("t"),
            ["I5"],
            id="its run is full and says nothing",
        ),
        pytest.param(Story().run(2, suspend=True).task("t"), [], id="covered by its run, which is suspended"),
        pytest.param(Story().run(0).task("t"), [], id="covered by its run, whose ceiling is 0"),
        pytest.param(
            Story().run(2, concurrency={"effective": 1}).pod("a", "Running", task="a").task("t"),
            [],
            id="covered by its run, whose ceiling failures have lowered",
        ),
        pytest.param(
            Story().run(1, concurrency={"effective": 9}).task("t"), ["I5"], id="its run says more than it may"
        ),
        pytest.param(
            Story().run(2, conditions=[{"type": "Reconciling", "reason": "AtOperatorCeiling"}]).task("t"),
            [],
            id="covered by its run, whose turn it isn't",
        ),
        pytest.param(Story().run(2).task("t").gone(Kind.TASK, "t"), [], id="gone meanwhile"),
        pytest.param(Story().run(2).task("t").task("t", "Running"), [], id="started meanwhile"),
    ],
)
def test_no_task_waits_without_saying_for_what(story: Story, expected: list[str]) -> None:
    assert broken(story) == expected


def test_a_task_is_not_blamed_for_the_time_without_an_operator() -> None:
    story = Story().run(2).task("t")
    assert broken(story, uptime_from=story.now + AN_HOUR - 9) == []
    assert broken(story, uptime_from=story.now + AN_HOUR - 11) == [Invariant.EXPLAINED]
