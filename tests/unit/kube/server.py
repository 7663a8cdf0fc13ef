"""A small HTTP server that says what a test has prepared, so that the client's own code runs whole."""

import json
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestServer
from kubernetes.aio.client import Configuration

from bernstein_operator.control.clock import monotonic
from bernstein_operator.kube.api import KubeApi, unfenced
from bernstein_operator.kube.connection import Connection
from bernstein_operator.kube.gate import Gate


@dataclass(frozen=True)
class Asked:
    """A request as it arrived."""

    method: str
    path: str
    query: dict[str, str]
    body: Any
    headers: dict[str, str]


@dataclass
class Server:
    """Prepared answers in order, and the requests that came; ``api`` is a client of it."""

    answers: deque[tuple[int, Any, dict[str, str]]] = field(default_factory=deque)
    asked: list[Asked] = field(default_factory=list)
    api: KubeApi = field(init=False)

    def say(self, status: int, body: Any, **headers: str) -> None:
        """Prepare one answer: a JSON object, or text or bytes as they are."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.answers.append((status, body, named))

    def next(self, _: Asked, /) -> tuple[int, Any, dict[str, str]]:
        """Return status, body and headers of the answer to a request."""
        return self.answers.popleft()

    async def answer(self, request: web.Request) -> web.Response:
        """Give the next prepared answer."""
        text = await request.text()
        body = json.loads(text) if text else None
        asked = Asked(request.method, request.path, dict(request.query), body, dict(request.headers))
        self.asked.append(asked)
        status, said, headers = self.next(asked)
        whole = (
            said
            if isinstance(said, bytes)
            else (said if isinstance(said, str) else json.dumps(said)).encode()
        )
        return web.Response(status=status, body=whole, headers=headers)


def client(url: str, *, fence: Callable[[], None] = unfenced) -> KubeApi:
    """Return a client of the server at ``url``; to be closed."""
    configuration = Configuration()
    configuration.host = url
    return KubeApi(Connection(configuration), user_agent="test/1", gate=Gate(monotonic), fence=fence)


@asynccontextmanager
async def serving(
    server: Server | None = None, *, fence: Callable[[], None] = unfenced
) -> AsyncIterator[Server]:
    """Serve for as long as the block runs, and let the client write where ``fence`` does."""
    server = server or Server()
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", server.answer)
    async with TestServer(application) as listening:
        server.api = client(str(listening.make_url("/")), fence=fence)
        try:
            yield server
        finally:
            await server.api.close()
