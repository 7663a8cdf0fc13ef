"""COST: what a run may cost is never overshot by chance, never lost, and compared to the last millionth."""

from collections.abc import Callable
from decimal import Decimal

import pytest

from tests.support.builders import hand_profile, make_run, make_task
from tests.support.fixtures import StartOperator
from tests.support.kube import Kube, Manifest, condition, eventually
from tests.support.operator import OperatorProcess
from tests.support.pods import bind, end_pod, live_pods, make_result, remove_pod, set_pod_running, wait_pod
from tests.support.tasks import holds_for, wait_phase, wait_run, wait_waiting, waits_for
from tests.support.timeline import LABEL_TASK, phase
from tests.support.usage_reports import SETTINGS, report

ALL_BANDS = ["warn", "critical", "stop"]


@pytest.fixture(autouse=True)
def by_hand(kube: Kube) -> None:
    """Pods whose lives the test plays."""
    kube.create(hand_profile())


def budget(run: Manifest) -> Manifest:
    return dict(run["status"].get("budget", {}))


def wait_budget(kube: Kube, holds: Callable[[Manifest], object], *, what: str) -> Manifest:
    """Return what a run's status says of its budget, once that is so."""
    return budget(kube.wait_for("bernsteinruns", "r", lambda run: holds(budget(run)), timeout=60, what=what))


def end(kube: Kube, task: str, cost: str, *, attempt: int = 1, **how: object) -> Manifest:
    """Let an attempt run and end; its result says what it has cost. Return its Pod."""
    pod = set_pod_running(kube, wait_pod(kube, task, attempt=attempt))
    failed = how.get("exit_code", 0)
    result = make_result(pod, cost_usd=cost, **how)  # type: ignore[arg-type]
    end_pod(kube, pod, "Failed" if failed else "Succeeded", 1 if failed else 0, "Error", result=result)
    return pod


def live_tasks(kube: Kube) -> set[str]:
    return {pod["metadata"]["labels"][LABEL_TASK] for pod in live_pods(kube)}


def committed(run: Manifest) -> Decimal:
    stands = budget(run)
    return Decimal(stands["spentUsd"]) + Decimal(stands["reservedUsd"])


def told(kube: Kube, reason: str) -> int:
    """Return how many events of that reason there are."""
    return sum(event["reason"] == reason for event in kube.items("events.events.k8s.io"))


def bands(stands: Manifest) -> list[str]:
    return [one["band"] for one in stands.get("reached", ())]


def test_five_tasks_that_become_ready_at_once_stay_within_the_budget(
    kube: Kube, operator: OperatorProcess
) -> None:
    """COST-1, with budgets of the tasks' own."""
    names = {f"t{number}" for number in range(1, 6)}
    for name in names:
        kube.create(make_task(name, budget={"usd": "0.40"}))
    kube.create(make_run(max_agents=5, budget={"usd": "1.00"}))
    first, second = eventually(lambda: _of_size(live_tasks(kube), 2), what="two agents")
    for name in names - {first, second}:
        wait_waiting(kube, name, "BudgetReserved")
    assert live_tasks(kube) == {first, second}
    wait_budget(kube, lambda found: found.get("reservedUsd") == "0.80", what="two reservations")
    attempt = kube.get("agenttasks", first)["status"]["attempts"][0]
    assert (attempt["reservationUsd"], attempt["capUsd"]) == ("0.40", "0.40")

    end(kube, first, "0.10")
    [third] = eventually(lambda: live_tasks(kube) - {first, second}, what="a third agent")
    holds_for(3, lambda: live_tasks(kube) <= {second, third}, what="0.10 and twice 0.40 leave no 0.40")
    assert committed(kube.get("bernsteinruns", "r")) <= Decimal("1.00")
    # One that hasn't started lets another one have its turn; one that has gives back what it reserved.
    fourth, fifth = sorted(names - {first, second, third})
    for name in (fourth, third):
        kube.annotate("agenttasks", name, cancel="true")
    wait_phase(kube, fourth, "Cancelled")
    wait_pod(kube, fifth)
    assert live_tasks(kube) == {second, fifth}
    assert committed(kube.get("bernsteinruns", "r")) <= Decimal("1.00")


def _of_size(names: set[str], size: int) -> list[str] | None:
    return sorted(names) if len(names) == size else None


