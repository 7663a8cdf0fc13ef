"""Rows reach the ledger once, through whatever the API server answers."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from bernstein_operator.api.names import ledger_labels, ledger_name
from bernstein_operator.control.ledger import Ledger
from bernstein_operator.decisions.ledger import SEGMENT_LIMIT, Row, line
from bernstein_operator.kube.errors import RefusedError, UnavailableError
from bernstein_operator.world.books import BookKey
from tests.unit.kube.server import Asked, Server, serving
from tests.unit.objects import RUN_UID, Raw, merged

PATH = "/api/v1/namespaces/ns/configmaps"
KEY = BookKey("ns", "r", RUN_UID)
FIRST, SECOND = (ledger_name(run="r", run_uid=RUN_UID, number=number) for number in (1, 2))
ROW = Row(
    task_uid="u",
    timestamp=1,
    task_id="t",
    role="qa",
    reason="other",
    adapter="script",
    attempts=1,
    detail="",
    run="r",
    run_uid=RUN_UID,
    namespace="ns",
    actor="agent",
    cost_to_date_usd="0",
)
FORBIDDEN: tuple[int, Raw] = (403, {"reason": "Forbidden", "message": "no"})


def row(uid: str) -> Row:
    return replace(ROW, task_uid=uid)


def segment(name: str = FIRST, data: Raw | None = None, **more: Any) -> Raw:
    """Return a segment of the run's ledger as it is stored."""
    meta = {
        "name": name,
        "namespace": "ns",
        "uid": f"{name}-uid",
        "resourceVersion": "1",
        "labels": ledger_labels("r"),
        "annotations": {"bernstein.run/run-name": "r", "bernstein.run/run-uid": RUN_UID},
    }
    return {"metadata": meta, "data": data or {}, **more}


@dataclass
class ConfigMaps(Server):
    """An API server's ConfigMaps: versions are checked, and an immutable one's data stays.

    ``refusals`` are given first, by method; ``slow`` holds answers to writes back until it is set.
    """

    stored: dict[str, Raw] = field(default_factory=dict)
    refusals: dict[str, list[tuple[int, Raw]]] = field(default_factory=dict)
    slow: asyncio.Event | None = None
    version: int = 1

    def put(self, thing: Raw) -> None:
        """Store an object as somebody else would."""
        self.version += 1
        self.stored[thing["metadata"]["name"]] = merged(
            thing, {"metadata": {"resourceVersion": str(self.version)}}
        )

    async def answer(self, request: Any) -> Any:
        """Answer a request, a write perhaps later."""
        if self.slow and request.method != "GET":
            await self.slow.wait()
        return await super().answer(request)

    def next(self, asked: Asked, /) -> tuple[int, Any, dict[str, str]]:
        """Do what is asked."""
        if self.refusals.get(asked.method):
            return *self.refusals[asked.method].pop(0), {}
        name = asked.path.removeprefix(PATH).strip("/")
        match asked.method:
            case "GET" if not name:
                items = list(self.stored.values())
                return 200, {"metadata": {"resourceVersion": str(self.version)}, "items": items}, {}
            case "POST":
                return self._create(asked.body)
            case _ if name not in self.stored:
                return 404, {"reason": "NotFound"}, {}
            case "PATCH":
                return self._patch(name, asked.body)
            case _:
                return 200, self.stored[name], {}

    def _create(self, body: Raw) -> tuple[int, Any, dict[str, str]]:
        name = body["metadata"]["name"]
        if name in self.stored:
            return 409, {"reason": "AlreadyExists"}, {}
        self.put(merged(body, {"metadata": {"uid": f"{name}-uid", "namespace": "ns"}}))
        return 201, self.stored[name], {}

    def _patch(self, name: str, body: Raw) -> tuple[int, Any, dict[str, str]]:
        known = self.stored[name]
        if any(body["metadata"][key] != known["metadata"][key] for key in ("resourceVersion", "uid")):
            return 409, {"reason": "Conflict"}, {}
        if known.get("immutable") and "data" in body:
            return 422, {"reason": "Invalid", "message": "field is immutable"}, {}
        self.put(merged(known, body))
        return 200, self.stored[name], {}

    @property
    def writes(self) -> list[tuple[str, list[str]]]:
        """Each write's method, and the rows in it."""
        return [(one.method, sorted(one.body.get("data", {}))) for one in self.asked if one.method != "GET"]

    @property
    def rows(self) -> dict[str, list[str]]:
        """Which rows each object holds."""
        return {name: sorted(one["data"]) for name, one in self.stored.items()}


@asynccontextmanager
async def keeping(*stored: Raw, known: bool = True) -> AsyncIterator[tuple[ConfigMaps, Ledger]]:
    """Keep a ledger in an API server that has these objects; it is read already if it is ``known``."""
    server = ConfigMaps()
    for one in stored:
        server.put(one)
    async with serving(server):
        ledger = Ledger(server.api, namespaces=("ns",))
        if known:
            await ledger.load()
        yield server, ledger


async def test_a_row_is_written_once_however_often_it_is_asked_for() -> None:
    async with keeping() as (server, ledger):
        for _ in range(3):
            await ledger.record(row("u"))
        await ledger.record(row("v"))
        [made] = server.stored.values()
    assert server.writes == [("POST", ["u"]), ("PATCH", ["v"])]
    assert made["data"] == {"u": line(row("u")), "v": line(row("v"))}
    assert made["metadata"]["labels"].items() >= {"bernstein.run/ledger": "r"}.items()
    assert "ownerReferences" not in made["metadata"], "it outlives the run"


