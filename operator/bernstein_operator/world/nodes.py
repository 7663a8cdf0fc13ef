"""What was read of nodes and of how busy they are, for as long as it may matter.

Runs choose among nodes differently, so that one reading means something else for each kind of run. What it
means is computed once for each set of placements and kept with the reading: a pass over a run looks it up.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Final

from bernstein_operator.api.effective import DEFAULT_PROFILE
from bernstein_operator.api.load import (
    LoadSource,
    Measure,
    Node,
    NodeLoad,
    Placement,
    Reading,
    Sample,
    Signal,
)
from bernstein_operator.api.objects import Key, ProfileObject, RunObject
from bernstein_operator.decisions.placement import placement
from bernstein_operator.decisions.saturation import measure
from bernstein_operator.world.roster import Roster

_KEPT_AT_FIRST: Final = 100


class _Source:
    """The last readings of one source, newest first, each with what it means for whom."""

    def __init__(self, source: LoadSource) -> None:
        self._source = source
        self._readings: deque[tuple[Reading, dict[frozenset[Placement], Measure]]] = deque()
        self.failure = ""

    def add(self, reading: Reading, *, kept: int) -> None:
        """Take note of a reading; most bring no newer sample and share those of the one before."""
        before = self._readings[0][0].samples if self._readings else {}
        same = before == reading.samples
        self._readings.appendleft((replace(reading, samples=before) if same else reading, {}))
        while len(self._readings) > kept:
            self._readings.pop()
        self.failure = ""

    def signal(self, placements: frozenset[Placement]) -> Signal:
        """Return what this source says of the nodes that the placements allow."""
        measures = tuple(self._measure(one, known, placements) for one, known in self._readings)
        return Signal(self._source, measures, self.failure)

    def _measure(
        self, reading: Reading, known: dict[frozenset[Placement], Measure], placements: frozenset[Placement]
    ) -> Measure:
        if placements not in known:
            known[placements] = measure(reading, placements, source=self._source)
        return known[placements]


class Nodes:
    """Nodes by name, and what each source has said of them; ``profiles`` are all profiles by key."""

    def __init__(self, profiles: Mapping[Key, ProfileObject]) -> None:
        self._profiles = profiles
        self._sources: dict[LoadSource, _Source] = {}
        self._since: datetime | None = None
        self.nodes: Mapping[str, Node] = {}
        self.forbidden = ""
        self._kept = _KEPT_AT_FIRST

    def begin(self, sources: Iterable[LoadSource], *, forbidden: str = "") -> None:
        """Expect these sources from now on; ``forbidden`` says why nodes can't be looked at all, if so."""
        self._sources = {one: _Source(one) for one in sources}
        self.forbidden = forbidden

    def looked(self, now: datetime) -> None:
        """Take note that every source was asked at least once: what isn't known now is worth telling."""
        self._since = self._since or now

    def keep(self, readings: int) -> None:
        """Keep as many readings as the most patient of the runs needs."""
        self._kept = readings

    def read(
        self,
        source: LoadSource,
        *,
        samples: Mapping[str, Sample],
        now: datetime,
        everywhere: Sample | None = None,
    ) -> None:
        """Take note of what a source said."""
        self._sources[source].add(Reading(now, self.nodes, samples, everywhere), kept=self._kept)

    def failed(self, source: LoadSource, why: str) -> None:
        """Take note that a source said nothing."""
        self._sources[source].failure = why

    def load(self, run: RunObject, roster: Roster) -> NodeLoad | None:
        """Return what is known of the nodes that a run could use.

        None where nothing can be said yet: nobody has looked so far, or no task of the run could start.
        """
        defaults = run.spec.task_defaults if run.spec else None
        default = (defaults.profile if defaults else None) or DEFAULT_PROFILE
        placements = self._placements(run.meta.namespace, roster.in_use.names(default, counts=roster.counts))
        if not self._since or not (placements or self.forbidden):
            return None
        signals = tuple(one.signal(placements) for one in self._sources.values())
        return NodeLoad(since=self._since, signals=signals, forbidden=self.forbidden)

    def _placements(self, namespace: str, profiles: Iterable[str]) -> frozenset[Placement]:
        found = (self._profiles.get((namespace, name)) for name in profiles)
        return frozenset(placement(one.spec.pod) for one in found if one and one.spec)

    def everything(self, source: LoadSource) -> Measure | None:
        """Return what a source said last of all nodes that Pods without any wish could run on."""
        known = self._sources.get(source)
        return next(iter(known.signal(frozenset({Placement()})).measures), None) if known else None
