"""The one reader of the wall clock in the tests.

Timestamps of the recorder, of the proxy and of the API server's audit log are compared with one another,
so all of them are seconds since the epoch from the same clock; whatever needs the time takes a ``Clock``.
"""

import time
from collections.abc import Callable
from typing import TypeAlias

Clock: TypeAlias = Callable[[], float]


def now() -> float:
    """Return the seconds since the epoch."""
    return time.time()  # noqa: TID251  (the tests' clock module, as the operator has one of its own)