def test_without_budgets_of_their_own_tasks_reserve_what_is_usual(
    kube: Kube, operator: OperatorProcess
) -> None:
    """COST-1, without: first the estimate, then the mean of what has ended."""
    kube.create(make_run(max_agents=5, budget={"usd": "1.00"}))
    for number in range(1, 6):
        kube.create(make_task(f"t{number}"))
    [first] = eventually(lambda: live_tasks(kube), what="one agent")
    holds_for(3, lambda: live_tasks(kube) == {first}, what="it alone, with the estimate of 1.00")
    end(kube, first, "0.10")
    eventually(lambda: len(live_tasks(kube)) == 4, what="all others, with the mean of 0.10")
    stands = wait_budget(kube, lambda found: found.get("reservedUsd") == "0.40", what="four reservations")
    assert (stands["spentUsd"], stands["remainingUsd"]) == ("0.10", "0.90")


def test_what_failed_and_deleted_attempts_have_spent_stays_spent(
    kube: Kube, operator: OperatorProcess
) -> None:
    """COST-3: the run's spend is that of all attempts, and never falls."""
    kube.create(make_run(open=True, budget={"usd": "1.00"}))
    kube.create(make_task(retry={"limit": 2, "backoffSeconds": 1, "maxBackoffSeconds": 1}))
    pods = [
        end(kube, "t", "0.45", attempt=number, result_class="agent", exit_code=1, reason="Failed")
        for number in (1, 2)
    ]
    stands = wait_budget(kube, lambda found: found.get("spentUsd") == "0.90", what="both attempts' spend")
    assert bands(stands) == ["warn"]
    eventually(lambda: told(kube, "BudgetWarning") == 1, what="the event of 80 %")
    third = wait_pod(kube, "t", attempt=3)
    attempt = kube.get("agenttasks", "t")["status"]["attempts"][-1]
    assert (attempt["reservationUsd"], attempt["capUsd"]) == ("0.10", "0.10"), "only within what is left"

    for pod in pods:
        remove_pod(kube, pod["metadata"]["name"])
    kube.delete("agenttasks", "t")
    remove_pod(kube, third["metadata"]["name"])
    stands = wait_budget(kube, lambda found: found.get("carriedUsd") == "0.90", what="carried on")
    operator.restart(kill=True)
    kube.create(make_task("later"))
    wait_pod(kube, "later")
    stands = budget(kube.get("bernsteinruns", "r"))
    assert (stands["spentUsd"], stands["carriedUsd"], bands(stands)) == ("0.90", "0.90", ["warn"])


def test_bands_are_reached_exactly_and_told_once_and_a_higher_cap_lets_the_run_go_on(
    kube: Kube, operator: OperatorProcess
) -> None:
    """COST-5: eight dimes, then 0.15, then 0.05; then the budget is doubled and the operator restarted."""
    amounts = ["0.10"] * 8 + ["0.15", "0.05"]
    kube.create(make_run(max_agents=1, budget={"usd": "1.00", "estimatePerAttemptUsd": "0.05"}))
    for number, _ in enumerate([*amounts, "0.10"]):
        kube.create(make_task(f"t{number:02}", priority=number + 1))
    for number, amount in enumerate(amounts):
        end(kube, f"t{number:02}", amount)
        wait_phase(kube, f"t{number:02}", "Succeeded")
        expected = {7: ("0.80", ["warn"]), 8: ("0.95", ["warn", "critical"]), 9: ("1.00", ALL_BANDS)}
        spent, reached = expected.get(number, ("", []))
        if reached:
            stands = wait_budget(kube, lambda found: found["spentUsd"] == spent, what=spent)  # noqa: B023
            assert bands(stands) == reached
    stopped = wait_run(kube, "r", "Stopped")
    assert condition(stopped, "ShouldStop")["status"] == "True"
    assert condition(stopped, "BudgetPressure")["reason"] == "Exhausted"
    assert (budget(stopped)["percent"], budget(stopped)["remainingUsd"]) == (100, "0.00")
    wait_waiting(kube, "t10", "BudgetCritical")

    kube.patch("bernsteinruns", "r", {"spec": {"budget": {"usd": "2.00"}}})
    wait_pod(kube, "t10")
    operator.restart()
    stands = wait_budget(kube, lambda found: found["band"] == "none", what="armed again")
    assert (bands(stands), stands["percent"]) == ([], 50)
    end(kube, "t10", "0.10")
    wait_run(kube, "r", "Succeeded")
    counts = {reason: told(kube, reason) for reason in ("BudgetWarning", "BudgetCritical", "BudgetExhausted")}
    assert counts == {"BudgetWarning": 1, "BudgetCritical": 1, "BudgetExhausted": 1}, "each of them once"
    assert told(kube, "BudgetRearmed") == 1