async def test_rows_that_come_during_a_write_go_together_into_the_next() -> None:
    async with keeping() as (server, ledger):
        await asyncio.gather(*(ledger.record(row(f"u{number:02}")) for number in range(20)))
    assert server.writes == [("POST", ["u00"]), ("PATCH", [f"u{number:02}" for number in range(1, 20)])]


async def test_whoever_waited_for_a_write_that_failed_hears_of_it() -> None:
    async with keeping(segment()) as (server, ledger):
        server.refusals["PATCH"] = [FORBIDDEN, FORBIDDEN]
        said = await asyncio.gather(
            *(ledger.record(row(f"u{number}")) for number in range(9)), return_exceptions=True
        )
        assert [type(one) for one in said] == [RefusedError] * 9
        assert all(ledger.books.tried(f"u{number}") for number in range(9))
        server.refusals.clear()
        await ledger.record(row("u0"))
    assert server.rows[FIRST] == ["u0"], "each is asked for again by its own task"


@pytest.mark.parametrize(
    ("now", "rows"),
    [
        pytest.param(segment(data={"theirs": "{}"}), ["theirs", "u"], id="somebody else wrote"),
        pytest.param(segment(data={"u": line(row("u"))}), ["u"], id="the answer to our own write was lost"),
    ],
)
async def test_a_conflict_is_read_and_planned_anew(now: Raw, rows: list[str]) -> None:
    async with keeping(segment()) as (server, ledger):
        server.put(now)
        await ledger.record(row("u"))
    assert server.rows == {FIRST: rows}


async def test_a_segment_that_was_made_meanwhile_is_filled() -> None:
    async with keeping() as (server, ledger):
        server.put(segment(data={"v": line(row("v"))}))
        await ledger.record(row("u"))
    assert server.rows == {FIRST: ["u", "v"]}


async def test_a_name_that_somebody_else_has_is_passed_over() -> None:
    theirs = {"metadata": {"name": FIRST, "namespace": "ns", "uid": "x"}, "data": {"a": "b"}}
    async with keeping(theirs) as (server, ledger):
        await ledger.record(row("u"))
        await ledger.record(row("v"))
    assert server.rows == {FIRST: ["a"], SECOND: ["u", "v"]}


async def test_a_deleted_segment_is_made_again_and_its_rows_are_missed() -> None:
    async with keeping(segment(data={"old": line(row("old"))})) as (server, ledger):
        told = asyncio.Event()
        watching = asyncio.create_task(ledger.watch(told.set))
        async with asyncio.timeout(8):
            await told.wait()
            told.clear()
            del server.stored[FIRST]
            await ledger.record(row("u"))
            await told.wait()
        watching.cancel()
        assert not ledger.books.has("old")
    assert server.rows == {FIRST: ["u"]}


async def test_a_full_segment_is_sealed_after_the_next_one_was_made() -> None:
    full = segment(data={"x": "x" * (SEGMENT_LIMIT - 1)})
    async with keeping(full) as (server, ledger):
        await ledger.record(row("u"))
    assert server.writes == [("POST", ["u"]), ("PATCH", [])]
    assert server.stored[FIRST]["immutable"] is True
    assert server.stored[FIRST]["metadata"]["annotations"]["bernstein.run/next-segment"] == SECOND
    assert server.rows == {FIRST: ["x"], SECOND: ["u"]}


async def test_a_seal_that_fails_costs_no_row_and_is_tried_with_the_next() -> None:
    full = segment(data={"x": "x" * (SEGMENT_LIMIT - 1)})
    async with keeping(full) as (server, ledger):
        server.refusals["PATCH"] = [FORBIDDEN]
        await ledger.record(row("u"))
        assert "immutable" not in server.stored[FIRST]
        await ledger.record(row("v"))
    assert server.stored[FIRST]["immutable"] is True
    assert server.rows == {FIRST: ["x"], SECOND: ["u", "v"]}


async def test_a_segment_that_was_sealed_by_hand_is_not_written_to() -> None:
    async with keeping(segment()) as (server, ledger):
        server.put(segment(immutable=True))
        await ledger.record(row("u"))
    assert server.rows == {FIRST: [], SECOND: ["u"]}


async def test_no_row_is_written_before_the_ledger_was_read() -> None:
    async with keeping(segment(data={"u": line(row("u"))}), known=False) as (server, ledger):
        server.refusals["GET"] = [FORBIDDEN]
        watching = asyncio.create_task(ledger.watch(lambda: None))
        await ledger.ready()
        with pytest.raises(UnavailableError, match="can't be read: 403 Forbidden: no"):
            await ledger.record(row("u"))
        watching.cancel()
        assert ledger.books.tried("u"), "and nothing waits for it"
        await ledger.load()
        await ledger.record(row("u"))
    assert server.writes == [], "it was there all the time"


async def test_a_request_that_is_never_answered_is_given_up() -> None:
    async with keeping() as (server, ledger):
        server.slow = asyncio.Event()
        with pytest.raises(UnavailableError):
            await ledger.record(row("u"))
        server.slow.set()
    assert ledger.books.tried("u")


async def test_a_check_finds_what_people_did() -> None:
    written = line(row("u"))
    async with keeping(segment(data={"u": written}), segment(SECOND)) as (server, ledger):
        assert not await ledger.check()
        server.put(segment(data={"u": json.dumps({"reason": "env_broken"})}))
        del server.stored[SECOND]
        assert await ledger.check()
        assert not await ledger.check()
        assert ledger.books.book(KEY).edited == {"u"}
        assert [one.name for one in ledger.books.book(KEY).segments] == [FIRST]
