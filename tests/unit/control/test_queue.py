"""A marked key waits once, is worked on by one at a time, and comes again when it has to."""

import asyncio
import tracemalloc

import pytest

from bernstein_operator.control.clock import monotonic
from bernstein_operator.control.queue import Kind, WorkKey, WorkQueue
from tests.unit.control.ticking import Ticking

A, B, C = (WorkKey(Kind.TASK, "ns", name) for name in "abc")


@pytest.fixture
def clock() -> Ticking:
    return Ticking()


@pytest.fixture
def queue(clock: Ticking) -> WorkQueue:
    return WorkQueue(clock)


async def empty(queue: WorkQueue) -> bool:
    """Whether nobody gets a key now; asking must not lose one either."""
    asking = asyncio.create_task(queue.get())
    for _ in range(3):
        await asyncio.sleep(0)
    if asking.done():
        return False
    asking.cancel()
    return True


async def test_keys_come_in_the_order_in_which_they_were_marked(queue: WorkQueue) -> None:
    for key in (B, A, C):
        queue.add(key)
    assert [await queue.get() for _ in range(3)] == [B, A, C]


async def test_profiles_come_first(queue: WorkQueue) -> None:
    profile = WorkKey(Kind.PROFILE, "ns", "p")
    for key in (A, profile, B):
        queue.add(key)
    assert [await queue.get() for _ in range(3)] == [profile, A, B]


async def test_a_key_that_is_marked_twice_comes_once(queue: WorkQueue) -> None:
    queue.add(A)
    queue.add(A)
    assert len(queue) == 1
    assert await queue.get() == A
    assert await empty(queue)


async def test_a_busy_key_comes_again_only_once_it_is_done(queue: WorkQueue) -> None:
    queue.add(A)
    await queue.get()
    queue.add(A)
    queue.add(A)
    assert await empty(queue)
    queue.done(A)
    assert await queue.get() == A
    queue.done(A)
    assert await empty(queue)


async def test_a_key_that_is_done_and_was_not_marked_stays_away(queue: WorkQueue) -> None:
    queue.add(A)
    await queue.get()
    queue.done(A)
    assert await empty(queue)
    assert len(queue) == 0


async def test_other_keys_do_not_wait_for_a_busy_one(queue: WorkQueue) -> None:
    queue.add(A)
    await queue.get()
    queue.add(A)
    queue.add(B)
    assert await queue.get() == B


async def test_a_scheduled_key_ripens_exactly_at_its_moment(queue: WorkQueue, clock: Ticking) -> None:
    queue.schedule(A, 5)
    clock.now += 4.999
    assert await empty(queue)
    clock.now += 0.001
    assert await queue.get() == A


async def test_scheduled_keys_ripen_in_the_order_of_their_moments(queue: WorkQueue, clock: Ticking) -> None:
    queue.schedule(A, 9)
    queue.schedule(B, 3)
    clock.now += 10
    assert [await queue.get(), await queue.get()] == [B, A]


@pytest.mark.parametrize(("again", "ripe_at"), [(2.0, 2), (9.0, 9)], ids=["sooner", "later"])
async def test_a_later_schedule_replaces_the_earlier_one(
    queue: WorkQueue, clock: Ticking, again: float, ripe_at: float
) -> None:
    queue.schedule(A, 5)
    queue.schedule(A, again)
    clock.now += ripe_at
    assert await queue.get() == A
    queue.done(A)
    clock.now += 100
    assert await empty(queue), "the moment that was replaced means nothing any more"


async def test_a_schedule_can_be_taken_back(queue: WorkQueue, clock: Ticking) -> None:
    queue.schedule(A, 5)
    queue.schedule(A, None)
    clock.now += 100
    assert await empty(queue)


async def test_moments_that_were_replaced_take_no_room(queue: WorkQueue, clock: Ticking) -> None:
    tracemalloc.start()
    queue.schedule(B, 3)
    for number in range(20_000):
        queue.schedule(A, 1_000_000 + number)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 500_000, "bytes"
    clock.now += 2_000_000
    assert [await queue.get(), await queue.get()] == [B, A]
    assert await empty(queue)


async def test_a_moment_that_has_passed_is_now(queue: WorkQueue) -> None:
    queue.schedule(A, -3)
    assert await queue.get() == A


async def test_a_key_that_ripens_while_it_is_busy_comes_afterwards(queue: WorkQueue, clock: Ticking) -> None:
    queue.add(A)
    await queue.get()
    queue.schedule(A, 1)
    clock.now += 2
    assert await empty(queue)
    queue.done(A)
    assert await queue.get() == A


async def test_who_waits_is_woken_by_a_mark_and_by_a_moment() -> None:
    queue = WorkQueue(monotonic)
    waiting = asyncio.create_task(queue.get())
    await asyncio.sleep(0)
    queue.add(A)
    assert await waiting == A
    waiting = asyncio.create_task(queue.get())
    await asyncio.sleep(0)
    queue.schedule(B, 0.01)
    assert await waiting == B


async def test_a_failing_key_comes_later_each_time_up_to_a_bound(queue: WorkQueue, clock: Ticking) -> None:
    for _ in range(40):
        queue.retry(A)
    clock.now += 14.9
    assert await empty(queue), "at least half of the longest wait"
    clock.now += 30.2
    assert await queue.get() == A


async def test_a_first_failure_comes_again_soon_also_after_a_success(
    queue: WorkQueue, clock: Ticking
) -> None:
    for _ in range(40):
        queue.retry(A)
    queue.succeeded(A)
    queue.retry(A)
    clock.now += 0.16
    assert await queue.get() == A
