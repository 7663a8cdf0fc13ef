"""Requests as they leave and answers as they come back, over a real connection."""

from collections.abc import Awaitable, Callable

import pytest
from aiohttp.test_utils import unused_port

from bernstein_operator.kube.api import METADATA_ONLY, KubeApi
from bernstein_operator.kube.errors import (
    ConflictError,
    NotLeaderError,
    RefusedError,
    ThrottledError,
    UnavailableError,
)
from bernstein_operator.kube.lists import list_all, list_versions
from bernstein_operator.kube.resources import PODS, TASKS
from tests.unit.kube.server import client, serving


async def test_a_status_is_patched_by_a_merge_patch_of_its_subresource() -> None:
    async with serving() as server:
        server.say(200, {})
        await server.api.patch(TASKS, "ns", "t", {"status": {}}, subresource="status")
    (asked,) = server.asked
    assert asked.path == "/apis/bernstein.run/v1alpha1/namespaces/ns/agenttasks/t/status"
    assert (asked.method, asked.body) == ("PATCH", {"status": {}})
    assert asked.headers["Content-Type"] == "application/merge-patch+json"
    assert asked.headers["User-Agent"] == "test/1"


@pytest.mark.parametrize(
    ("grace", "said"), [(None, {}), (0, {"gracePeriodSeconds": 0})], ids=["plain", "at once"]
)
async def test_a_deletion_means_one_uid(grace: int | None, said: dict[str, int]) -> None:
    async with serving() as server:
        server.say(200, {})
        await server.api.delete(PODS, "ns", "p", uid="p-uid", grace_seconds=grace)
    assert server.asked[0].body == {"preconditions": {"uid": "p-uid"}, **said}


async def test_a_refusal_carries_the_servers_own_words() -> None:
    async with serving() as server:
        server.say(403, {"kind": "Status", "reason": "Forbidden", "message": "exceeded quota"})
        with pytest.raises(RefusedError) as caught:
            await server.api.create(PODS, "ns", {})
    assert (caught.value.status, caught.value.message) == (403, "exceeded quota")


async def test_an_answer_in_plain_text_is_borne() -> None:
    async with serving() as server:
        server.say(409, "the proxy says no\n")
        with pytest.raises(ConflictError) as caught:
            await server.api.get(PODS, "ns", "p")
    assert caught.value.message == "the proxy says no"


async def test_a_request_to_slow_down_holds_the_next_one_back_but_no_urgent_one() -> None:
    async with serving() as server:
        server.say(429, "slow down", Retry_After="1")
        server.say(200, {})
        server.say(200, {})
        with pytest.raises(ThrottledError):
            await server.api.get(PODS, "ns", "p")
        waiting = server.api.get(PODS, "ns", "waits")
        await server.api.patch(PODS, "ns", "urgent", {}, urgent=True)
        await waiting
    assert [asked.path.rpartition("/")[2] for asked in server.asked] == ["p", "urgent", "waits"]


async def test_a_broken_server_gives_no_definite_answer() -> None:
    async with serving() as server:
        server.say(500, "oops")
        with pytest.raises(UnavailableError):
            await server.api.get(PODS, "ns", "p")


async def test_a_server_that_is_not_there_gives_no_definite_answer() -> None:
    api = client(f"http://127.0.0.1:{unused_port()}")
    with pytest.raises(UnavailableError) as caught:
        await api.get(PODS, "ns", "p")
    await api.close()
    assert caught.value.status == 0


def closed() -> None:
    raise NotLeaderError(status=0, reason="", message="not the leader")


