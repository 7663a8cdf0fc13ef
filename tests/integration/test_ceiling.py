"""How many agents are live: failures lower it, roles have ceilings of their own, and runs take turns."""

from itertools import count
from typing import Any

import pytest

from tests.support.builders import hand_profile, make_run, make_task
from tests.support.fixtures import StartOperator
from tests.support.kube import Kube, Manifest, condition, eventually
from tests.support.operator import OperatorProcess
from tests.support.pods import fail, live_pods, pods_of, set_pod_running, succeed, wait_pod
from tests.support.recorder import PodRecorder
from tests.support.tasks import holds_for, wait_phase, wait_waiting

NO_RETRY: Manifest = {"retry": {"limit": 0}}
IN_THREE_OF_TEN = frozenset({0, 3, 6})


@pytest.fixture(autouse=True)
def by_hand(kube: Kube) -> None:
    """Pods whose lives the test plays."""
    kube.create(hand_profile())


def ceiling(kube: Kube, run: str = "r") -> Manifest:
    found: Manifest = kube.get("bernsteinruns", run).get("status", {}).get("concurrency", {})
    return found


def level(operator: OperatorProcess, kube: Kube, run: str = "r") -> float:
    """Return what /metrics shows of a run's ceiling."""
    head = f'bernstein_parallelism_level{{namespace="{kube.namespace}",run="{run}"}} '
    lines = operator.http("/metrics")[1].splitlines()
    return next((float(line.removeprefix(head)) for line in lines if line.startswith(head)), -1)


def changes(operator: OperatorProcess, direction: str) -> float:
    head = f'bernstein_ceiling_changes_total{{direction="{direction}",reason="error_rate"}} '
    lines = operator.http("/metrics")[1].splitlines()
    return next((float(line.removeprefix(head)) for line in lines if line.startswith(head)), 0)


def end_one(kube: Kube, *, failing: bool) -> None:
    """Let the oldest live agent end, and begin whoever waits for a node."""
    live = [
        pod if pod["status"]["phase"] != "Pending" else set_pod_running(kube, pod) for pod in live_pods(kube)
    ]
    for pod in live[:1]:
        (fail if failing else succeed)(kube, pod)


def told_of(kube: Kube, reason: str) -> int:
    """Return how many events of a reason there are."""
    return sum(one["reason"] == reason for one in kube.items("events.events.k8s.io"))


class FlakyAgents:
    """Lets the run's agents end one after the other, and looks at its ceiling after each."""

    def __init__(self, kube: Kube) -> None:
        self._kube = kube
        self._ended = count()
        self.seen: list[int] = []

    def until(self, wanted: int, *, failing: frozenset[int]) -> None:
        """End agents, of each ten those numbers badly, until the ceiling is ``wanted``."""

        def reached() -> bool:
            end_one(self._kube, failing=next(self._ended) % 10 in failing)
            self.seen.append(ceiling(self._kube).get("effective", 3))
            return self.seen[-1] == wanted

        eventually(reached, what=f"the ceiling {wanted}", timeout=90)


def test_failures_lower_the_ceiling_step_by_step_and_it_comes_back_when_they_age_out(
    kube: Kube, operator: OperatorProcess, recorder: PodRecorder
) -> None:
    adaptive = {"windowSeconds": 15, "raiseAfterSeconds": 1}
    concurrency = {"maxAgents": 3, "adaptive": adaptive}
    kube.create(make_run(open=True, concurrency=concurrency, taskDefaults=NO_RETRY))
    for index in range(120):
        kube.create(make_task(f"t{index}"))
    agents = FlakyAgents(kube)

    agents.until(2, failing=IN_THREE_OF_TEN)
    shown = ceiling(kube)
    assert (shown["configured"], shown["reduction"], shown["reason"]) == (3, 1, "CeilingReduced")
    assert condition(kube.get("bernsteinruns", "r"), "CeilingReduced")["status"] == "True"
    eventually(lambda: level(operator, kube) == 2, what="the level on /metrics")

    operator.restart(kill=True)
    agents.until(1, failing=IN_THREE_OF_TEN)
    assert {*agents.seen} == {1, 2, 3}
    assert sorted(agents.seen, reverse=True) == agents.seen, "one by one, and a restart lifted nothing"
    eventually(lambda: len(live_pods(kube)) <= 1, what="that nothing starts above the ceiling", timeout=30)

    agents.seen.clear()
    agents.until(3, failing=frozenset())
    assert (sorted(agents.seen), {*agents.seen} >= {2, 3}) == (agents.seen, True), "it came back one by one"
    assert "reason" not in ceiling(kube)
    assert ceiling(kube).get("reduction", 0) == 0
    assert (changes(operator, "down") >= 1, changes(operator, "up")) == (True, 2)
    eventually(lambda: told_of(kube, "CeilingRaised") == 2, what="both events of the way up")
    assert told_of(kube, "CeilingLowered") == 2


