"""A profile's trouble acts from the moment in which it is found out, and is stored like everything else."""

import pytest

from bernstein_operator.control import clock
from tests.unit.control.cluster import PODS, PROFILE, ROOT, Cluster, operating
from tests.unit.objects import Raw, name_of_pod, pod, raw_profile, raw_run, raw_task, said

UNSEEN = {"phase": "Pending", "observedGeneration": -1}
TASKS = [f"t{number}" for number in range(5)]


def refused(task: str) -> Raw:
    """Return what an agent's container says whose credentials were refused just now."""
    told = said(name_of_pod(task=task), "contract", reason="CredentialsRefused", message="401: bad key")
    now = clock.now().strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"terminated": {"exitCode": 1, "startedAt": now, "finishedAt": now, "message": told}}


def waits_for(cluster: Cluster, task: str) -> str | None:
    conditions = cluster.objects[f"{ROOT}/agenttasks/{task}"]["status"].get("conditions", [])
    return next((one["reason"] for one in conditions if one["type"] == "Admitted"), None)


@pytest.mark.parametrize("max_agents", [1, 2], ids=["one slot", "two slots"])
async def test_a_queue_does_not_start_into_a_circuit_that_opens(max_agents: int) -> None:
    run = raw_run(max_agents=max_agents, status=UNSEEN)
    async with operating(run, *(raw_task(name, status=UNSEEN) for name in TASKS)) as cluster:
        world = cluster.writer.world
        first = TASKS[:max_agents]
        await cluster.until(lambda: len(cluster.created(PODS)) == max_agents)
        world.seen(pod(task=first[0], version=500, phase="Failed", agent=refused(first[0])))
        await cluster.until(lambda: waits_for(cluster, TASKS[-1]) == "CircuitOpen")
        held = [name for name in TASKS[max_agents:] if waits_for(cluster, name) == "CircuitOpen"]
    assert held == TASKS[max_agents:]
    assert cluster.created(PODS) == [name_of_pod(task=name) for name in first]
    [circuit] = cluster.objects[PROFILE]["status"]["circuits"]
    assert (circuit["state"], circuit["message"]) == ("Open", "401: bad key")


async def test_a_profile_that_somebody_else_changed_is_decided_anew() -> None:
    run, task = raw_run(max_agents=1, status=UNSEEN), raw_task("t0", status=UNSEEN)
    async with operating(run, task) as cluster:
        await cluster.until(lambda: cluster.created(PODS))
        cluster.objects[PROFILE] = raw_profile(version=200, generation=2)
        cluster.writer.world.seen(pod(task="t0", version=500, phase="Failed", agent=refused("t0")))
        await cluster.until(lambda: cluster.objects[PROFILE]["status"].get("circuits"))
    asked = [one.method for one in cluster.asked if one.path.startswith(PROFILE)]
    assert asked[:3] == ["PATCH", "GET", "PATCH"]
    assert cluster.objects[PROFILE]["status"]["observedGeneration"] == 2
