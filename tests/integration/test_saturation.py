"""Runs on nodes of which the metrics API says how busy they are: paused, held, and let go on."""

from collections.abc import Iterator

import pytest

from tests.support.builders import make_run, make_task
from tests.support.fixtures import StartOperator
from tests.support.kube import Kube, Manifest, condition, eventually
from tests.support.node_metrics import MetricsServer, metrics_api, pool_nodes, pool_profile
from tests.support.operator import OperatorProcess
from tests.support.pods import live_pods
from tests.support.tasks import holds_for, wait_run

EVERYWHERE = {"BERNSTEIN_WATCH_NAMESPACES": "", "BERNSTEIN_LOAD_INTERVAL_SECONDS": "1"}


@pytest.fixture
def nodes(kube: Kube) -> Iterator[list[str]]:
    """Four nodes of the test's own pool."""
    with pool_nodes(kube, kube.namespace, 4) as names:
        yield names


@pytest.fixture
def measured(kube: Kube, nodes: list[str]) -> Iterator[MetricsServer]:
    """A metrics API in which all of them are idle."""
    with metrics_api(kube) as server:
        server.percent = dict.fromkeys(nodes, 10.0)
        yield server


@pytest.fixture
def watching(start_operator: StartOperator) -> OperatorProcess:
    """An operator of the whole cluster that looks every second."""
    return start_operator(**EVERYWHERE)


def begin(kube: Kube, *, tasks: int = 4, **pause: int) -> None:
    """Create a run whose agents run until they are told to stop, two at a time."""
    kube.create(pool_profile(kube.namespace))
    kube.create(make_run(concurrency={"maxAgents": 2, "pause": pause}))
    for number in range(tasks):
        kube.create(make_task(f"t{number}", role="kwok-hang"))


def wait_paused(kube: Kube, status: str) -> Manifest:
    """Return the run once SpawningPaused has that status."""
    return kube.wait_for(
        "bernsteinruns",
        "r",
        lambda run: condition(run, "SpawningPaused").get("status") == status,
        what=f"SpawningPaused={status}",
    )


def events(kube: Kube, reason: str) -> int:
    """Return how many events of that reason there are of the run."""
    return sum(line.startswith(f"{reason}:") for line in kube.events_of("r"))


def test_busy_nodes_pause_a_run_and_idle_ones_let_it_go_on(
    kube: Kube, nodes: list[str], measured: MetricsServer, watching: OperatorProcess
) -> None:
    begin(kube)
    agents = eventually(lambda: live if len(live := live_pods(kube)) == 2 else None, what="two agents")
    measured.percent = dict.fromkeys(nodes, 95.0)
    paused = wait_paused(kube, "True")
    told = paused["status"]["concurrency"]
    assert (told["effective"], told["heldBeforePause"], told["reason"]) == (0, 2, "SpawningPaused")
    assert "95.0 %, the mean of 4 of 4 nodes" in told["message"]

    # Live agents are left alone, a freed slot stays free, and a restart knows of the pause.
    kube.annotate("agenttasks", agents[0]["metadata"]["labels"]["bernstein.run/task"], cancel="true")
    eventually(lambda: len(live_pods(kube)) == 1, what="one agent less")
    watching.restart(kill=True)
    holds_for(3, lambda: len(live_pods(kube)) == 1, what="that nothing starts")
    assert wait_paused(kube, "True")["status"]["concurrency"]["pausedSince"] == told["pausedSince"]

    measured.percent = dict.fromkeys(nodes, 86.0)
    holds_for(3, lambda: len(live_pods(kube)) == 1, what="the pause above the threshold less the margin")
    measured.percent = dict.fromkeys(nodes, 84.0)
    resumed = wait_paused(kube, "False")["status"]["concurrency"]
    assert (resumed["effective"], resumed.get("pausedSince"), resumed.get("reason")) == (2, None, None)
    assert resumed["resumedTime"] > told["pausedSince"]
    eventually(lambda: len(live_pods(kube)) == 2, what="the next agent")
    eventually(lambda: events(kube, "SpawningResumed"), what="the event")
    assert (events(kube, "SpawningPaused"), events(kube, "SpawningResumed")) == (1, 1)


def test_only_the_nodes_that_a_run_could_use_pause_it(
    kube: Kube, nodes: list[str], measured: MetricsServer, watching: OperatorProcess
) -> None:
    begin(kube)
    pool = f"{kube.namespace}-other"
    with pool_nodes(kube, pool, 1) as [busy]:
        measured.percent = {**dict.fromkeys(nodes, 10.0), busy: 100.0}
        kube.create(pool_profile(pool, name="other"))
        kube.create(make_run("other", taskDefaults={"profile": "other"}))
        kube.create(make_task("o", run="other", role="kwok-hang"))
        kube.wait_for(
            "bernsteinruns",
            "other",
            lambda run: condition(run, "SpawningPaused").get("status") == "True",
            what="the pause of the run on the busy node",
        )
        run = kube.get("bernsteinruns", "r")
        assert not condition(run, "SpawningPaused")
        assert condition(run, "NodeMetricsAvailable").get("status") != "False"


def test_a_namespaced_operator_says_once_that_nodes_have_no_say(
    kube: Kube, start_operator: StartOperator
) -> None:
    start_operator()
    kube.create(pool_profile(kube.namespace))
    kube.create(make_run())
    kube.create(make_task())
    eventually(lambda: live_pods(kube), what="an agent all the same")
    told = condition(wait_run(kube, "r", "Running"), "NodeMetricsAvailable")
    assert (told["status"], told["reason"]) == ("False", "NodesOutOfReach")
    assert events(kube, "NodeMetricsUnavailable") == 0
