"""The lines in which the scripted agent reports, one JSON object each, ``type`` first."""

import json
from typing import Final

USAGE: Final = "usage"
FAILURE: Final = "failure"
RATE_LIMIT: Final = "rate_limit"
SUMMARY: Final = "summary"
SESSION: Final = "session"
WORK: Final = "work"


def report(kind: str, **fields: str | int | None) -> str:
    """Return a report of that type; fields that are None are left out."""
    present = {name: value for name, value in fields.items() if value is not None}
    return json.dumps({"type": kind, **present}, separators=(",", ":"))
