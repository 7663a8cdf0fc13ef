"""A run from its creation to its end: its tasks, its ceiling, its phases and counts."""

from functools import partial

import pytest

from tests.support.builders import hand_profile, inline_task, kwok_profile, make_run, make_task
from tests.support.clock import now
from tests.support.fixtures import StartOperator
from tests.support.invariants import Limits
from tests.support.kube import Kube, Manifest, condition, eventually
from tests.support.operator import OperatorProcess
from tests.support.pods import live_pods, set_pod_running, succeed, wait_pod
from tests.support.recorder import PodRecorder
from tests.support.tasks import holds_for, wait_phase, wait_run
from tests.support.timeline import Kind, phase

STATIONS = ["Pending", "Running", "Succeeded"]


def test_a_run_goes_from_pending_to_succeeded(
    kube: Kube, operator: OperatorProcess, recorder: PodRecorder
) -> None:
    kube.create(hand_profile())
    kube.create(make_run())
    empty = kube.wait_for(
        "bernsteinruns", "r", lambda run: condition(run, "Reconciling"), what="that it says what it waits for"
    )
    assert condition(empty, "Reconciling")["reason"] == "NoTasks"
    assert "startTime" not in empty["status"]

    kube.create(make_task())
    running = wait_run(kube, "r", "Running")
    assert running["status"]["startTime"]
    assert condition(running, "Reconciling")["reason"] == "TasksActive"

    succeed(kube, set_pod_running(kube, wait_pod(kube, "t")))
    done = wait_run(kube, "r", "Succeeded")
    status = done["status"]
    assert status["startTime"] <= status["completionTime"]
    assert status["observedGeneration"] == done["metadata"]["generation"]
    assert {one["type"]: one["reason"] for one in status["conditions"]} == {
        "Complete": "AllSucceeded",
        "Finished": "AllSucceeded",
    }
    for one in status["conditions"]:
        assert (one["status"], one["message"]) == ("True", "1 Succeeded.")
        assert one["observedGeneration"] == done["metadata"]["generation"]
        assert one["lastTransitionTime"]
    assert status["concurrency"]["live"] == 0
    recorder.catch_up()
    seen = [phase(one.manifest) for one in recorder.observations if one.kind is Kind.RUN]
    assert list(dict.fromkeys(seen)) == STATIONS
    assert seen == sorted(seen, key=STATIONS.index), "no phase was left and entered again"


