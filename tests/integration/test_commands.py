"""What people ask by annotation: abandon, quarantine, retry and drain, what acts and what stays."""

import pytest

from tests.support.builders import hand_profile, inline_task, make_run, make_task
from tests.support.faults import Delay, DelayEvents, Drop, Hold, Rule
from tests.support.kube import Kube, Kubectl, Manifest, condition, eventually
from tests.support.operator import OperatorProcess
from tests.support.pods import bind, end_pod, fail, pods_of, set_pod_running, succeed, wait_pod
from tests.support.proxy import FaultProxy
from tests.support.tasks import attempts, holds_for, result_classes, wait_phase, wait_run, wait_waiting
from tests.support.timeline import phase

NEVER_RETRIED = {"limit": 0}


@pytest.fixture(autouse=True)
def by_hand(kube: Kube) -> None:
    """Pods whose lives the test plays."""
    kube.create(hand_profile())


def start(kube: Kube, task: str, *, attempt: int = 1) -> Manifest:
    """Let the task's next agent run, on a node."""
    pod = wait_pod(kube, task, attempt=attempt)
    bind(kube, pod["metadata"]["name"])
    return set_pod_running(kube, pod)


def stopped(kube: Kube, pod: Manifest) -> Manifest:
    """Return a Pod once it was told to stop."""
    return kube.wait_for(
        "pods",
        pod["metadata"]["name"],
        lambda found: "bernstein.run/stop" in found["metadata"]["annotations"],
        what="stop",
    )


def told(kube: Kube, name: str) -> set[str]:
    """Return the reasons of the events about an object."""
    return {text.partition(":")[0] for text in kube.events_of(name)}


