"""What a person meets at the prompt: names and columns of the kinds, mistakes and their answers."""

import pytest

from tests.support.crd_manifests import NOON, Manifest, manifest, profile, run, status, task
from tests.support.kube import ApiError, Kube, Kubectl

_TYPO = """
apiVersion: bernstein.run/v1alpha1
kind: AgentTask
metadata: {name: typo}
spec: {runRef: {name: r}, prompt: do it, timeoutSecnds: 60}
"""


@pytest.fixture
def stored(served: Kube) -> Kube:
    """An API server that holds one complete object of each kind, status included."""
    for kind in ("BernsteinRun", "AgentTask", "AgentProfile"):
        served.apply(manifest(kind, name="complete"))
    served.patch_status("bernsteinruns", "complete", status("BernsteinRun"))
    served.patch_status("agenttasks", "complete", status("AgentTask"))
    served.patch_status("agentprofiles", "complete", status("AgentProfile"))
    return served


def table(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_kubectl_names_a_typo_and_stores_nothing(served: Kube, shell: Kubectl) -> None:
    said = shell("apply", "-f", "-", stdin=_TYPO, check=False)
    assert 'unknown field "spec.timeoutSecnds"' in said
    assert served.find("agenttasks", "typo") is None


def test_a_client_that_asks_for_no_validation_has_its_typo_pruned(served: Kube, shell: Kubectl) -> None:
    shell("apply", "--validate=false", "-f", "-", stdin=_TYPO)
    assert served.get("agenttasks", "typo")["spec"] == {"runRef": {"name": "r"}, "prompt": "do it"}


@pytest.mark.parametrize(
    ("wrong", "field", "answer"),
    [
        pytest.param(
            task("t", retry={"limit": -1}),
            "spec.retry.limit",
            "should be greater than or equal to 0",
            id="a negative limit",
        ),
        pytest.param(
            run("r", concurrency={"maxAgents": -1}),
            "spec.concurrency.maxAgents",
            "should be greater than or equal to 0",
            id="a negative ceiling",
        ),
        pytest.param(
            task("t", name="Not_A_Label"), "spec.name", "should match", id="a name that is no DNS label"
        ),
        pytest.param(
            task("t", name="a" * 64),
            "spec.name",
            "may not be more than 63 bytes",
            id="a name of 64 characters",
        ),
        pytest.param(
            task("t", prompt="x" * 65_537),
            "spec.prompt",
            "may not be more than 65536 bytes",
            id="a long prompt",
        ),
        pytest.param(
            task("t", prompt="é" * 40_000), "spec.prompt", "65536 bytes", id="a long prompt in bytes"
        ),
        pytest.param(
            task("t", dependsOn=["ns/t"]), "spec.dependsOn[0]", "should match", id="another namespace"
        ),
        pytest.param(
            {**task("t"), "spec": {"prompt": "do it"}},
            "spec.runRef",
            "Required value",
            id="a task without a run",
        ),
        pytest.param(
            profile("p", adapter="magic"), "spec.adapter", "supported values", id="an unknown adapter"
        ),
    ],
)
def test_a_mistake_is_refused_with_the_field_and_the_reason(
    served: Kube, wrong: Manifest, field: str, answer: str
) -> None:
    with pytest.raises(ApiError) as refusal:
        served.create(wrong, dry_run=True)
    assert f"{field}: " in refusal.value.message
    assert answer in refusal.value.message


@pytest.mark.parametrize("name", ["a" * 253, f"{'a' * 100}.{'b' * 152}"], ids=["one word", "with a dot"])
def test_an_object_name_of_253_characters_is_taken(served: Kube, name: str) -> None:
    served.create(task(name), dry_run=True)
    served.create(run(name), dry_run=True)


@pytest.mark.parametrize("smallest", [run("new"), task("new")], ids=["run", "task"])
def test_a_new_object_is_not_taken_for_ready(served: Kube, smallest: Manifest) -> None:
    assert served.create(smallest)["status"] == {"observedGeneration": -1, "phase": "Pending"}


def test_a_profile_has_no_status_that_helm_could_wait_for(served: Kube) -> None:
    assert "status" not in served.create(profile("new"))


@pytest.mark.parametrize(
    ("smallest", "spec"),
    [
        pytest.param(task("defaults"), {"runRef": {"name": "r"}, "prompt": "do it"}, id="task"),
        pytest.param(
            run("defaults", repository={"url": "git://git/a", "ref": "main"}),
            {
                "goal": "a better world",
                "repository": {
                    "url": "git://git/a",
                    "ref": "main",
                    "pushBranchPrefix": "bernstein/",
                    "base": "Dependencies",
                },
            },
            id="run",
        ),
        pytest.param(
            profile("defaults", git={}, pod={"workspace": {}}),
            {
                "adapter": "script",
                "git": {"authorName": "Bernstein Agent", "authorEmail": "agent@bernstein.run"},
                "pod": {"workspace": {"medium": "Disk"}},
            },
            id="profile",
        ),
    ],
)
def test_only_these_defaults_are_written_into_a_spec(
    served: Kube, smallest: Manifest, spec: Manifest
) -> None:
    assert served.create(smallest, dry_run=True)["spec"] == spec


@pytest.mark.parametrize(
    ("resource", "head", "row"),
    [
        (
            "bstask",
            [
                *("NAME", "RUN", "ROLE", "PHASE", "ATTEMPT", "WAITING", "COST", "AGE"),
                *("MODEL", "POD", "BRANCH", "DEADLINE", "REASON"),
            ],
            [
                *("complete", "r", "backend", "Running", "1", "0.50"),
                *("vendor/model-1", "t-0a1b2c-a1", "bernstein/r/t"),
            ],
        ),
        (
            "bsrun",
            [
                *("NAME", "PHASE", "LIVE", "CEILING", "DONE", "TOTAL", "SPENT", "BUDGET", "AGE"),
                *("REASON", "FAILED", "ABANDONED", "SOURCE"),
            ],
            ["complete", "Running", "2", "2", "1", "10", "10.00", "12.50", "TasksActive", "1", "1", "spec"],
        ),
        (
            "bsprof",
            ["NAME", "ADAPTER", "IMAGE", "HOLD", "CIRCUIT", "AGE"],
            ["complete", "command", "registry.example/agent:1", "2026-01-01T12:00:00Z", "HalfOpen"],
        ),
    ],
)
def test_the_columns_by_short_name(
    stored: Kube, shell: Kubectl, resource: str, head: list[str], row: list[str]
) -> None:
    titles, shown = table(shell("get", resource, "complete", "-o", "wide"))
    assert titles == head
    assert [cell for cell in shown if cell in row] == row


@pytest.mark.parametrize(
    ("conditions", "waiting"),
    [
        pytest.param(
            [("Reconciling", "True", "Queued"), ("Admitted", "False", "BackingOff")], "BackingOff", id="waits"
        ),
        pytest.param(
            [("Admitted", "True", "Admitted"), ("Reconciling", "True", "Running")], "0.50", id="runs"
        ),
    ],
)
def test_the_waiting_column_says_why_only_while_it_waits(
    stored: Kube, shell: Kubectl, conditions: list[tuple[str, str, str]], waiting: str
) -> None:
    written = [
        {"type": kind, "status": state, "reason": reason, "message": "", "lastTransitionTime": NOON}
        for kind, state, reason in conditions
    ]
    stored.patch_status("agenttasks", "complete", {"conditions": written})
    assert table(shell("get", "bstask", "complete", "--no-headers"))[0][5] == waiting


def test_the_columns_of_a_task_that_nobody_has_looked_at(served: Kube, shell: Kubectl) -> None:
    served.apply(task("unseen"))
    assert table(shell("get", "bstask", "unseen", "-o", "wide", "--no-headers"))[0][:3] == [
        "unseen",
        "r",
        "Pending",
    ]


def test_the_category_means_all_three_kinds(stored: Kube, shell: Kubectl) -> None:
    assert set(shell("get", "bernstein", "-o", "name").split()) >= {
        "bernsteinrun.bernstein.run/complete",
        "agenttask.bernstein.run/complete",
        "agentprofile.bernstein.run/complete",
    }


@pytest.mark.parametrize(
    ("resource", "selector", "found"),
    [
        ("agenttasks", "spec.runRef.name=r,status.phase=Running", True),
        ("agenttasks", "spec.runRef.name=other", False),
        ("agenttasks", "status.phase=Failed", False),
        ("bernsteinruns", "status.phase=Running", True),
        ("bernsteinruns", "status.phase=Failed", False),
    ],
)
def test_objects_are_selected_by_field(
    stored: Kube, shell: Kubectl, resource: str, selector: str, found: bool
) -> None:
    names = shell("get", resource, "--field-selector", selector, "-o", "name").split()
    assert any(name.endswith("/complete") for name in names) == found


def test_kubectl_explains_a_field(served: Kube, shell: Kubectl) -> None:
    assert "1 is admitted first" in " ".join(shell("explain", "agenttask.spec.priority").split())
