"""ConfigMaps that runs name are read, read again, and missed where they are not there."""

import json
from typing import Any

import pytest

from bernstein_operator.api.choices import CapSource
from bernstein_operator.api.money import Money
from bernstein_operator.api.run_config import RunConfig
from bernstein_operator.control.configs import READ_SECONDS, ConfigReader
from bernstein_operator.world.world import World
from tests.unit.kube.server import serving
from tests.unit.objects import T0, raw_run
from tests.unit.world.marks import Marked

NAMED: dict[str, Any] = {"configFrom": {"configMapRef": {"name": "limits"}}}


def says(dollars: int) -> dict[str, Any]:
    return {"data": {"run_config.json": json.dumps({"budget_usd": dollars})}}


def world_of(*runs: dict[str, Any]) -> tuple[World, Marked]:
    marks = Marked()
    world = World(marks, clock=lambda: T0)
    for one in runs:
        world.put_run(one)
    marks.forget()
    return world, marks


def read_of(world: World) -> RunConfig | None:
    run = world.run(("ns", "r"))
    assert run
    return world.configs.of(run)


async def test_a_run_without_one_waits_for_nothing() -> None:
    world, _ = world_of(raw_run())
    assert read_of(world) == RunConfig()


async def test_a_run_learns_of_its_limits_and_of_their_change() -> None:
    world, marks = world_of(raw_run(**NAMED), raw_run("other", metadata={"uid": "other-uid"}))
    clock = [0.0]
    async with serving() as server:
        reader = ConfigReader(server.api, world, lambda: clock[0])
        assert read_of(world) is None
        for seconds, body, dollars, marked in (
            (0.0, says(5), 5, {"r"}),
            (READ_SECONDS - 0.1, None, 5, set()),
            (READ_SECONDS, says(5), 5, set()),
            (READ_SECONDS * 2, says(7), 7, {"r"}),
        ):
            clock[0] = seconds
            if body:
                server.say(200, body)
            marks.forget()
            await reader.look()
            assert read_of(world) == RunConfig(run_config_usd=Money(dollars * 1_000_000))
            assert marks.runs == marked
        assert len(server.asked) == 3


@pytest.mark.parametrize(
    ("code", "answer", "told"),
    [
        pytest.param(404, {"reason": "NotFound"}, "spec.configFrom: there is no ConfigMap", id="missing"),
        pytest.param(
            403, {"reason": "Forbidden", "message": "no right"}, "spec.configFrom: no right", id="forbidden"
        ),
        pytest.param(200, {}, "spec.configFrom: it has neither", id="empty"),
    ],
)
async def test_one_that_says_nothing_is_told_of_and_holds_nobody_up(
    code: int, answer: dict[str, Any], told: str
) -> None:
    world, _ = world_of(raw_run(**NAMED))
    async with serving() as server:
        server.say(code, answer)
        await ConfigReader(server.api, world, lambda: 0.0).look()
    config = read_of(world)
    assert config
    assert config.warnings[0].startswith(told)


async def test_one_that_no_parser_survives_is_told_of_and_ends_nothing() -> None:
    world, _ = world_of(raw_run(**NAMED))
    async with serving() as server:
        server.say(200, {"data": {"bernstein.yaml": 5}})
        await ConfigReader(server.api, world, lambda: 0.0).look()
    config = read_of(world)
    assert config
    assert config.warnings[0].startswith("spec.configFrom: what it holds can't be read")
    assert config.unreadable == {CapSource.RUN_CONFIG, CapSource.SEED}


async def test_while_it_cannot_be_read_its_limits_are_unknown() -> None:
    world, _ = world_of(raw_run(**NAMED))
    async with serving() as server:
        reader = ConfigReader(server.api, world, lambda: 0.0)
        server.say(500, {})
        await reader.look()
        assert read_of(world) is None
        server.say(200, says(5))
        await reader.look()
        assert read_of(world) == RunConfig(run_config_usd=Money(5_000_000))


async def test_what_no_run_names_any_more_is_forgotten() -> None:
    world, _ = world_of(raw_run(**NAMED))
    async with serving() as server:
        reader = ConfigReader(server.api, world, lambda: 0.0)
        server.say(200, says(5))
        await reader.look()
        world.put_run(raw_run(version=2, status={"phase": "Succeeded"}, **NAMED))
        await reader.look()
        assert len(server.asked) == 1
    assert read_of(world) is None
