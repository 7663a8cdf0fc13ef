"""What must hold in every test, whatever it is about: the invariants I1 to I5, judged on a whole timeline.

I1 no agent Pod is created while the run's live agent Pods fill its ceiling; I2 never two live Pods for one
task; I3 a run's spend is the sum over its attempts and never falls; I4 an end stays the end (Failed is left
only by a human's retry); I5 no task waits without saying for what. I6, that others keep moving, depends on
what a test does to whom, so tests judge it themselves by ``PodRecorder.completed_between``.

Functions only, no clock and no cluster: a planted violation is a list of observations.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import Any

from tests.support.timeline import (
    RETRY,
    Change,
    Kind,
    Observation,
    Outages,
    World,
    in_order,
    is_agent,
    is_live,
    money,
    phase,
    run_key,
    task_identity,
)


class Invariant(StrEnum):
    """The names that cases.md gives them."""

    CEILING = "I1"
    ONE_POD = "I2"
    SPEND = "I3"
    FINAL = "I4"
    EXPLAINED = "I5"


@dataclass(frozen=True)
class Violation:
    """One breach: what, of which object, at which resourceVersion, in words."""

    invariant: Invariant
    subject: str
    version: int
    text: str


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What the recorder can't see in the cluster.

    ``default_ceiling`` is maxAgents of a run that sets none, ``operator_ceiling`` the operator's own upper
    bound. ``lag_seconds``: for so long after a ceiling was lowered the operator can't be blamed for not
    knowing. ``tick_seconds``: for so long a task may stand unexplained.
    """

    default_ceiling: int = 6
    operator_ceiling: int | None = None
    lag_seconds: float = 2.0
    tick_seconds: float = 10.0


@dataclass
class _Ceilings:
    """The history of one run's ceiling, to tell which value could be known at a given moment."""

    changes: list[tuple[float, int]] = field(default_factory=list)

    def add(self, time: float, ceiling: int) -> None:
        if not self.changes or self.changes[-1][1] != ceiling:
            self.changes.append((time, ceiling))

    def highest_known(self, since: float) -> int | None:
        """Return the highest ceiling that was in force at ``since`` or came later."""
        later = [ceiling for time, ceiling in self.changes if time > since]
        before = [ceiling for time, ceiling in self.changes if time <= since]
        return max([*before[-1:], *later], default=None)


def violations(
    observations: Iterable[Observation], *, now: float, outages: Outages, limits: Limits
) -> list[Violation]:
    """Return every breach of I1 to I5 in ``observations``, in no particular order of invariants."""
    ordered = in_order(observations)
    return [
        *_over_ceiling(ordered, limits),
        *_two_pods(ordered),
        *_falling_spend(ordered),
        *_wrong_sum(ordered),
        *_left_the_end(ordered),
        *_unexplained(ordered, now=now, uptime=outages.uptime, limits=limits),
    ]


def _over_ceiling(ordered: Sequence[Observation], limits: Limits) -> Iterator[Violation]:
    world, ceilings = World(), dict[str, _Ceilings]()
    for seen in ordered:
        is_new = seen.kind is Kind.POD and seen.change is Change.ADDED and seen.uid not in world.pods
        world.apply(seen)
        if seen.kind is Kind.RUN and seen.change is not Change.DELETED:
            history = ceilings.setdefault(seen.key, _Ceilings())
            history.add(seen.time, ceiling_of(seen.manifest, limits))
        if not is_new or not is_agent(seen.manifest):
            continue
        run = world.run_of(seen.manifest)
        others = [pod for pod in world.live_of_run(run) if pod["metadata"]["uid"] != seen.uid]
        known = ceilings.get(run, _Ceilings()).highest_known(seen.since - limits.lag_seconds)
        ceiling = limits.default_ceiling if known is None else known
        if len(others) >= ceiling:
            names = sorted(pod["metadata"]["name"] for pod in others)
            text = f"created while {len(names)} live Pods filled the ceiling {ceiling} of {run}: {names}"
            yield Violation(Invariant.CEILING, seen.key, seen.version, text)


