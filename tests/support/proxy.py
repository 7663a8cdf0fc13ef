"""A fault proxy between the operator and the API server.

An operator's worst errors come from answers that are late, lost or refused, and none of that can be had from
a healthy API server. So in tests the operator always talks to this proxy: plain HTTP on loopback in front,
the cluster's own TLS and credentials behind. Without a rule it only passes on and counts; with rules (see
``faults``) it delays, drops, swallows or refuses the requests that they mean.

Each forwarded request carries an Audit-ID of ours, which the API server takes over into its audit log: the
two counts can be compared request by request.
"""

import asyncio
import socket
import struct
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import assert_never

import aiohttp
import yaml
from aiohttp import web
from yarl import URL

from tests.support import clock
from tests.support.access import ClusterAccess
from tests.support.attribution import TaskIndex, WriteCounts, count_writes, name_in
from tests.support.faults import (
    EXPIRED,
    EXPIRED_EVENT,
    Action,
    BlackHole,
    Delay,
    DelayEvents,
    Drop,
    Expire,
    Hold,
    Respond,
    Rule,
    Rules,
    Verbs,
)
from tests.support.loopthread import LoopThread
from tests.support.relay import Relay
from tests.support.wire import RequestRecord, Target, parse_target

AUDIT_ID = "Audit-ID"
_BODY_LIMIT = 16 * 2**20
_NOT_FORWARDED = frozenset({"host", "authorization", "content-length", "connection", "transfer-encoding"})
_NOT_RETURNED = frozenset({"content-length", "connection", "transfer-encoding", "keep-alive"})
_NO_HEADERS_OF_OURS = ("Accept", "Accept-Encoding", "Content-Type", "User-Agent")
_RESET_ON_CLOSE = struct.pack("ii", 1, 0)


