"""A profile that fails, or whose provider asks for less, keeps its tasks back, and lets them go again.

Nobody waits five minutes here: while the operator is down the test moves the moment back at which the circuit
was opened.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.support.builders import hand_profile, make_run, make_task
from tests.support.clock import now
from tests.support.kube import Kube, Manifest, condition, eventually
from tests.support.operator import OperatorProcess
from tests.support.pods import (
    end_pod,
    make_result,
    pods_of,
    set_pod_running,
    set_pod_waiting,
    succeed,
    wait_pod,
)
from tests.support.tasks import holds_for, result_classes, wait_phase, wait_waiting

QUEUED = [f"q{number}" for number in range(10)]
REFUSED = {"result_class": "contract", "reason": "CredentialsRefused", "message": "401: the key is refused"}
LIMITED = {"result_class": "capacity", "reason": "RateLimited", "message": "429: slow down"}
DOWN = {"result_class": "transient", "reason": "ProviderUnavailable"}


@pytest.fixture(autouse=True)
def by_hand(kube: Kube) -> None:
    """Pods whose lives the test plays."""
    kube.create(hand_profile())


def end(kube: Kube, task: str, attempt: int = 1, /, **how: Any) -> None:
    """Let the attempt's Pod run and end in failure, with what its agent says."""
    pod = set_pod_running(kube, wait_pod(kube, task, attempt=attempt))
    result = make_result(pod, exit_code=1, **how)
    end_pod(kube, pod, "Failed", 1, "Error", result=result)


def profile_status(kube: Kube) -> Manifest:
    return dict(kube.get("agentprofiles", "default").get("status", {}))


def moment(text: str) -> datetime:
    return datetime.fromisoformat(text)


def states(kube: Kube) -> list[str]:
    return [one["state"] for one in profile_status(kube).get("circuits", ())]


def told(kube: Kube) -> list[str]:
    """Return the reasons of the events about the profile, in their order."""
    found = [one for one in kube.items("events.events.k8s.io") if one["regarding"]["kind"] == "AgentProfile"]
    return [one["reason"] for one in sorted(found, key=lambda one: str(one["eventTime"]))]


def with_pods(kube: Kube, *tasks: str) -> list[str]:
    return [task for task in tasks if pods_of(kube, task)]


def open_circuit(kube: Kube) -> None:
    """Let a task's credentials be refused while ten others queue; all of them wait when it returns."""
    kube.create(make_run(max_agents=1))
    kube.create(make_task("first"))
    wait_pod(kube, "first")
    for name in QUEUED:
        kube.create(make_task(name))
    end(kube, "first", **REFUSED)
    for name in QUEUED:
        wait_waiting(kube, name, "CircuitOpen")


def let_five_minutes_pass(kube: Kube, operator: OperatorProcess) -> None:
    """Kill the operator, move the circuit's opening into the past, and start the operator again."""
    operator.kill()
    [circuit] = profile_status(kube)["circuits"]
    before = datetime.fromtimestamp(now(), UTC) - timedelta(minutes=5)
    moved = {**circuit, "since": before.isoformat().replace("+00:00", "Z")}
    kube.patch_status("agentprofiles", "default", {"circuits": [moved]})
    operator.start()


def test_refused_credentials_keep_a_queue_from_starting(kube: Kube, operator: OperatorProcess) -> None:
    open_circuit(kube)
    assert with_pods(kube, "first", *QUEUED) == ["first"]
    [circuit] = profile_status(kube)["circuits"]
    [failed] = wait_phase(kube, "first", "Failed")["status"]["attempts"]
    assert (circuit["state"], circuit["message"]) == ("Open", REFUSED["message"])
    assert circuit["fingerprint"] == failed["fingerprint"]
    profile = kube.get("agentprofiles", "default")
    assert condition(profile, "Ready")["reason"] == "CircuitOpen"
    assert profile["status"]["observedGeneration"] == profile["metadata"]["generation"]
    said = condition(kube.get("agenttasks", "q9"), "Admitted")["message"]
    assert "'default'" in said
    assert REFUSED["message"] in said
    eventually(lambda: told(kube) == ["CircuitOpened"], what="its event")

    operator.kill()
    operator.start()
    holds_for(3, lambda: with_pods(kube, *QUEUED) == [], what="nothing starts after a restart either")
    assert profile_status(kube) == profile["status"]
    assert told(kube) == ["CircuitOpened"]


def test_after_five_minutes_one_task_probes_and_its_success_lets_the_others_go(
    kube: Kube, operator: OperatorProcess
) -> None:
    open_circuit(kube)
    let_five_minutes_pass(kube, operator)
    probe = wait_pod(kube, QUEUED[0])
    [circuit] = profile_status(kube)["circuits"]
    probing = kube.get("agenttasks", QUEUED[0])["metadata"]["uid"]
    assert (circuit["state"], circuit["probe"]) == ("HalfOpen", probing)
    assert with_pods(kube, *QUEUED) == [QUEUED[0]]
    succeed(kube, set_pod_running(kube, probe))
    wait_pod(kube, QUEUED[1])
    profile = kube.get("agentprofiles", "default")
    assert profile["status"]["clearedTime"]
    assert "circuits" not in profile["status"] or profile["status"]["circuits"] == []
    assert condition(profile, "Ready")["reason"] == "Ready"
    eventually(lambda: told(kube)[-1:] == ["CircuitClosed"], what="its event")


