"""`kubectl bernstein` about what is given up: what it writes, and what it reads out of ledgers.

The ledgers are made by hand, as the operator makes them. What it tells is read off the objects, and once, at
the end, the operator acts on it.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from bernstein_agent.contract import AbandonReason
from tests.support.builders import hand_profile, make_run, make_task
from tests.support.fixtures import Cluster
from tests.support.kube import Kube, Manifest
from tests.support.operator import OperatorProcess
from tests.support.plugin import Plugin
from tests.support.pods import fail, succeed, wait_pod
from tests.support.tasks import wait_phase

T0 = 1_767_268_800
"""2026-01-01T12:00:00Z"""


@pytest.fixture
def plugin(cluster: Cluster, namespace: str, tmp_path: Path) -> Plugin:
    """The plugin in the test's namespace."""
    return Plugin(cluster.kubectl, cluster.kubeconfig, namespace, tmp_path)


def row(task: str, at: int = 0, **fields: Any) -> dict[str, Any]:
    """Return the row of a task that was given up so many seconds after T0."""
    return {
        "timestamp": T0 + at,
        "task_id": task,
        "role": "writer",
        "reason": "other",
        "adapter": "script",
        "attempts": 1,
        "detail": f"no idea of\t{task}",
        "run": "r",
        "run_uid": "run-uid",
        "namespace": "",
        "actor": "agent",
        "cost_to_date_usd": "0.25",
        **fields,
    }


def segment(name: str, *rows: dict[str, Any], run: str = "r", **data: str) -> Manifest:
    """Return a ConfigMap of a run's ledger; ``data`` is put in beside the rows."""
    lines = {f"uid-{one['task_id']}": json.dumps(one, sort_keys=True) for one in rows}
    metadata = {"name": name, "labels": {"bernstein.run/ledger": run}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {**lines, **data}}


def commands(kube: Kube, kind: str, name: str) -> dict[str, str]:
    """Return what an object is told by annotation."""
    found: dict[str, str] = kube.get(kind, name)["metadata"].get("annotations", {})
    return {key.removeprefix("bernstein.run/"): value for key, value in found.items()}


def ended(kube: Kube, name: str, phase: str, **fields: Any) -> None:
    """Make a task that came to its end."""
    kube.create(make_task(name, role="writer"))
    kube.patch_status("agenttasks", name, {"phase": phase, **fields})


def test_an_empty_ledger_is_told_apart_from_a_failure(plugin: Plugin) -> None:
    assert plugin("abandonments", "list") == "Nothing was abandoned here.\n"
    assert plugin.json("abandonments", "list") == []
    assert plugin.json("abandonments", "stats")["total"] == 0


def test_the_newest_rows_of_all_segments_come_first(kube: Kube, plugin: Plugin) -> None:
    kube.create(segment("one", *(row(f"t{n:02}", n) for n in range(0, 24, 2)), immutable="x"))
    kube.create(segment("two", *(row(f"t{n:02}", n) for n in range(1, 24, 2)), run="r"))
    told = plugin.ask("abandonments", "list")
    assert (told.code, len(told.out.splitlines())) == (0, 20), "twenty if nothing else is asked for"
    assert told.err.startswith("warning: row immutable of configmap/one can't be read: ")
    newest, *_ = told.out.splitlines()
    assert newest == ("2026-01-01T12:00:23Z\tr\tt23\twriter\tother\tscript\t1\tagent\tno idea of t23"), (
        "a tab in a cell doesn't make two of it"
    )
    few = plugin.json("abandonments", "list", "--limit", "3")
    assert [one["task_id"] for one in few] == ["t23", "t22", "t21"]
    assert few[0] == row("t23", 23)


def test_a_run_is_asked_about_after_its_end_and_its_namesakes_apart(kube: Kube, plugin: Plugin) -> None:
    kube.create(segment("one", row("a"), row("b", run="other")))
    kube.create(segment("two", row("c", run="other"), run="other"))
    assert [one["task_id"] for one in plugin.json("abandonments", "list", "--run", "r")] == ["a"]
    assert plugin.json("abandonments", "list", "--run", "bernsteinrun/other")[0]["task_id"] == "c"


def test_all_namespaces_name_theirs(kube: Kube, plugin: Plugin) -> None:
    kube.create(segment("one", row("a", 9_000_000, namespace=plugin.namespace)))
    everywhere = plugin("abandonments", "list", "--all-namespaces", "--limit", "1000").splitlines()
    [line] = [line for line in everywhere if plugin.namespace in line]
    assert line.split("\t")[1:4] == [plugin.namespace, "r", "a"]


def test_rates_are_those_of_what_was_abandoned_or_succeeded(kube: Kube, plugin: Plugin) -> None:
    kube.create(hand_profile())
    kube.create(make_run())
    work = {"attempts": [{"number": 1, "podName": "p", "profile": "default", "intentTime": _at(0)}]}
    for number in range(3):
        ended(kube, f"good-{number}", "Succeeded", **work)
    ended(kube, "bad", "Failed", **work)
    kube.create(segment("one", row("a", reason="unsafe_change"), row("b", role="checker", adapter="none")))
    assert plugin.json("abandonments", "stats") == {
        "total": 2,
        "by_reason": {"other": 1, "unsafe_change": 1},
        "by_role": {"checker": 1, "writer": 1},
        "by_adapter": {"none": 1, "script": 1},
        "abandon_rate_by_role": {"checker": 1.0, "writer": 0.25},
        "abandon_rate_by_adapter": {"none": 1.0, "script": 0.25},
    }
    lines = [line.split() for line in plugin("abandonments", "stats").splitlines()]
    assert lines[:2] == [["BY", "NAME", "ABANDONED", "RATE"], ["total", "2"]]
    assert ["role", "writer", "1", "25%"] in lines
    of_none = plugin.json("abandonments", "stats", "--run", "absent")
    assert (of_none["total"], of_none["abandon_rate_by_role"]) == (0, {})


