"""Events are sent in order, a repeat is no error, and none of them ever stands in the way."""

import asyncio
import logging
from typing import Any

import pytest

from bernstein_operator.kube.recorder import Recorder
from tests.unit.kube.server import serving


def event(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "reason": "AttemptStarted"}


@pytest.mark.parametrize(
    ("answers", "tries"),
    [
        pytest.param([(201, {})], 1, id="it was taken"),
        pytest.param([(409, {"reason": "AlreadyExists"})], 1, id="it was sent before"),
        pytest.param([(403, {"reason": "Forbidden", "message": "no"})], 1, id="it may not be sent"),
        pytest.param([(404, {"reason": "NotFound"})], 1, id="its namespace is gone"),
    ],
)
async def test_what_becomes_of_an_event(answers: list[tuple[int, Any]], tries: int) -> None:
    async with serving() as server:
        for answer in [*answers, (201, {})]:
            server.say(*answer)
        recorder = Recorder(server.api)
        recorder.post("ns", event("first"))
        recorder.post("ns", event("second"))
        running = asyncio.create_task(recorder.run())
        await recorder.flush()
        running.cancel()
    assert [one.body["metadata"]["name"] for one in server.asked] == ["first"] * tries + ["second"]


@pytest.mark.parametrize("message", ["may not create events", "{} is forbidden: ns is being terminated"])
async def test_a_refusal_is_told_once_for_each_namespace(
    message: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with serving() as server:
        recorder = Recorder(server.api)
        for number in range(3):
            server.say(403, {"reason": "Forbidden", "message": message.format(number)})
            recorder.post("ns", event(str(number)))
        with caplog.at_level(logging.WARNING, logger="bernstein_operator"):
            running = asyncio.create_task(recorder.run())
            await recorder.flush()
            running.cancel()
    assert [record.getMessage() for record in caplog.records] == ["event refused"]
