"""Whether a run's nodes are too busy for further agents.

Each source is judged by itself, over the nodes that the run could use: the mean of those that are measured.
Spawning pauses once so many readings in a row are above a source's threshold, and goes on when every source
that has a say is below its own less the margin. What isn't known is never taken for 0 %: a reading is relied
on for three times the window of its samples, and then its source has no say until there is another one.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from fractions import Fraction
from types import MappingProxyType
from typing import Final

from bernstein_operator.api.concurrency import SpawningPause
from bernstein_operator.api.load import (
    DEFAULT_WINDOW,
    LoadSource,
    Measure,
    NodeLoad,
    Placement,
    Reading,
    Sample,
    Signal,
)
from bernstein_operator.decisions.placement import takes

DEFAULT_CPU_PERCENT: Final = 90
DEFAULT_LOAD_PERCENT: Final = 300
DEFAULT_MARGIN: Final = 5
DEFAULT_SAMPLES: Final = 2
LASTING: Final = 3
"""So many windows long a sample is fresh, and a reading relied on."""


_NAMES: Final[Mapping[LoadSource, str]] = MappingProxyType(
    {LoadSource.CPU: "CPU use", LoadSource.LOAD: "Load average for each CPU"}
)


@dataclass(frozen=True, slots=True)
class PauseRules:
    """A run's thresholds with nothing left open.

    Attributes:
        thresholds: in percent, by source.
        margin: spawning goes on below the threshold less this.
        samples: so many readings in a row above the threshold pause it.
    """

    thresholds: Mapping[LoadSource, Fraction]
    margin: int
    samples: int

    def resumes_below(self, source: LoadSource) -> Fraction:
        """Below what spawning goes on: at least 1 %, as nothing is ever below 0."""
        return max(Fraction(1), self.thresholds[source] - self.margin)


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the nodes' load means for a run.

    Attributes:
        paused: whether nothing may start.
        text: why, or why no more, for people.
        unknown: what of the load can't be known, empty where all can.
        known: whether any source has a say.
        forbidden: whether nodes can't be looked at by the way the operator was installed.
    """

    paused: bool
    text: str = ""
    unknown: str = ""
    known: bool = True
    forbidden: bool = False


@dataclass(frozen=True, slots=True)
class _Finding:
    """What one source comes to.

    Attributes:
        saturated: whether it pauses spawning.
        calm: whether it lets spawning go on: it is low enough, or has no say.
        text: what it says.
        missing: why it has no say, empty where it has one.
    """

    saturated: bool
    calm: bool
    text: str = ""
    missing: str = ""


def rules_of(pause: SpawningPause, *, load_default: Decimal | None = None) -> PauseRules:
    """Return a run's thresholds; ``load_default`` is its ConfigMap's, for what its spec leaves open."""
    load = _first(pause.node_load_percent, load_default, DEFAULT_LOAD_PERCENT)
    cpu = _first(pause.node_cpu_percent, None, DEFAULT_CPU_PERCENT)
    return PauseRules(
        thresholds={LoadSource.CPU: Fraction(cpu), LoadSource.LOAD: Fraction(load)},
        margin=DEFAULT_MARGIN if pause.resume_margin_percent is None else pause.resume_margin_percent,
        samples=pause.samples or DEFAULT_SAMPLES,
    )


def judge(load: NodeLoad, rules: PauseRules, *, paused: datetime | None, now: datetime) -> Verdict:
    """Say whether spawning is to be paused; ``paused`` is since when it has been so far, if it has."""
    # A pause from before the operator's start is held for as long as a usual reading would be.
    inherited = paused is not None and paused < load.since
    held = inherited and now - load.since < LASTING * DEFAULT_WINDOW
    findings = {one.source: _assess(one, rules, held=held, now=now) for one in load.signals}
    busy = {key: one for key, one in findings.items() if (not one.calm if paused else one.saturated)}
    said = (busy or findings).items()
    missing = [f"{_NAMES[key]}: {one.missing}" for key, one in findings.items() if one.missing]
    return Verdict(
        paused=bool(busy),
        text=_sentence([f"{_NAMES[key]}: {one.text}" for key, one in said if one.text]),
        unknown=_sentence([load.forbidden, *missing] if load.forbidden else missing),
        known=any(not one.missing for one in findings.values()),
        forbidden=bool(load.forbidden),
    )


