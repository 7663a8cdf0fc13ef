"""What a Prometheus answers to the load query, and what it is taken for."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from fractions import Fraction
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer, unused_port

from bernstein_operator.api.load import Sample
from bernstein_operator.kube.load_source import LoadQuery, Loads, LoadSourceError
from tests.unit.objects import at

WINDOW = timedelta(seconds=10)


class Prometheus:
    """Says what a test has prepared."""

    def __init__(self, body: Any, *, status: int = 200) -> None:
        self.body = body
        self.status = status
        self.asked: dict[str, str] = {}

    async def answer(self, request: web.Request) -> web.Response:
        self.asked = {key: str(value) for key, value in (await request.post()).items()}
        if isinstance(self.body, str):
            return web.Response(text=self.body, status=self.status)
        return web.json_response(self.body, status=self.status)


@asynccontextmanager
async def asking(prometheus: Prometheus, query: str = "load") -> AsyncIterator[LoadQuery]:
    application = web.Application()
    application.router.add_post("/prefix/api/v1/query", prometheus.answer)
    async with TestServer(application) as server:
        load_query = LoadQuery(str(server.make_url("/prefix/")), query, timeout=5)
        try:
            yield load_query
        finally:
            await load_query.close()


async def ask(body: Any, *, status: int = 200) -> Loads:
    async with asking(Prometheus(body, status=status)) as query:
        return await query.ask(now=at(0), window=WINDOW)


def data(kind: str, result: Any) -> dict[str, Any]:
    return {"status": "success", "data": {"resultType": kind, "result": result}}


def vector(*series: tuple[dict[str, str], str]) -> dict[str, Any]:
    return data("vector", [{"metric": labels, "value": [1767268800.123, value]} for labels, value in series])


def percent(value: float) -> Sample:
    return Sample(Fraction(value), at(0), WINDOW)


@pytest.mark.parametrize(
    ("body", "loads"),
    [
        pytest.param(
            vector(({"node": "a"}, "310.5"), ({"node": "b"}, "20")),
            Loads({"a": percent(310.5), "b": percent(20)}),
            id="by node",
        ),
        pytest.param(
            vector(({"instance": "a.example:9100"}, "5"), ({"instance": "b"}, "6")),
            Loads({"a.example": percent(5), "b": percent(6)}),
            id="by instance, with and without a port",
        ),
        pytest.param(
            vector(({"instance": "10.0.0.1:9100", "node": "a"}, "5")),
            Loads({"a": percent(5)}),
            id="the node rather than the instance",
        ),
        pytest.param(vector(({}, "7")), Loads(everywhere=percent(7)), id="one value without labels"),
        pytest.param(data("scalar", [1767268800, "7"]), Loads(everywhere=percent(7)), id="a scalar"),
        pytest.param(
            vector(({"node": "a", "core": "0"}, "5"), ({"node": "a", "core": "1"}, "6")),
            Loads({"a": percent(6)}),
            id="two of a node: the higher one",
        ),
        pytest.param(
            vector(
                ({"node": "a"}, "NaN"), ({"node": "b"}, "+Inf"), ({"node": "c"}, "-1"), ({"node": "d"}, "0")
            ),
            Loads({"d": percent(0)}),
            id="what is no load is left out",
        ),
    ],
)
async def test_a_value_is_taken_for_its_node(body: Any, loads: Loads) -> None:
    assert await ask(body) == loads


@pytest.mark.parametrize(
    ("body", "why"),
    [
        pytest.param(vector(), "gives no number", id="nothing found"),
        pytest.param(vector(({"node": "a"}, "NaN")), "gives no number", id="nothing but NaN"),
        pytest.param(data("matrix", []), "gives a matrix", id="a range"),
        pytest.param(data("string", [0, "x"]), "gives a string", id="a text"),
        pytest.param(data("scalar", [0, "x"]), "no number", id="a scalar that is none"),
        pytest.param(data("vector", [{"metric": {}}]), "no number", id="a series without a value"),
        pytest.param({"status": "error", "error": "parse error"}, "parse error", id="a query that is wrong"),
        pytest.param("<html>", "not as a Prometheus does", id="another server"),
        pytest.param({"ok": True}, "not as a Prometheus does", id="another API"),
    ],
)
async def test_anything_else_is_no_answer_and_never_0(body: Any, why: str) -> None:
    with pytest.raises(LoadSourceError, match=why):
        await ask(body)


async def test_an_answer_of_many_chunks_is_read_whole() -> None:
    series = [({"node": f"node-{number}", "padding": "x" * 1000}, "5") for number in range(2000)]
    assert len((await ask(vector(*series))).by_node) == len(series)


async def test_an_answer_without_end_is_none() -> None:
    with pytest.raises(LoadSourceError, match="more than 16 MiB"):
        await ask("x" * (16 * 2**20 + 1))


async def test_a_refusal_is_told_by_its_status() -> None:
    with pytest.raises(LoadSourceError, match="status 401"):
        await ask("Unauthorized", status=401)


async def test_the_query_is_sent_whole() -> None:
    prometheus = Prometheus(vector(({}, "7")))
    query = '100 * node_load1 / on (node) count by (node) (node_cpu_seconds_total{mode="idle"})'
    async with asking(prometheus, query) as load_query:
        await load_query.ask(now=at(0), window=WINDOW)
    assert prometheus.asked == {"query": query}


async def test_a_server_that_is_away_is_no_answer_and_its_password_is_not_told() -> None:
    query = LoadQuery(f"http://user:secret@127.0.0.1:{unused_port()}", "load", timeout=5)
    with pytest.raises(LoadSourceError) as raised:
        await query.ask(now=at(0), window=WINDOW)
    await query.close()
    assert str(raised.value).startswith("no answer (")
    assert "secret" not in str(raised.value)
