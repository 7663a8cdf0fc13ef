"""`kubectl bernstein queue` and `answer` against the real operator: whose turn it is, and who is answered."""

from pathlib import Path

import pytest

from tests.support.builders import hand_profile, make_run, make_task
from tests.support.fixtures import Cluster
from tests.support.kube import Kube
from tests.support.operator import OperatorProcess
from tests.support.plugin import Plugin
from tests.support.pods import bind, end_pod, make_result, set_pod_running, succeed, wait_pod
from tests.support.tasks import wait_phase, wait_run, wait_waiting

LIMITED = {"maxAgents": 1, "maxPerRole": [{"role": "qa", "max": 0}]}


@pytest.fixture
def plugin(cluster: Cluster, namespace: str, tmp_path: Path) -> Plugin:
    """The plugin in the test's namespace."""
    return Plugin(cluster.kubectl, cluster.kubeconfig, namespace, tmp_path)


def test_the_queue_is_the_one_that_slots_are_given_from(
    kube: Kube, plugin: Plugin, operator: OperatorProcess
) -> None:
    kube.create(hand_profile())
    kube.create(make_run(concurrency=LIMITED))
    kube.create(make_task("first", priority=1))
    live = set_pod_running(kube, wait_pod(kube, "first"))
    kube.create(make_task("later", priority=3))
    kube.create(make_task("full", priority=1, role="qa"))
    kube.create(make_task("held", suspend=True))
    kube.create(make_task("urgent", priority=1))
    wait_waiting(kube, "held", "Suspended")
    wait_waiting(kube, "full", "RoleCeiling")

    head, *rows = (line.split() for line in plugin("queue", "r").splitlines())
    assert head == ["RUN", "POSITION", "TASK", "ROLE", "PRIORITY", "REASON", "AGE"]
    assert [row[:-1] for row in rows] == [
        ["r", "1", "urgent", "auto", "1", "AtCeiling"],
        ["r", "2", "later", "auto", "3", "AtCeiling"],
        ["r", "full", "qa", "1", "RoleCeiling"],
    ]
    positions = [(one["task"], one["position"]) for one in plugin.json("queue")]
    assert positions == [("urgent", 1), ("later", 2), ("full", None)]

    for name in ("urgent", "later"):
        succeed(kube, live)
        live = set_pod_running(kube, wait_pod(kube, name))
        assert name not in [one["task"] for one in plugin.json("queue")]


def test_a_question_is_told_and_answered(kube: Kube, plugin: Plugin, operator: OperatorProcess) -> None:
    kube.create(hand_profile())
    kube.create(make_run())
    kube.create(make_task())
    pod = wait_pod(kube, "t")
    bind(kube, pod["metadata"]["name"])
    asked = make_result(pod, result_class="asked", reason="Asked", question="Which of the two?")
    end_pod(kube, set_pod_running(kube, pod), "Failed", 1, "Error", result=asked)
    wait_phase(kube, "t", "AwaitingInput")

    because = plugin.json("why", "t")["because"][0]
    assert because["reason"] == "InputRequired"
    assert "Which of the two?" in because["message"]
    assert because["change"].startswith("kubectl bernstein answer t ")
    assert plugin("tasks").splitlines()[1].split()[6] == "InputRequired"
    assert "another attempt goes on with it" in plugin("answer", "t", "the", "second", "one")
    answered = wait_phase(kube, "t", "Pending")
    assert answered["status"]["answer"]["text"] == "the second one"
    again = set_pod_running(kube, wait_pod(kube, "t", attempt=2))
    assert "it asks nothing" in plugin.refusal("answer", "t", "and the first")
    succeed(kube, again)
    wait_run(kube, "r", "Succeeded")