class FaultProxy:
    """Listens on a free loopback port; use it as a context manager, or ``start`` and ``stop``."""

    def __init__(self, access: ClusterAccess, *, directory: Path, now: clock.Clock = clock.now) -> None:
        self._access = access
        self._directory = directory
        self._now = now
        self._rules = Rules()
        self._tasks = TaskIndex()
        self._records: dict[str, RequestRecord] = {}
        self._lock = Lock()
        self._relays: set[Relay] = set()
        self._prefix = uuid.uuid4().hex
        self.started = now()
        self.port = 0

    def __enter__(self) -> "FaultProxy":
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """Where the proxy listens."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def kubeconfig(self) -> Path:
        """A kubeconfig that leads to the proxy and holds no credentials."""
        return self._directory / "proxy.kubeconfig"

    @property
    def records(self) -> tuple[RequestRecord, ...]:
        """Every request so far, in the order of arrival; unfinished ones have ``finished`` None."""
        with self._lock:
            return tuple(self._records.values())

    def owns(self, request_id: str) -> bool:
        """Return whether a request id (an audit log's auditID) is of this proxy."""
        return request_id.startswith(self._prefix)

    def writes_by_task(self) -> WriteCounts:
        """Return the carried-out writes, by task and kind, and those that are no task's apart."""
        return count_writes(self.records)

    def start(self) -> None:
        """Listen, and write the kubeconfig."""
        self._thread = LoopThread("fault-proxy")
        self._thread.call(self._listen())
        self.kubeconfig.write_text(yaml.safe_dump(_kubeconfig(self.url)))

    def stop(self) -> None:
        """Let go of every rule, cut what still runs, close the port."""
        for rule in self._rules.clear():
            self._release(rule)
        self.cut_watches()
        self._thread.call(self._close())
        self._thread.close()

    def add(self, rule: Rule) -> Rule:
        """Put ``rule`` in force until ``remove``; the first rule that matches a request acts."""
        self._rules.add(rule)
        return rule

    def remove(self, rule: Rule) -> None:
        """End ``rule``; requests that its black hole holds get a closed connection."""
        self._rules.remove(rule)
        self._release(rule)

    @contextmanager
    def fault(
        self, action: Action, *, verbs: Verbs = None, resource: str | None = None, count: int | None = None
    ) -> Iterator[Rule]:
        """Keep ``action`` in force for the body of a with statement."""
        rule = self.add(Rule(action=action, verbs=verbs, resource=resource, count=count))
        try:
            yield rule
        finally:
            self.remove(rule)

    def running_watches(self, resource: str | None = None) -> int:
        """Return how many watches of ``resource`` (None: all) run through the proxy now."""
        return sum(relay.is_connected for relay in self._relays_of(resource))

    def cut_watches(self, resource: str | None = None) -> int:
        """Reset the connections of the running watches of ``resource`` (None: all); return how many."""
        return self._thread.call(self._end_watches(resource, last_line=None))

    def expire_watches(self, resource: str | None = None) -> int:
        """End the running watches of ``resource`` with 410 in the stream; return how many."""
        return self._thread.call(self._end_watches(resource, last_line=EXPIRED_EVENT))

    def _release(self, rule: Rule) -> None:
        self._thread.loop.call_soon_threadsafe(rule.removed.set)

    async def _listen(self) -> None:
        connector = aiohttp.TCPConnector(ssl=self._access.tls or False, limit=0)
        patience = aiohttp.ClientTimeout(total=None, sock_connect=10)
        self._upstream = aiohttp.ClientSession(connector=connector, timeout=patience, auto_decompress=False)
        application = web.Application(client_max_size=_BODY_LIMIT)
        application.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(application, access_log=None, shutdown_timeout=1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.port = self._runner.addresses[0][1]

    async def _close(self) -> None:
        await self._runner.cleanup()
        await self._upstream.close()

    async def _end_watches(self, resource: str | None, *, last_line: bytes | None) -> int:
        connected = [relay for relay in self._relays_of(resource) if relay.is_connected]
        for relay in self._relays_of(resource):
            relay.end(last_line)
        return len(connected)

    def _relays_of(self, resource: str | None) -> list[Relay]:
        return [relay for relay in tuple(self._relays) if resource in {None, relay.target.resource}]

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        target = parse_target(method=request.method, path=request.path, query=request.query)
        if target.verb == "create" and not target.name:
            target = replace(target, name=name_in(body) or "")
        rule = self._rules.take(target, body)
        record = self._open_record(request, target, body, fault=type(rule.action).__name__ if rule else None)
        try:
            return await self._act(request, record=record, target=target, body=body, rule=rule)
        finally:
            self._change(record.request_id, finished=self._now())

    async def _act(
        self, request: web.Request, *, record: RequestRecord, target: Target, body: bytes, rule: Rule | None
    ) -> web.StreamResponse:
        if rule is None:
            return await self._forward(request, record=record, target=target, body=body)
        match rule.action:
            case Delay() | Hold():
                await _held_back(rule)
                return await self._forward(request, record=record, target=target, body=body)
            case Drop(forward=forward) | BlackHole(forward=forward):
                if forward and target.verb != "watch":
                    await self._forward(request, record=record, target=target, body=body)
                if isinstance(rule.action, BlackHole):
                    await rule.removed.wait()
                return _reset(request)
            case Respond():
                return self._respond(rule.action, record)
            case Expire() if target.verb == "watch":
                self._change(record.request_id, status=200)
                return web.Response(body=EXPIRED_EVENT, content_type="application/json")
            case Expire():
                return self._respond(EXPIRED, record)
            case DelayEvents():
                raise AssertionError("delayed events never hit a request as a whole")
        assert_never(rule.action)

    def _respond(self, answer: Respond, record: RequestRecord) -> web.Response:
        self._change(record.request_id, status=answer.status)
        return web.Response(status=answer.status, body=answer.body.encode(), headers=answer.headers)

    async def _forward(
        self, request: web.Request, *, record: RequestRecord, target: Target, body: bytes
    ) -> web.StreamResponse:
        headers = {key: value for key, value in request.headers.items() if key.lower() not in _NOT_FORWARDED}
        headers |= {**self._access.headers, AUDIT_ID: record.request_id}
        url = URL(self._access.server + request.raw_path, encoded=True)
        self._change(record.request_id, forwarded=True)
        try:
            async with self._upstream.request(
                request.method, url, headers=headers, data=body or None, skip_auto_headers=_NO_HEADERS_OF_OURS
            ) as answer:
                self._change(record.request_id, status=answer.status)
                if target.verb == "watch" and answer.status == 200:
                    return await self._relay(request, target, answer)
                return await self._pass_on(record, target, body, answer)
        except aiohttp.ClientError:
            return _reset(request)

    async def _pass_on(
        self, record: RequestRecord, target: Target, body: bytes, answer: aiohttp.ClientResponse
    ) -> web.Response:
        content = await answer.read()
        if record.verb not in {"get", "list"}:
            self._change(record.request_id, task=self._tasks.task_of(target, body, content))
            self._change(record.request_id, name=target.name or name_in(content) or "")
        return web.Response(status=answer.status, body=content, headers=_returned(answer))

    async def _relay(
        self, request: web.Request, target: Target, answer: aiohttp.ClientResponse
    ) -> web.StreamResponse:
        response = web.StreamResponse(status=answer.status, headers=_returned(answer))
        relay = Relay(target=target, request=request, event_delay=self._rules.event_delay)
        self._relays.add(relay)
        try:
            with suppress(ConnectionError):
                await response.prepare(request)
                if await relay.run(answer.content, response):
                    return response
            return _reset(request)
        finally:
            self._relays.discard(relay)

    def _open_record(
        self, request: web.Request, target: Target, body: bytes, *, fault: str | None
    ) -> RequestRecord:
        with self._lock:
            record = RequestRecord(
                request_id=f"{self._prefix}-{len(self._records)}",
                time=self._now(),
                verb=target.verb,
                resource=target.resource,
                subresource=target.subresource,
                namespace=target.namespace,
                name=target.name,
                user_agent=request.headers.get("User-Agent", ""),
                task=self._tasks.task_of(target, body),
                fault=fault,
            )
            self._records[record.request_id] = record
        return record

    def _change(self, request_id: str, **changes: object) -> None:
        with self._lock:
            self._records[request_id] = replace(self._records[request_id], **changes)  # type: ignore[arg-type]


async def _held_back(rule: Rule) -> None:
    if isinstance(rule.action, Delay):
        await asyncio.sleep(rule.action.seconds)
    if isinstance(rule.action, Hold):
        await rule.removed.wait()


def _returned(answer: aiohttp.ClientResponse) -> list[tuple[str, str]]:
    return [(key, value) for key, value in answer.headers.items() if key.lower() not in _NOT_RETURNED]


def _reset(request: web.Request) -> web.Response:
    """Reset the client's connection (RST, not an orderly end) and give aiohttp something to discard."""
    if request.transport is not None:
        raw: socket.socket = request.transport.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_ON_CLOSE)
        request.transport.abort()
    return web.Response()


def _kubeconfig(server: str) -> dict[str, object]:
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "proxy",
        "clusters": [{"name": "proxy", "cluster": {"server": server}}],
        "contexts": [{"name": "proxy", "context": {"cluster": "proxy", "user": "proxy"}}],
        "users": [{"name": "proxy", "user": {}}],
    }
