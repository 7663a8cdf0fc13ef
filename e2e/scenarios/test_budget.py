"""A run's budget with real spenders: how far it is overshot, when all are stopped, how it goes on."""

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from bernstein_operator.builders.envelope import REPORT_EVERY_SECONDS
from bernstein_operator.decisions.deadline import TERMINATION_GRACE
from e2e.scenarios.cast import profile, script, steady_run
from e2e.scenarios.git_server import GitServer
from e2e.scenarios.readings import Readings
from tests.support.builders import inline_task
from tests.support.kube import Kube, Kubectl, Manifest, condition, eventually
from tests.support.pods import live_pods, pods_of
from tests.support.tasks import attempts, result_classes, wait_phase, wait_run, wait_waiting

TASKS = tuple(f"t{number}" for number in range(5))
CAP, RAISED = Decimal("1.00"), Decimal(20)
USD_PER_SECOND = Decimal("0.03")
"""Of each agent."""
GRACE = 3

SPEND = f"spend usd={USD_PER_SECOND * 30} over=30"
SPENDER = script(
    "on attempt 1: write half.txt: half done",
    f"on attempt 1: {SPEND}",
    # What an agent does that doesn't care when it is asked to finish.
    f"on attempt 1: {SPEND}",
    "write whole.txt: done",
    "commit Do it",
)


def spenders(repository: Manifest) -> Manifest:
    """Return a run whose five agents spend at once."""
    return steady_run(
        concurrency={"maxAgents": len(TASKS)},
        repository=repository,
        budget={"usd": str(CAP), "stopGraceSeconds": GRACE, "estimatePerAttemptUsd": "0.05"},
        tasks=[inline_task(name, prompt=SPENDER) for name in TASKS],
    )


def cap(usd: Decimal) -> Manifest:
    """Return the patch that gives the run another cap."""
    return {"spec": {"budget": {"usd": str(usd)}}}


def budget(kube: Kube) -> dict[str, Any]:
    """Return what the run's status says of its budget."""
    return dict(kube.get("bernsteinruns", "r")["status"].get("budget", {}))


def ends(kube: Kube, task: str) -> datetime:
    """Return when the agent container of the task's first attempt ended, in whole seconds."""
    [status] = pods_of(kube, f"r-{task}")[0]["status"]["containerStatuses"]
    return datetime.fromisoformat(status["state"]["terminated"]["finishedAt"])


def series(kube: Kube, readings: Readings) -> dict[str, float | None]:
    """Return what /metrics shows of the run."""
    of_run = {"namespace": kube.namespace, "run": "r"}
    return {
        "cost": readings.value("bernstein_run_cost_usd", **of_run),
        "remaining": readings.value("bernstein_run_budget_remaining_usd", **of_run),
        "stop": readings.value("bernstein_run_budget_band", **of_run, band="stop"),
        "level": readings.value("bernstein_parallelism_level", **of_run),
    }


def bound(stopped: datetime, ended: Iterator[datetime]) -> Decimal:
    """Return what the run may have cost by what the docs say of overshoot.

    It has reached its cap up to a reporting interval before that is known, and each agent spends until it is
    gone; what its node tells of that is up to a second early.
    """
    late = (REPORT_EVERY_SECONDS + (end - stopped).total_seconds() + 1 for end in ended)
    return CAP + USD_PER_SECOND * Decimal(sum(late))


def test_five_agents_that_spend_at_once_are_stopped_and_go_on_when_the_cap_is_raised(
    kube: Kube, kubectl: Kubectl, git_server: GitServer, readings: Readings
) -> None:
    kube.apply(profile())
    kube.apply(spenders({**git_server.repository, "pushBranchPrefix": f"{kube.namespace}/"}))
    eventually(lambda: len(live_pods(kube)) == len(TASKS), what="five agents at once")
    eventually(lambda: (series(kube, readings)["cost"] or 0) > 0, what="their spend while they work")
    assert series(kube, readings)["level"] == len(TASKS)
    asked = kube.wait_for(
        "bernsteinruns", "r", lambda run: run["status"].get("budget", {}).get("shouldStop"), what="shouldStop"
    )
    assert condition(asked, "ShouldStop")["status"] == "True"

    stopped = wait_run(kube, "r", "Stopped")["status"]["budget"]
    assert (stopped["band"], stopped["shouldStop"], float(stopped["remainingUsd"])) == ("stop", True, 0.0)
    assert [one["band"] for one in stopped["reached"]] == ["warn", "critical", "stop"]
    since = datetime.fromisoformat(stopped["stopTime"])
    last = max(ends(kube, task) for task in TASKS)
    assert last - since <= timedelta(seconds=GRACE) + TERMINATION_GRACE
    spent = Decimal(budget(kube)["spentUsd"])
    assert CAP <= spent <= bound(since, (ends(kube, task) for task in TASKS))
    told = {"cost": float(spent), "remaining": 0.0, "stop": 1.0, "level": float(len(TASKS))}
    eventually(lambda: series(kube, readings) == told, what=f"metrics that say {told}")
    for task in TASKS:
        found = wait_waiting(kube, f"r-{task}", "BudgetCritical")
        assert (found["status"]["phase"], result_classes(found)) == ("Pending", ["budget"])
        assert git_server.content(attempts(found)[0]["rescueBranch"], "half.txt") == "half done\n"

    kubectl("patch", "bernsteinrun/r", "--type=merge", f"--patch={json.dumps(cap(RAISED))}")
    for task in TASKS:
        done = wait_phase(kube, f"r-{task}", "Succeeded")
        assert result_classes(done) == ["budget", "success"]
        assert git_server.content(attempts(done)[1]["branch"], "whole.txt") == "done\n"
    done = wait_run(kube, "r", "Succeeded")["status"]["budget"]
    assert (done["band"], done["shouldStop"], Decimal(done["spentUsd"])) == ("none", False, spent)
    told = {**told, "remaining": float(RAISED - spent), "stop": 0.0}
    eventually(lambda: series(kube, readings) == told, what=f"metrics that say {told}")


def test_a_run_whose_tasks_cost_the_mean_can_spend_its_last_dollar(kube: Kube) -> None:
    """Four tasks of a quarter each, two at once: nothing is left over, and nobody waits for ever."""
    each = script("spend usd=0.25 over=6")
    kube.apply(profile())
    kube.apply(
        steady_run(
            concurrency={"maxAgents": 2},
            budget={"usd": str(CAP), "estimatePerAttemptUsd": "0.25"},
            tasks=[inline_task(f"t{number}", prompt=each) for number in range(4)],
        )
    )
    done = wait_run(kube, "r", "Succeeded")["status"]["budget"]
    found = [kube.get("agenttasks", f"r-t{number}") for number in range(4)]
    assert [result_classes(task) for task in found] == [["success"]] * 4
    given = sorted(Decimal(attempts(task)[0]["capUsd"]) for task in found)
    assert given == [CAP * number / 4 for number in (1, 2, 3, 4)]
    assert CAP * 3 / 4 < Decimal(done["spentUsd"]) <= CAP
