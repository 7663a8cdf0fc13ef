"""What complete lists say, of what they hold and of what they lack."""

from bernstein_operator.control.sync import Sync
from bernstein_operator.world.world import World
from tests.unit.kube.server import serving
from tests.unit.objects import T0, raw_task
from tests.unit.world.marks import Marked


async def test_a_fresh_list_brings_what_no_watch_did_and_takes_what_is_gone() -> None:
    world = World(Marked(), clock=lambda: T0)
    for name in ("changed", "gone"):
        world.put_task(raw_task(name, version=1))
    async with serving() as server:
        listed = [raw_task("changed", version=7), raw_task("new", version=8)]
        for items in ([], [], listed):
            server.say(200, {"metadata": {"resourceVersion": "9"}, "items": items})
        server.say(404, {"reason": "NotFound"})
        pods_listed: list[bool] = []

        async def list_pods() -> None:
            pods_listed.append(True)

        await Sync(server.api, world, namespaces=("ns",)).refresh(list_pods)
    assert world.versions("AgentTask") == {("ns", "changed"): 7, ("ns", "new"): 8}
    assert server.asked[-1].path.endswith("/agenttasks/gone")
    assert pods_listed == [True]


async def test_a_list_that_fails_is_asked_for_again() -> None:
    world = World(Marked(), clock=lambda: T0)
    async with serving() as server:
        server.say(500, {})
        for _ in range(3):
            server.say(200, {"metadata": {"resourceVersion": "9"}, "items": []})
        await Sync(server.api, world, namespaces=("ns",)).refresh()
    assert len(server.asked) == 4
