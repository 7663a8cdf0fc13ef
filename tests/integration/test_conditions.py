"""Conditions and columns: what kubectl, Helm, Flux and Argo CD conclude from a run and its tasks."""

from collections.abc import Mapping
from typing import Any

from tests.support.builders import inline_task, kwok_profile, make_run
from tests.support.kube import Kube, Kubectl
from tests.support.operator import OperatorProcess
from tests.support.recorder import PodRecorder
from tests.support.tasks import wait_run
from tests.support.timeline import Kind, phase

WAITED_FOR = ("bsrun/r", "bstask/r-good", "bstask/r-bad", "bstask/r-behind", "bstask/r-never")
ENDED = frozenset({"Succeeded", "Failed", "Cancelled"})


def mixed_run(kube: Kube) -> None:
    """Start a run of which one task succeeds and the others fail, are blocked and are cancelled."""
    kube.create(kwok_profile())
    kube.create(
        make_run(
            tasks=[
                inline_task("good", role="qa"),
                inline_task("bad", role="kwok-fail", retry={"limit": 1, "backoffSeconds": 1}),
                inline_task("behind", dependsOn=["bad"]),
                inline_task("never", suspend=True),
            ]
        )
    )


def true_of(manifest: Mapping[str, Any]) -> set[str]:
    """Return the types of the conditions that are True."""
    conditions = manifest.get("status", {}).get("conditions", ())
    return {one["type"] for one in conditions if one["status"] == "True"}


def test_kubectl_wait_ends_for_a_run_and_every_task_of_it(
    kube: Kube, kubectl: Kubectl, operator: OperatorProcess, recorder: PodRecorder
) -> None:
    mixed_run(kube)
    kube.wait_for("agenttasks", "r-never", lambda _: True)
    kube.annotate("agenttasks", "r-never", cancel="true")
    said = kubectl("wait", *WAITED_FOR, "--for=condition=Finished", "--timeout=40s")
    assert said.count("condition met") == len(WAITED_FOR)
    assert "condition met" in kubectl("wait", "bstask/r-good", "--for=condition=Complete", "--timeout=5s")
    assert "condition met" in kubectl("wait", "bsrun/r", "--for=condition=Failed", "--timeout=5s")

    recorder.catch_up()
    seen = [one for one in recorder.observations if one.kind in {Kind.RUN, Kind.TASK}]
    assert not [one.key for one in seen if {"Reconciling", "Stalled"} <= true_of(one.manifest)]
    assert not [one.key for one in seen if {"Complete", "Failed"} <= true_of(one.manifest)]
    ended = [one for one in seen if phase(one.manifest) in ENDED]
    assert ended
    assert not [one.key for one in ended if "Finished" not in true_of(one.manifest)]
    behind = [one for one in seen if _lags(one.manifest)]
    assert not [(one.key, one.manifest["status"]) for one in behind]


def _lags(manifest: Mapping[str, Any]) -> bool:
    """Return whether a condition claims another generation than the status that it stands in."""
    status = manifest.get("status", {})
    observed = status.get("observedGeneration")
    return any(one["observedGeneration"] != observed for one in status.get("conditions", ()))


def test_kubectl_get_shows_what_happened(kube: Kube, kubectl: Kubectl, operator: OperatorProcess) -> None:
    mixed_run(kube)
    kube.annotate("agenttasks", _made(kube, "r-never"), cancel="true")
    wait_run(kube, "r", "Failed")
    tasks = table(kubectl("get", "agenttasks", "-o", "wide"))
    shown = {name: (row["PHASE"], row["ATTEMPT"], row["REASON"]) for name, row in tasks.items()}
    assert shown == {
        "r-good": ("Succeeded", "1", ""),
        "r-bad": ("Failed", "2", "RetriesExhausted"),
        "r-behind": ("BlockedByFailure", "", "BlockedByFailure"),
        "r-never": ("Cancelled", "", "Cancelled"),
    }
    assert tasks["r-good"]["RUN"] == "r"
    assert tasks["r-good"]["ROLE"] == "qa"
    assert tasks["r-bad"]["POD"].endswith("-a2")
    [run] = table(kubectl("get", "bsrun", "-o", "wide")).values()
    assert {"PHASE": "Failed", "DONE": "1", "TOTAL": "4", "FAILED": "1", "LIVE": "0"}.items() <= run.items()
    assert run["CEILING"] == "6"


def test_kubectl_get_shows_what_a_task_waits_for(
    kube: Kube, kubectl: Kubectl, operator: OperatorProcess
) -> None:
    mixed_run(kube)
    kube.wait_for(
        "agenttasks", _made(kube, "r-behind"), lambda task: task["status"].get("conditions"), what="a word"
    )
    kube.wait_for("agenttasks", "r-never", lambda task: task["status"].get("conditions"), what="a word")
    rows = table(kubectl("get", "bstask"))
    assert rows["r-behind"]["WAITING"] == "DependencyPending"
    assert rows["r-never"]["WAITING"] == "Suspended"
    assert {line.split()[0] for line in kubectl("get", "bernstein").splitlines() if "/r" in line} == {
        "bernsteinrun.bernstein.run/r",
        *(f"agenttask.bernstein.run/r-{name}" for name in ("good", "bad", "behind", "never")),
    }


def _made(kube: Kube, task: str) -> str:
    kube.wait_for("agenttasks", task, lambda _: True, what="that it was made")
    return task


def table(text: str) -> dict[str, dict[str, str]]:
    """Return the rows of a table of kubectl's by name; cells are cut at their heading's position."""
    head, *rows = text.rstrip("\n").splitlines()
    names = head.split()
    starts = [head.index(f" {name}") + 1 if index else 0 for index, name in enumerate(names)]
    ends = [*starts[1:], None]
    cut = [
        [row[start:end].strip() for start, end in zip(starts, ends, strict=True)]
        for row in rows
        if row.strip()
    ]
    return {cells[0]: dict(zip(names, cells, strict=True)) for cells in cut}
