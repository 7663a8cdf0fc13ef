"""How moments and the time since are told to people."""

from datetime import datetime, timedelta
from typing import Final

_UNITS: Final = (
    (timedelta(minutes=2), "s", timedelta(seconds=1)),
    (timedelta(hours=2), "m", timedelta(minutes=1)),
    (timedelta(days=2), "h", timedelta(hours=1)),
)


def age(since: datetime | None, *, now: datetime) -> str:
    """Return how long ago ``since`` was, as kubectl would say it: ``8s``, ``45m``, ``30h``, ``3d``."""
    if since is None:
        return ""
    past = max(now - since, timedelta())
    for limit, unit, one in _UNITS:
        if past < limit:
            return f"{past // one}{unit}"
    return f"{past.days}d"


def moment(at: datetime) -> str:
    """Return a moment as the API writes it, to the second."""
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"