def ceiling_of(run: Mapping[str, Any], limits: Limits) -> int:
    """Return the configured ceiling of a run: the operator's bound, the run's own, the default."""
    own = run["spec"].get("concurrency", {}).get("maxAgents", limits.default_ceiling)
    return min(own, limits.operator_ceiling) if limits.operator_ceiling is not None else int(own)


def shown_ceiling(run: Mapping[str, Any], limits: Limits) -> int:
    """Return how many agents a run says may be live now: failures and busy nodes make it fewer."""
    shown = run.get("status", {}).get("concurrency", {}).get("effective")
    configured = ceiling_of(run, limits)
    return configured if shown is None else min(configured, int(shown))


def _two_pods(ordered: Sequence[Observation]) -> Iterator[Violation]:
    world = World()
    for seen in ordered:
        is_new = seen.kind is Kind.POD and seen.uid not in world.pods
        world.apply(seen)
        if not is_new or not is_agent(seen.manifest) or not is_live(seen.manifest):
            continue
        task = task_identity(seen.manifest)
        names = [pod["metadata"]["name"] for pod in world.live_agents() if task_identity(pod) == task]
        if len(names) > 1:
            text = f"one task has {len(names)} live Pods: {sorted(names)}"
            yield Violation(Invariant.ONE_POD, seen.key, seen.version, text)


def _falling_spend(ordered: Sequence[Observation]) -> Iterator[Violation]:
    last: dict[tuple[Kind, str], Decimal] = {}
    for seen in ordered:
        spent = _spend(seen)
        if spent is None:
            continue
        before = last.get((seen.kind, seen.uid), Decimal(0))
        if spent < before:
            text = f"spend fell from {before} to {spent} US dollars"
            yield Violation(Invariant.SPEND, seen.key, seen.version, text)
        last[seen.kind, seen.uid] = spent


def _spend(seen: Observation) -> Decimal | None:
    status = seen.manifest.get("status", {})
    match seen.kind:
        case Kind.RUN:
            return money(status.get("budget", {}).get("spentUsd"))
        case Kind.TASK:
            return money(status.get("usage", {}).get("costUsd"))
        case Kind.POD:
            return None


@dataclass
class _Life:
    """One object from the first that was seen of it to the last."""

    first: Observation
    last: Observation

    def meets(self, other: "_Life") -> bool:
        """Return whether both were there at any one time."""
        return not (self._is_over_before(other) or other._is_over_before(self))

    def _is_over_before(self, other: "_Life") -> bool:
        # Whoever wasn't seen to come may have been there at any time before.
        came = other.first.change is Change.ADDED
        return came and self.last.change is Change.DELETED and self.last.version < other.first.version


def _lives(ordered: Sequence[Observation], kind: Kind) -> list[_Life]:
    lives: dict[str, _Life] = {}
    for seen in ordered:
        if seen.kind is kind:
            lives.setdefault(seen.uid, _Life(seen, seen)).last = seen
    return list(lives.values())


def _wrong_sum(ordered: Sequence[Observation]) -> Iterator[Violation]:
    """A run that has ended must show the sum of its tasks' spend, deleted ones included.

    Those of another run that had its name before, or has it now, aren't its. Who was deleted at work may have
    cost what was reserved for it: nobody hears of it any more.
    """
    tasks = _lives(ordered, Kind.TASK)
    for life in _lives(ordered, Kind.RUN):
        run, status = life.last, life.last.manifest.get("status", {})
        shown = status.get("budget", {}).get("spentUsd")
        if shown is None or not status.get("completionTime"):
            continue
        own = [one.last for one in tasks if run_key(one.last.manifest) == run.key and one.meets(life)]
        summed = sum(map(_task_spend, own), Decimal(0))
        unheard = sum(map(_unheard, own), Decimal(0))
        if not summed <= money(shown) <= summed + unheard:
            text = f"the run shows {shown} US dollars spent, its attempts sum up to {summed}"
            yield Violation(Invariant.SPEND, run.key, run.version, text)


