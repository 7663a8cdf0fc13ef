"""One gate for the whole process that the API server can close for a while.

A 429 with Retry-After is about the client, not about one request. So whoever is told to wait makes everyone
wait, except for what must not queue behind starts: stopping agents.
"""

import asyncio
from collections.abc import Callable
from typing import Final

LONGEST_WAIT_SECONDS: Final = 120.0
"""A header that asks for more is not obeyed to the letter: deadlines have to be kept."""
DEFAULT_WAIT_SECONDS: Final = 1.0


class Gate:
    """Open unless ``close`` was called; ``clock`` gives monotonic seconds, ``longest`` bounds each wait."""

    def __init__(self, clock: Callable[[], float], *, longest: float = LONGEST_WAIT_SECONDS) -> None:
        self._clock = clock
        self._longest = longest
        self._opens_at = 0.0

    def close(self, retry_after: str | None) -> None:
        """Close for as long as a Retry-After header says (seconds), or a second where it says nothing."""
        wait = float(retry_after) if retry_after and retry_after.isdecimal() else DEFAULT_WAIT_SECONDS
        self._opens_at = max(self._opens_at, self._clock() + min(wait, self._longest))

    async def passed(self) -> None:
        """Return once the gate is open; it may have been closed again while somebody waited."""
        # An event can't tell of a moment; the loop is for a gate that was closed again meanwhile.
        while (wait := self._opens_at - self._clock()) > 0:  # noqa: ASYNC110
            await asyncio.sleep(wait)
