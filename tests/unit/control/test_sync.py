"""What a complete list of Pods says of those that it lacks."""

import pytest

from bernstein_operator.control.sync import PodWatcher
from bernstein_operator.kube.lists import Listing
from bernstein_operator.world.world import World
from tests.unit.objects import T0, pod, raw_run, raw_task
from tests.unit.world.marks import Marked


@pytest.mark.parametrize(
    ("watched", "version", "gone"),
    [
        pytest.param("", 9, True, id="a list of all namespaces"),
        pytest.param("ns", 9, True, id="a list of its namespace"),
        pytest.param("elsewhere", 9, False, id="a list of another namespace"),
        pytest.param("ns", 4, False, id="a list older than the Pod"),
    ],
)
def test_what_a_list_lacks_is_gone_if_the_list_could_hold_it(watched: str, version: int, gone: bool) -> None:
    world = World(Marked(), clock=lambda: T0, operator_limit=None)
    world.put_run(raw_run())
    world.put_task(raw_task())
    watcher = PodWatcher(world, watched)
    watcher.seen(pod(version=5, phase="Running"))
    other = pod(name="other", version=6, phase="Running")
    watcher.listed(Listing(items=[other], version=version))
    held = world.roster(("ns", "r")).live
    assert held == (1 if gone else 2)