def test_one_report_that_jumps_over_all_bands_tells_all_of_them(
    kube: Kube, operator: OperatorProcess
) -> None:
    """COST-5, the second run: a single attempt reports 1.01."""
    kube.create(make_run(max_agents=1, budget={"usd": "1.00"}))
    for number in (1, 2):
        kube.create(make_task(f"t{number}", priority=number))
    end(kube, "t1", "1.01")
    stopped = wait_run(kube, "r", "Stopped")
    assert (bands(budget(stopped)), budget(stopped)["percent"]) == (ALL_BANDS, 101)
    for reason in ("BudgetWarning", "BudgetCritical", "BudgetExhausted", "RunStopped"):
        eventually(lambda reason=reason: told(kube, reason) == 1, what=reason)  # type: ignore[misc]
    _, exposed = operator.http("/metrics")
    series = {line.rpartition(" ")[0]: line.rpartition(" ")[2] for line in exposed.splitlines()}
    here = f'namespace="{stopped["metadata"]["namespace"]}",run="r"'
    assert series[f"bernstein_run_cost_usd{{{here}}}"] == "1.01"
    assert series[f"bernstein_run_budget_remaining_usd{{{here}}}"] == "0.0"
    assert series[f'bernstein_run_budget_band{{band="stop",{here}}}'] == "1.0"
    holds_for(3, lambda: phase(kube.get("agenttasks", "t2")) == "Pending", what="nothing starts")
    assert live_pods(kube) == []


def test_a_run_of_tasks_that_each_cost_the_mean_can_spend_its_last_dollar(
    kube: Kube, operator: OperatorProcess
) -> None:
    """What is left never covers the mean in the end, and all the same it is spent, and the run stopped."""
    kube.create(make_run(max_agents=2, budget={"usd": "1.00", "estimatePerAttemptUsd": "0.30"}))
    names = {f"t{number}" for number in range(1, 6)}
    for name in sorted(names):
        kube.create(make_task(name))
    done: set[str] = set()
    while len(done) < 3:
        [name, *_] = eventually(lambda: sorted(live_tasks(kube) - done), what="an agent")
        end(kube, name, "0.30")
        wait_phase(kube, name, "Succeeded")
        done.add(name)
    # 0.10 is left and nobody needs less than 0.30: it is all that the next one gets.
    [last] = eventually(lambda: live_tasks(kube) - done, what="one more agent")
    attempt = kube.get("agenttasks", last)["status"]["attempts"][0]
    assert (attempt["reservationUsd"], attempt["capUsd"]) == ("0.10", "0.10")
    end(kube, last, "0.10")
    stopped = wait_run(kube, "r", "Stopped")
    assert budget(stopped)["spentUsd"] == "1.00"
    [left] = names - done - {last}
    kube.patch("bernsteinruns", "r", {"spec": {"budget": {"usd": "1.30"}}})
    end(kube, left, "0.30")
    wait_run(kube, "r", "Succeeded")


