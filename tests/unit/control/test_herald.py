"""What has happened is told once it is seen to be stored, whoever stored it, answered or not."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

import pytest

from bernstein_operator.api.objects import TaskObject
from bernstein_operator.control.herald import OWED_FOR, Herald
from bernstein_operator.kube.recorder import Recorder
from tests.unit.kube.server import Asked, Server, serving
from tests.unit.objects import at, attempt, profile, run, stamp, status, task

ENDED = attempt(start_time=at(1), end_time=at(9), result_class="success")
BEFORE = task(version=5, status=status(attempt()))
AFTER = task(version=6, status=status(attempt(start_time=at(1)), phase="Running"))
LATER = task(version=7, status=status(ENDED, phase="Succeeded"))
TOUCHED = task(version=6, status=status(attempt()), cancel="no")
ANOTHER = task(version=9, status=status(ENDED, phase="Succeeded"), metadata={"uid": "another"})
WAITS = run(version=5)
BEGUN = run(version=6, status={"startTime": "2026-01-01T12:00:00Z"})

WELL = profile(version=5)
HOLD = {"until": stamp(60), "since": stamp(5), "reason": "RateLimited", "message": "slow down"}
HELD = profile(version=6, status={"hold": HOLD})

Deed = Callable[[Herald], None]


class Willing(Server):
    """Takes everything."""

    def next(self, _: Asked, /) -> tuple[int, Any, dict[str, str]]:
        """Say yes."""
        return 201, {}, {}


async def told(*deeds: Deed) -> list[str]:
    """Return the reasons of the events that are sent, in their order."""
    async with heralding() as (herald, server):
        for deed in deeds:
            deed(herald)
    return reasons(server)


def reasons(server: Server) -> list[str]:
    return [one.body["reason"] for one in server.asked]


@asynccontextmanager
async def heralding() -> AsyncIterator[tuple[Herald, Server]]:
    """Keep a herald and its recorder at work; all is sent when the block is over."""
    async with serving(Willing()) as server:
        recorder = Recorder(server.api)
        running = asyncio.create_task(recorder.run())
        yield Herald(recorder, instance="test"), server
        await recorder.flush()
        running.cancel()


def seen(one: TaskObject) -> Deed:
    return lambda herald: herald.task_seen(one, role="", adapter="")


def gone(herald: Herald) -> None:
    herald.task_gone(("ns", "t"))


@pytest.mark.parametrize(
    ("deeds", "events"),
    [
        pytest.param([seen(AFTER)], [], id="it is new to this process"),
        pytest.param([seen(BEFORE), seen(AFTER)], ["AttemptStarted"], id="it moved on"),
        pytest.param([seen(BEFORE), seen(AFTER), seen(AFTER)], ["AttemptStarted"], id="seen twice"),
        pytest.param([seen(BEFORE), seen(AFTER), seen(BEFORE)], ["AttemptStarted"], id="late news"),
        pytest.param([seen(BEFORE), seen(TOUCHED)], [], id="somebody touched it"),
        pytest.param(
            [seen(BEFORE), seen(LATER)], ["AttemptStarted", "AttemptSucceeded"], id="two steps at once"
        ),
        pytest.param(
            [seen(BEFORE), seen(AFTER), seen(LATER)],
            ["AttemptStarted", "AttemptSucceeded"],
            id="one step after the other",
        ),
        pytest.param([seen(BEFORE), gone, seen(AFTER)], [], id="gone"),
        pytest.param([seen(BEFORE), seen(ANOTHER)], [], id="deleted and made again"),
    ],
)
async def test_what_is_new_about_a_task_is_told_once(deeds: list[Deed], events: list[str]) -> None:
    assert await told(*deeds) == events


async def test_what_the_documents_name_is_logged_by_that_name_without_the_agents_words(
    caplog: pytest.LogCaptureFixture,
) -> None:
    late = attempt(start_time=at(1), end_time=at(9), result_class="deadline", message="the agent's words")
    caplog.set_level("INFO")
    await told(seen(AFTER), seen(task(version=8, status=status(late))))
    [logged] = [one for one in caplog.records if one.message == "task.deadline_exceeded"]
    assert (logged.__dict__["object"], logged.__dict__["reason"]) == ("t", "DeadlineExceeded")
    assert "words" not in str(logged.__dict__)


async def test_what_is_new_about_a_run_is_told_once() -> None:
    assert await told(*(partial(Herald.run_seen, run=one) for one in (WAITS, BEGUN, BEGUN))) == ["RunStarted"]


async def test_what_is_new_about_a_profile_is_told_once() -> None:
    seen = [partial(Herald.profile_seen, profile=one) for one in (WELL, HELD, HELD)]
    assert await told(*seen) == ["ProviderHold"]


@pytest.mark.parametrize(
    ("after", "told_again"),
    [
        pytest.param(OWED_FOR.total_seconds() + 1, ["AttemptStarted", "AttemptSucceeded"], id="just in time"),
        pytest.param(OWED_FOR.total_seconds() + 2, ["AttemptSucceeded"], id="the first is too old"),
        pytest.param(OWED_FOR.total_seconds() + 10, [], id="both are too old"),
    ],
)
async def test_a_start_tells_what_may_be_owed(after: float, told_again: list[str]) -> None:
    async with heralding() as (herald, server):
        await herald.tell_owed([LATER], [], [], now=at(after))
        herald.task_seen(LATER, role="", adapter="")
    assert reasons(server) == told_again


async def test_a_start_tells_nothing_that_is_there_already() -> None:
    async with heralding() as (herald, server):
        await herald.tell_owed([LATER], [], [], now=at(10))
        [first, _] = server.asked
        there = [(LATER.meta.namespace, first.body["metadata"]["name"])]
        await herald.tell_owed([LATER], [], [], sent=there, now=at(10))
    assert reasons(server) == ["AttemptStarted", "AttemptSucceeded", "AttemptSucceeded"]


async def test_what_is_owed_is_told_before_anything_is_decided() -> None:
    async with heralding() as (herald, server):
        await herald.tell_owed([LATER], [BEGUN], [HELD], now=at(10))
        assert reasons(server) == ["ProviderHold", "RunStarted", "AttemptStarted", "AttemptSucceeded"]
