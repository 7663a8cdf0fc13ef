"""How long each step of an attempt may take.

Three clocks run: the attempt's own timeout, the ten seconds between a Pod's SIGTERM and its SIGKILL, and what
a single step may reasonably need. A stop can come at any time, so limits are asked for again and again rather
than computed once. All moments are on the monotonic clock: the wall clock may jump.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

Clock = Callable[[], float]

GRACE_SECONDS: Final = 9.0
"""What is used of a Pod's terminationGracePeriodSeconds (10): the last second is for the result."""

SAVING_SECONDS: Final = 60.0
"""How long an exchange that saves work may take: by then the operator loses patience too."""

CHILD_STOP_SECONDS: Final = 3.0
"""How long a program may take to stop when the Pod is being stopped."""

CHILD_TIMEOUT_SECONDS: Final = 5.0
"""How long a program may take to stop when its time is over."""

REPORT_SECONDS: Final = 5.0
"""How long the last report may take: by then the result is in the termination message."""

FAREWELL_SECONDS: Final = 5.0
"""How long a program that gave its task up may take to end by itself."""


@dataclass(slots=True)
class StopRequest:
    """Whether and when somebody asked the whole Pod to stop; set by a signal handler."""

    at: float | None = None


@dataclass(frozen=True, slots=True)
class Allowance:
    """The limits of one attempt.

    Attributes:
        now: the monotonic clock.
        began: when the attempt began.
        ends: when its time is over.
        stop: the request to stop.
        step_seconds: the longest that one exchange with the git server may take.
    """

    now: Clock
    began: float
    ends: float
    stop: StopRequest
    step_seconds: float

    @property
    def seconds(self) -> float:
        """How long the attempt may take in all."""
        return self.ends - self.began

    def work(self) -> float:
        """Return until when anything of the work may run."""
        return self.ends if self.stop.at is None else min(self.ends, self.stop.at)

    def step(self) -> Clock:
        """Return until when an exchange that begins now may go on, as part of the work."""
        latest = self.now() + self.step_seconds
        return lambda: min(latest, self.work())

    def mercy(self) -> Clock:
        """Return until when a program may go on that was asked to stop now."""
        latest = self.now() + (CHILD_TIMEOUT_SECONDS if self.stop.at is None else CHILD_STOP_SECONDS)
        return lambda: latest if self.stop.at is None else min(latest, self.stop.at + CHILD_STOP_SECONDS)

    def saving(self) -> Clock:
        """Return until when an exchange that begins now and saves work may go on, whatever the timeout."""
        latest = self.now() + min(self.step_seconds, SAVING_SECONDS)
        return lambda: latest if self.stop.at is None else min(latest, self.stop.at + GRACE_SECONDS)

    def reporting(self) -> Clock:
        """Return until when the last report, which begins now, may be tried."""
        latest = self.now() + REPORT_SECONDS
        return lambda: latest if self.stop.at is None else min(latest, self.stop.at + GRACE_SECONDS)