def _at(seconds: int) -> str:
    return f"2026-01-01T12:00:{seconds:02}Z"


def test_an_abandonment_is_written_in_the_operators_words(kube: Kube, plugin: Plugin) -> None:
    kube.create(make_task())
    assert "for good: it never starts" in plugin("abandon", "t", "Unsafe_Change", "it drops", "a table")
    assert commands(kube, "agenttasks", "t")["abandon"] == "unsafe_change: it drops a table"
    assert plugin.json("abandon", "t", "unsafe_change", "it drops a table")["changed"] is False


def test_an_unknown_reason_writes_nothing(kube: Kube, plugin: Plugin) -> None:
    kube.create(make_task())
    line = plugin.refusal("abandon", "t", "bored", "--json")
    assert all(reason in line for reason in AbandonReason)
    assert not commands(kube, "agenttasks", "t")


def test_a_task_is_put_into_quarantine(kube: Kube, plugin: Plugin) -> None:
    kube.create(make_task())
    assert plugin.json("quarantine", "t", "looks", "odd")["changed"] is True
    assert commands(kube, "agenttasks", "t")["quarantine"] == "looks odd"


def test_every_retry_is_a_new_one(kube: Kube, plugin: Plugin) -> None:
    kube.create(make_run())
    ended(kube, "t", "Failed")
    plugin("retry", "t")
    first = commands(kube, "agenttasks", "t")["retry"]
    assert plugin.json("retry", "task/t")["changed"] is True
    second = commands(kube, "agenttasks", "t")["retry"]
    assert first < second, "moments with their fractions sort as they came"
    assert "what failed, asks or is in quarantine" in plugin("retry", "run/r")
    assert commands(kube, "bernsteinruns", "r")["retry"] > second
    ended(kube, "gone", "Abandoned")
    assert plugin.refusal("retry", "gone").endswith("ended as Abandoned, for good: it can't be retried")


def test_a_run_is_drained_once(kube: Kube, plugin: Plugin) -> None:
    kube.create(make_run())
    assert "live agents finish" in plugin("drain", "r")
    assert commands(kube, "bernsteinruns", "r") == {"drain": "true"}
    assert plugin.json("drain", "r")["changed"] is False


def test_why_tells_what_is_on_record(kube: Kube, plugin: Plugin) -> None:
    kube.create(make_run())
    asked = {
        "verb": "abandon",
        "value": "other: no",
        "actor": "alice",
        "time": _at(1),
        "effect": "Abandoned.",
    }
    given_up = {"reason": "other", "detail": "no", "actor": "alice", "time": _at(1)}
    ended(kube, "t", "Abandoned", requests=[asked], abandonment=given_up, observedGeneration=1)
    text = plugin("why", "t")
    assert '  abandon "other: no" by alice at 2026-01-01T12:00:01Z: Abandoned.' in text.splitlines()
    found = plugin.json("why", "t")
    assert (found["abandonment"], found["requests"]) == (given_up, [asked])
    assert (found["escalation"], found["deadline"]) == (None, None)


def test_kubectl_completes_the_reasons(plugin: Plugin) -> None:
    answer = plugin.kubectl_says("__complete", "bernstein", "abandon", "t", "")
    assert answer.out.splitlines()[:12] == [*AbandonReason]


def test_what_it_tells_the_operator_acts(kube: Kube, plugin: Plugin, operator: OperatorProcess) -> None:
    kube.create(hand_profile())
    kube.create(make_run(max_agents=1, taskDefaults={"retry": {"limit": 0}}))
    kube.create(make_task("a", priority=1))
    kube.create(make_task("b", depends_on=["a"]))
    kube.create(make_task("c", suspend=True))
    fail(kube, wait_pod(kube, "a"))
    wait_phase(kube, "a", "Failed")
    wait_phase(kube, "b", "BlockedByFailure")
    assert "kubectl bernstein retry a" in plugin("why", "b")

    plugin("retry", "a")
    succeed(kube, wait_pod(kube, "a", attempt=2))
    wait_phase(kube, "a", "Succeeded")
    wait_pod(kube, "b")

    plugin("quarantine", "c", "looks odd")
    wait_phase(kube, "c", "Quarantined")
    assert "looks odd" in plugin("why", "c")
    plugin("abandon", "c", "unsafe_change", "it", "drops a table")
    wait_phase(kube, "c", "Abandoned")
    found = plugin.json("why", "c")
    assert (found["abandonment"]["reason"], found["abandonment"]["detail"]) == (
        "unsafe_change",
        "it drops a table",
    )
    assert [one["verb"] for one in found["requests"]] == ["quarantine", "abandon"]
