"""`kubectl bernstein` against the real operator: what it tells is so, and what it is told acts."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.builders import hand_profile, inline_task, make_run, make_task
from tests.support.fixtures import Cluster
from tests.support.kube import Kube
from tests.support.operator import OperatorProcess
from tests.support.plugin import Plugin
from tests.support.pods import bind, end_pod, fail, pods_of, set_pod_running, succeed, wait_pod
from tests.support.tasks import holds_for, wait_phase, wait_run, wait_waiting


@pytest.fixture
def plugin(cluster: Cluster, namespace: str, tmp_path: Path) -> Plugin:
    """The plugin in the test's namespace."""
    return Plugin(cluster.kubectl, cluster.kubeconfig, namespace, tmp_path)


def start(kube: Kube, task: str) -> None:
    """Let the task's agent run."""
    pod = wait_pod(kube, task)
    bind(kube, pod["metadata"]["name"])
    set_pod_running(kube, pod)
    wait_phase(kube, task, "Running")


def test_it_shows_a_run_that_goes_on(kube: Kube, plugin: Plugin, operator: OperatorProcess) -> None:
    kube.create(hand_profile())
    tasks = [
        inline_task("a", role="writer"),
        inline_task("b", dependsOn=["a"]),
        inline_task("c", dependsOn=["b", "a"]),
    ]
    kube.create(make_run(max_agents=2, tasks=tasks))
    start(kube, "r-a")
    wait_waiting(kube, "r-c", "DependencyPending")
    kube.wait_for(
        "bernsteinruns", "r", lambda found: found["status"]["tasks"].get("running") == 1, what="the count"
    )

    head, row = plugin("status").splitlines()
    assert head.split() == ["RUN", "PHASE", "LIVE", "DONE", "SPENT", "BUDGET", "OTHERS", "REASON", "AGE"]
    assert row.split()[:4] == ["r", "Running", "1/2", "0/3"]
    assert "1 running, 2 pending" in row
    [run] = plugin.json("status")
    assert (run["phase"], run["concurrency"]["live"], run["tasks"]["pending"]) == ("Running", 1, 2)
    everywhere = plugin.json("status", "--all-namespaces")
    assert [one["run"] for one in everywhere if one["namespace"] == plugin.namespace] == ["r"]

    rows = [line.split() for line in plugin("tasks", "r").splitlines()]
    assert rows[1][:6] == ["r-a", "r", "writer", "Running", "1", "0/2"]
    assert [one["reason"] for one in plugin.json("tasks")] == [None, "DependencyPending", "DependencyPending"]

    assert plugin("tree", "r").splitlines() == [
        "r  Running",
        "└── a  Running",
        "    └── b  Pending  DependencyPending",
        "        └── c  Pending  DependencyPending  (after a, too)",
    ]
    assert [one["dependsOn"] for one in plugin.json("tree", "r")["tasks"]] == [[], ["a"], ["b", "a"]]
    assert plugin("budget", "r").startswith("r  Running: $0.00 spent, and no limit.")
    assert plugin.json("budget", "r")["budget"]["source"] == "unlimited"


def test_it_says_why_a_task_waits_through_others(
    kube: Kube, plugin: Plugin, operator: OperatorProcess
) -> None:
    kube.create(hand_profile())
    kube.create(make_run(max_agents=1, taskDefaults={"retry": {"limit": 0}}))
    kube.create(make_task("a", priority=1))
    kube.create(make_task("b", depends_on=["a"]))
    kube.create(make_task("c", depends_on=["b"]))
    kube.create(make_task("queued"))
    start(kube, "a")
    wait_waiting(kube, "c", "DependencyPending")

    assert plugin.json("why", "a")["because"][0]["reason"] == "Running"
    queued = plugin.json("why", "queued")
    assert [one["reason"] for one in queued["because"]] == ["AtCeiling"]
    assert "all are held, by a." in queued["because"][0]["message"]
    waits = plugin.json("why", "c")
    assert [(one["name"], one["neededBy"]) for one in waits["inTheWay"]] == [("a", ["b"]), ("b", ["c"])]
    assert "In its way:\n  a: Running (needed by b)\n" in plugin("why", "c")

    fail(kube, wait_pod(kube, "a"), message="the tests are red")
    wait_phase(kube, "c", "BlockedByFailure")
    blocked = plugin("why", "c")
    assert "BlockedByFailure" in blocked.splitlines()[0]
    assert "agent: the tests are red" in blocked
    assert "1: agent, NonZeroExit: the tests are red" in plugin("why", "a")


@pytest.mark.parametrize(
    ("task", "reason"),
    [
        pytest.param(make_task(profile="absent"), "ProfileNotFound", id="no profile"),
        pytest.param(make_task(suspend=True), "Suspended", id="suspended"),
        pytest.param(make_task(run="absent"), "RunNotFound", id="no run"),
        pytest.param(make_task(depends_on=["absent"]), "DependencyPending", id="an unknown dependency"),
    ],
)
def test_it_gives_the_reason_that_the_operator_gives(
    kube: Kube, plugin: Plugin, operator: OperatorProcess, task: dict[str, object], reason: str
) -> None:
    kube.create(hand_profile())
    kube.create(make_run())
    kube.create(task)
    said = wait_waiting(kube, "t", reason)
    [admitted] = [one for one in said["status"]["conditions"] if one["type"] == "Admitted"]
    first = plugin.json("why", "t")["because"][0]
    assert (first["reason"], first["message"]) == (reason, admitted["message"])


