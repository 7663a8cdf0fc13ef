"""An event loop in a thread of its own.

Tests are plain functions that read from top to bottom; the proxy and the recorder have to go on meanwhile,
also while a test sleeps, blocks in a subprocess or has frozen the operator. So each gets its own loop.
"""

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")

_CALL_SECONDS = 30.0
_GOODBYE_SECONDS = 1.0


class LoopThread:
    """Runs coroutines for synchronous callers; ``close`` cancels what is left and lets the thread end."""

    def __init__(self, name: str) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()
        self.loop.close()

    def call(self, coroutine: Coroutine[Any, Any, T], *, timeout: float = _CALL_SECONDS) -> T:
        """Run ``coroutine`` in the loop and return its result; TimeoutError after ``timeout`` seconds."""
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(timeout)

    def close(self) -> None:
        """Cancel every task of the loop and let them end; the thread ends by itself a moment later.

        Closed TLS connections still exchange their goodbyes then, for which no caller has to wait.
        """
        self.call(_cancel_others())
        self.loop.call_soon_threadsafe(self.loop.call_later, _GOODBYE_SECONDS, self.loop.stop)


async def _cancel_others() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
