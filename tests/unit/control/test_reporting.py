"""A report counts only while this process leads, from its beginning to its end, and of an open attempt."""

from collections.abc import Callable
from typing import Any

import jwt
import pytest

from bernstein_agent.contract import Instruction, Report, ResultSubject, Usage
from bernstein_operator.control.reporting import STATUS, ReportOutcome, ReportRefusedError, Reports
from bernstein_operator.kube.tokens import Tokens
from bernstein_operator.world.world import World
from tests.unit.control.ticking import Ticking
from tests.unit.kube.server import Asked, Server, serving
from tests.unit.objects import T0, at, attempt, name_of_pod, pod, raw_run, raw_task, running, status
from tests.unit.world.marks import Marked

NAME = name_of_pod()
SPENT = Report(subject=ResultSubject(id=NAME, attempt=1), usage=Usage(input_tokens=5)).to_json()


class Reviewer(Server):
    """An API server that publishes no keys and takes every token for our Pod's."""

    def next(self, asked: Asked, /) -> tuple[int, Any, dict[str, str]]:
        if asked.method == "GET":
            return 404, {"reason": "NotFound"}, {}
        extra = {f"authentication.kubernetes.io/pod-{what}": [of] for what, of in POD.items()}
        user = {"username": "system:serviceaccount:ns:default", "extra": extra}
        return 201, {"status": {"authenticated": True, "audiences": ["bernstein-operator"], "user": user}}, {}


POD = {"name": NAME, "uid": f"{NAME}-uid"}
BEARER = f"Bearer {jwt.encode({}, 'x' * 32)}"


def scene() -> World:
    world = World(Marked(), clock=lambda: T0)
    world.put_run(raw_run())
    world.put_task(raw_task(status=status(attempt(start_time=at(1)), phase="Running")))
    world.seen(pod(phase="Running", agent=running(1)))
    return world


async def taken(
    world: World, *, leads: Callable[[], bool] = lambda: True, meanwhile: Callable[[], object] = lambda: None
) -> tuple[ReportOutcome, Instruction]:
    """Take a report; ``meanwhile`` happens while its body arrives."""

    async def body() -> bytes:
        meanwhile()
        return SPENT.encode()

    async with serving(Reviewer()) as server:
        tokens = Tokens(server.api, clock=Ticking())
        return await Reports(world, tokens, leads=leads, clock=lambda: T0).take(NAME, BEARER, body)


async def test_a_report_is_taken_once_and_answered_each_time() -> None:
    world = scene()
    assert await taken(world) == (ReportOutcome.ACCEPTED, Instruction())
    assert await taken(world) == (ReportOutcome.REPEATED, Instruction())


def test_every_outcome_has_its_status() -> None:
    assert set(STATUS) == set(ReportOutcome)


def loses_its_lease(_: World, office: set[str]) -> None:
    office.clear()


def closes_the_attempt(world: World, _: set[str]) -> None:
    world.put_task(raw_task(version=2, status=status(attempt(end_time=at(2)))))


def buries_the_pod(world: World, _: set[str]) -> None:
    world.gone(pod(version=2))


@pytest.mark.parametrize(
    ("happens", "outcome"),
    [
        pytest.param(loses_its_lease, ReportOutcome.NOT_NOW, id="the lease is lost"),
        pytest.param(closes_the_attempt, ReportOutcome.ENDED, id="the attempt is closed"),
        pytest.param(buries_the_pod, ReportOutcome.UNKNOWN, id="the Pod is gone"),
    ],
)
async def test_what_happens_while_a_report_arrives_counts(
    happens: Callable[[World, set[str]], None], outcome: ReportOutcome
) -> None:
    world, office = scene(), {"lease"}
    with pytest.raises(ReportRefusedError) as refused:
        await taken(world, leads=lambda: bool(office), meanwhile=lambda: happens(world, office))
    assert refused.value.outcome is outcome
    assert world.meter.reported("t-uid", 1) is None
