"""Which AgentProfile an attempt runs with, and what happens when that one changes."""

from tests.support.builders import hand_profile, make_run, make_task
from tests.support.kube import Kube, Manifest
from tests.support.operator import OperatorProcess
from tests.support.pods import fail, set_pod_running, succeed, wait_pod
from tests.support.tasks import attempts, wait_phase, wait_run

QUICK = {"limit": 1, "backoffSeconds": 1, "maxBackoffSeconds": 1}


def image(pod: Manifest) -> str:
    """Return the image of the Pod's agent."""
    [agent] = pod["spec"]["containers"]
    return str(agent["image"])


def test_a_task_runs_with_the_profile_that_it_names(kube: Kube, operator: OperatorProcess) -> None:
    for name in ("default", "of-run", "own"):
        kube.create(hand_profile(name, image=f"registry.invalid/{name}:1"))
    kube.create(make_run("plain"))
    kube.create(make_run("named", taskDefaults={"profile": "of-run"}))
    kube.create(make_task("a", run="plain"))
    kube.create(make_task("b", run="named"))
    kube.create(make_task("c", run="named", profile="own"))
    for task, profile in {"a": "default", "b": "of-run", "c": "own"}.items():
        pod = wait_pod(kube, task)
        assert image(pod) == f"registry.invalid/{profile}:1"
        succeed(kube, set_pod_running(kube, pod))
        assert attempts(wait_phase(kube, task, "Succeeded"))[0]["profile"] == profile


def test_a_changed_profile_acts_on_the_next_attempt(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(hand_profile(image="registry.invalid/old:1"))
    kube.create(make_run())
    kube.create(make_task(retry=QUICK))
    first = set_pod_running(kube, wait_pod(kube, "t"))
    wait_phase(kube, "t", "Running")
    kube.patch("agentprofiles", "default", {"spec": {"image": "registry.invalid/new:1"}})
    assert image(kube.get("pods", first["metadata"]["name"])) == "registry.invalid/old:1"
    fail(kube, first)
    second = wait_pod(kube, "t", attempt=2)
    assert image(second) == "registry.invalid/new:1"
    succeed(kube, set_pod_running(kube, second))
    wait_run(kube, "r", "Succeeded")


def test_without_an_image_of_its_own_a_profile_runs_the_operators(
    kube: Kube, operator: OperatorProcess
) -> None:
    profile = hand_profile()
    del profile["spec"]["image"]
    kube.create(profile)
    kube.create(make_run())
    kube.create(make_task())
    pod = wait_pod(kube, "t")
    [runner] = pod["spec"]["initContainers"]
    assert image(pod) == runner["image"] == "registry.invalid/agent:test"
    succeed(kube, set_pod_running(kube, pod))
    wait_run(kube, "r", "Succeeded")
