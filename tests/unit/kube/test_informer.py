"""A list, then a watch, and a new list whenever the watch may have missed something."""

import asyncio
import json
from typing import Any

import pytest

from bernstein_operator.api.pod import Pod
from bernstein_operator.kube.informer import PodInformer
from bernstein_operator.kube.lists import Listing
from tests.unit.kube.server import serving


class Told:
    """What an informer reports; ``enough`` is set once ``wanted`` reports came."""

    def __init__(self, wanted: int) -> None:
        self.reports: list[tuple[str, str]] = []
        self.enough = asyncio.Event()
        self._wanted = wanted

    def _tell(self, what: str, names: str) -> None:
        self.reports.append((what, names))
        if len(self.reports) >= self._wanted:
            self.enough.set()

    def seen(self, pod: Pod) -> None:
        """Keep it."""
        self._tell("seen", pod.metadata.name)

    def gone(self, pod: Pod) -> None:
        """Keep it."""
        self._tell("gone", pod.metadata.name)

    def listed(self, listing: Listing[Pod]) -> None:
        """Keep it."""
        self._tell("listed", " ".join(one.metadata.name for one in listing.items))


def pod(name: str, version: int) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "ns", "resourceVersion": str(version)}}


def pods(*names: str, version: int) -> dict[str, Any]:
    return {"metadata": {"resourceVersion": str(version)}, "items": [pod(name, version) for name in names]}


def stream(*events: tuple[str, dict[str, Any]]) -> bytes:
    return b"".join(json.dumps({"type": kind, "object": thing}).encode() + b"\n" for kind, thing in events)


BOOKMARK = ("BOOKMARK", {"kind": "Pod", "metadata": {"resourceVersion": "20", "creationTimestamp": None}})
TOO_OLD = ("ERROR", {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"})


@pytest.mark.parametrize(
    ("second", "resumed_at"),
    [
        pytest.param(stream(("ADDED", pod("b", 11))), "11", id="the last object's version"),
        pytest.param(stream(("ADDED", pod("b", 11)), BOOKMARK), "20", id="the last bookmark's version"),
    ],
)
async def test_a_watch_that_ends_is_resumed_where_it_was(second: bytes, resumed_at: str) -> None:
    async with serving() as server:
        server.say(200, pods("a", version=10))
        server.say(200, second)
        server.say(200, stream(("MODIFIED", pod("b", 21)), ("DELETED", pod("a", 22))))
        told = Told(4)
        informer = PodInformer(server.api, told, namespace="ns", selector="x=y")
        running = asyncio.create_task(informer.run())
        await told.enough.wait()
        running.cancel()
    assert told.reports == [("listed", "a"), ("seen", "b"), ("seen", "b"), ("gone", "a")]
    assert [one.query.get("resourceVersion") for one in server.asked[:3]] == [None, "10", resumed_at]
    assert informer.synced.is_set()


async def test_a_list_on_demand_is_told_and_leaves_the_watch_where_it_is() -> None:
    async with serving() as server:
        server.say(200, pods("a", "b", version=40))
        server.say(200, pods("a", version=10))
        server.say(200, stream(("ADDED", pod("b", 11))))
        told = Told(3)
        informer = PodInformer(server.api, told, namespace="ns", selector="x=y")
        assert await informer.relist() == 40
        assert not informer.synced.is_set()
        running = asyncio.create_task(informer.run())
        await told.enough.wait()
        running.cancel()
    assert told.reports == [("listed", "a b"), ("listed", "a"), ("seen", "b")]
    assert [one.query.get("resourceVersion") for one in server.asked[:3]] == [None, None, "10"]


async def test_a_version_that_is_too_old_means_a_new_list() -> None:
    async with serving() as server:
        server.say(200, pods("a", version=10))
        server.say(200, stream(TOO_OLD))
        server.say(200, pods("b", version=30))
        told = Told(2)
        running = asyncio.create_task(PodInformer(server.api, told, namespace="", selector="").run())
        await told.enough.wait()
        running.cancel()
    assert told.reports == [("listed", "a"), ("listed", "b")]


async def test_an_object_longer_than_any_buffer_is_read_whole() -> None:
    long = pod("b", 11)
    long["metadata"]["annotations"] = {"x": "y" * 300_000}
    async with serving() as server:
        server.say(200, pods("a", version=10))
        server.say(200, stream(("ADDED", long)))
        server.say(200, b"")
        told = Told(2)
        running = asyncio.create_task(PodInformer(server.api, told, namespace="ns", selector="").run())
        await told.enough.wait()
        running.cancel()
    assert told.reports[1] == ("seen", "b")
