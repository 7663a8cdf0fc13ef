"""What was seen of an agent's program while it ran.

Its lines arrive from two threads and are many; only a bounded part is kept. What it spent is taken as the
highest it ever reported, because reports are cumulative and a program may start to count anew.
"""

import threading
from collections import deque
from dataclasses import dataclass, field
from typing import Final

from bernstein_agent.adapters.base import Failed, Said, Session, Signal, Spent, Worked
from bernstein_agent.contract import Usage
from bernstein_agent.failure import Verdict

TAIL_BYTES: Final = 2048
"""How much of its last output stands in for a summary that it didn't give."""

_LONGEST_LINE: Final = 500


@dataclass(frozen=True, slots=True)
class Tally:
    """What was spent and done."""

    usage: Usage = field(default_factory=Usage)
    steps: int = 0
    tool_calls: int = 0

    def plus(self, other: "Tally") -> "Tally":
        """Return the sum of two parts."""
        usage = Usage(
            input_tokens=self.usage.input_tokens + other.usage.input_tokens,
            output_tokens=self.usage.output_tokens + other.usage.output_tokens,
            cached_tokens=self.usage.cached_tokens + other.usage.cached_tokens,
            cost_micros=self.usage.cost_micros + other.usage.cost_micros,
            cost_unknown=self.usage.cost_unknown or other.usage.cost_unknown,
        )
        return Tally(usage, self.steps + other.steps, self.tool_calls + other.tool_calls)

    def highest(self, other: "Tally") -> "Tally":
        """Return the highest of each number in two reports of the same thing."""
        usage = Usage(
            input_tokens=max(self.usage.input_tokens, other.usage.input_tokens),
            output_tokens=max(self.usage.output_tokens, other.usage.output_tokens),
            cached_tokens=max(self.usage.cached_tokens, other.usage.cached_tokens),
            cost_micros=max(self.usage.cost_micros, other.usage.cost_micros),
            cost_unknown=self.usage.cost_unknown or other.usage.cost_unknown,
        )
        return Tally(usage, max(self.steps, other.steps), max(self.tool_calls, other.tool_calls))


@dataclass(slots=True)
class Observation:
    """The signals of one attempt's program in all its turns, and the tail of its text.

    Attributes:
        failed: why it said in this turn that it can't go on.
        said: its last summary of its work.
        prose: its last words to people in this turn, empty where it had none.
        session: the name of its conversation, None where it told none.
    """

    failed: Verdict | None = None
    said: str = ""
    prose: str = ""
    session: str | None = None
    _before: Tally = field(default_factory=Tally)
    _turn: Tally = field(default_factory=Tally)
    _lines: deque[str] = field(default_factory=deque)
    _size: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def begin_turn(self) -> None:
        """Count anew, on top of what the turns before came to; a turn is at least one step."""
        with self._lock:
            self._before, self._turn = self._before.plus(self._turn), Tally(steps=1)
            self.failed, self.prose = None, ""

    @property
    def tally(self) -> Tally:
        """What the attempt has come to so far."""
        with self._lock:
            return self._before.plus(self._turn)

    def signal(self, signal: Signal) -> None:
        """Take a signal into account."""
        with self._lock:
            match signal:
                case Spent(usage):
                    self._turn = self._turn.highest(Tally(usage))
                case Worked(steps, tool_calls):
                    self._turn = self._turn.highest(Tally(steps=steps, tool_calls=tool_calls))
                case Session(name):
                    self.session = name
                case Failed(verdict):
                    self.failed = verdict
                case Said(text):
                    self.said = self.prose = text

    def spoke(self, line: str) -> None:
        """Take a line into account that it said to whoever listens; JSON is no prose, nor are mere signs."""
        if any(sign.isalpha() for sign in line) and not line.lstrip().startswith("{"):
            self.prose = line.strip()
        self.text(line)

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
