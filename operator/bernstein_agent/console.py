"""What appears in the container's log: the runner's own notes, and every line of the agent's program.

Both go through the same redaction and the same lock, so that no secret and no torn line gets out.
"""

import threading
from typing import BinaryIO, Final

from bernstein_agent.redaction import Redactor

_PREFIX: Final = "bernstein-agent: "


class Console:
    """The container's standard output."""

    def __init__(self, stream: BinaryIO, redact: Redactor) -> None:
        self._stream = stream
        self._lock = threading.Lock()
        self._mid_line = False
        self.redact = redact

    def note(self, text: str) -> None:
        """Show what the runner does, on a line of its own."""
        self.show(f"\n{_PREFIX}{text}\n" if self._mid_line else f"{_PREFIX}{text}\n")

    def show(self, line: str) -> None:
        """Show a line of the agent's program as it is, its secrets apart."""
        with self._lock:
            self._stream.write(self.redact(line).encode("utf-8", "replace"))
            self._stream.flush()
            self._mid_line = not line.endswith("\n")
