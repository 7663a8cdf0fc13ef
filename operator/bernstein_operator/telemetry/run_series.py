"""Gauges of single runs, which must not outlive them for long.

A scrape comes once a minute or so, and whoever looks at a run's end wants its last value; but a label value
that is never taken away again is a leak. So a run's series go ten minutes after its end, and those of a run
that goes on again stay.
"""

from datetime import datetime, timedelta
from typing import Final, TypeAlias

from prometheus_client import Gauge

KEPT_FOR: Final = timedelta(minutes=10)
_Run: TypeAlias = tuple[str, str]
_Series: TypeAlias = tuple[Gauge, tuple[str, ...]]


class RunSeries:
    """Series whose first labels are ``namespace`` and ``run``, and when they are to go.

    ``more`` holds the values of the labels after these two, of which there are few.
    """

    def __init__(self) -> None:
        self._shown: dict[_Run, set[_Series]] = {}
        self._ended: dict[_Run, datetime] = {}

    def set(self, gauge: Gauge, namespace: str, run: str, value: float, *more: str) -> None:
        """Show a run's value."""
        gauge.labels(namespace, run, *more).set(value)
        self._shown.setdefault((namespace, run), set()).add((gauge, more))

    def absent(self, gauge: Gauge, namespace: str, run: str, *more: str) -> None:
        """Show no value of a run, where there is none to show."""
        shown = self._shown.get((namespace, run), set())
        if (gauge, more) in shown:
            shown.remove((gauge, more))
            gauge.remove(namespace, run, *more)

    def ended(self, namespace: str, run: str, at: datetime | None) -> None:
        """Take note of when a run ended; None for one that goes on."""
        if at is None:
            self._ended.pop((namespace, run), None)
        else:
            self._ended[namespace, run] = at

    def sweep(self, now: datetime) -> None:
        """Take away what is of runs that ended long enough ago."""
        for namespace, run in [one for one, at in self._ended.items() if now - at >= KEPT_FOR]:
            for gauge, more in self._shown.pop((namespace, run), set()):
                gauge.remove(namespace, run, *more)
            del self._ended[namespace, run]


run_series: Final = RunSeries()
"""Of all gauges in ``metrics``."""
