"""The leader's label: on its own Pod, off every other one, and tried again where it can't be written."""

import asyncio
from typing import Any

import pytest

from bernstein_operator.api.names import LABEL_LEADER
from bernstein_operator.control.badge import LOOK_SECONDS, RETRY_SECONDS, Badge
from tests.unit.kube.server import Asked, Server, serving
from tests.unit.objects import merged

PODS = "/api/v1/namespaces/system/pods"


class Pods(Server):
    """The operators' Pods by name, with their labels; ``trouble`` is answered to writes while it is set."""

    def __init__(self, **leads: str | None) -> None:
        super().__init__()
        self.trouble = 0
        self.pods: dict[str, dict[str, Any]] = {
            name: {"metadata": {"name": name, "labels": {LABEL_LEADER: value} if value else {}}}
            for name, value in leads.items()
        }

    @property
    def leading(self) -> dict[str, str]:
        """The label's value by Pod, of those that have it."""
        labels = {name: pod["metadata"]["labels"] for name, pod in self.pods.items()}
        return {name: one[LABEL_LEADER] for name, one in labels.items() if LABEL_LEADER in one}

    @property
    def writes(self) -> list[str]:
        """Which Pods were written."""
        return [one.path.rpartition("/")[2] for one in self.asked if one.method == "PATCH"]

    def next(self, asked: Asked, /) -> tuple[int, Any, dict[str, str]]:
        if asked.path == PODS:
            _, _, wanted = asked.query["labelSelector"].partition("=")
            wearing = [self.pods[one] for one, value in self.leading.items() if value == wanted]
            return 200, {"items": wearing}, {}
        name = asked.path.removeprefix(f"{PODS}/")
        if name not in self.pods:
            return 404, {"reason": "NotFound"}, {}
        if asked.method == "PATCH" and self.trouble:
            return self.trouble, {"reason": "Whatever"}, {}
        if asked.method == "PATCH":
            self.pods[name] = merged(self.pods[name], asked.body)
        return 200, self.pods[name], {}


async def looks(server: Pods, times: int, *, pod: str = "a") -> list[float]:
    """Let the badge look so often; returns how long it paused after each."""
    pauses: list[float] = []

    async def pause(seconds: float) -> None:
        pauses.append(seconds)
        server.trouble = 0
        if len(pauses) == times:
            raise asyncio.CancelledError

    badge = Badge(server.api, namespace="system", pod=pod, lease="lease", sleep=pause)
    with pytest.raises(asyncio.CancelledError):
        await badge.keep()
    return pauses


@pytest.mark.parametrize(
    ("before", "written"),
    [
        pytest.param({"a": None, "b": None}, ["a"], id="nobody led"),
        pytest.param({"a": None, "b": "lease"}, ["a", "b"], id="another one led"),
        pytest.param({"a": "lease", "b": None}, [], id="its container was restarted"),
        pytest.param({"a": "old", "b": None}, ["a"], id="of another lease once"),
    ],
)
async def test_the_leader_has_the_label_and_nobody_else(
    before: dict[str, str | None], written: list[str]
) -> None:
    server = Pods(**before)
    async with serving(server):
        assert await looks(server, 2) == [LOOK_SECONDS] * 2
        assert server.leading == {"a": "lease"}
        assert server.writes == written, "and nothing where nothing changes"


async def test_pods_of_other_leases_are_let_alone() -> None:
    server = Pods(a=None, b="other")
    async with serving(server):
        await looks(server, 1)
        assert server.leading == {"a": "lease", "b": "other"}


@pytest.mark.parametrize(
    ("status", "pause"),
    [
        pytest.param(500, RETRY_SECONDS, id="no answer: soon"),
        pytest.param(403, LOOK_SECONDS, id="not allowed: later"),
    ],
)
async def test_a_label_that_could_not_be_written_is_written_later(status: int, pause: float) -> None:
    server = Pods(a=None)
    async with serving(server):
        server.trouble = status
        assert await looks(server, 2) == [pause, LOOK_SECONDS]
        assert server.leading == {"a": "lease"}


async def test_an_operator_that_is_in_no_pod_writes_nothing() -> None:
    server = Pods(b="lease")
    async with serving(server):
        assert await looks(server, 1, pod="gone") == [LOOK_SECONDS]
        assert server.leading == {"b": "lease"}


@pytest.mark.parametrize(
    ("before", "writes"),
    [
        pytest.param({"a": "lease"}, ["a"], id="it has it"),
        pytest.param({"a": None, "b": "lease"}, [], id="another one has it by now"),
        pytest.param({}, [], id="its Pod is gone"),
    ],
)
async def test_whoever_ends_takes_its_own_label_off(before: dict[str, str | None], writes: list[str]) -> None:
    server = Pods(**before)
    async with serving(server):
        await Badge(server.api, namespace="system", pod="a", lease="lease").take_off()
        assert server.writes == writes
        assert "a" not in server.leading
