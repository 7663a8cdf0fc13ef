"""The only place of the plugin that reads the time; everything else is told what time it is."""

from datetime import UTC, datetime


def now() -> datetime:
    """Return the present moment, with its zone."""
    return datetime.now(UTC)  # noqa: TID251 - this is the plugin's one reader