def _task_spend(task: Observation) -> Decimal:
    """Return what the task's attempts cost: the sum of those listed, or the total where some fell out."""
    status = task.manifest.get("status", {})
    listed = [money(attempt.get("usage", {}).get("costUsd")) for attempt in status.get("attempts", ())]
    if status.get("attempt", 0) > len(listed):
        return money(status.get("usage", {}).get("costUsd"))
    return sum(listed, Decimal(0))


def _unheard(task: Observation) -> Decimal:
    """Return what may have been charged for an attempt whose task was deleted while it was open."""
    if task.change is not Change.DELETED:
        return Decimal(0)
    attempts = task.manifest.get("status", {}).get("attempts", ())
    return sum((money(one.get("reservationUsd")) for one in attempts if "endTime" not in one), Decimal(0))


_NEVER_LEFT = frozenset({"Succeeded", "Cancelled", "Abandoned"})


def _left_the_end(ordered: Sequence[Observation]) -> Iterator[Violation]:
    last: dict[str, Observation] = {}
    runs: dict[str, Observation] = {}
    retry_of_run: dict[str, str | None] = {}
    for seen in ordered:
        if seen.kind is Kind.RUN:
            runs[seen.key] = seen
        if seen.kind is not Kind.TASK:
            continue
        run = runs.get(run_key(seen.manifest))
        before, was = last.get(seen.uid), phase(last[seen.uid].manifest) if seen.uid in last else ""
        asked = before is not None and (
            _retry(before) != _retry(seen) or retry_of_run.get(seen.uid) != _retry(run)
        )
        left = phase(seen.manifest) != was and (was in _NEVER_LEFT or (was == "Failed" and not asked))
        if left:
            text = f"phase went from {was} to {phase(seen.manifest)}"
            yield Violation(Invariant.FINAL, seen.key, seen.version, text)
        if before is None or phase(seen.manifest) != was:
            last[seen.uid], retry_of_run[seen.uid] = seen, _retry(run)


def _retry(seen: Observation | None) -> str | None:
    annotations = seen.manifest["metadata"].get("annotations", {}) if seen else {}
    return annotations.get(RETRY)


def _unexplained(
    ordered: Sequence[Observation], *, now: float, uptime: Callable[[float, float], float], limits: Limits
) -> Iterator[Violation]:
    world, touched = World(), dict[str, float]()
    for seen in ordered:
        world.apply(seen)
        touched[seen.uid] = seen.time
        for run in _runs_touched(world, seen):
            touched[run] = seen.time
    for uid, task in world.tasks.items():
        quiet_since = max(touched[uid], touched.get(run_key(task), 0.0))
        if uptime(quiet_since, now) <= limits.tick_seconds or _is_explained(task, world, limits):
            continue
        key = f"{task['metadata']['namespace']}/{task['metadata']['name']}"
        text = f"{phase(task)} without a condition that says what for, and not covered by its run"
        yield Violation(Invariant.EXPLAINED, key, int(task["metadata"]["resourceVersion"]), text)


def _runs_touched(world: World, seen: Observation) -> Iterator[str]:
    match seen.kind:
        case Kind.RUN:
            yield seen.key
        case Kind.TASK:
            yield run_key(seen.manifest)
        case Kind.POD:
            yield world.run_of(seen.manifest)


def _is_explained(task: Mapping[str, Any], world: World, limits: Limits) -> bool:
    if phase(task) != "Pending" or "deletionTimestamp" in task["metadata"]:
        return True
    status = task.get("status", {})
    admitted = [entry for entry in status.get("conditions", ()) if entry["type"] == "Admitted"]
    if any(entry["status"] == "True" or (entry.get("reason") and entry.get("message")) for entry in admitted):
        return True
    run = world.runs.get(run_key(task))
    return run is not None and _run_holds_back(run, len(world.live_of_run(run_key(task))), limits)


def _run_holds_back(run: Mapping[str, Any], live: int, limits: Limits) -> bool:
    """Return whether the run itself says why none of its unwritten tasks may start now."""
    reasons = {entry.get("reason") for entry in run.get("status", {}).get("conditions", ())} - {None, ""}
    is_full = live >= shown_ceiling(run, limits) or "AtOperatorCeiling" in reasons
    return bool(reasons) and (is_full or bool(run["spec"].get("suspend")))
