"""The only place that reads the time; everything else is told what time it is."""

import time
from datetime import UTC, datetime


def now() -> datetime:
    """Return the present moment, with its zone."""
    return datetime.now(UTC)  # noqa: TID251 - this is the one reader


def monotonic() -> float:
    """Return seconds that never go back, from an arbitrary start."""
    return time.monotonic()