@pytest.mark.parametrize(
    "write",
    [
        pytest.param(lambda api: api.create(PODS, "ns", {}), id="create"),
        pytest.param(lambda api: api.patch(TASKS, "ns", "t", {}, subresource="status"), id="patch"),
        pytest.param(lambda api: api.patch(PODS, "ns", "p", {}, urgent=True), id="urgent patch"),
        pytest.param(lambda api: api.delete(PODS, "ns", "p", uid="u"), id="delete"),
    ],
)
async def test_who_is_not_the_leader_sends_no_write(write: Callable[[KubeApi], Awaitable[bytes]]) -> None:
    async with serving(fence=closed) as server:
        with pytest.raises(NotLeaderError):
            await write(server.api)
    assert server.asked == []


async def test_who_is_not_the_leader_may_read() -> None:
    async with serving(fence=closed) as server:
        for answer in ({}, page("a", version=5), b""):
            server.say(200, answer)
        await server.api.get(TASKS, "ns", "t")
        await list_versions(server.api, TASKS, namespaces=["ns"])
        async with server.api.watch(PODS, "ns", params={"watch": "true"}, idle=5) as stream:
            assert await stream.read() == b""
    assert [asked.method for asked in server.asked] == ["GET"] * 3


@pytest.mark.parametrize("connected_before", [False, True], ids=["a new connection", "one from the pool"])
async def test_the_fence_is_asked_once_more_with_the_connection_in_hand(connected_before: bool) -> None:
    asked_for = 0

    def closes_behind_the_first() -> None:
        nonlocal asked_for
        asked_for += 1
        if asked_for > 1:
            closed()

    async with serving(fence=closes_behind_the_first) as server:
        if connected_before:
            server.say(200, {})
            await server.api.get(PODS, "ns", "p")
        with pytest.raises(NotLeaderError):
            await server.api.create(PODS, "ns", {})
    assert [asked.method for asked in server.asked] == ["GET"] * connected_before


def page(names: str, *, version: int, token: str = "") -> dict[str, object]:
    items = [
        {"metadata": {"namespace": "ns", "name": name, "resourceVersion": str(version)}} for name in names
    ]
    more = {"continue": token} if token else {}
    return {"metadata": {"resourceVersion": str(version), **more}, "items": items}


async def test_a_list_is_read_page_by_page() -> None:
    async with serving() as server:
        server.say(200, page("ab", version=5, token="next"))
        server.say(200, page("c", version=5))
        found = await list_all(server.api, PODS, namespaces=["ns"], decode=bytes.decode, selector="x=y")
    assert (len(found.items), found.version) == (3, 5)
    assert [asked.query.get("continue") for asked in server.asked] == [None, "next"]
    assert {asked.query["labelSelector"] for asked in server.asked} == {"x=y"}
    assert all("resourceVersion" not in asked.query for asked in server.asked), "from etcd, not from a cache"


async def test_a_list_whose_version_expired_begins_anew() -> None:
    async with serving() as server:
        server.say(200, page("ab", version=5, token="next"))
        server.say(410, {"reason": "Expired"})
        server.say(200, page("abc", version=9))
        found = await list_all(server.api, PODS, namespaces=["ns"], decode=bytes.decode)
    assert (len(found.items), found.version) == (3, 9)


async def test_of_several_lists_the_oldest_version_counts() -> None:
    async with serving() as server:
        server.say(200, page("a", version=5))
        server.say(200, page("b", version=4))
        found = await list_all(server.api, PODS, namespaces=["one", "two"], decode=bytes.decode)
    assert (len(found.items), found.version) == (2, 4)


async def test_an_empty_list_may_have_no_items_at_all() -> None:
    async with serving() as server:
        server.say(200, {"metadata": {"resourceVersion": "3"}, "items": None})
        found = await list_all(server.api, PODS, namespaces=[""], decode=bytes.decode)
    assert (found.items, found.version) == ([], 3)


async def test_versions_are_asked_for_without_the_objects() -> None:
    async with serving() as server:
        server.say(200, page("ab", version=5))
        assert await list_versions(server.api, TASKS, namespaces=[""]) == {("ns", "a"): 5, ("ns", "b"): 5}
    assert server.asked[0].headers["Accept"] == METADATA_ONLY
