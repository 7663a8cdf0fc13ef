"""Tasks that depend on others: they wait, get the others' results, or are told why they can't start."""

import json

from tests.support.builders import hand_profile, inline_task, kwok_profile, make_run, make_task
from tests.support.kube import Kube, Manifest, condition
from tests.support.operator import OperatorProcess
from tests.support.pods import end_pod, make_result, pods_of, set_pod_running, wait_pod
from tests.support.tasks import wait_phase, wait_run, wait_waiting

REPOSITORY = {"url": "git://git.invalid/a", "ref": "main"}
BASE = "0" * 40


def finish(kube: Kube, task: str, head: str) -> None:
    """Let the task's Pod run and end with the commit ``head`` on its branch."""
    pod = set_pod_running(kube, wait_pod(kube, task))
    result = make_result(pod, headBefore=BASE, headAfter=head, branch=f"bernstein/r/{task}")
    end_pod(kube, pod, result=result)


def known(task: Manifest) -> dict[str, Manifest]:
    """Return what a task's status says of its dependencies, by name."""
    return {one["name"]: one for one in task["status"].get("dependencies", ())}


def test_a_task_waits_for_what_it_depends_on(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(hand_profile())
    kube.create(make_run(repository=REPOSITORY))
    uids = {name: kube.create(make_task(name))["metadata"]["uid"] for name in ("a", "b")}
    kube.create(make_task("both", depends_on=["a", "b"]))

    waiting = wait_waiting(kube, "both", "DependencyPending")
    assert condition(waiting, "Admitted")["message"] == "Waits for a, b."
    assert known(waiting) == {
        name: {"name": name, "uid": uid, "succeeded": False} for name, uid in uids.items()
    }

    finish(kube, "a", "a" * 40)
    half = kube.wait_for(
        "agenttasks", "both", lambda task: known(task)["a"]["succeeded"], what="that the first one is there"
    )
    assert condition(half, "Admitted")["message"] == "Waits for b."
    assert not pods_of(kube, "both")

    finish(kube, "b", "b" * 40)
    pod = wait_pod(kube, "both")
    assert known(kube.get("agenttasks", "both")) == {
        name: {
            "name": name,
            "uid": uid,
            "succeeded": True,
            "commit": name * 40,
            "branch": f"bernstein/r/{name}",
        }
        for name, uid in uids.items()
    }
    envelope = json.loads(pod["metadata"]["annotations"]["bernstein.run/envelope"])
    assert envelope["payload"]["dependencies"] == [
        {"name": name, "commit": name * 40, "branch": f"bernstein/r/{name}"} for name in ("a", "b")
    ]
    finish(kube, "both", "c" * 40)
    wait_run(kube, "r", "Succeeded")


def test_a_dependency_that_never_comes_blocks_the_task(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(kwok_profile())
    kube.create(make_run())
    kube.create(make_task("t", depends_on=["ghost"], dependencyTimeoutSeconds=3))
    kube.create(make_task("behind", depends_on=["t"]))
    waiting = wait_waiting(kube, "t", "DependencyPending")
    assert waiting["status"]["waitingSince"]
    assert known(waiting) == {"ghost": {"name": "ghost", "succeeded": False}}
    assert "ghost" in condition(waiting, "Admitted")["message"]

    blocked = wait_phase(kube, "t", "BlockedByFailure")
    assert blocked["status"]["blockedBy"] == {"task": "ghost", "rootCause": "ghost", "cause": "Missing"}
    assert condition(blocked, "Blocked")["message"] == "Can't start: there is no ghost."
    behind = wait_phase(kube, "behind", "BlockedByFailure")
    assert behind["status"]["blockedBy"] == {"task": "t", "rootCause": "ghost", "cause": "Missing"}
    assert "through t" in condition(behind, "Blocked")["message"]
    wait_run(kube, "r", "Failed")
    assert not kube.items("pods")


def test_a_missing_dependency_that_turns_up_unblocks_everything_behind_it(
    kube: Kube, operator: OperatorProcess
) -> None:
    kube.create(kwok_profile())
    kube.create(make_run(tasks=[inline_task("other", suspend=True)]))
    kube.create(make_task("t", depends_on=["late"], dependencyTimeoutSeconds=1))
    kube.create(make_task("behind", depends_on=["t"]))
    wait_phase(kube, "behind", "BlockedByFailure")
    kube.create(make_task("late"))
    for name in ("late", "t", "behind"):
        wait_phase(kube, name, "Succeeded")
    kube.patch("agenttasks", "r-other", {"spec": {"suspend": False}})
    done = wait_run(kube, "r", "Succeeded")
    assert done["status"]["tasks"]["blockedByFailure"] == 0
    assert "blockedBy" not in kube.get("agenttasks", "behind")["status"]


def test_what_succeeded_and_was_deleted_still_counts(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(kwok_profile())
    kube.create(make_run())
    kube.create(make_task("a"))
    kube.create(make_task("t", depends_on=["a"], suspend=True))
    kube.wait_for("agenttasks", "t", lambda task: known(task).get("a", {}).get("succeeded"), what="a is done")
    kube.delete("agenttasks", "a")
    kube.wait_for(
        "bernsteinruns", "r", lambda run: run["status"]["tasks"]["succeeded"] == 1, what="that it is counted"
    )
    operator.restart(kill=True)
    kube.patch("agenttasks", "t", {"spec": {"suspend": False}})
    wait_phase(kube, "t", "Succeeded")
    done = wait_run(kube, "r", "Succeeded")
    assert done["status"]["tasks"]["succeeded"] == 2


def test_a_dependency_deleted_before_it_succeeded_blocks(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(hand_profile())
    kube.create(make_run())
    kube.create(make_task("a"))
    kube.create(make_task("t", depends_on=["a"]))
    kube.wait_for("agenttasks", "t", lambda task: known(task).get("a", {}).get("uid"), what="a's UID")
    kube.delete("agenttasks", "a")
    blocked = wait_phase(kube, "t", "BlockedByFailure")
    assert blocked["status"]["blockedBy"] == {"task": "a", "rootCause": "a", "cause": "Deleted"}
    failed = wait_run(kube, "r", "Failed")
    assert condition(failed, "Failed")["message"] == "1 BlockedByFailure, 1 Cancelled."
