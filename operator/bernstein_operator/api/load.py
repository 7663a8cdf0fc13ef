"""How busy nodes are, as it was read, before anybody concludes anything from it.

Two sources tell of it, each with its own faults: the metrics API may be missing, lag behind or know only some
of the nodes, and a Prometheus may know none of them by name. So what was read is kept as it came, with its
times, and what it means for a run is decided later, for the nodes that this run could use.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from fractions import Fraction
from typing import Final

from bernstein_operator.api.profile import Toleration

DEFAULT_WINDOW: Final = timedelta(seconds=30)
"""Stands in for a sample's window while this process has seen none."""


class LoadSource(StrEnum):
    """Who tells how busy nodes are."""

    CPU = "cpu"
    """The metrics API: usage of what a node can give to Pods."""
    LOAD = "load"
    """The operator's load source: runnable processes for each CPU."""


@dataclass(frozen=True, slots=True)
class Taint:
    """As on a node."""

    key: str
    effect: str
    value: str = ""


@dataclass(frozen=True, slots=True)
class Node:
    """What of a node decides which Pods it takes.

    Attributes:
        labels: its labels.
        taints: what a Pod has to tolerate.
        usable: whether it is Ready and not cordoned.
        cpu: cores that it can give to Pods, 0 where that can't be read.
    """

    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()
    usable: bool = True
    cpu: Fraction = Fraction(0)


@dataclass(frozen=True, slots=True)
class Sample:
    """One measurement: cores in use, or percent, over the ``window`` that ended at ``taken``."""

    value: Fraction
    taken: datetime
    window: timedelta


@dataclass(frozen=True, eq=False)
class Reading:
    """All that a source said at once; compared by identity, as no two are the same.

    Attributes:
        at: when it was read.
        nodes: all nodes by name, as known then.
        samples: measurements by node; some may be of nodes that are no more.
        everywhere: the one measurement for all nodes, where the source tells none apart.
    """

    at: datetime
    nodes: Mapping[str, Node]
    samples: Mapping[str, Sample]
    everywhere: Sample | None = None


@dataclass(frozen=True, slots=True)
class Placement:
    """Where a profile's Pods may run."""

    selector: frozenset[tuple[str, str]] = frozenset()
    tolerations: tuple[Toleration, ...] = ()


@dataclass(frozen=True, slots=True)
class Measure:
    """What a reading means for one set of nodes.

    Attributes:
        at: when it was read.
        percent: the mean over the nodes that were counted; None where too few were.
        counted: how many nodes have a sample that is fresh.
        nodes: how many nodes the run could use.
        newest: when the newest of the samples was taken.
        window: the longest window of the samples: how long this may be relied on follows from it.
    """

    at: datetime
    percent: Fraction | None = None
    counted: int = 0
    nodes: int = 0
    newest: datetime | None = None
    window: timedelta = DEFAULT_WINDOW


@dataclass(frozen=True, slots=True)
class Signal:
    """What one source has said of a run's nodes.

    Attributes:
        source: which one.
        measures: what was read, newest first.
        failure: why the last look brought nothing, empty where it did.
    """

    source: LoadSource
    measures: tuple[Measure, ...] = ()
    failure: str = ""


@dataclass(frozen=True, slots=True)
class NodeLoad:
    """All that is known of how busy a run's nodes are.

    Attributes:
        since: when this process first looked.
        signals: one for each source that there is.
        forbidden: why nodes can't be looked at all, by the way the operator was installed; empty for most.
    """

    since: datetime
    signals: tuple[Signal, ...] = ()
    forbidden: str = ""