def test_an_abandoned_task_blocks_what_depends_on_it(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(make_run(tasks=[inline_task("a"), inline_task("b", dependsOn=["a"])]))
    pod = start(kube, "r-a")
    kube.annotate("agenttasks", "r-a", abandon="Out_Of_Scope: needs a product decision", actor="ada")
    given_up = wait_phase(kube, "r-a", "Abandoned")
    record = given_up["status"]["abandonment"]
    assert (record["reason"], record["detail"], record["actor"]) == (
        "out_of_scope",
        "needs a product decision",
        "ada",
    )
    assert condition(given_up, "Abandoned")["reason"] == "OutOfScope"
    asked = stopped(kube, pod)
    assert asked["metadata"]["annotations"]["bernstein.run/stop"] == "abandoned"
    end_pod(kube, asked, "Failed", 143, "Error")
    blocked = wait_phase(kube, "r-b", "BlockedByAbandon")
    assert blocked["status"]["blockedBy"] == {"task": "a", "rootCause": "a", "cause": "Abandoned"}
    wait_run(kube, "r", "Failed")
    assert result_classes(kube.get("agenttasks", "r-a")) == ["abandoned"]
    eventually(lambda: "Abandoned" in told(kube, "r-a"), what="its event")


def test_abandoned_stays_abandoned(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(make_run())
    kube.create(make_task(retry=NEVER_RETRIED))
    pod = start(kube, "t")
    kube.annotate("agenttasks", "t", abandon="whatever: it is too hard")
    record = wait_phase(kube, "t", "Abandoned")["status"]["abandonment"]
    assert (record["reason"], record["detail"]) == ("other", "whatever: it is too hard")
    succeed(kube, pod)
    for number in range(10):
        kube.annotate("agenttasks", "t", poke=str(number))
    kube.annotate("agenttasks", "t", abandon="unsafe_change", retry="1", cancel="true")
    operator.restart(kill=True)
    kube.patch("agenttasks", "t", {"spec": {"timeoutSeconds": 77}})
    holds_for(3, lambda: phase(kube.get("agenttasks", "t")) == "Abandoned", what="Abandoned")
    after = kube.get("agenttasks", "t")
    assert after["status"]["abandonment"] == record
    assert len(pods_of(kube, "t")) == 1
    ignored = {one["verb"]: one["effect"] for one in after["status"]["requests"]}
    assert set(ignored.values()) == {"Ignored: the task is Abandoned."}
    eventually(lambda: {"UnknownAbandonReason", "ChangeIgnored"} <= told(kube, "t"), what="its events")


def test_a_quarantined_task_waits_for_a_person(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(make_run(tasks=[inline_task("a"), inline_task("b", dependsOn=["a"])]))
    pod = start(kube, "r-a")
    kube.annotate("agenttasks", "r-a", quarantine="odd network traffic", actor="ada")
    wait_phase(kube, "r-a", "Quarantined")
    blocked = wait_phase(kube, "r-b", "BlockedByFailure")
    assert blocked["status"]["blockedBy"]["cause"] == "Quarantined"
    end_pod(kube, stopped(kube, pod), "Failed", 143, "Error")
    wait_run(kube, "r", "Failed")

    kube.annotate("agenttasks", "r-a", retry="2026-01-01T12:00:00Z")
    succeed(kube, start(kube, "r-a", attempt=2))
    succeed(kube, start(kube, "r-b"))
    done = wait_run(kube, "r", "Succeeded")
    assert not condition(done, "Failed")
    assert result_classes(kube.get("agenttasks", "r-a")) == ["cancelled", "success"]


@pytest.mark.parametrize(("resource", "name"), [("agenttasks", "r-a"), ("bernsteinruns", "r")])
def test_a_persons_retry_reopens_a_failed_run(
    kube: Kube, operator: OperatorProcess, resource: str, name: str
) -> None:
    tasks = [inline_task("a"), inline_task("b", dependsOn=["a"]), inline_task("done")]
    kube.create(make_run(taskDefaults={"retry": NEVER_RETRIED}, tasks=tasks))
    fail(kube, start(kube, "r-a"))
    succeed(kube, start(kube, "r-done"))
    wait_phase(kube, "r-b", "BlockedByFailure")
    assert condition(wait_run(kube, "r", "Failed"), "Finished")["status"] == "True"

    kube.annotate(resource, name, retry="again")
    reopened = wait_run(kube, "r", "Running")
    assert "completionTime" not in reopened["status"]
    assert not condition(reopened, "Finished")
    fail(kube, start(kube, "r-a", attempt=2))
    wait_run(kube, "r", "Failed")
    holds_for(2, lambda: len(pods_of(kube, "r-a")) == 2, what="one value is one retry")

    kube.annotate(resource, name, retry="and again")
    succeed(kube, start(kube, "r-a", attempt=3))
    succeed(kube, start(kube, "r-b"))
    wait_run(kube, "r", "Succeeded")
    assert len(pods_of(kube, "r-done")) == 1
    assert [one["number"] for one in attempts(kube.get("agenttasks", "r-a"))] == [1, 2, 3]


@pytest.mark.parametrize("verb", ["cancel", "drain"])
def test_an_end_that_is_asked_of_a_failed_run_moves_nothing(
    kube: Kube, operator: OperatorProcess, verb: str
) -> None:
    tasks = [inline_task("a"), inline_task("b", dependsOn=["a"])]
    kube.create(make_run(taskDefaults={"retry": NEVER_RETRIED}, tasks=tasks))
    fail(kube, start(kube, "r-a"))
    wait_run(kube, "r", "Failed")
    kube.annotate("bernsteinruns", "r", **{verb: "true"})
    eventually(lambda: "ChangeIgnored" in told(kube, "r"), what="its event")
    kube.annotate("agenttasks", "r-a", retry="with that still set")
    eventually(lambda: "ChangeIgnored" in told(kube, "r-a"), what="its event")
    assert [phase(kube.get("agenttasks", name)) for name in ("r-a", "r-b")] == ["Failed", "BlockedByFailure"]

    kube.annotate("bernsteinruns", "r", **{verb: None})
    kube.annotate("agenttasks", "r-a", retry="now")
    succeed(kube, start(kube, "r-a", attempt=2))
    succeed(kube, start(kube, "r-b"))
    wait_run(kube, "r", "Succeeded")


def test_a_retry_that_an_operator_died_of_reopens_its_run(
    kube: Kube, proxy: FaultProxy, operator: OperatorProcess
) -> None:
    kube.create(make_run(taskDefaults={"retry": NEVER_RETRIED}, tasks=[inline_task("a")]))
    fail(kube, start(kube, "r-a"))
    wait_run(kube, "r", "Failed")
    with proxy.fault(Drop(), verbs="patch", resource="bernsteinruns/status"):
        kube.annotate("agenttasks", "r-a", retry="again")
        wait_phase(kube, "r-a", "Pending")
        operator.kill()
    with proxy.fault(Delay(seconds=2), verbs="list", resource="bernsteinruns"):
        # Its tasks are heard of before the run.
        operator.start()
    succeed(kube, start(kube, "r-a", attempt=2))
    wait_run(kube, "r", "Succeeded")


def test_a_retry_that_is_stored_late_keeps_its_run_open(
    kube: Kube, proxy: FaultProxy, operator: OperatorProcess
) -> None:
    kube.create(make_run(taskDefaults={"retry": NEVER_RETRIED}, tasks=[inline_task("a"), inline_task("b")]))
    fail(kube, start(kube, "r-a"))
    other = start(kube, "r-b")
    wait_phase(kube, "r-a", "Failed")
    late = proxy.add(Rule(action=Hold(), verbs="patch", resource="agenttasks/status", name="r-a"))
    again = {"bernstein.run/retry": "again"}
    # A suspended task takes no slot, so nothing but its retry says that the run goes on.
    kube.patch("agenttasks", "r-a", {"spec": {"suspend": True}, "metadata": {"annotations": again}})
    eventually(lambda: late.hits, what="the answer on its way")
    fail(kube, other)
    wait_phase(kube, "r-b", "Failed")
    holds_for(2, lambda: phase(kube.get("bernsteinruns", "r")) == "Running", what="the run waits for it")
    proxy.remove(late)
    wait_waiting(kube, "r-a", "Suspended")
    kube.patch("agenttasks", "r-a", {"spec": {"suspend": False}})
    succeed(kube, start(kube, "r-a", attempt=2))
    wait_run(kube, "r", "Failed")


def test_an_agent_in_quarantine_is_stopped_though_a_retry_comes_with_it(
    kube: Kube, operator: OperatorProcess
) -> None:
    kube.create(make_run(tasks=[inline_task("a")]))
    pod = start(kube, "r-a")
    kube.annotate("agenttasks", "r-a", quarantine="odd", retry="1")
    end_pod(kube, stopped(kube, pod), "Failed", 143, "Error")
    succeed(kube, start(kube, "r-a", attempt=2))
    wait_run(kube, "r", "Succeeded")
    assert result_classes(kube.get("agenttasks", "r-a")) == ["cancelled", "success"]


def test_a_drained_run_lets_its_agents_finish(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(make_run(max_agents=2, tasks=[inline_task(name) for name in ("a", "b", "c")]))
    live = [start(kube, "r-a"), start(kube, "r-b")]
    kube.annotate("bernsteinruns", "r", drain="true")
    wait_run(kube, "r", "Draining")
    wait_phase(kube, "r-c", "Cancelled")
    kube.annotate("bernsteinruns", "r", drain=None)
    for pod in live:
        name = pod["metadata"]["name"]
        assert "bernstein.run/stop" not in kube.get("pods", name)["metadata"]["annotations"]
    succeed(kube, live[0])
    fail(kube, live[1])
    done = wait_run(kube, "r", "Cancelled")
    assert (done["status"]["tasks"]["succeeded"], done["status"]["tasks"]["cancelled"]) == (1, 2)
    assert len(pods_of(kube, "r-b")) == 1
    eventually(lambda: "RunDraining" in told(kube, "r"), what="its event")


@pytest.mark.parametrize(
    ("resource", "name", "verb"),
    [("agenttasks", "t", "cancel"), ("bernsteinruns", "r", "cancel"), ("bernsteinruns", "r", "drain")],
)
def test_only_true_ends_anything(
    kube: Kube, operator: OperatorProcess, resource: str, name: str, verb: str
) -> None:
    kube.create(make_run())
    kube.create(make_task())
    pod = start(kube, "t")
    kube.annotate(resource, name, **{verb: "yes"})
    eventually(lambda: "UnknownAnnotationValue" in told(kube, name), what="its event")
    succeed(kube, pod)
    wait_run(kube, "r", "Succeeded")


def test_an_open_run_ends_once_it_is_closed(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(make_run(open=True))
    kube.create(make_task())
    succeed(kube, start(kube, "t"))
    wait_phase(kube, "t", "Succeeded")
    holds_for(2, lambda: phase(kube.get("bernsteinruns", "r")) == "Running", what="an open run goes on")
    kube.create(make_task("later"))
    succeed(kube, start(kube, "later"))
    wait_phase(kube, "later", "Succeeded")
    kube.patch("bernsteinruns", "r", {"spec": {"open": False}})
    wait_run(kube, "r", "Succeeded")


@pytest.mark.parametrize("whole", [False, True], ids=["a tombstone stays", "all of it goes"])
def test_tasks_of_an_ended_run_go_in_time(kube: Kube, operator: OperatorProcess, whole: bool) -> None:
    kube.create(make_run(ttl={"succeededSeconds": 1, "deleteRun": whole}, tasks=[inline_task("a")]))
    kube.create(make_task("loner"))
    succeed(kube, start(kube, "r-a"))
    succeed(kube, start(kube, "loner"))
    for name in ("r-a", "loner"):
        kube.wait_gone("agenttasks", name)
    if whole:
        kube.wait_gone("bernsteinruns", "r")
        return
    operator.restart(kill=True)
    holds_for(2, lambda: not kube.items("agenttasks"), what="no task is made again")
    kept = kube.get("bernsteinruns", "r")
    assert phase(kept) == "Succeeded"
    assert (kept["status"]["tasks"]["total"], kept["status"]["tasks"]["succeeded"]) == (2, 2)


@pytest.mark.parametrize(("resource", "name"), [("agenttasks", "r-a"), ("bernsteinruns", "r")])
def test_what_is_asked_for_a_retry_in_time_is_kept(
    kube: Kube, proxy: FaultProxy, operator: OperatorProcess, resource: str, name: str
) -> None:
    limits = {"failedSeconds": 5}
    kube.create(make_run(taskDefaults={"retry": NEVER_RETRIED}, ttl=limits, tasks=[inline_task("a")]))
    fail(kube, start(kube, "r-a"))
    wait_run(kube, "r", "Failed")
    with proxy.fault(DelayEvents(seconds=8), verbs="watch", resource=resource):
        kube.annotate(resource, name, retry="before its time is over")
        succeed(kube, start(kube, "r-a", attempt=2))
    wait_run(kube, "r", "Succeeded")


def test_as_its_user_types_it(kube: Kube, kubectl: Kubectl, operator: OperatorProcess) -> None:
    kube.create(make_run())
    kube.create(make_task(suspend=True))
    wait_waiting(kube, "t", "Suspended")
    kubectl("annotate", "agenttask/t", "bernstein.run/abandon=env_broken: no docker in here")
    kubectl("wait", "agenttask/t", "--for=condition=Abandoned", "--timeout=20s")
    kubectl("wait", "bsrun/r", "--for=condition=Finished", "--timeout=20s")
    assert "BlockedByAbandon" not in kubectl("get", "agenttasks")
