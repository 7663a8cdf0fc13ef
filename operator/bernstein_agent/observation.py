"""What was seen of an agent's program while it ran.

Its lines arrive from two threads and are many; only a bounded part is kept. What it spent is taken as the
highest it ever reported, because reports are cumulative and a program may start to count anew.
"""

import threading
from collections import deque
from dataclasses import dataclass, field
from typing import Final

from bernstein_agent.adapters.base import Failed, Said, Session, Signal, Spent, Worked
from bernstein_agent.contract import Prices, Usage
from bernstein_agent.failure import Verdict
from bernstein_agent.prices import priced
from bernstein_agent.tally import Tally

TAIL_BYTES: Final = 2048
"""How much of its last output stands in for a summary that it didn't give."""

_LONGEST_LINE: Final = 500


@dataclass(slots=True)
class Observation:
    """The signals of one attempt's program in all its turns, and the tail of its text.

    Attributes:
        prices: of its model, for spend that it tells in tokens only.
        failed: why it said in this turn that it can't go on.
        said: its last summary of its work.
        prose: its last words to people in this turn, empty where it had none.
        session: the name of its conversation, None where it told none.
    """

    prices: Prices | None = None
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
        """Count anew, on top of the turns before; what this one costs is unknown until it is told."""
        with self._lock:
            self._before, self._turn = self._before.plus(self._turn), Tally(Usage(cost_unknown=True))
            self.failed, self.prose = None, ""

    def end_turn(self) -> None:
        """Count the turn as a step, where the program didn't tell of more."""
        with self._lock:
            self._turn = self._turn.worked(steps=1)

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
                    self._turn = self._turn.spent(priced(usage, self.prices))
                case Worked(steps, tool_calls):
                    self._turn = self._turn.worked(steps=steps, tool_calls=tool_calls)
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
