"""Requests to the API server, as few and as plain as they can be.

Bodies are raw JSON through orjson: the typed models of the official client cost ten times as much for each
Pod. What a request needs is decided here once: credentials, the gate, a time-out, one error for each kind of
outcome, and a count for the metrics. There are no retries here; whoever asked knows whether to ask again.

Whether this process may write at all is asked before each write, and once more with the connection in hand:
between the two a process may stand still for any time, and then must not go on as if nothing had happened.
"""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, Final

import aiohttp
import orjson

from bernstein_operator.kube.connection import Connection
from bernstein_operator.kube.errors import ApiError, ThrottledError, UnavailableError, error_for
from bernstein_operator.kube.gate import Gate
from bernstein_operator.kube.resources import Resource
from bernstein_operator.telemetry import metrics

MERGE_PATCH: Final = "application/merge-patch+json"
JSON: Final = "application/json"
METADATA_ONLY: Final = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"
_READS: Final = "GET"
_FIRST_ERROR: Final = 400
_NO_ANSWER: Final = (aiohttp.ClientError, TimeoutError, OSError)


@dataclass(frozen=True, slots=True)
class Timeouts:
    """In seconds: to connect, and for a whole request that isn't a watch."""

    connect: float = 5.0
    request: float = 30.0


def unfenced() -> None:
    """Let every write pass."""


class KubeApi:
    """The operator's connection to the API server. Close it with ``close``.

    ``fence`` raises NotLeaderError where this process may not write now.
    """

    def __init__(
        self,
        connection: Connection,
        *,
        user_agent: str,
        gate: Gate,
        timeouts: Timeouts = Timeouts(),
        fence: Callable[[], None] = unfenced,
    ) -> None:
        self._connection = connection
        self._gate = gate
        self._fence = fence
        self._timeout = aiohttp.ClientTimeout(total=timeouts.request, sock_connect=timeouts.connect)
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=128, ssl=connection.ssl_context()),
            headers={"User-Agent": user_agent, "Accept": JSON},
            trace_configs=[_at_the_last_moment(fence)],
        )

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()

    async def get(self, resource: Resource, namespace: str, name: str) -> bytes:
        """Return the object's JSON."""
        return await self._send("GET", resource.url(namespace, name))

    async def read(self, path: str) -> bytes:
        """Return what the API server has at a path that is no object's, in whatever form that has."""
        return await self._send("GET", path, accept="*/*")

    async def list_page(
        self, resource: Resource, namespace: str, *, params: dict[str, str], accept: str = JSON
    ) -> bytes:
        """Return one page of a list; an empty namespace means all."""
        return await self._send("GET", resource.url(namespace), params=params, accept=accept)

    async def create(self, resource: Resource, namespace: str, body: dict[str, Any]) -> bytes:
        """Post an object and return it as it was stored."""
        return await self._send("POST", resource.url(namespace), body=body)

    async def patch(
        self,
        resource: Resource,
        namespace: str,
        name: str,
        body: dict[str, Any],
        *,
        subresource: str = "",
        urgent: bool = False,
    ) -> bytes:
        """Merge ``body`` into an object; ``urgent`` passes the gate (only to stop agents)."""
        url = resource.url(namespace, name, subresource)
        return await self._send("PATCH", url, body=body, content_type=MERGE_PATCH, urgent=urgent)

    async def delete(
        self, resource: Resource, namespace: str, name: str, *, uid: str, grace_seconds: int | None = None
    ) -> bytes:
        """Delete the object of that very UID and return its last state; passes the gate."""
        body: dict[str, Any] = {"preconditions": {"uid": uid}}
        if grace_seconds is not None:
            body["gracePeriodSeconds"] = grace_seconds
        return await self._send("DELETE", resource.url(namespace, name), body=body, urgent=True)

    @asynccontextmanager
    async def watch(
        self, resource: Resource, namespace: str, *, params: dict[str, str], idle: float
    ) -> AsyncIterator[aiohttp.StreamReader]:
        """Open a watch; a stream without a byte for ``idle`` seconds raises Unavailable."""
        await self._gate.passed()
        timeout = aiohttp.ClientTimeout(total=None, sock_connect=self._timeout.sock_connect, sock_read=idle)
        url = self._connection.server + resource.url(namespace)
        headers = await self._headers(JSON, None)
        try:
            async with self._session.get(url, params=params, headers=headers, timeout=timeout) as response:
                if response.status >= _FIRST_ERROR:
                    retry_after = response.headers.get("Retry-After")
                    raise self._failure(response.status, await response.read(), retry_after)
                yield response.content
        except _NO_ANSWER as error:
            raise _unanswered("WATCH", url, error) from error

    async def _send(
        self,
        method: str,
        path: str,
        *,
        params: dict[str, str] | None = None,
        body: dict[str, Any] | None = None,
        accept: str = JSON,
        content_type: str = JSON,
        urgent: bool = False,
    ) -> bytes:
        if not urgent:
            await self._gate.passed()
        if method != _READS:
            self._fence()
        with metrics.request_timer(method) as done:
            status, answer, retry_after = await self._exchange(
                method,
                path,
                params=params,
                data=orjson.dumps(body) if body is not None else None,
                headers=await self._headers(accept, content_type if body is not None else None),
            )
            done(status)
        if status >= _FIRST_ERROR:
            raise self._failure(status, answer, retry_after)
        return answer

    async def _exchange(
        self,
        method: str,
        path: str,
        *,
        params: dict[str, str] | None,
        data: bytes | None,
        headers: dict[str, str],
    ) -> tuple[int, bytes, str | None]:
        try:
            async with self._session.request(
                method,
                self._connection.server + path,
                params=params,
                data=data,
                headers=headers,
                timeout=self._timeout,
                trace_request_ctx=method,
            ) as response:
                return response.status, await response.read(), response.headers.get("Retry-After")
        except _NO_ANSWER as error:
            raise _unanswered(method, path, error) from error

    async def _headers(self, accept: str, content_type: str | None) -> dict[str, str]:
        headers = {"Accept": accept}
        if content_type:
            headers["Content-Type"] = content_type
        authorization = await self._connection.authorization()
        return headers | ({"Authorization": authorization} if authorization else {})

    def _failure(self, status: int, answer: bytes, retry_after: str | None) -> ApiError:
        error = error_for(status, _status_object(answer))
        if isinstance(error, ThrottledError) or retry_after:
            self._gate.close(retry_after)
        return error


def _at_the_last_moment(fence: Callable[[], None]) -> aiohttp.TraceConfig:
    """Return what asks the fence when a write has its connection, also where aiohttp repeats it by itself."""

    async def connected(_session: object, context: SimpleNamespace, _parameters: object) -> None:
        if context.trace_request_ctx not in (None, _READS):
            fence()

    trace = aiohttp.TraceConfig()
    trace.on_connection_create_end.append(connected)
    trace.on_connection_reuseconn.append(connected)
    return trace


def _unanswered(method: str, path: str, error: Exception) -> UnavailableError:
    text = f"{method} {path}: {type(error).__name__}: {error}"
    return UnavailableError(status=0, reason="", message=text)


def _status_object(answer: bytes) -> dict[str, Any]:
    """Return the API's Status object, or the text itself as its message: proxies answer in plain text."""
    try:
        body = orjson.loads(answer)
    except orjson.JSONDecodeError:
        body = None
    return body if isinstance(body, dict) else {"message": answer.decode(errors="replace")[:500].strip()}