def test_failures_move_no_ceiling_that_is_not_adaptive(kube: Kube, operator: OperatorProcess) -> None:
    concurrency = {"maxAgents": 2, "adaptive": {"enabled": False}}
    kube.create(make_run(open=True, concurrency=concurrency, taskDefaults=NO_RETRY))
    for index in range(2):
        kube.create(make_task(f"t{index}"))
    for index in range(2):
        fail(kube, set_pod_running(kube, wait_pod(kube, f"t{index}")))
        wait_phase(kube, f"t{index}", "Failed")
    holds_for(12, lambda: ceiling(kube).get("effective") == 2, what="the ceiling 2, past an evaluation")


def per_role(limits: dict[str, int]) -> dict[str, Any]:
    return {"maxAgents": 5, "maxPerRole": [{"role": role, "max": most} for role, most in limits.items()]}


def test_a_role_has_a_ceiling_of_its_own(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(make_run(concurrency=per_role({"backend": 1, "qa": 0})))
    for name, role in (("b1", "backend"), ("b2", "backend"), ("q1", "qa"), ("d1", "docs")):
        kube.create(make_task(name, role=role))
        if name == "b1":
            wait_pod(kube, name)
    wait_pod(kube, "d1")
    for name, role in (("b2", "backend"), ("q1", "qa")):
        told = condition(wait_waiting(kube, name, "RoleCeiling"), "Admitted")
        assert role in told["message"]
        assert not pods_of(kube, name)

    succeed(kube, set_pod_running(kube, wait_pod(kube, "b1")))
    wait_pod(kube, "b2")
    kube.patch("bernsteinruns", "r", {"spec": {"concurrency": per_role({"backend": 1, "qa": 1})}})
    wait_pod(kube, "q1")


@pytest.mark.parametrize("limit", ["BERNSTEIN_MAX_AGENTS_TOTAL", "BERNSTEIN_MAX_AGENTS_PER_NAMESPACE"])
def test_runs_take_turns_under_the_operators_limit(
    kube: Kube, start_operator: StartOperator, recorder: PodRecorder, limit: str
) -> None:
    start_operator(**{limit: "2"})
    kube.create(make_run("a"))
    for index in range(4):
        kube.create(make_task(f"a{index}", run="a"))
    eventually(lambda: len(live_pods(kube)) == 2, what="two agents of the first run")
    kube.create(make_run("b"))
    for index in range(2):
        kube.create(make_task(f"b{index}", run="b"))

    def waits(run: Manifest) -> bool:
        told = condition(run, "Reconciling")
        return bool(told and told["reason"] == "AtOperatorCeiling")

    kube.wait_for("bernsteinruns", "b", waits, what="that run b waits for the operator's limit")
    holds_for(2, lambda: len(live_pods(kube)) == 2, what="two agents in all")

    order = []
    for _ in range(4):
        known = {pod["metadata"]["name"] for pod in live_pods(kube)}
        of_a = [pod for pod in live_pods(kube) if pod["metadata"]["name"].startswith("a")]
        succeed(kube, set_pod_running(kube, (of_a or live_pods(kube))[0]))
        eventually(lambda known=known: _fresh(kube, known), what="who is next")  # type: ignore[misc]
        order.append(_fresh(kube, known)[0][0])
        assert len(live_pods(kube)) == 2
    assert order == ["b", "a", "b", "a"], "the freed slots go round, whoever freed them"


def _fresh(kube: Kube, known: set[str]) -> list[str]:
    return sorted({pod["metadata"]["name"] for pod in live_pods(kube)} - known)
