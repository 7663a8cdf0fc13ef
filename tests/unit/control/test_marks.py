"""A mark of the world is a key in the queue."""

from bernstein_operator.api.snapshot import Refusal
from bernstein_operator.api.vocabulary import AdmittedReason
from bernstein_operator.control.controller import Marks
from bernstein_operator.control.holds import Holds
from bernstein_operator.control.queue import Kind, WorkKey, WorkQueue
from bernstein_operator.world.world import World
from tests.unit.control.ticking import Ticking
from tests.unit.objects import T0, attempt, pod, raw_profile, raw_run, raw_task, status


def parts() -> tuple[WorkQueue, Holds, World]:
    clock = Ticking()
    queue, holds = WorkQueue(clock), Holds(clock)
    world = World(Marks(queue, holds), clock=lambda: T0)
    world.put_profile(raw_profile())
    world.put_run(raw_run())
    return queue, holds, world


async def drained(queue: WorkQueue) -> set[WorkKey]:
    found = set()
    while len(queue):
        key = await queue.get()
        queue.done(key)
        found.add(key)
    return found


async def test_a_changed_task_and_its_run_are_looked_at() -> None:
    queue, _, world = parts()
    world.put_task(raw_task())
    assert await drained(queue) == {
        WorkKey(Kind.PROFILE, "ns", "default"),
        WorkKey(Kind.RUN, "ns", "r"),
        WorkKey(Kind.TASK, "ns", "t"),
    }


async def test_who_stands_by_keeps_no_keys_and_looks_at_everything_when_it_wakes() -> None:
    clock = Ticking()
    queue = WorkQueue(clock)
    marks = Marks(queue, Holds(clock), asleep=True)
    world = World(marks, clock=lambda: T0)
    world.put_run(raw_run())
    world.put_profile(raw_profile())
    for name in ("kept", "deleted"):
        world.put_task(raw_task(name))
    world.drop_task(world.task(("ns", "deleted")).meta)  # type: ignore[union-attr]
    assert len(queue) == 0
    marks.wake(runs=world.runs, tasks=world.tasks, profiles=world.profiles.objects.values())
    assert await drained(queue) == {
        WorkKey(Kind.PROFILE, "ns", "default"),
        WorkKey(Kind.RUN, "ns", "r"),
        WorkKey(Kind.TASK, "ns", "kept"),
    }
    world.put_task(raw_task("new"))
    assert WorkKey(Kind.TASK, "ns", "new") in await drained(queue)


async def test_an_ended_pod_lets_refused_tasks_of_its_namespace_try_at_once() -> None:
    queue, holds, world = parts()
    world.put_task(raw_task("u"))
    world.put_task(raw_task(status=status(attempt())))
    world.seen(pod(version=2, phase="Running"))
    holds.refused(("ns", "u"), "u-uid", Refusal(AdmittedReason.QUOTA_EXCEEDED, "full"))
    await drained(queue)
    world.seen(pod(version=3, phase="Succeeded"))
    assert WorkKey(Kind.TASK, "ns", "u") in await drained(queue)
    assert holds.task_wait("u-uid") == 0


async def test_a_refused_attempt_that_is_taken_back_keeps_waiting() -> None:
    _, holds, world = parts()
    world.put_task(raw_task(version=1, status=status(attempt())))
    holds.refused(("ns", "t"), "t-uid", Refusal(AdmittedReason.QUOTA_EXCEEDED, "full"))
    world.put_task(raw_task(version=2, status=status()))
    assert holds.task_wait("t-uid") > 0