def test_a_refused_pod_is_told_in_the_api_servers_words(
    kube: Kube, plugin: Plugin, operator: OperatorProcess
) -> None:
    quota = {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none"}}
    kube.create({**quota, "spec": {"hard": {"pods": "0"}}})
    kube.wait_for("resourcequotas", "none", lambda found: found.get("status", {}).get("hard"), what="counted")
    kube.create(hand_profile())
    kube.create(make_run())
    kube.create(make_task())
    wait_waiting(kube, "t", "QuotaExceeded")
    [point] = plugin.json("why", "t")["because"]
    assert point["reason"] == "QuotaExceeded"
    assert "exceeded quota: none" in point["message"]


def test_without_an_operator_it_says_that_nobody_has_looked(kube: Kube, plugin: Plugin) -> None:
    kube.create(make_run())
    kube.create(make_task())
    found = [one["reason"] for one in plugin.json("why", "t")["because"]]
    assert found == ["ProfileNotFound", "NotSeen"]
    assert plugin("status").splitlines()[1].split()[:2] == ["r", "Pending"]


def test_pause_resume_and_cancel_act_and_may_be_repeated(
    kube: Kube, plugin: Plugin, operator: OperatorProcess
) -> None:
    kube.create(hand_profile())
    kube.create(make_run(max_agents=1, tasks=[inline_task("a", priority=1), inline_task("b")]))
    start(kube, "r-a")

    assert plugin("pause", "r").startswith("bernsteinrun.bernstein.run/r paused")
    wait_run(kube, "r", "Paused")
    again = plugin.json("pause", "r")
    assert (again["changed"], again["message"]) == (False, "is paused already")
    succeed(kube, wait_pod(kube, "r-a"))
    wait_phase(kube, "r-a", "Succeeded")
    assert "resume r" in plugin("why", "r-b")
    holds_for(2, lambda: not pods_of(kube, "r-b"), what="no start while the run is paused")

    assert plugin.json("resume", "bernsteinrun/r")["changed"] is True
    start(kube, "r-b")
    assert plugin.json("resume", "r")["changed"] is False

    assert "its agent is stopped" in plugin("cancel", "b")
    wait_phase(kube, "r-b", "Cancelled")
    assert plugin.json("cancel", "r-b")["changed"] is False
    end_pod(kube, wait_pod(kube, "r-b"), "Failed", 143, "Error")
    wait_run(kube, "r", "Failed")
    assert plugin.refusal("cancel", "r") == "error: bernsteinrun/r ended as Failed: it can't be cancelled"
    assert "ended as Succeeded" in plugin.refusal("cancel", "r-a")
    assert "it can't be paused" in plugin.refusal("pause", "r")


def test_a_cancelled_run_comes_to_its_end(kube: Kube, plugin: Plugin, operator: OperatorProcess) -> None:
    kube.create(make_run(tasks=[inline_task("a")]))
    wait_waiting(kube, "r-a", "ProfileNotFound")
    assert plugin("cancel", "run/r").startswith("bernsteinrun.bernstein.run/r cancelled, for good")
    wait_run(kube, "r", "Cancelled")
    assert plugin.json("cancel", "run/r")["changed"] is False


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["tree", "absent"], "error: there is no BernsteinRun 'absent' in this namespace"),
        (["why", "absent"], "error: there is no AgentTask 'absent' in this namespace"),
        (["logs", "t"], "error: agenttask/t has had no attempt yet"),
        (["why"], "error: Missing argument 'TASK'."),
        (["tasks", "r", "-A"], "error: RUN names a run of one namespace: it can't go with --all-namespaces"),
        (["status", "--context", "absent"], "error: the kubeconfig can't be used: "),
        (["status", "--kubeconfig", "/absent"], "error: the kubeconfig can't be used: "),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_failure_is_one_line_and_exit_code_1(
    kube: Kube, plugin: Plugin, arguments: list[str], line: str
) -> None:
    kube.create(make_task())
    assert plugin.refusal(*arguments).startswith(line)


def test_a_log_that_cannot_be_had_is_told_in_the_api_servers_words(
    kube: Kube, plugin: Plugin, operator: OperatorProcess
) -> None:
    kube.create(hand_profile())
    kube.create(make_run())
    kube.create(make_task())
    pod = wait_pod(kube, "t")["metadata"]["name"]
    assert plugin("logs", "t") == "", "a Pod that no node has yet has no log"
    bind(kube, pod)
    assert plugin.refusal("logs", "t").startswith("error: no preferred addresses found")
    assert plugin.refusal("logs", "t", "--attempt", "2").endswith("has the attempts 1 to 1, not 2")


def test_context_and_namespace_are_the_users_own_as_for_kubectl(
    kube: Kube, plugin: Plugin, tmp_path: Path
) -> None:
    kube.create(make_run())
    own = tmp_path / "own"
    own.write_bytes(plugin.kubeconfig.read_bytes())
    mine = replace(plugin, kubeconfig=own)
    here = ("bernstein", "status", "--json")
    assert mine.kubectl_says(*here).out == "[]\n", "nothing is in the namespace default"
    mine.kubectl_says("config", "set-context", "--current", "--namespace", plugin.namespace)
    [run] = json.loads(mine.kubectl_says(*here).out)
    assert run["run"] == "r"
    elsewhere = mine.kubectl_says("bernstein", "--namespace", "default", "--json", "status")
    assert elsewhere.out == "[]\n", "an option counts more, also before the command"


def test_kubectl_completes_the_plugins_commands(plugin: Plugin) -> None:
    answer = plugin.kubectl_says("__complete", "bernstein", "st")
    assert answer.out.splitlines()[0].split("\t") == ["status", "Show the runs at a glance."]
    assert ":4" in answer.out