def test_a_run_whose_budget_cannot_pay_a_cent_is_stopped(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(make_run(budget={"usd": "0.009999"}))
    kube.create(make_task("first"))
    kube.create(make_task("behind", depends_on=["first"]))
    stopped = wait_run(kube, "r", "Stopped")
    assert condition(stopped, "Failed")["reason"] == "BudgetExhausted"
    wait_waiting(kube, "first", "BudgetReserved")
    operator.restart(kill=True)
    holds_for(3, lambda: phase(kube.get("bernsteinruns", "r")) == "Stopped", what="also after a restart")
    kube.patch("bernsteinruns", "r", {"spec": {"budget": {"usd": "0.01"}}})
    end(kube, "first", "0.005")
    wait_phase(kube, "first", "Succeeded")


def test_live_agents_are_stopped_and_go_on_once_the_budget_is_raised(
    kube: Kube, operator: OperatorProcess
) -> None:
    kube.create(make_run(budget={"usd": "1.00", "stopGraceSeconds": 2, "estimatePerAttemptUsd": "0.10"}))
    for name in ("dear", "live"):
        kube.create(make_task(name))
    bind(kube, wait_pod(kube, "live")["metadata"]["name"])
    live = set_pod_running(kube, wait_pod(kube, "live"))
    end(kube, "dear", "1.00")
    name = live["metadata"]["name"]
    marked = kube.wait_for(
        "pods",
        name,
        lambda pod: pod["metadata"].get("annotations", {}).get("bernstein.run/stop") == "budget",
        what="told to end for its run's budget",
    )
    end_pod(kube, marked, "Failed", 143, "Error", result=make_result(marked, result_class="disruption"))
    stopped = wait_run(kube, "r", "Stopped")
    assert budget(stopped)["shouldStop"] is True
    task = wait_waiting(kube, "live", "BudgetCritical")
    [attempt] = task["status"]["attempts"]
    assert (attempt["resultClass"], attempt["reason"]) == ("budget", "BudgetExhausted")
    assert not task["status"].get("retries")
    kube.patch("bernsteinruns", "r", {"spec": {"budget": {"usd": "3.00"}}})
    end(kube, "live", "0.10", attempt=2)
    wait_run(kube, "r", "Succeeded")


def test_in_the_critical_band_only_essential_tasks_go_on(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(make_run(open=True, budget={"usd": "1.00", "estimatePerAttemptUsd": "0.01"}))
    kube.create(make_task("dear", priority=1))
    end(kube, "dear", "0.95")
    wait_budget(kube, lambda found: found.get("band") == "critical", what="critical")
    kube.create(make_task("extra", essential=False))
    wait_waiting(kube, "extra", "BudgetCritical")
    stopped = wait_run(kube, "r", "Stopped")
    assert budget(stopped)["shouldStop"] is False
    kube.create(make_task("needed"))
    end(kube, "needed", "0.01")
    wait_phase(kube, "needed", "Succeeded")
    assert waits_for(kube.get("agenttasks", "extra")) == "BudgetCritical"


def go(kube: Kube, task: str) -> Manifest:
    """Return the Pod of a task's first attempt once its agent works on a node."""
    pod = wait_pod(kube, task)
    bind(kube, pod["metadata"]["name"])
    set_pod_running(kube, pod)
    wait_phase(kube, task, "Running")
    return pod


def test_a_slot_is_not_given_away_before_what_its_agent_has_spent_is_booked(
    kube: Kube, operator: OperatorProcess
) -> None:
    kube.create(make_run(max_agents=1, budget={"usd": "0.50", "estimatePerAttemptUsd": "0.10"}))
    for number in (1, 2):
        kube.create(make_task(f"t{number}", priority=number))
    end(kube, "t1", "0.50")
    wait_run(kube, "r", "Stopped")
    assert not kube.get("agenttasks", "t2")["status"].get("attempt"), "it found money that was spent"


def test_what_was_in_flight_when_the_operator_was_killed_is_not_lost(
    kube: Kube, start_operator: StartOperator
) -> None:
    operator = start_operator(**SETTINGS)
    kube.create(make_run(open=True, budget={"usd": "9.00", "estimatePerAttemptUsd": "0.20"}))
    kube.create(make_task(retry={"limit": 0}))
    pod = go(kube, "t")
    report(operator, kube, pod, cost_usd="0.10")
    # Whatever is written next takes it along; what comes then has reached the run only.
    kube.patch("agenttasks", "t", {"spec": {"priority": 1}})
    kube.wait_for("agenttasks", "t", lambda task: task["status"].get("usage"), what="0.10")
    report(operator, kube, pod, cost_usd="0.50")
    wait_budget(kube, lambda found: found.get("inFlightUsd") == "0.40", what="0.40 in flight")
    operator.kill()
    end_pod(kube, pod, "Failed", 1, "Error")
    operator.start()
    wait_phase(kube, "t", "Failed")
    kube.create(make_task("later"))
    end(kube, "later", "0.40")
    stands = wait_budget(kube, lambda found: found["spentUsd"] == "0.90", what="0.50 and 0.40")
    assert stands["carriedUsd"] == "0.40"


def test_a_live_task_that_is_deleted_takes_none_of_its_spend_along(
    kube: Kube, start_operator: StartOperator
) -> None:
    operator = start_operator(**SETTINGS)
    kube.create(make_run(open=True, budget={"usd": "9.00", "estimatePerAttemptUsd": "0.20"}))
    pods = {}
    for name in ("told", "silent"):
        kube.create(make_task(name))
        pods[name] = go(kube, name)
    report(operator, kube, pods["told"], cost_usd="0.07")
    for name, pod in pods.items():
        kube.delete("agenttasks", name)
        remove_pod(kube, pod["metadata"]["name"])
    stands = wait_budget(
        kube, lambda found: found["spentUsd"] == "0.27", what="what was told, and an estimate"
    )
    assert (stands["carriedUsd"], stands["estimatedUsd"]) == ("0.27", "0.20")


def test_agents_that_cost_nothing_cost_nothing_without_their_profile_either(
    kube: Kube, operator: OperatorProcess
) -> None:
    kube.create(hand_profile("free", metering="none"))
    kube.create(make_run(open=True, budget={"usd": "5.00"}))
    kube.create(make_task(profile="free", retry={"limit": 0}))
    pod = go(kube, "t")
    kube.delete("agentprofiles", "free")
    end_pod(kube, pod, "Failed", 1, "Error")
    done = wait_phase(kube, "t", "Failed")
    assert "usage" not in done["status"]


def test_a_shorter_grace_acts_at_once(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(make_run(budget={"usd": "1.00", "stopGraceSeconds": 3600, "estimatePerAttemptUsd": "0.10"}))
    for name in ("dear", "live"):
        kube.create(make_task(name))
    live = go(kube, "live")
    end(kube, "dear", "1.00")
    wait_budget(kube, lambda found: found.get("shouldStop"), what="stop")
    kube.patch("bernsteinruns", "r", {"spec": {"budget": {"stopGraceSeconds": 0}}})
    kube.wait_for(
        "pods",
        live["metadata"]["name"],
        lambda pod: pod["metadata"].get("annotations", {}).get("bernstein.run/stop") == "budget",
        what="told to end for its run's budget",
    )


def test_a_waiting_task_starts_once_it_asks_for_what_there_is(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(make_run(open=True, budget={"usd": "1.00"}))
    kube.create(make_task("first", budget={"usd": "0.60"}))
    wait_pod(kube, "first")
    kube.create(make_task("second", budget={"usd": "0.60"}))
    wait_waiting(kube, "second", "BudgetReserved")
    kube.patch("agenttasks", "second", {"spec": {"budget": {"usd": "0.40"}}})
    wait_pod(kube, "second")


def test_a_config_map_that_is_lost_lifts_no_cap(kube: Kube, operator: OperatorProcess) -> None:
    says = {"bernstein.yaml": "budget: 0.50"}
    kube.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "limits"}, "data": says})
    kube.create(make_run(open=True, configFrom={"configMapRef": {"name": "limits"}}))
    kube.create(make_task("t1", priority=1))
    kube.create(make_task("t2"))
    end(kube, "t1", "0.50")
    wait_run(kube, "r", "Stopped")
    kube.delete("configmaps", "limits")
    operator.restart(kill=True)
    warned = kube.wait_for("bernsteinruns", "r", lambda run: run["status"].get("warnings"), what="a warning")
    assert "there is no ConfigMap 'limits'" in warned["status"]["warnings"][0]
    assert (phase(warned), budget(warned)["capUsd"], budget(warned)["source"]) == (
        "Stopped",
        "0.50",
        "bernstein.yaml",
    )
    kube.patch("bernsteinruns", "r", {"spec": {"configFrom": None}})
    wait_pod(kube, "t2")


def test_limits_may_stand_in_a_config_map(kube: Kube, operator: OperatorProcess) -> None:
    says = {"bernstein.yaml": "seed: {budget_usd: lots}\nbudget: $0.50\n"}
    kube.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "limits"}, "data": says})
    kube.create(make_run(configFrom={"configMapRef": {"name": "limits"}}))
    kube.create(make_task())
    run = kube.wait_for("bernsteinruns", "r", budget, what="a budget")
    assert (budget(run)["capUsd"], budget(run)["source"]) == ("0.50", "bernstein.yaml")
    assert "bernstein.yaml: seed.budget_usd" in run["status"]["warnings"][0]
    wait_pod(kube, "t")
