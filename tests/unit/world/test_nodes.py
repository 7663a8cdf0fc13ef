"""What is kept of readings, and what it says to a run whose tasks use these or those profiles."""

from fractions import Fraction
from typing import Any

import pytest

from bernstein_operator.api.load import LoadSource, NodeLoad
from bernstein_operator.world.world import World
from tests.unit.load import node, sample
from tests.unit.objects import at, raw_profile, raw_run, raw_task
from tests.unit.world.marks import Marked

CPU = LoadSource.CPU
POOLS = {"a": node(pool="a"), "b": node(pool="b"), "c": node(pool="c")}
BUSY = {"a": sample(10), "b": sample(30), "c": sample(80)}


def profile_of(pool: str) -> dict[str, Any]:
    return raw_profile(pool, pod={"nodeSelector": {"pool": pool}})


class Scene:
    """A world with a profile for each pool of nodes, and a run."""

    def __init__(self, **run: Any) -> None:
        self.world = World(Marked(), clock=lambda: at(0))
        self.world.put_run(raw_run(**run))
        for pool in POOLS:
            self.world.put_profile(profile_of(pool))
        self.nodes = self.world.nodes
        self.nodes.begin([CPU])
        self.nodes.nodes = POOLS

    def look(self, second: float = 0, **samples: Any) -> None:
        self.nodes.read(CPU, samples=samples or BUSY, now=at(second))
        self.nodes.looked(at(second))

    @property
    def load(self) -> NodeLoad | None:
        run = self.world.run(("ns", "r"))
        assert run
        return self.nodes.load(run, self.world.roster(("ns", "r")))

    @property
    def percents(self) -> list[float | None]:
        assert self.load
        [cpu] = self.load.signals
        return [None if one.percent is None else float(one.percent) for one in cpu.measures]


@pytest.mark.parametrize(
    ("tasks", "percent"),
    [
        pytest.param([{"profile": "a"}], 10, id="one profile"),
        pytest.param([{"profile": "a"}, {"profile": "b"}], 20, id="two profiles"),
        pytest.param([{"profile": "a"}, {"profile": "nowhere"}], 10, id="one that isn't there"),
        pytest.param(
            [{"profile": "a"}, {"profile": "c", "status": {"phase": "Succeeded"}}], 10, id="a done one"
        ),
        pytest.param(
            [{"profile": "a"}, {"profile": "c", "status": {"phase": "Failed"}}], 10, id="a failed one"
        ),
        pytest.param(
            [{"profile": "a"}, {"profile": "c", "status": {"phase": "BlockedByFailure"}}],
            10,
            id="a blocked one",
        ),
        pytest.param(
            [{"profile": "a"}, {"profile": "b", "status": {"phase": "Running"}}], 20, id="a live one"
        ),
    ],
)
def test_the_nodes_of_the_unfinished_tasks_profiles_are_asked(tasks: list[Any], percent: float) -> None:
    scene = Scene()
    for number, options in enumerate(tasks):
        scene.world.put_task(raw_task(f"t{number}", **options))
    scene.look()
    assert scene.percents == [percent]


def test_a_task_that_names_no_profile_uses_its_runs() -> None:
    scene = Scene(taskDefaults={"profile": "c"})
    scene.world.put_task(raw_task())
    scene.look()
    assert scene.percents == [80]


def test_a_task_that_changes_or_goes_takes_its_profile_along() -> None:
    scene = Scene()
    scene.world.put_task(raw_task(profile="a"))
    scene.world.put_task(raw_task("u", profile="b"))
    scene.look()
    scene.world.put_task(raw_task(version=2, profile="c"))
    assert scene.percents == [55]
    gone = scene.world.task(("ns", "t"))
    assert gone
    scene.world.drop_task(gone.meta)
    assert scene.percents == [30]


def test_a_profile_that_changes_is_heard_at_once() -> None:
    scene = Scene()
    scene.world.put_task(raw_task(profile="a"))
    scene.look()
    assert scene.percents == [10]
    moved = {**profile_of("c"), "metadata": {**profile_of("a")["metadata"], "resourceVersion": "2"}}
    scene.world.put_profile(moved)
    assert scene.percents == [80]


def test_nothing_is_said_before_the_first_look_and_without_work() -> None:
    scene = Scene()
    scene.world.put_task(raw_task(profile="a"))
    assert scene.load is None, "nobody has looked"
    scene.look()
    assert scene.load
    scene.world.put_task(raw_task(version=2, profile="a", status={"phase": "Succeeded"}))
    assert scene.load is None, "nothing could start"


def test_what_may_not_be_looked_at_is_said_without_work_too() -> None:
    scene = Scene()
    scene.nodes.begin([], forbidden="no")
    scene.nodes.looked(at(0))
    assert scene.load == NodeLoad(at(0), (), "no")


def test_the_newest_reading_comes_first_and_only_so_many_are_kept() -> None:
    scene = Scene()
    scene.world.put_task(raw_task(profile="a"))
    scene.nodes.keep(3)
    for second in range(5):
        scene.look(second, a=sample(second, taken=second))
    assert scene.percents == [4, 3, 2]


def test_a_node_that_is_no_more_ready_counts_no_more_from_the_next_reading_on() -> None:
    scene = Scene()
    for name, pool in (("t", "a"), ("u", "b")):
        scene.world.put_task(raw_task(name, profile=pool))
    scene.look()
    scene.nodes.nodes = {**POOLS, "b": node(pool="b", usable=False)}
    scene.look(10)
    assert scene.percents == [10, 20]


def test_a_failed_look_is_told_until_one_succeeds() -> None:
    scene = Scene()
    scene.world.put_task(raw_task(profile="a"))
    scene.look()
    scene.nodes.failed(CPU, "gone")
    assert scene.load
    assert scene.load.signals[0].failure == "gone"
    assert scene.percents == [10], "what was read is still known"
    scene.look(10)
    assert scene.load.signals[0].failure == ""


def test_all_nodes_without_taints_together() -> None:
    scene = Scene()
    assert scene.nodes.everything(CPU) is None
    scene.look()
    mean = scene.nodes.everything(CPU)
    assert mean
    assert (mean.percent, mean.counted) == (Fraction(40), 3)
