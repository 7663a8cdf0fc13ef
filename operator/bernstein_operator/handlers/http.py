"""/healthz, /readyz and /metrics.

Alive means that the loop takes keys: a process whose port answers while its loop is dead has to be
restarted. Ready means that the lists are complete and the watch of Pods stands, so that what it decides now
is right.
"""

import asyncio
import logging
from collections.abc import Callable

from aiohttp import web

from bernstein_operator.handlers.listening import listen_on
from bernstein_operator.telemetry import metrics

log = logging.getLogger(__name__)


class HttpServer:
    """Serves probes and metrics; ``alive`` and ``ready`` return what is wrong, or an empty text."""

    def __init__(
        self, port: int, *, alive: Callable[[], str], ready: Callable[[], str], observe: Callable[[], None]
    ) -> None:
        self._port = port
        self._observe = observe
        self._app = web.Application()
        self._app.router.add_get("/healthz", _probe(alive))
        self._app.router.add_get("/readyz", _probe(ready))
        self._app.router.add_get("/metrics", self._metrics)
        self._runner = web.AppRunner(self._app, access_log=None)

    async def start(self) -> None:
        """Listen; the port is logged, since 0 takes any free one."""
        log.info("listening", extra={"http_port": await listen_on(self._port, self._runner)})

    async def stop(self) -> None:
        """Stop listening."""
        await self._runner.cleanup()

    async def _metrics(self, _: web.Request) -> web.Response:
        self._observe()
        text = await asyncio.to_thread(metrics.render)
        return web.Response(body=text, headers={"Content-Type": "text/plain; version=0.0.4; charset=utf-8"})


def _probe(check: Callable[[], str]) -> Callable[[web.Request], "asyncio.Future[web.Response]"]:
    async def answer(_: web.Request) -> web.Response:
        trouble = check()
        return web.Response(text=trouble or "ok", status=503 if trouble else 200)

    return answer  # type: ignore[return-value]