def measure(reading: Reading, placements: Iterable[Placement], *, source: LoadSource) -> Measure:
    """Return what a reading means for the nodes that any of the placements allows."""
    wanted = tuple(placements)
    if reading.everywhere:
        one = reading.everywhere
        return Measure(reading.at, one.value, 1, 0, one.taken, one.window)
    usable = [name for name, node in reading.nodes.items() if any(takes(node, one) for one in wanted)]
    shares = dict(_shares(reading, usable, source=source))
    if not shares or len(shares) * 2 < len(usable):
        return Measure(reading.at, None, len(shares), len(usable))
    samples = [reading.samples[name] for name in shares]
    return Measure(
        at=reading.at,
        percent=sum(shares.values(), Fraction(0)) / len(shares),
        counted=len(shares),
        nodes=len(usable),
        newest=max(one.taken for one in samples),
        window=max(one.window for one in samples),
    )


def _shares(reading: Reading, names: Iterable[str], *, source: LoadSource) -> Iterator[tuple[str, Fraction]]:
    """Yield how busy each node is, in percent, as far as it has a fresh sample."""
    for name in names:
        sample = reading.samples.get(name)
        if not sample or not _is_fresh(sample, reading.at):
            continue
        cpu = reading.nodes[name].cpu
        if source is LoadSource.LOAD:
            yield name, sample.value
        elif cpu:
            yield name, 100 * sample.value / cpu


def _is_fresh(sample: Sample, now: datetime) -> bool:
    return now - sample.taken < LASTING * sample.window


def _assess(signal: Signal, rules: PauseRules, *, held: bool, now: datetime) -> _Finding:
    threshold = rules.thresholds[signal.source]
    known = next((one for one in signal.measures if one.percent is not None), None)
    if not known or known.percent is None:
        return _Finding(saturated=False, calm=not held, missing=_missing(signal))
    if now - known.at >= LASTING * known.window:
        return _Finding(saturated=False, calm=True, missing=_missing(signal))
    below = rules.resumes_below(signal.source)
    return _Finding(
        saturated=_stays_above(signal.measures, threshold, samples=rules.samples),
        calm=known.percent < below,
        text=_said(known, known.percent, threshold=threshold, below=below),
    )


def _stays_above(measures: Iterable[Measure], threshold: Fraction, *, samples: int) -> bool:
    """Whether the last so many readings are all above; ``measures`` are newest first.

    The same samples read twice are one reading. A gap that is longer than a reading lasts ends the row.
    """
    row: list[Measure] = []
    for one in measures:
        if one.percent is None or (row and one.newest == row[-1].newest):
            continue
        if one.percent <= threshold or (row and row[-1].at - one.at >= LASTING * one.window):
            return False
        row.append(one)
        if len(row) == samples:
            return True
    return False


def _said(known: Measure, percent: Fraction, *, threshold: Fraction, below: Fraction) -> str:
    age = int((known.at - known.newest).total_seconds()) if known.newest else 0
    mean = f"the mean of {known.counted} of {known.nodes} nodes"
    return (
        f"{float(percent):.1f} %, {mean if known.nodes else 'one value for all nodes'}, newest sample"
        f" {max(0, age)} s old; nothing starts above {float(threshold):g} %, again below {float(below):g} %"
    )


def _missing(signal: Signal) -> str:
    """Say why a source has no say."""
    last = next(iter(signal.measures), None)
    if signal.failure:
        return signal.failure
    if not last or not last.nodes:
        return "no node is ready that the profiles of the run's unfinished tasks allow"
    return f"{last.counted} of {last.nodes} nodes have a fresh sample, at least half of them must"


def _sentence(parts: Sequence[str]) -> str:
    return f"{'; '.join(parts)}." if parts else ""


def _first(spec: int | None, config: Decimal | None, built_in: int) -> int | Decimal:
    if spec is not None:
        return spec
    return built_in if config is None else config
