"""The main promise in one: many tasks under a ceiling, and an operator that is killed again and again."""

from collections import Counter
from functools import partial

import pytest

from tests.support.builders import inline_task, kwok_profile, make_run
from tests.support.clock import now
from tests.support.kube import Kube, eventually
from tests.support.operator import OperatorProcess
from tests.support.recorder import PodRecorder
from tests.support.tasks import result_classes, wait_run
from tests.support.timeline import Kind, World, owner_uid, phase

TASKS, CEILING, KILLS = 60, 5, 5


@pytest.mark.slow
def test_sixty_tasks_under_a_ceiling_of_five_survive_five_kills(
    kube: Kube, operator: OperatorProcess, recorder: PodRecorder
) -> None:
    kube.create(kwok_profile())
    # Each task takes ten seconds: beside tasks that are over at once, what is measured would be how fast
    # this machine, busy with other tests, makes Pods, not how the operator fills its slots.
    tasks = [inline_task(f"t{index}", role="kwok-slow") for index in range(TASKS)]
    begun = now()
    run = kube.create(make_run(max_agents=CEILING, tasks=tasks))["metadata"]
    for kill in range(1, KILLS + 1):
        eventually(partial(_have_succeeded, kube, kill * 9), timeout=120, what="progress")
        operator.restart(kill=True)
    wait_run(kube, "r", "Succeeded", timeout=120)
    recorder.catch_up()

    live, owners = _most_live(recorder, f"{run['namespace']}/r"), _pods_by_task(recorder)
    usage = recorder.slot_usage(f"{run['namespace']}/r", begun, now())
    print(  # noqa: T201
        f"at most {live} of {CEILING} slots held; {owners.total()} Pods for {TASKS} tasks;"
        f" {usage.share:.1%} of {usage.offered:.0f} slot-seconds used outside {KILLS} restarts"
    )
    assert live == CEILING
    assert list(owners.values()) == [1] * TASKS, "every task was done exactly once"
    assert [result_classes(task) for task in kube.items("agenttasks")] == [["success"]] * TASKS
    assert usage.share >= 0.95


def _have_succeeded(kube: Kube, count: int) -> bool:
    return sum(phase(task) == "Succeeded" for task in kube.items("agenttasks")) >= count


def _most_live(recorder: PodRecorder, run: str) -> int:
    """Return how many agent Pods of ``run`` were live at most at one moment."""
    world, most = World(), 0
    for seen in recorder.observations:
        world.apply(seen)
        most = max(most, len(world.live_of_run(run)))
    return most


def _pods_by_task(recorder: PodRecorder) -> Counter[str | None]:
    """Return how many Pods each task ever had, by the task's UID."""
    pods = {seen.uid: seen.manifest for seen in recorder.observations if seen.kind is Kind.POD}
    return Counter(owner_uid(pod) for pod in pods.values())
