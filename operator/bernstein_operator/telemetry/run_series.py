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


class RunSeries:
    """Series with the labels ``namespace`` and ``run`` (and no others), and when they are to go."""

    def __init__(self) -> None:
        self._shown: dict[_Run, set[Gauge]] = {}
        self._ended: dict[_Run, datetime] = {}

    def set(self, gauge: Gauge, namespace: str, run: str, value: float) -> None:
        """Show a run's value."""
        gauge.labels(namespace, run).set(value)
        self._shown.setdefault((namespace, run), set()).add(gauge)

    def absent(self, gauge: Gauge, namespace: str, run: str) -> None:
        """Show no value of a run, where there is none to show."""
        shown = self._shown.get((namespace, run), set())
        if gauge in shown:
            shown.remove(gauge)
            gauge.remove(namespace, run)

    def ended(self, namespace: str, run: str, at: datetime | None) -> None:
        """Take note of when a run ended; None for one that goes on."""
        if at is None:
            self._ended.pop((namespace, run), None)
        else:
            self._ended[namespace, run] = at

    def sweep(self, now: datetime) -> None:
        """Take away what is of runs that ended long enough ago."""
        for namespace, run in [one for one, at in self._ended.items() if now - at >= KEPT_FOR]:
            for gauge in self._shown.pop((namespace, run), set()):
                gauge.remove(namespace, run)
            del self._ended[namespace, run]


run_series: Final = RunSeries()
"""Of all gauges in ``metrics``."""
