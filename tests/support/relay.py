"""One watch on its way through the proxy.

A watch is never buffered: each line goes on as it arrives, or as many seconds later as the rules in force
at its arrival say, so that lag can begin and end in the middle of a stream. A test may end a running
watch in the two ways in which they end in life: the connection dies, or the server says 410.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import aiohttp
from aiohttp import web

from tests.support.wire import Target


class Relay:
    """Copies the lines of one watch from the API server to the client."""

    def __init__(
        self, *, target: Target, request: web.Request, event_delay: Callable[[Target], float]
    ) -> None:
        self.target = target
        self._request = request
        self._event_delay = event_delay
        self._ended: asyncio.Future[bytes | None] = asyncio.get_running_loop().create_future()

    @property
    def is_connected(self) -> bool:
        """Whether the client still listens."""
        return self._request.transport is not None and not self._request.transport.is_closing()

    def end(self, last_line: bytes | None) -> None:
        """End the watch now: after ``last_line``, or with a dead connection if that is None."""
        if not self._ended.done():
            self._ended.set_result(last_line)

    async def run(self, source: aiohttp.StreamReader, sink: web.StreamResponse) -> bool:
        """Copy until either side ends; return False if the client's connection is to be reset."""
        copy = asyncio.ensure_future(self._copy(source, sink))
        try:
            both: set[asyncio.Future[Any]] = {copy, self._ended}
            await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        finally:
            copy.cancel()
        if not self._ended.done():
            await copy
            return True
        last_line = self._ended.result()
        if last_line is not None:
            await sink.write(last_line)
            await sink.write_eof()
        return last_line is not None

    async def _copy(self, source: aiohttp.StreamReader, sink: web.StreamResponse) -> None:
        due: asyncio.Queue[tuple[float, bytes] | None] = asyncio.Queue()
        reader = asyncio.ensure_future(self._read(source, due))
        loop = asyncio.get_running_loop()
        try:
            while (item := await due.get()) is not None:
                await asyncio.sleep(max(0.0, item[0] - loop.time()))
                await sink.write(item[1])
        finally:
            reader.cancel()
        await reader
        await sink.write_eof()

    async def _read(
        self, source: aiohttp.StreamReader, due: asyncio.Queue[tuple[float, bytes] | None]
    ) -> None:
        loop = asyncio.get_running_loop()
        try:
            async for line in _lines(source):
                due.put_nowait((loop.time() + self._event_delay(self.target), line))
        finally:
            due.put_nowait(None)


async def _lines(source: aiohttp.StreamReader) -> AsyncIterator[bytes]:
    """Yield the stream's lines with their ends; a watch event may be longer than a reader's line limit."""
    rest = b""
    async for chunk in source.iter_any():
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            yield line + b"\n"
