"""What was seen of an agent's program while it ran.

Its lines arrive from two threads and are many; only a bounded part is kept. What it spent is taken as the
highest it ever reported, because reports are cumulative and a program may start to count anew.
"""

import threading
from collections import deque
from dataclasses import dataclass, field
from typing import Final

from bernstein_agent.adapters.base import Failed, Said, Signal, Spent
from bernstein_agent.contract import Usage
from bernstein_agent.failure import Verdict

TAIL_BYTES: Final = 2048
"""How much of its last output stands in for a summary that it didn't give."""

_LONGEST_LINE: Final = 500


@dataclass(slots=True)
class Observation:
    """The signals of one program, and the tail of its text."""

    usage: Usage = field(default_factory=Usage)
    failed: Verdict | None = None
    said: str = ""
    _lines: deque[str] = field(default_factory=deque)
    _size: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def signal(self, signal: Signal) -> None:
        """Take a signal into account."""
        with self._lock:
            match signal:
                case Spent(usage):
                    self.usage = _highest(self.usage, usage)
                case Failed(verdict):
                    self.failed = verdict
                case Said(text):
                    self.said = text

    def text(self, line: str) -> None:
        """Take a line of text into account."""
        line = line.rstrip()[:_LONGEST_LINE]
        if not line:
            return
        with self._lock:
            self._lines.append(line)
            self._size += len(line) + 1
            while self._size > TAIL_BYTES:
                self._size -= len(self._lines.popleft()) + 1

    @property
    def summary(self) -> str:
        """What the program said of its work, else the tail of its output."""
        return self.said or "\n".join(self._lines)

    @property
    def last_line(self) -> str:
        """The last line of text."""
        return self._lines[-1] if self._lines else ""


def _highest(one: Usage, other: Usage) -> Usage:
    return Usage(
        input_tokens=max(one.input_tokens, other.input_tokens),
        output_tokens=max(one.output_tokens, other.output_tokens),
        cached_tokens=max(one.cached_tokens, other.cached_tokens),
        cost_micros=max(one.cost_micros, other.cost_micros),
    )
