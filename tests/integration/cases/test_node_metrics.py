"""METR-1 and METR-3: no metrics are not 0 %, and neither are samples that are partial or stale."""

from collections.abc import Iterator

import pytest

from tests.support.builders import make_run, make_task
from tests.support.faults import refuse
from tests.support.fixtures import StartOperator
from tests.support.kube import Kube, Manifest, condition, eventually
from tests.support.node_metrics import NOWHERE, forsake, is_ready, metrics_api, pool_nodes, pool_profile
from tests.support.operator import OperatorProcess
from tests.support.pods import live_pods
from tests.support.proxy import FaultProxy
from tests.support.tasks import holds_for, wait_phase

QUICK = {"BERNSTEIN_WATCH_NAMESPACES": "", "BERNSTEIN_LOAD_INTERVAL_SECONDS": "1"}


@pytest.fixture
def nodes(kube: Kube) -> Iterator[list[str]]:
    """Four nodes of the test's own pool."""
    with pool_nodes(kube, kube.namespace, 4) as names:
        yield names


@pytest.fixture
def watching(start_operator: StartOperator) -> OperatorProcess:
    """An operator of the whole cluster that looks every second."""
    return start_operator(**QUICK)


def begin(kube: Kube) -> None:
    """Create a run with a task that ends soon and others that don't, one at a time."""
    kube.create(pool_profile(kube.namespace))
    kube.create(make_run(max_agents=1))
    kube.create(make_task("quick", priority=1))
    for number in range(2):
        kube.create(make_task(f"t{number}", role="kwok-hang"))


def wait_known(kube: Kube, status: str, text: str = "") -> Manifest:
    """Return NodeMetricsAvailable once it has that status and that text."""

    def says(run: Manifest) -> bool:
        told = condition(run, "NodeMetricsAvailable")
        return told.get("status") == status and text in told["message"]

    return condition(
        kube.wait_for("bernsteinruns", "r", says, what=f"{status} {text}"), "NodeMetricsAvailable"
    )


def pauses(kube: Kube) -> str | None:
    """Return the status of SpawningPaused, None without one."""
    status: str | None = condition(kube.get("bernsteinruns", "r"), "SpawningPaused").get("status")
    return status


def test_metr_1_no_metrics_have_no_say_in_any_of_their_ways(
    kube: Kube, nodes: list[str], proxy: FaultProxy, watching: OperatorProcess
) -> None:
    begin(kube)
    first = wait_known(kube, "False", "the metrics API isn't installed (404)")
    wait_phase(kube, "quick", "Succeeded")
    assert kube.get("bernsteinruns", "r")["status"]["concurrency"]["effective"] == 1

    kube.create(NOWHERE)
    wait_known(kube, "False", "no answer (503)")
    kube.delete("apiservices", NOWHERE["metadata"]["name"])

    with metrics_api(kube) as server:
        wait_known(kube, "False", "0 of 4 nodes have a fresh sample")
        with proxy.fault(refuse(403, reason="Forbidden"), verbs="list", resource="nodes"):
            told = wait_known(kube, "False", "may not read it (403 Forbidden)")
        assert told["lastTransitionTime"] == first["lastTransitionTime"], "it was never known meanwhile"
        server.percent = dict.fromkeys(nodes, 10.0)
        wait_known(kube, "True")
    assert pauses(kube) is None
    assert len(live_pods(kube)) == 1
    lost = [line for line in kube.events_of("r") if line.startswith("NodeMetricsUnavailable:")]
    assert len(lost) == 1


def test_metr_3_only_fresh_samples_of_ready_nodes_count(
    kube: Kube, nodes: list[str], watching: OperatorProcess
) -> None:
    fresh, busy, stale, lost = nodes
    forsake(kube, lost)
    kube.wait_for("nodes", lost, lambda node: not is_ready(node))
    with metrics_api(kube) as server:
        # Were any of the idle ones counted, the mean would be below the threshold.
        server.percent = {fresh: 92.0, busy: 98.0, stale: 0.0, lost: 0.0, "removed-long-ago": 0.0}
        server.frozen = frozenset({stale})
        begin(kube)
        eventually(lambda: pauses(kube) == "True", what="the pause")
        message = condition(kube.get("bernsteinruns", "r"), "SpawningPaused")["message"]
        assert "95.0 %, the mean of 2 of 3 nodes, newest sample " in message
        started = len(kube.items("agenttasks")) - len(_waiting(kube))

        # Under half of the nodes: what was known is held for a while, and then has no say.
        server.frozen = frozenset({stale, busy})
        holds_for(4, lambda: pauses(kube) == "True", what="the pause that is held")
        assert len(kube.items("agenttasks")) - len(_waiting(kube)) == started
        wait_known(kube, "False", "1 of 3 nodes have a fresh sample")
        eventually(lambda: pauses(kube) == "False", what="the end of the pause")
        assert condition(kube.get("bernsteinruns", "r"), "SpawningPaused")["reason"] == "MetricsUnavailable"
        eventually(lambda: live_pods(kube), what="an agent")


def _waiting(kube: Kube) -> list[Manifest]:
    return [task for task in kube.items("agenttasks") if not task.get("status", {}).get("attempts")]
