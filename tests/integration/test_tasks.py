"""A task's life from its creation to its end: what its status says at every station of it."""

import pytest

from tests.support.builders import hand_profile, kwok_profile, make_run, make_task
from tests.support.kube import Kube, Manifest, condition
from tests.support.operator import OperatorProcess
from tests.support.pods import NODE, bind, end_pod, make_result, set_pod_running, wait_pod
from tests.support.recorder import PodRecorder
from tests.support.tasks import attempts, wait_phase, wait_run
from tests.support.timeline import Kind, phase

REPOSITORY = {"url": "git://git.invalid/a", "ref": "main"}
BASE, WORK = "a" * 40, "b" * 40
BRANCH = "bernstein/r/t"
SPENT = {"inputTokens": 1200, "outputTokens": 340, "cachedTokens": 56, "costUsd": "0.125"}


def test_a_plain_task_runs_to_its_end(kube: Kube, operator: OperatorProcess, recorder: PodRecorder) -> None:
    kube.create(hand_profile())
    kube.create(make_run(repository=REPOSITORY))
    kube.create(make_task())
    pod = wait_pod(kube, "t")
    bind(kube, pod["metadata"]["name"])
    set_pod_running(kube, pod)
    wait_phase(kube, "t", "Running")
    result = make_result(pod, usage=SPENT, headBefore=BASE, headAfter=WORK, branch=BRANCH, summary="Done.")
    end_pod(kube, pod, result=result)

    done = wait_phase(kube, "t", "Succeeded")
    run = wait_run(kube, "r", "Succeeded")
    status = done["status"]
    [attempt] = attempts(done)
    assert (
        attempt.items()
        >= {
            "number": 1,
            "podName": pod["metadata"]["name"],
            "podUID": pod["metadata"]["uid"],
            "node": NODE,
            "profile": "default",
            "exitCode": 0,
            "resultClass": "success",
            "reason": "Completed",
            "headBefore": BASE,
            "headAfter": WORK,
            "branch": BRANCH,
        }.items()
    )
    assert attempt["usage"] == status["usage"] == SPENT
    assert attempt["intentTime"] <= attempt["startTime"] <= attempt["endTime"] or _same_second(attempt)
    assert status["attempt"] == 1
    assert status["firstAdmittedTime"] == attempt["intentTime"]
    assert status["completionTime"] == attempt["endTime"]
    assert status["summary"] == "Done."
    assert status["observedGeneration"] == done["metadata"]["generation"]
    for kind in ("Complete", "Finished"):
        found = condition(done, kind)
        assert (found["status"], found["reason"]) == ("True", "Completed")
        assert found["observedGeneration"] == done["metadata"]["generation"]
        assert found["lastTransitionTime"]
    assert run["status"]["tasks"]["succeeded"] == 1
    assert phases(recorder, Kind.TASK, "t") == ["Pending", "Running", "Succeeded"]


def _same_second(attempt: Manifest) -> bool:
    """A kubelet tells seconds, the operator microseconds: a start may seem to come before its intent."""
    return bool(attempt["intentTime"][:19] == attempt["startTime"][:19])


def phases(recorder: PodRecorder, kind: Kind, name: str) -> list[str]:
    """Return the phases that an object went through, each once in a row."""
    recorder.catch_up()
    seen = [
        phase(one.manifest)
        for one in recorder.observations
        if one.kind is kind and one.key.endswith(f"/{name}")
    ]
    return [now for before, now in zip([None, *seen], seen, strict=False) if now != before]


def test_a_fake_node_plays_a_tasks_whole_life(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(kwok_profile())
    kube.create(make_run("one", tasks=[{"name": "only", "prompt": "Do it."}]))
    wait_run(kube, "one", "Succeeded")
    assert kube.get("agenttasks", "one-only")["status"]["summary"] == "done on a fake node"


def test_a_task_waits_for_its_run_and_is_told_when_the_run_has_ended(
    kube: Kube, operator: OperatorProcess
) -> None:
    kube.create(kwok_profile())
    kube.create(make_task("early"))
    early = kube.wait_for(
        "agenttasks", "early", lambda task: condition(task, "Admitted"), what="that it says what it waits for"
    )
    assert condition(early, "Admitted")["reason"] == "RunNotFound"
    assert "'r'" in condition(early, "Admitted")["message"]

    kube.create(make_run())
    wait_run(kube, "r", "Succeeded")

    kube.create(make_task("late"))
    late = kube.wait_for("agenttasks", "late", lambda task: condition(task, "Finished"), what="Finished")
    assert phase(late) == "Pending"
    assert condition(late, "Admitted")["reason"] == "RunEnded"
    assert condition(late, "Stalled")["status"] == "True"
    assert phase(kube.get("bernsteinruns", "r")) == "Succeeded"


@pytest.mark.parametrize("started", [False, True], ids=["before it starts", "while it runs"])
def test_a_deleted_task_counts_as_cancelled_and_takes_its_pod_along(
    kube: Kube, operator: OperatorProcess, started: bool
) -> None:
    kube.create(hand_profile())
    kube.create(make_run())
    kube.create(make_task(suspend=not started))
    kube.create(make_task("other", suspend=True))
    pod = wait_pod(kube, "t") if started else None
    kube.delete("agenttasks", "t")
    if pod:
        kube.wait_gone("pods", pod["metadata"]["name"])
    kube.wait_for(
        "bernsteinruns",
        "r",
        lambda run: run["status"].get("tasks", {}).get("cancelled") == 1,
        what="that it counts as cancelled",
    )
    kube.patch("agenttasks", "other", {"spec": {"suspend": False}})
    other = set_pod_running(kube, wait_pod(kube, "other"))
    end_pod(kube, other, result=make_result(other))
    ended = wait_run(kube, "r", "Failed")
    assert condition(ended, "Failed")["message"] == "1 Cancelled, 1 Succeeded."
