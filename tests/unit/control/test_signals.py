"""Looks at nodes, against an API server that says what a test has prepared."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from bernstein_operator.api.load import LoadSource
from bernstein_operator.control.signals import Signals
from bernstein_operator.telemetry import metrics
from bernstein_operator.world.world import World
from tests.unit.kube.server import Asked, Server, serving
from tests.unit.objects import T0, raw_profile, raw_run, raw_task, stamp
from tests.unit.world.marks import Marked

NODE = {
    "metadata": {"name": "n"},
    "status": {"allocatable": {"cpu": "2"}, "conditions": [{"type": "Ready", "status": "True"}]},
}


class Kubernetes(Server):
    """Answers by what is asked: a list of nodes, and what is prepared for their metrics."""

    usage: tuple[int, Any, dict[str, str]] = (404, "404 page not found\n", {})
    nodes: tuple[int, Any, dict[str, str]] = (
        200,
        {"metadata": {"resourceVersion": "1"}, "items": [NODE]},
        {},
    )

    def next(self, asked: Asked, /) -> tuple[int, Any, dict[str, str]]:
        return self.usage if "metrics.k8s.io" in asked.path else self.nodes

    def measure(self, cpu: str) -> None:
        item = {"metadata": {"name": "n"}, "timestamp": stamp(0), "window": "20s", "usage": {"cpu": cpu}}
        self.usage = (200, {"metadata": {}, "items": [item]}, {})


class Scene:
    """A world with a run that has work, and what looks at nodes for it."""

    def __init__(self, server: Kubernetes, *, everywhere: bool = True) -> None:
        self.marked = Marked()
        self.world = World(self.marked, clock=lambda: T0)
        self.world.put_profile(raw_profile())
        self.world.put_run(raw_run())
        self.world.put_task(raw_task())
        self.marked.forget()
        self.server = server
        self.signals = Signals(
            server.api,
            self.world,
            self.marked,
            clock=lambda: T0,
            everywhere=everywhere,
            query=None,
            interval=10,
        )

    @property
    def unknown(self) -> str | None:
        """Why the load isn't known, empty where it is, None before the first look."""
        snapshot = self.world.run_snapshot(("ns", "r"))
        assert snapshot
        load = self.world.nodes.load(snapshot.run, self.world.roster(("ns", "r")))
        return "; ".join(one.failure for one in load.signals) if load else None


@asynccontextmanager
async def scene(*, everywhere: bool = True) -> AsyncIterator[Scene]:
    kubernetes = Kubernetes()
    async with serving(kubernetes):
        yield Scene(kubernetes, everywhere=everywhere)


@pytest.mark.parametrize(
    ("status", "body", "why"),
    [
        pytest.param(404, "404 page not found\n", "isn't installed (404)", id="no metrics API"),
        pytest.param(403, {"reason": "Forbidden"}, "may not read it (403 Forbidden)", id="no permission"),
        pytest.param(503, "service unavailable\n", "no answer (503)", id="nobody behind it"),
        pytest.param(429, "slow down", "no answer (429)", id="asked too often"),
        pytest.param(200, "<html>", "no answer (connection lost)", id="somebody else"),
    ],
)
async def test_a_look_that_fails_is_told_and_marks_its_runs(status: int, body: Any, why: str) -> None:
    async with scene() as there:
        there.server.usage = (status, body, {})
        there.signals.begin()
        await there.signals.look()
        assert there.unknown
        assert why in there.unknown
        assert there.marked.runs == {"r"}


async def test_a_look_that_brings_nothing_new_marks_nobody() -> None:
    async with scene() as there:
        there.server.measure("500m")
        there.signals.begin()
        await there.signals.look()
        assert (there.unknown, there.marked.runs) == ("", set())


async def test_nodes_are_read_now_and_then_and_their_metrics_each_time() -> None:
    async with scene() as there:
        there.server.measure("500m")
        there.signals.begin()
        for _ in range(4):
            await there.signals.look()
        paths = [asked.path for asked in there.server.asked]
        assert paths.count("/api/v1/nodes") == 2
        assert paths.count("/apis/metrics.k8s.io/v1beta1/nodes") == 4


async def test_a_namespaced_operator_asks_nothing_of_the_cluster() -> None:
    async with scene(everywhere=False) as there:
        there.signals.begin()
        await there.signals.look()
        assert there.server.asked == []
        snapshot = there.world.run_snapshot(("ns", "r"))
        assert snapshot
        load = there.world.nodes.load(snapshot.run, there.world.roster(("ns", "r")))
        assert load
        assert load.forbidden
        assert there.marked.runs == {"r"}


async def test_the_metric_is_the_mean_and_not_a_number_where_nothing_is_known() -> None:
    def said(name: str) -> float | None:
        return metrics.REGISTRY.get_sample_value(name, {"source": LoadSource.CPU})

    async with scene() as there:
        there.server.measure("500m")
        there.signals.begin()
        await there.signals.look()
        assert (said("bernstein_node_percent"), said("bernstein_nodes_measured")) == (25, 1)
        there.server.usage = (200, {"items": []}, {})
        await there.signals.look()
        assert str(said("bernstein_node_percent")) == "nan"
        assert said("bernstein_nodes_measured") == 0
