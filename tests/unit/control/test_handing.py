"""Which of a run's free slots its tasks get: its turn and a refusing namespace come in between."""

from typing import Any

import pytest

from bernstein_operator.api.snapshot import Refusal
from bernstein_operator.api.vocabulary import AdmittedReason
from bernstein_operator.control.handing import hand_out
from bernstein_operator.control.holds import Holds
from bernstein_operator.decisions.admission import Candidate
from bernstein_operator.world.turns import Limits
from bernstein_operator.world.world import World
from tests.unit.objects import T0, raw_profile, raw_run, raw_task
from tests.unit.world.marks import Marked

A, B = ("ns", "a"), ("ns", "b")


class Scene:
    """Two runs with tasks that wait for a slot, under limits on both together."""

    def __init__(self, **limits: int) -> None:
        self.marked = Marked()
        self.holds = Holds(lambda: 0.0)
        self.world = World(self.marked, clock=lambda: T0, limits=Limits(**limits))
        self.world.put_profile(raw_profile())
        for _, name in (A, B):
            self.world.put_run(raw_run(name, metadata={"uid": f"{name}-uid"}))

    def wait(self, run: tuple[str, str], *names: str, **spec: Any) -> None:
        for name in names:
            task = self.world.put_task(raw_task(name, run=run[1], **spec))
            self.world.slots.offer(task, Candidate(task.meta.uid, 2, task.status.phase, ("", name)))

    def hand_out(self, run: tuple[str, str], *, free: int = 9) -> int:
        """Return how many more slots a run holds after its pass."""
        before = self.world.roster(run).live
        hand_out(self.world, self.holds, run, free=free)
        return self.world.roster(run).live - before


@pytest.mark.parametrize(
    ("limits", "free", "given"),
    [
        pytest.param({}, 9, 3, id="as many as wait"),
        pytest.param({}, 2, 2, id="as many as are free"),
        pytest.param({"total": 1}, 9, 1, id="as many as the operator allows in all"),
        pytest.param({"per_namespace": 2, "total": 9}, 9, 2, id="as many as it allows in the namespace"),
        pytest.param({"total": 0}, 9, 0, id="none"),
    ],
)
def test_what_a_run_is_given(limits: dict[str, int], free: int, given: int) -> None:
    scene = Scene(**limits)
    scene.wait(A, "a1", "a2", "a3")
    assert scene.hand_out(A, free=free) == given


def test_runs_share_what_is_free_and_are_called_in_turn() -> None:
    scene = Scene(total=2)
    scene.wait(A, "a1", "a2", "a3")
    scene.wait(B, "b1")
    assert (scene.hand_out(A), scene.hand_out(B)) == (2, 0)
    scene.marked.forget()
    first = next(task for task in scene.world.tasks if task.meta.uid in scene.world.slots)
    scene.world.slots.release(first)
    assert scene.marked.runs == {"a", "b"}, "its own run, and the one whose turn it is"
    assert (scene.hand_out(A), scene.hand_out(B)) == (0, 1)


def test_what_a_refusing_namespace_cannot_use_goes_to_the_next_run() -> None:
    scene = Scene(total=1)
    scene.wait(A, "a1")
    for name in ("x", "y"):
        scene.holds.refused(("ns", name), name, Refusal(AdmittedReason.QUOTA_EXCEEDED, "no"))
    scene.world.turns.share(("other", "c"), 1)
    scene.marked.forget()
    assert scene.hand_out(A) == 0
    assert scene.world.turns.share(("other", "c"), 1) == 1
    assert scene.marked.runs == {"c"}


def test_a_run_that_is_gone_leaves_the_line() -> None:
    scene = Scene(total=1)
    scene.wait(A, "a1", "a2")
    scene.wait(B, "b1")
    assert (scene.hand_out(A), scene.hand_out(B)) == (1, 0)
    run = scene.world.run(B)
    assert run
    scene.world.drop_run(run.meta)
    first = next(task for task in scene.world.tasks if task.meta.uid in scene.world.slots)
    scene.world.slots.release(first)
    assert scene.hand_out(A) == 1
