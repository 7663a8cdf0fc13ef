"""What is gone, so that late news of it doesn't bring it back.

Own writes, watches and lists arrive in any order: the answer to a write may come after the news that its
object was deleted. Each end is kept with the version that it had; the oldest are forgotten first.
"""

from collections import OrderedDict
from typing import Final

from bernstein_operator.api.pod import Metadata

CAPACITY: Final = 20_000


class Graves:
    """Ends of objects by UID."""

    def __init__(self) -> None:
        self._ends: OrderedDict[str, int] = OrderedDict()

    def __contains__(self, uid: str) -> bool:
        return uid in self._ends

    def add(self, meta: Metadata) -> None:
        """Take note of an object's end, at the version in ``meta``."""
        self._ends[meta.uid] = meta.version
        if len(self._ends) > CAPACITY:
            self._ends.popitem(last=False)

    def too_late(self, meta: Metadata, known: Metadata | None) -> bool:
        """Whether something as new or newer is ``known`` under that name, or the object's end is."""
        over = meta.version < self._ends.get(meta.uid, 0)
        return over or (known is not None and meta.version <= known.version)
