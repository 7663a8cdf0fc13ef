"""A real node that is really busy: metrics-server's own numbers pause a run, and let it go on."""

import pytest

from e2e.release import Release
from e2e.scenarios.cast import profile, script
from e2e.scenarios.readings import Readings
from tests.support.builders import make_run, make_task
from tests.support.kube import Kube, Manifest, condition, eventually
from tests.support.pods import live_pods
from tests.support.tasks import wait_phase

PAUSE_SECONDS = 45.0
RESUME_SECONDS = 120.0
"""What else the node does has to come to rest as well."""
IDLE_PERCENT = 60.0
BURNERS = 4
_BURN = f"for _ in $(seq {BURNERS}); do (while :; do :; done) & done; wait"


@pytest.fixture(autouse=True)
def _metrics(release: Release) -> None:
    if not release.cluster.capabilities.metrics:
        pytest.skip(release.cluster.capabilities.lacks())


def burner(image: str) -> Manifest:
    """Return a Pod, nobody's agent, that takes all the CPU there is and ends by itself."""
    confined = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    user = {"runAsNonRoot": True, "runAsUser": 10001, "seccompProfile": {"type": "RuntimeDefault"}}
    container = {
        "name": "burner",
        "image": image,
        "command": ["sh", "-c", _BURN],
        "securityContext": confined,
        "resources": {"requests": {"cpu": "20m", "memory": "16Mi"}, "limits": {"memory": "64Mi"}},
    }
    spec = {
        "restartPolicy": "Never",
        "activeDeadlineSeconds": 180,
        "terminationGracePeriodSeconds": 1,
        "automountServiceAccountToken": False,
        "securityContext": user,
        "containers": [container],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "burner"}, "spec": spec}


def wait_paused(kube: Kube, status: str, *, timeout: float) -> Manifest:
    """Return the run once SpawningPaused has that status."""
    return kube.wait_for(
        "bernsteinruns",
        "r",
        lambda run: condition(run, "SpawningPaused").get("status") == status,
        timeout=timeout,
        what=f"SpawningPaused={status}",
    )


def is_idle(readings: Readings) -> bool:
    """Return whether the operator has read that the nodes do next to nothing."""
    percent = readings.value("bernstein_node_percent", source="cpu")
    return percent is not None and percent < IDLE_PERCENT


def agent(name: str, *lines: str) -> Manifest:
    """Return a task whose agent plays these lines."""
    return make_task(name, prompt=script(*lines), effects="none", retry={"limit": 0})


@pytest.mark.alone
def test_a_busy_node_pauses_a_run_and_an_idle_one_lets_it_go_on(
    kube: Kube, release: Release, readings: Readings
) -> None:
    eventually(lambda: is_idle(readings), what="a node that has come to rest", timeout=RESUME_SECONDS)
    kube.apply(profile())
    kube.apply(make_run(max_agents=2))
    kube.apply(agent("live", "hang"))
    wait_phase(kube, "live", "Running")
    [before] = live_pods(kube)

    kube.create(burner(release.images.agent.ref))
    held = wait_paused(kube, "True", timeout=PAUSE_SECONDS)["status"]["concurrency"]
    assert (held["effective"], held["heldBeforePause"], held["live"]) == (0, 2, 1)
    of_run = {"namespace": kube.namespace, "run": "r"}
    eventually(lambda: readings.value("bernstein_parallelism_level", **of_run) == 0, what="the level 0")
    kube.apply(agent("late", "print done"))

    kube.delete("pods", "burner", grace_seconds=1)
    resumed = wait_paused(kube, "False", timeout=RESUME_SECONDS)["status"]["concurrency"]
    assert resumed["effective"] == 2
    late = wait_phase(kube, "late", "Succeeded")
    assert late["status"]["attempts"][0]["intentTime"] >= resumed["resumedTime"]
    after = kube.get("pods", before["metadata"]["name"])
    assert (after["metadata"]["uid"], after["status"]["phase"]) == (before["metadata"]["uid"], "Running")
    said = [line.partition(":")[0] for line in kube.events_of("r")]
    assert (said.count("SpawningPaused"), said.count("SpawningResumed")) == (1, 1)
