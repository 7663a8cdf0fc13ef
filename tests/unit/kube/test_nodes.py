"""What is read of nodes and of their measurements, whatever somebody else's program says beside it."""

from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import Any

import pytest

from bernstein_operator.api.load import Node, Sample, Taint
from bernstein_operator.kube.errors import NotFoundError, RefusedError, UnavailableError
from bernstein_operator.kube.nodes import duration, read_nodes, read_usage
from tests.unit.kube.server import serving

TAKEN = datetime(2026, 1, 1, 12, 0, 0, tzinfo=UTC)


def metrics_of(name: str = "n", **fields: Any) -> dict[str, Any]:
    whole = {"timestamp": "2026-01-01T12:00:00Z", "window": "10.062s", "usage": {"cpu": "1500000001n"}}
    return {"metadata": {"name": name}, **whole, **fields}


async def usage_of(*items: Any) -> dict[str, Sample]:
    """Return what is read of a list as metrics-server answers it: without a version."""
    async with serving() as server:
        server.say(200, {"kind": "NodeMetricsList", "metadata": {}, "items": list(items)})
        return await read_usage(server.api)


async def node_of(**fields: Any) -> Node:
    """Return what is read of a node."""
    async with serving() as server:
        item = {"metadata": {"name": "n", **fields.pop("metadata", {})}, **fields}
        server.say(200, {"metadata": {"resourceVersion": "7"}, "items": [item]})
        return (await read_nodes(server.api))["n"]


async def test_a_sample_is_read_exactly() -> None:
    window = timedelta(seconds=10, milliseconds=62)
    assert await usage_of(metrics_of()) == {"n": Sample(Fraction(1_500_000_001, 10**9), TAKEN, window)}


async def test_where_the_metrics_are_asked_for() -> None:
    async with serving() as server:
        server.say(200, {"items": None})
        assert await read_usage(server.api) == {}
        assert server.asked[0].path == "/apis/metrics.k8s.io/v1beta1/nodes"


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param({"usage": {"cpu": "much"}}, id="no quantity"),
        pytest.param({"usage": {"cpu": "-5m"}}, id="a negative one"),
        pytest.param({"usage": {"memory": "1Gi"}}, id="no CPU"),
        pytest.param({"usage": None}, id="no usage"),
        pytest.param({"window": "soon"}, id="no duration"),
        pytest.param({"timestamp": None}, id="no time"),
        pytest.param({"timestamp": "2026-01-01T12:00:00"}, id="a time without a zone"),
        pytest.param({"metadata": {}}, id="no name"),
        pytest.param({"window": "99999999999999999h"}, id="a window that no time has"),
    ],
)
async def test_an_item_that_cannot_be_read_stops_none_of_the_others(broken: dict[str, Any]) -> None:
    found = await usage_of(metrics_of("bad", **broken), metrics_of("good"))
    assert set(found) == {"good"}


@pytest.mark.parametrize(
    ("status", "error"), [(404, NotFoundError), (403, RefusedError), (503, UnavailableError)]
)
async def test_no_answer_is_an_error_and_never_an_empty_list(status: int, error: type[Exception]) -> None:
    async with serving() as server:
        server.say(status, "service unavailable\n")
        with pytest.raises(error):
            await read_usage(server.api)


async def test_an_answer_that_is_no_list_is_no_answer() -> None:
    async with serving() as server:
        server.say(200, "<html>")
        with pytest.raises(UnavailableError):
            await read_usage(server.api)


@pytest.mark.parametrize("answer", ["<html>", {"metadata": {}, "items": []}, {"items": [{}]}])
async def test_a_list_of_nodes_that_is_none_is_no_answer(answer: Any) -> None:
    async with serving() as server:
        server.say(200, answer)
        with pytest.raises(UnavailableError):
            await read_nodes(server.api)


READY = {"conditions": [{"type": "Ready", "status": "True"}]}


@pytest.mark.parametrize(
    ("fields", "usable"),
    [
        pytest.param({"status": READY}, True, id="ready"),
        pytest.param({"status": READY, "spec": {"unschedulable": True}}, False, id="cordoned"),
        pytest.param(
            {"status": {"conditions": [{"type": "Ready", "status": "False"}]}}, False, id="not ready"
        ),
        pytest.param({"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}, False, id="lost"),
        pytest.param({}, False, id="nobody has said anything"),
    ],
)
async def test_which_nodes_take_pods(fields: dict[str, Any], usable: bool) -> None:
    assert (await node_of(**fields)).usable is usable


@pytest.mark.parametrize(("cpu", "cores"), [("1930m", Fraction(193, 100)), ("4", 4), ("?", 0), (None, 0)])
async def test_what_a_node_can_give(cpu: str | None, cores: Fraction) -> None:
    allocatable = {} if cpu is None else {"allocatable": {"cpu": cpu, "memory": "1Gi"}}
    assert (await node_of(status=allocatable)).cpu == cores


async def test_labels_and_taints_are_read() -> None:
    taints = [{"key": "gpu", "value": "yes", "effect": "NoSchedule"}, {"key": "x", "effect": "NoExecute"}]
    found = await node_of(metadata={"labels": {"pool": "a"}}, spec={"taints": taints})
    assert found.labels == {"pool": "a"}
    assert found.taints == (Taint("gpu", "NoSchedule", "yes"), Taint("x", "NoExecute"))


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("15s", 15),
        ("1m0s", 60),
        ("1m0.5s", 60.5),
        ("1h1m1s", 3661),
        ("500ms", 0.5),
        ("20.062s", 20.062),
        ("250us", 0.00025),
        ("250µs", 0.00025),
        ("5000ns", 0.000005),
        ("0s", 0),
    ],
)
def test_a_duration_is_as_go_writes_it(text: str, seconds: float) -> None:
    assert duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", "15", "s", "-15s", "1 m", "1d", "15s!", "1.2.3s"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="no duration"):
        duration(text)
