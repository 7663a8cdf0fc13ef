"""Agents in real containers: how they are confined, stopped, killed, lost, and what they leave behind."""

import json
from datetime import datetime
from pathlib import Path

import pytest

from bernstein_operator.api.names import REPORT_AUDIENCE
from bernstein_operator.decisions.deadline import TERMINATION_GRACE
from e2e.release import NAME, NAMESPACE
from e2e.scenarios.cast import SMALL, command, profile, steady_run, task
from e2e.scenarios.git_server import GitServer
from tests.support.audit import AuditLog, writes
from tests.support.fixtures import Cluster
from tests.support.kube import Kube, Kubectl, Manifest, eventually
from tests.support.plugin import Plugin
from tests.support.tasks import attempts, result_classes, wait_phase

OPERATOR_USER = f"system:serviceaccount:{NAMESPACE}:{NAME}"


def begin(kube: Kube, wanted: Manifest, *, using: Manifest, repository: Manifest | None = None) -> None:
    """Apply a profile, run ``r`` and its only task."""
    run = steady_run(repository=repository) if repository else steady_run()
    for manifest in (using, run, wanted):
        kube.apply(manifest)


def pod_of(kube: Kube, found: Manifest, attempt: int = -1) -> Manifest:
    """Return the Pod of one of a task's attempts."""
    return kube.get("pods", attempts(found)[attempt]["podName"])


def ended(pod: Manifest) -> Manifest:
    """Return the terminated state of the container ``agent``."""
    [status] = pod["status"]["containerStatuses"]
    state: Manifest = status["state"]["terminated"]
    return state


def says(kubectl: Kubectl, found: Manifest, text: str) -> bool:
    """Return whether the log of the task's latest Pod holds ``text`` by now."""
    return text in kubectl("logs", attempts(found)[-1]["podName"], check=False)


def seconds_to_end(pod: Manifest) -> float:
    """Return the time from the operator's request to stop until the agent container's end."""
    asked = datetime.fromisoformat(pod["metadata"]["annotations"]["bernstein.run/stop-time"])
    return (datetime.fromisoformat(ended(pod)["finishedAt"]) - asked).total_seconds()


def test_an_agent_has_nothing_that_it_does_not_need(kube: Kube, kubectl: Kubectl) -> None:
    looks = "id -u; ls /var/run/secrets; touch /etc/x; grep CapEff /proc/self/status; env"
    begin(kube, task("lazy"), using=command("sh", "-c", f"({looks}) 2>&1; true"))
    done = wait_phase(kube, "t", "Succeeded")
    seen = kubectl("logs", attempts(done)[0]["podName"])
    assert "\n10001\n" in seen
    assert "'/var/run/secrets': No such file" in seen
    assert "Read-only file system" in seen
    assert "CapEff:\t0000000000000000" in seen
    assert "KUBERNETES_" not in seen


def test_the_plugin_prints_and_follows_what_an_agent_writes(
    kube: Kube, cluster: Cluster, tmp_path: Path
) -> None:
    plugin = Plugin(cluster.kubectl, cluster.kubeconfig, kube.namespace, tmp_path)
    program = "echo first; sleep 5; echo second"
    begin(kube, task("lazy"), using=command("sh", "-c", program))
    wait_phase(kube, "t", "Running")
    assert "first\nsecond\n" in plugin("logs", "t", "--follow")
    wait_phase(kube, "t", "Succeeded")
    assert "first\nsecond\n" in plugin("logs", "t", "--attempt", "1")


def test_a_pod_is_bounded_owned_and_has_no_token_but_for_its_reports(kube: Kube) -> None:
    begin(kube, task("lazy", timeout=60), using=profile())
    done = wait_phase(kube, "t", "Succeeded")
    pod = pod_of(kube, done)
    spec = pod["spec"]
    assert (spec["restartPolicy"], spec["activeDeadlineSeconds"]) == ("Never", 100)
    assert not [volume for volume in spec["volumes"] if "secret" in volume]
    sources = [one for volume in spec["volumes"] for one in volume.get("projected", {}).get("sources", ())]
    assert [one["serviceAccountToken"]["audience"] for one in sources] == [REPORT_AUDIENCE]
    assert [one["resources"].keys() >= {"requests", "limits"} for one in spec["containers"]] == [True]
    [owner] = pod["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"]) == ("AgentTask", done["metadata"]["uid"])
    labels = kube.get("namespaces", kube.namespace)["metadata"]["labels"]
    assert labels["pod-security.kubernetes.io/enforce"] == "restricted"


