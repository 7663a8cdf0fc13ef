"""Whether two attempts failed in the same way: what is left of a failure once chance is taken out of it.

The same fault is told with another time, address, temporary file or request id each time. What changes from
one telling to the next is replaced by a mark, and the rest is hashed: equal marks mean one failure that comes
again, not two that look alike.
"""

import re
from hashlib import sha256
from typing import Final

from bernstein_agent.contract import ResultClass

DIGITS: Final = 16
_MARK: Final = "#"
_HEARD: Final = 512
"""So much of a normalised message counts: its end may be cut by whoever passed it on."""

_NO_FAILURES: Final = frozenset(
    {
        ResultClass.SUCCESS,
        ResultClass.ABANDONED,
        ResultClass.CANCELLED,
        ResultClass.ASKED,
        ResultClass.DISRUPTION,
    }
)
"""Ends that are nobody's failure; a lost Pod says nothing of its agent, however it was lost."""
_CHANCE: Final = tuple(
    re.compile(pattern)
    for pattern in (
        # What lies in a directory for temporary files has a name that was drawn.
        r"(?<=/tmp/)[^\s'\"`,;:()\[\]]+",
        r"(?<![0-9a-z])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![0-9a-z])",
        # The six digits of a hash in the name of an agent's Pod may all be letters.
        r"(?<=-)[0-9a-f]{6}-a\d+(?![0-9a-z])",
        r"(?<![0-9a-z])0x[0-9a-f]+(?![0-9a-z])",
        # Commits, container ids, request ids: long, and digits among the letters.
        r"(?<![0-9a-z])(?=[a-z]*[0-9])(?:[0-9a-f]{6,}|[0-9a-z]{12,})(?![0-9a-z])",
        r"(?<![0-9a-z])\d{4}-\d\d-\d\d[t ]\d\d:\d\d:\d\d(?:\.\d+)?(?:z|[+-]\d\d:?\d\d)?",
        r"(?<![0-9a-z])(?:mon|tue|wed|thu|fri|sat|sun)(?![0-9a-z])",
        r"(?<![0-9a-z])(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)(?![0-9a-z])",
        r"\d+(?:[.,:]\d+)*",
    )
)
_DRAWN_PART: Final = re.compile(rf"(?<=/)[^/\s'\"`,;:()\[\]]*{_MARK}[^/\s'\"`,;:()\[\]]*")
_SPACE: Final = re.compile(r"\s+")


def fingerprint(result_class: ResultClass, *, reason: str, message: str) -> str | None:
    """Return 16 hexadecimal digits, equal for failures of the same kind; None for what is no failure."""
    if result_class in _NO_FAILURES:
        return None
    told = f"{result_class}\n{reason}\n{normalised(message)[:_HEARD]}"
    return sha256(told.encode()).hexdigest()[:DIGITS]


def normalised(message: str) -> str:
    """Return a message without what another telling of the same failure would say differently."""
    text = message.lower()
    for pattern in _CHANCE:
        text = pattern.sub(_MARK, text)
    return _SPACE.sub(" ", _DRAWN_PART.sub(_MARK, text)).strip()
