"""Mistakes and their answers: each is told in words, and none holds anybody else up."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.builders import hand_profile, inline_task, kwok_profile, make_run, make_task
from tests.support.clock import now
from tests.support.kube import JSON_PATCH, ApiError, Kube, Kubectl, condition, eventually
from tests.support.operator import OperatorProcess
from tests.support.pods import set_pod_running, succeed, wait_pod
from tests.support.tasks import wait_phase, wait_run, wait_waiting
from tests.support.timeline import phase

OLD: dict[str, Any] = {"priority": 1000}
CRD = "agenttasks.bernstein.run"
TYPO = """
apiVersion: bernstein.run/v1alpha1
kind: AgentTask
metadata: {name: typo}
spec: {runRef: {name: r}, prompt: do it, dependOn: [a]}
"""


@pytest.fixture(autouse=True)
def profile(kube: Kube) -> None:
    """Pods that succeed after a second."""
    kube.create(kwok_profile())


def test_kubectl_refuses_a_typo(kubectl: Kubectl) -> None:
    assert 'unknown field "spec.dependOn"' in kubectl("apply", "-f", "-", stdin=TYPO, check=False)


@pytest.mark.parametrize(
    ("spec", "field"),
    [
        pytest.param({"retry": {"limit": -1}}, "spec.retry.limit", id="a negative limit"),
        pytest.param({"timeoutSeconds": 0}, "spec.timeoutSeconds", id="no time at all"),
        pytest.param({"name": "n" * 64}, "spec.name", id="a name of 64 characters"),
        pytest.param({"name": "Not.A.Label"}, "spec.name", id="a name that is no DNS label"),
        pytest.param({"prompt": "x" * 65_537}, "spec.prompt", id="a prompt too long"),
        pytest.param({"prompt": "é" * 32_769}, "spec.prompt", id="a prompt too long in bytes"),
    ],
)
def test_what_breaks_a_bound_is_refused_with_its_field(kube: Kube, spec: dict[str, Any], field: str) -> None:
    with pytest.raises(ApiError) as refusal:
        kube.create(make_task(**spec))
    assert f"{field}: " in refusal.value.message


def test_names_as_long_as_may_be_work(kube: Kube, operator: OperatorProcess) -> None:
    run, label = "r" * 253, "n" * 63
    kube.create(make_run(run, tasks=[inline_task("i" * 63)]))
    kube.create(make_task("t" * 253, run=run, name=label))
    kube.create(make_task("last", run=run, depends_on=[label, "i" * 63]))
    wait_run(kube, run, "Succeeded")


def test_a_missing_profile_is_waited_for(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(make_run())
    kube.create(make_task(profile="later"))
    kube.create(make_task("other"))
    waiting = wait_waiting(kube, "t", "ProfileNotFound")
    assert "'later'" in condition(waiting, "Admitted")["message"]
    wait_phase(kube, "other", "Succeeded")
    kube.create(kwok_profile("later"))
    wait_run(kube, "r", "Succeeded")


def test_a_missing_dependency_is_waited_for_and_then_blocks(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(make_run())
    kube.create(make_task(depends_on=["ghost"], dependencyTimeoutSeconds=2))
    wait_waiting(kube, "t", "DependencyPending")
    blocked = wait_phase(kube, "t", "BlockedByFailure")
    assert blocked["status"]["blockedBy"]["cause"] == "Missing"
    wait_run(kube, "r", "Failed")


def test_a_cycle_names_its_members_and_ends_what_hangs_on_it(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(
        make_run(
            tasks=[
                inline_task("a", dependsOn=["c"]),
                inline_task("b", dependsOn=["a"]),
                inline_task("c", dependsOn=["b"]),
                inline_task("behind", dependsOn=["c"]),
                inline_task("free"),
            ]
        )
    )
    for name in ("r-a", "r-b", "r-c"):
        admitted = condition(wait_waiting(kube, name, "InvalidGraph"), "Admitted")
        assert admitted["message"].endswith("in a circle: a → c → b → a.")
    behind = wait_phase(kube, "r-behind", "BlockedByFailure")
    assert behind["status"]["blockedBy"] == {"task": "c", "rootCause": "c", "cause": "Invalid"}
    wait_phase(kube, "r-free", "Succeeded")
    wait_run(kube, "r", "Failed")
    for name in ("r-a", "r-b", "r-c", "r-behind"):
        ended = kube.wait_for(
            "agenttasks", name, lambda task: condition(task, "Finished"), what="Finished with its run"
        )
        assert condition(ended, "Stalled")["status"] == "True"
        assert not condition(ended, "Reconciling")
    assert phase(kube.get("agenttasks", "r-a")) == "Pending"


def test_a_cycle_that_is_opened_goes_on(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(make_run())
    kube.create(make_task("hold", suspend=True))
    kube.create(make_task("a", depends_on=["b"]))
    kube.create(make_task("b", depends_on=["a"]))
    kube.create(make_task("behind", depends_on=["b"]))
    wait_waiting(kube, "b", "InvalidGraph")
    wait_phase(kube, "behind", "BlockedByFailure")
    kube.patch("agenttasks", "b", {"spec": {"dependsOn": []}})
    for name in ("a", "b", "behind"):
        wait_phase(kube, name, "Succeeded")
    kube.delete("agenttasks", "hold")
    wait_run(kube, "r", "Failed")


def test_of_two_tasks_with_one_name_the_older_has_it(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(make_run())
    kube.create(make_task("first", name="same", suspend=True))
    begun = now()
    # Creation times are told in seconds: only then is it clear which one is older.
    eventually(lambda: now() - begun > 1.1, what="the next second")
    kube.create(make_task("second", name="same"))
    kube.create(make_task("third", depends_on=["same"]))
    taken = wait_waiting(kube, "second", "InvalidSpec")
    assert "'first'" in condition(taken, "Admitted")["message"]
    assert condition(taken, "Stalled")["reason"] == "InvalidSpec"
    kube.patch("agenttasks", "first", {"spec": {"suspend": False}})
    third = wait_phase(kube, "third", "Succeeded")
    [known] = third["status"]["dependencies"]
    assert known["uid"] == kube.get("agenttasks", "first")["metadata"]["uid"]
    wait_run(kube, "r", "Failed")


def test_the_younger_one_has_the_name_once_the_older_gave_up(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(make_run())
    kube.create(make_task("hold", suspend=True))
    kube.create(make_task("first", name="same", role="kwok-fail", retry={"limit": 0}))
    kube.create(make_task("behind", depends_on=["same"]))
    wait_phase(kube, "first", "Failed")
    wait_phase(kube, "behind", "BlockedByFailure")
    kube.create(make_task("second", name="same"))
    wait_phase(kube, "second", "Succeeded")
    wait_phase(kube, "behind", "Succeeded")


def test_a_run_does_not_end_before_the_younger_one_has_its_chance(
    kube: Kube, operator: OperatorProcess
) -> None:
    kube.create(make_run())
    kube.create(make_task("a-first", name="same", suspend=True))
    kube.create(make_task("b-second", name="same"))
    wait_waiting(kube, "b-second", "InvalidSpec")
    kube.annotate("agenttasks", "a-first", cancel="true")
    wait_phase(kube, "b-second", "Succeeded")
    wait_run(kube, "r", "Failed")


@pytest.fixture
def lax_schema(cluster_kube: Kube) -> Iterator[None]:
    """The task's CRD as an older one might have been: it lets any priority in."""
    path = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/priority"
    schema = cluster_kube.get("customresourcedefinitions", CRD)
    [version] = schema["spec"]["versions"]
    strict = version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]["priority"]

    def serve(priority: dict[str, Any]) -> None:
        change = [{"op": "replace", "path": path, "value": priority}]
        cluster_kube.patch("customresourcedefinitions", CRD, change, content_type=JSON_PATCH)

    serve({"type": "integer", "description": strict["description"]})
    yield
    serve(strict)


