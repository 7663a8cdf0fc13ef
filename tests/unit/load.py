"""Small makers of readings: nodes with two cores, and samples that say how busy they are in percent."""

from collections.abc import Mapping
from datetime import timedelta
from fractions import Fraction

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
from tests.unit.objects import at

WINDOW = 20
ANYWHERE = frozenset({Placement()})
CORES = 2


def node(*, pool: str = "", usable: bool = True, cores: int = CORES) -> Node:
    """Return a node with so many cores; ``pool`` is a label."""
    return Node(labels={"pool": pool} if pool else {}, usable=usable, cpu=Fraction(cores))


def sample(percent: float | Fraction, *, taken: float = 0, window: float = WINDOW) -> Sample:
    """Return what a node of two cores that is so busy uses; ``taken`` in seconds."""
    return Sample(Fraction(percent) * CORES / 100, at(taken), timedelta(seconds=window))


def reading(
    samples: Mapping[str, Sample], *, read: float = 0, nodes: Mapping[str, Node] | None = None
) -> Reading:
    """Return a reading at a second; without ``nodes`` there is one for each sample."""
    known = {name: node() for name in samples} if nodes is None else nodes
    return Reading(at(read), known, dict(samples))


def measured(
    percent: float | Fraction | None, *, read: float = 0, taken: float | None = None, window: float = WINDOW
) -> Measure:
    """Return what a reading came to; the sample is as old as the reading unless ``taken`` says else."""
    return Measure(
        at=at(read),
        percent=None if percent is None else Fraction(percent),
        counted=1,
        nodes=1,
        newest=at(read if taken is None else taken),
        window=timedelta(seconds=window),
    )


def signal(*measures: Measure, source: LoadSource = LoadSource.CPU, failure: str = "") -> Signal:
    """Return a signal; ``measures`` are in the order of time."""
    return Signal(source, tuple(reversed(measures)), failure)


def load(*signals: Signal, since: float = -1000, forbidden: str = "") -> NodeLoad:
    """Return what is known of a run's nodes; looked at for a long time, unless ``since`` says else."""
    return NodeLoad(at(since), signals, forbidden)