def test_a_plain_task_costs_four_writes(kube: Kube, audit: AuditLog) -> None:
    begin(kube, task("lazy"), using=profile())
    done = wait_phase(kube, "t", "Succeeded")
    pod = attempts(done)[0]["podName"]
    kube.wait_for("pods", pod, lambda found: found["status"]["phase"] == "Succeeded", what="Succeeded")
    here = kube.namespace
    counted = writes(entry for entry in audit.entries(user=OPERATOR_USER) if entry.namespace == here)
    of_task = {key: number for key, number in counted.items() if key[1] in ("agenttasks/status", "pods")}
    assert sum(of_task.values()) == 4, of_task


@pytest.mark.parametrize(
    "hangs",
    [
        pytest.param("hang", id="ends when it is asked to"),
        pytest.param("hang ignoring SIGTERM", id="has to be killed"),
    ],
)
def test_a_hung_agent_is_stopped_at_its_timeout(
    kube: Kube, kubectl: Kubectl, git_server: GitServer, hangs: str
) -> None:
    lines = ("write half.txt: half done", "print so far", hangs)
    prefix = {"pushBranchPrefix": f"{kube.namespace}/"}
    begin(kube, task(*lines, timeout=4), using=profile(), repository={**git_server.repository, **prefix})
    failed = wait_phase(kube, "t", "Failed")
    assert result_classes(failed) == ["deadline"]
    pod = kube.wait_for(
        "pods", attempts(failed)[0]["podName"], lambda one: one["status"]["phase"] == "Failed"
    )
    assert pod["spec"]["activeDeadlineSeconds"] == 1
    assert pod["status"]["reason"] == "DeadlineExceeded"
    assert seconds_to_end(pod) < TERMINATION_GRACE.total_seconds() + 1
    assert ended(pod)["exitCode"] != 137, "the runner itself had no time to end"
    rescued = json.loads(ended(pod)["message"])["rescueBranch"]
    assert attempts(failed)[0]["rescueBranch"] == rescued
    assert git_server.content(rescued, "half.txt") == "half done\n"
    assert "so far" in kubectl("logs", pod["metadata"]["name"])


def test_an_agent_that_takes_too_much_memory_ends_as_oom(kube: Kube) -> None:
    limited = {
        "resources": {**SMALL, "limits": {"cpu": "500m", "memory": "64Mi"}},
        "workspace": {"size": "64Mi"},
    }
    begin(kube, task("eat 200"), using=profile(pod=limited))
    failed = wait_phase(kube, "t", "Failed")
    assert result_classes(failed) == ["oom"]


def test_a_running_agents_log_can_be_read(kube: Kube, kubectl: Kubectl) -> None:
    begin(kube, task("print at work", "hang"), using=profile())
    running = wait_phase(kube, "t", "Running")
    eventually(lambda: says(kubectl, running, "at work"), what="the agent's line in its log")
    assert pod_of(kube, running)["status"]["phase"] == "Running"


def test_a_cancel_ends_a_running_agent_within_its_grace(kube: Kube, kubectl: Kubectl) -> None:
    begin(kube, task("print at work", "hang ignoring SIGTERM"), using=profile())
    running = wait_phase(kube, "t", "Running")
    eventually(lambda: says(kubectl, running, "at work"), what="the agent's line in its log")
    kubectl("annotate", "agenttask/t", "bernstein.run/cancel=true")
    cancelled = kube.wait_for("agenttasks", "t", lambda one: result_classes(one) == ["cancelled"])
    assert cancelled["status"]["phase"] == "Cancelled"
    pod = pod_of(kube, cancelled)
    assert seconds_to_end(pod) < TERMINATION_GRACE.total_seconds() + 1
    assert "at work" in kubectl("logs", pod["metadata"]["name"])


@pytest.mark.parametrize(
    "lost", [pytest.param("deleted", id="deleted"), pytest.param("evicted", id="evicted")]
)
def test_a_lost_pod_is_a_disruption_and_is_replaced_once(kube: Kube, kubectl: Kubectl, lost: str) -> None:
    begin(kube, task("on attempt 1: print at work", "on attempt 1: hang", "say Done."), using=profile())
    running = wait_phase(kube, "t", "Running")
    eventually(lambda: says(kubectl, running, "at work"), what="the agent's line in its log")
    pod = attempts(running)[0]["podName"]
    if lost == "deleted":
        kubectl("delete", "pod", pod, "--wait=false")
    else:
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": pod}}
        kube.request("POST", f"/api/v1/namespaces/{kube.namespace}/pods/{pod}/eviction", body=eviction)
    done = wait_phase(kube, "t", "Succeeded")
    assert result_classes(done) == ["disruption", "success"]


def test_pods_reach_services_by_name_and_by_address(kube: Kube, git_server: GitServer) -> None:
    hosts = (git_server.host, f"{git_server.host}.cluster.local", git_server.address)
    asks = " && ".join(f"git ls-remote --exit-code git://{host}/calculator.git main" for host in hosts)
    begin(kube, task("lazy"), using=command("sh", "-c", asks))
    wait_phase(kube, "t", "Succeeded")
