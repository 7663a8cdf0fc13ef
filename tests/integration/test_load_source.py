"""The optional load source: a real Prometheus that tells the nodes' load average."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.builders import make_run, make_task
from tests.support.fixtures import StartOperator
from tests.support.kube import Kube, Manifest, condition, eventually
from tests.support.node_metrics import pool_nodes, pool_profile
from tests.support.pods import live_pods
from tests.support.prometheus import QUERY, Prometheus, prometheus


@pytest.fixture
def nodes(kube: Kube) -> Iterator[list[str]]:
    """Three nodes of the test's own pool."""
    with pool_nodes(kube, kube.namespace, 3) as names:
        yield names


@pytest.fixture
def source(tmp_path: Path) -> Iterator[Prometheus]:
    """A Prometheus."""
    with prometheus(tmp_path) as found:
        yield found


def begin(kube: Kube) -> None:
    """Create a run with more tasks than may be live, which starts nothing above a load of 200 %."""
    kube.create(pool_profile(kube.namespace))
    kube.create(make_run(concurrency={"maxAgents": 1, "pause": {"nodeLoadPercent": 200}}))
    for name in ("a", "b"):
        kube.create(make_task(name, role="kwok-hang"))


def wait_paused(kube: Kube, status: str) -> Manifest:
    """Return SpawningPaused once it has that status."""
    run = kube.wait_for(
        "bernsteinruns",
        "r",
        lambda found: condition(found, "SpawningPaused").get("status") == status,
        what=f"SpawningPaused={status}",
    )
    return condition(run, "SpawningPaused")


def test_a_run_pauses_above_the_load_that_prometheus_tells(
    kube: Kube, nodes: list[str], source: Prometheus, start_operator: StartOperator
) -> None:
    source.exporter.percent = dict.fromkeys(nodes, 250.0)
    start_operator(
        BERNSTEIN_WATCH_NAMESPACES="",
        BERNSTEIN_LOAD_INTERVAL_SECONDS="1",
        BERNSTEIN_LOAD_URL=source.url,
        BERNSTEIN_LOAD_QUERY=QUERY,
    )
    begin(kube)
    told = wait_paused(kube, "True")["message"]
    assert "Load average for each CPU: 250.0 %, the mean of 3 of 3 nodes" in told
    assert "nothing starts above 200 %, again below 195 %" in told
    source.exporter.percent = dict.fromkeys(nodes, 194.0)
    assert wait_paused(kube, "False")["reason"] == "NodesIdle"
    eventually(lambda: len(live_pods(kube)) == 1, what="an agent")


def test_one_value_for_all_nodes_works_for_a_namespaced_operator_too(
    kube: Kube, nodes: list[str], source: Prometheus, start_operator: StartOperator
) -> None:
    source.exporter.percent = dict.fromkeys(nodes, 250.0)
    start_operator(
        BERNSTEIN_LOAD_INTERVAL_SECONDS="1",
        BERNSTEIN_LOAD_URL=source.url,
        BERNSTEIN_LOAD_QUERY=f"avg({QUERY})",
    )
    begin(kube)
    assert "250.0 %, one value for all nodes" in wait_paused(kube, "True")["message"]
    source.exporter.percent = dict.fromkeys(nodes, 100.0)
    wait_paused(kube, "False")