def test_a_failed_run_says_how_many_of_its_tasks_came_to_what(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(kwok_profile())
    kube.create(
        make_run(
            tasks=[
                inline_task("good"),
                inline_task("bad", role="kwok-fail", retry={"limit": 0}),
                inline_task("behind", dependsOn=["bad"]),
            ]
        )
    )
    failed = wait_run(kube, "r", "Failed")
    for kind in ("Failed", "Stalled", "Finished"):
        found = condition(failed, kind)
        assert (found["status"], found["reason"]) == ("True", "TasksFailed")
    assert condition(failed, "Failed")["message"] == "1 BlockedByFailure, 1 Failed, 1 Succeeded."
    counts = failed["status"]["tasks"]
    assert (counts["total"], counts["succeeded"], counts["failed"]) == (3, 1, 1)
    assert (counts["blockedByFailure"], counts["pending"], counts["running"]) == (1, 0, 0)
    blocked = kube.wait_for(
        "agenttasks", "r-behind", lambda task: condition(task, "Finished"), what="Finished with its run"
    )
    assert condition(blocked, "Stalled")["status"] == "True"


@pytest.mark.parametrize(
    "limits",
    [
        pytest.param((2, None, 2), id="the run's own"),
        pytest.param((4, 1, 1), id="the operator's where it is lower"),
    ],
)
def test_no_more_agents_are_live_than_the_ceiling_allows(
    kube: Kube,
    start_operator: StartOperator,
    recorder: PodRecorder,
    limits: tuple[int, int | None, int],
) -> None:
    of_run, of_operator, ceiling = limits
    recorder.limits = Limits(operator_ceiling=of_operator)
    start_operator(**({"BERNSTEIN_MAX_AGENTS": str(of_operator)} if of_operator is not None else {}))
    kube.create(hand_profile())
    kube.create(make_run(max_agents=of_run, tasks=[inline_task(f"t{index}") for index in range(5)]))
    full = kube.wait_for(
        "bernsteinruns",
        "r",
        lambda run: run["status"].get("concurrency", {}).get("live") == ceiling,
        what="a full house",
    )
    shown = {"configured": ceiling, "effective": ceiling, "reduction": 0, "live": ceiling}
    assert full["status"]["concurrency"] == shown
    kube.wait_for(
        "bernsteinruns",
        "r",
        lambda run: condition(run, "Reconciling").get("reason") == "AtCeiling",
        what="that the run says why its tasks wait",
    )
    for _ in range(5):
        assert len(eventually(partial(live_pods, kube), what="a live Pod")) <= ceiling
        succeed(kube, set_pod_running(kube, live_pods(kube)[0]))
        eventually(
            lambda: len(live_pods(kube)) in {ceiling, _unfinished(kube)}, what="that the slot is filled"
        )
    done = wait_run(kube, "r", "Succeeded")
    assert done["status"]["concurrency"]["live"] == 0
    assert len(kube.items("pods")) == 5


def _unfinished(kube: Kube) -> int:
    return sum(phase(task) != "Succeeded" for task in kube.items("agenttasks"))


def test_a_ceiling_of_zero_starts_nothing_and_says_so(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(kwok_profile())
    kube.create(make_run(max_agents=0, tasks=[inline_task("a")]))
    kube.wait_for(
        "bernsteinruns",
        "r",
        lambda run: condition(run, "Reconciling").get("reason") == "CeilingZero",
        what="CeilingZero",
    )
    holds_for(2, lambda: not kube.items("pods"), what="no Pod under ceiling 0")
    kube.patch("bernsteinruns", "r", {"spec": {"concurrency": {"maxAgents": 1}}})
    wait_run(kube, "r", "Succeeded")


def test_an_inline_task_is_made_once_and_never_again(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(kwok_profile())
    listed = [inline_task("a", title="The first"), inline_task("b", dependsOn=["a"])]
    run = kube.create(make_run(suspend=True, tasks=listed))
    made = _wait_created(kube, ["a", "b"])
    task = kube.get("agenttasks", "r-a")
    assert task["spec"] == {**listed[0], "runRef": {"name": "r"}}
    [owner] = task["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["uid"], owner["controller"]) == (
        "BernsteinRun",
        run["metadata"]["uid"],
        True,
    )

    kube.delete("agenttasks", "r-b")
    operator.restart(kill=True)
    kube.patch("bernsteinruns", "r", {"spec": {"suspend": False, "tasks": [*listed, inline_task("c")]}})
    _wait_created(kube, ["a", "b", "c"])
    ended = wait_run(kube, "r", "Failed")
    assert kube.find("agenttasks", "r-b") is None
    assert made["metadata"]["uid"] == ended["metadata"]["uid"]
    counts = ended["status"]["tasks"]
    assert (counts["total"], counts["succeeded"], counts["cancelled"]) == (3, 2, 1)


def _wait_created(kube: Kube, names: list[str]) -> Manifest:
    return kube.wait_for(
        "bernsteinruns",
        "r",
        lambda run: run["status"].get("createdTasks") == names,
        what=f"that {names} were made",
    )


def test_an_inline_task_never_takes_over_a_foreign_object(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(kwok_profile())
    foreign = kube.create(make_task("r-a", run="elsewhere"))
    kube.create(make_run(tasks=[inline_task("a"), inline_task("b")]))
    refused = kube.wait_for(
        "bernsteinruns",
        "r",
        lambda run: condition(run, "Reconciling").get("reason") == "TaskCreationRefused",
        what="that the run says so",
    )
    assert "'r-a'" in condition(refused, "Reconciling")["message"]
    wait_phase(kube, "r-b", "Succeeded")
    found = kube.get("agenttasks", "r-a")
    assert (found["metadata"]["uid"], found["spec"]) == (foreign["metadata"]["uid"], foreign["spec"])

    kube.delete("agenttasks", "r-a")
    wait_run(kube, "r", "Succeeded", timeout=90)


def test_a_run_that_hangs_holds_up_no_other(
    kube: Kube, operator: OperatorProcess, recorder: PodRecorder
) -> None:
    kube.create(hand_profile("by-hand"))
    kube.create(kwok_profile())
    kube.create(make_run("stuck", max_agents=1, taskDefaults={"profile": "by-hand"}))
    for name in ("s1", "s2"):
        kube.create(make_task(name, run="stuck"))
    wait_pod(kube, "s1")
    begun = now()
    kube.create(make_run("free", tasks=[inline_task("a"), inline_task("b", dependsOn=["a"])]))
    wait_run(kube, "free", "Succeeded")
    recorder.catch_up()
    assert len(recorder.completed_between(begun, now())) == 2
    # What waits for nothing but a slot isn't written: its run says why, within the pause between its writes.
    stuck = kube.wait_for(
        "bernsteinruns", "stuck", lambda run: condition(run, "Reconciling").get("reason") == "AtCeiling"
    )
    assert phase(stuck) == "Running"
    assert "conditions" not in kube.get("agenttasks", "s2")["status"]
