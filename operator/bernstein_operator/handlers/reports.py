"""The port that agents report their spend to.

It is apart from the one with probes and metrics, since whoever reaches it is an agent: a network policy can
tell the two from each other, and nothing else is answered here.
"""

import asyncio
import logging
from typing import Final

from aiohttp import web

from bernstein_agent.contract import MAX_REPORT_BYTES, REPORT_PATH
from bernstein_operator.control.reporting import STATUS, ReportOutcome, ReportRefusedError, Reports, count
from bernstein_operator.handlers.listening import listen_on

log = logging.getLogger(__name__)

READ_SECONDS: Final = 10.0
"""A report that takes longer to arrive isn't waited for."""


class ReportServer:
    """Serves ``POST /v1/attempts/{pod}/report``."""

    def __init__(self, port: int, reports: Reports) -> None:
        self._port = port
        self._reports = reports
        app = web.Application(client_max_size=MAX_REPORT_BYTES)
        app.router.add_post(REPORT_PATH, self._report)
        self._runner = web.AppRunner(app, access_log=None)

    async def start(self) -> None:
        """Listen; the port is logged."""
        log.info("listening for reports", extra={"report_port": await listen_on(self._port, self._runner)})

    async def stop(self) -> None:
        """Stop listening."""
        await self._runner.cleanup()

    async def _report(self, request: web.Request) -> web.Response:
        try:
            outcome, answer = await self._reports.take(
                request.match_info["pod"],
                request.headers.get("Authorization", ""),
                lambda: _body(request),
            )
        except ReportRefusedError as error:
            count(error.outcome)
            return web.Response(text=str(error), status=STATUS[error.outcome])
        count(outcome)
        return web.Response(text=answer.to_json(), content_type="application/json", status=STATUS[outcome])


async def _body(request: web.Request) -> bytes:
    try:
        async with asyncio.timeout(READ_SECONDS):
            return await request.read()
    except (web.HTTPRequestEntityTooLarge, TimeoutError):
        raise ReportRefusedError(ReportOutcome.TOO_LARGE, f"more than {MAX_REPORT_BYTES} bytes") from None