def test_a_probe_that_meets_the_same_failure_opens_the_circuit_again(
    kube: Kube, operator: OperatorProcess
) -> None:
    open_circuit(kube)
    let_five_minutes_pass(kube, operator)
    before = profile_status(kube)["circuits"][0]["since"]
    end(kube, QUEUED[0], **REFUSED)
    eventually(lambda: states(kube) == ["Open"], what="that it is open again")
    assert profile_status(kube)["circuits"][0]["since"] > before
    holds_for(2, lambda: with_pods(kube, *QUEUED[1:]) == [], what="the others wait on")


def test_another_task_probes_where_the_first_is_cancelled(kube: Kube, operator: OperatorProcess) -> None:
    open_circuit(kube)
    let_five_minutes_pass(kube, operator)
    wait_pod(kube, QUEUED[0])
    kube.annotate("agenttasks", QUEUED[0], cancel="true")
    end_pod(kube, set_pod_running(kube, wait_pod(kube, QUEUED[0])), "Failed", 143, "Error")
    wait_pod(kube, QUEUED[1])
    assert states(kube) == ["HalfOpen"]


@pytest.mark.parametrize(
    ("resource", "name"),
    [
        pytest.param("agenttasks", "first", id="of the task that failed"),
        pytest.param("agenttasks", QUEUED[5], id="of one that waits"),
        pytest.param("bernsteinruns", "r", id="of the run"),
    ],
)
def test_a_persons_retry_closes_a_circuit(
    kube: Kube, operator: OperatorProcess, resource: str, name: str
) -> None:
    open_circuit(kube)
    kube.annotate(resource, name, retry="now")
    eventually(lambda: with_pods(kube, *QUEUED) or len(pods_of(kube, "first")) > 1, what="that one starts")
    assert states(kube) == []


def test_a_changed_profile_closes_its_circuits(kube: Kube, operator: OperatorProcess) -> None:
    open_circuit(kube)
    kube.patch("agentprofiles", "default", {"spec": {"image": "registry.invalid/mended:1"}})
    wait_pod(kube, QUEUED[0])
    profile = kube.get("agentprofiles", "default")
    assert profile["status"]["observedGeneration"] == profile["metadata"]["generation"] == 2
    assert states(kube) == []


def test_three_attempts_of_two_tasks_open_a_circuit(kube: Kube, operator: OperatorProcess) -> None:
    quick = {"limit": 9, "backoffSeconds": 1, "maxBackoffSeconds": 1}
    kube.create(make_run(max_agents=2, taskDefaults={"retry": quick}))
    for name in ("a", "b"):
        kube.create(make_task(name))
    end(kube, "a", 1, message="503 at 12:00:01", **DOWN)
    end(kube, "b", 1, message="503 at 12:00:02", **DOWN)
    wait_pod(kube, "a", attempt=2)
    assert profile_status(kube) == {}, "two are not enough, and a healthy profile isn't written"
    end(kube, "a", 2, message="503 at 12:00:03", **DOWN)
    wait_waiting(kube, "a", "CircuitOpen")
    assert states(kube) == ["Open"]


def test_what_a_task_does_wrong_opens_no_circuit(kube: Kube, operator: OperatorProcess) -> None:
    names = ["a", "b", "c"]
    kube.create(make_run(max_agents=3, taskDefaults={"retry": {"limit": 0}}))
    for name in names:
        kube.create(make_task(name, model="my-own"))
        wait_pod(kube, name)
    kube.create(make_task("later"))
    end(kube, "a", result_class="contract", reason="ModelUnknown", message="no such model")
    end(kube, "b", result_class="agent", reason="NonZeroExit", message="red")
    end(kube, "c", result_class="contract", reason="RepositoryNotFound", message="no such repository")
    for name in names:
        assert len(result_classes(wait_phase(kube, name, "Failed"))) == 1
    wait_pod(kube, "later")
    assert profile_status(kube) == {}


def test_an_image_that_cannot_be_had_opens_a_circuit_at_once(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(make_run(max_agents=1))
    kube.create(make_task("a"))
    pod = wait_pod(kube, "a")
    kube.create(make_task("b"))
    set_pod_waiting(kube, pod, reason="InvalidImageName", message="couldn't parse image name")
    wait_waiting(kube, "b", "CircuitOpen")
    assert with_pods(kube, "b") == []


def test_a_rate_limit_holds_the_tasks_of_another_run(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(make_run("r", max_agents=1))
    kube.create(make_run("s", max_agents=1))
    kube.create(make_task("a"))
    wait_pod(kube, "a")
    end(kube, "a", retryAfterSeconds=6, **LIMITED)
    held = kube.wait_for(
        "agentprofiles", "default", lambda found: found.get("status", {}).get("hold"), what="a hold"
    )["status"]["hold"]
    assert (held["reason"], held["message"]) == ("RateLimited", LIMITED["message"])
    kube.create(make_task("b", run="s"))
    waiting = wait_waiting(kube, "b", "ProviderHold")
    [limited] = kube.get("agenttasks", "a")["status"]["attempts"]
    assert limited["retryAfterSeconds"] == 6
    assert held["since"] == limited["endTime"]
    assert held["until"][:19] in condition(waiting, "Admitted")["message"]
    operator.restart(kill=True)
    wait_pod(kube, "b")
    [begun] = kube.get("agenttasks", "b")["status"]["attempts"]
    assert moment(begun["intentTime"]) >= moment(held["until"])
    over = kube.wait_for(
        "agentprofiles", "default", lambda found: "hold" not in found["status"], what="no hold any more"
    )
    assert condition(over, "Ready")["status"] == "True"
    eventually(lambda: told(kube) == ["ProviderHold"], what="its event")
