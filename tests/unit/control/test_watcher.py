"""What informers report of Pods, and what is made of an end that nobody announced."""

from typing import Any

import msgspec
import pytest

from bernstein_operator.api.pod import Pod
from bernstein_operator.control.watcher import PodWatcher
from bernstein_operator.kube.errors import NotLeaderError
from bernstein_operator.kube.lists import Listing
from bernstein_operator.world.world import World
from tests.unit.kube.server import serving
from tests.unit.objects import T0, pod, raw_run, raw_task
from tests.unit.world.marks import Marked

LIVE = pod(version=5, phase="Running")


def fresh_world() -> World:
    world = World(Marked(), clock=lambda: T0)
    world.put_run(raw_run())
    world.put_task(raw_task())
    return world


def without_labels(**changes: Any) -> dict[str, Any]:
    """Return the live Pod as the API server has it once somebody took its labels off."""
    raw: dict[str, Any] = msgspec.to_builtins(pod(version=8, phase="Running"))
    return {**raw, "metadata": {**raw["metadata"], "labels": {}, **changes}}


@pytest.mark.parametrize(
    ("watched", "version", "gone"),
    [
        pytest.param("", 9, True, id="a list of all namespaces"),
        pytest.param("ns", 9, True, id="a list of its namespace"),
        pytest.param("elsewhere", 9, False, id="a list of another namespace"),
        pytest.param("ns", 4, False, id="a list older than the Pod"),
    ],
)
async def test_what_a_list_lacks_is_gone_if_the_list_could_hold_it(
    watched: str, version: int, gone: bool
) -> None:
    world = fresh_world()
    async with serving() as server:
        server.say(404, {"reason": "NotFound"})
        watcher = PodWatcher(server.api, world, watched)
        watcher.seen(LIVE)
        other = pod(name="other", version=6, phase="Running")
        watcher.listed(Listing(items=[other], version=version))
        await watcher.settled()
    assert world.roster(("ns", "r")).live == (1 if gone else 2)
    assert [one.method for one in server.asked] == (["GET"] if gone else [])


@pytest.mark.parametrize(
    "seen",
    [
        pytest.param(pod(version=7, phase="Running", deleted=5), id="one whose deletion was announced"),
        pytest.param(pod(version=7, phase="Succeeded"), id="one that had ended"),
    ],
)
async def test_an_end_that_could_be_expected_is_believed(seen: Pod) -> None:
    world = fresh_world()
    async with serving() as server:
        watcher = PodWatcher(server.api, world, "ns")
        watcher.seen(LIVE)
        watcher.gone(seen)
        await watcher.settled()
    assert (world.roster(("ns", "r")).live, server.asked) == (0, [])


@pytest.mark.parametrize(
    ("answers", "live", "asked"),
    [
        pytest.param([(404, {"reason": "NotFound"})], 0, ["GET"], id="it is gone"),
        pytest.param([(200, without_labels(uid="another"))], 0, ["GET"], id="another has its name"),
        pytest.param(
            [(200, without_labels()), (404, {"reason": "NotFound"})], 0, ["GET", "PATCH"], id="gone meanwhile"
        ),
        pytest.param(
            [(200, without_labels(deletionTimestamp="2026-01-01T12:00:09Z"))],
            1,
            ["GET"],
            id="it is being deleted",
        ),
        pytest.param(
            [(503, {}), (200, without_labels()), (200, without_labels(resourceVersion="9"))],
            1,
            ["GET", "GET", "PATCH"],
            id="no answer, then it is still there",
        ),
    ],
)
async def test_an_end_that_nobody_announced_is_looked_into(
    answers: list[tuple[int, dict[str, Any]]], live: int, asked: list[str]
) -> None:
    world = fresh_world()
    async with serving() as server:
        for status, body in answers:
            server.say(status, body)
        watcher = PodWatcher(server.api, world, "ns")
        watcher.seen(LIVE)
        for _ in range(2):
            watcher.gone(pod(version=7, phase="Running"))
        assert world.roster(("ns", "r")).live == 1, "it holds its slot until there is an answer"
        await watcher.settled()
    assert world.roster(("ns", "r")).live == live
    assert [one.method for one in server.asked] == asked


async def test_a_live_pod_gets_its_labels_back() -> None:
    async with serving() as server:
        server.say(200, without_labels())
        server.say(200, without_labels(resourceVersion="9"))
        watcher = PodWatcher(server.api, fresh_world(), "ns")
        watcher.gone(LIVE)
        await watcher.settled()
    assert server.asked[-1].body == {
        "metadata": {"uid": LIVE.metadata.uid, "labels": dict(LIVE.metadata.labels or {})}
    }


async def test_who_does_not_lead_leaves_the_labels_to_the_leader() -> None:
    def closed() -> None:
        raise NotLeaderError(status=0, reason="", message="not the leader")

    world = fresh_world()
    async with serving(fence=closed) as server:
        server.say(200, without_labels())
        watcher = PodWatcher(server.api, world, "ns")
        watcher.seen(LIVE)
        watcher.gone(pod(version=7, phase="Running"))
        await watcher.settled()
    assert [one.method for one in server.asked] == ["GET"]
    [kept] = world.pods_missing_from([], version=9)
    assert kept.metadata.labels == LIVE.metadata.labels, "whoever comes to lead knows what to put back"