def test_what_an_older_schema_let_in_is_told_and_stops_nobody(
    kube: Kube, operator: OperatorProcess, lax_schema: None
) -> None:
    kube.create(make_run())
    kube.create(hand_profile("by-hand"))
    kube.create(make_task("running", profile="by-hand"))
    pod = set_pod_running(kube, wait_pod(kube, "running"))
    wait_phase(kube, "running", "Running")
    eventually(lambda: _is_taken(kube), what="that the API server takes the lax schema over")
    kube.patch("agenttasks", "running", {"spec": OLD})
    kube.create(make_run("dropped"))
    kube.create(make_task("held", run="dropped", suspend=True))
    kube.create(make_task("of-dropped", run="dropped", **OLD))
    kube.create(make_task("behind", depends_on=["old"]))
    kube.create(make_task("other"))
    invalid = wait_waiting(kube, "old", "InvalidSpec")
    assert condition(invalid, "Admitted")["message"].startswith("spec.priority: ")
    assert condition(invalid, "Stalled")["reason"] == "InvalidSpec"
    behind = wait_phase(kube, "behind", "BlockedByFailure")
    assert behind["status"]["blockedBy"] == {"task": "old", "rootCause": "old", "cause": "Invalid"}
    wait_phase(kube, "other", "Succeeded")
    succeed(kube, pod)
    wait_phase(kube, "running", "Succeeded")
    kube.annotate("bernsteinruns", "dropped", cancel="true")
    wait_run(kube, "dropped", "Cancelled")
    operator.restart(kill=True)
    kube.create(make_run("next", tasks=[inline_task("a")]))
    wait_run(kube, "next", "Succeeded")
    wait_run(kube, "r", "Failed")


def _is_taken(kube: Kube) -> bool:
    try:
        kube.create(make_task("old", **OLD))
    except ApiError:
        return False
    return True
