"""What becomes of a run whose nodes are too busy: a pause, kept in its status, and what people read of it.

Whether a run is paused decides how the next reading is taken (it goes on only below the threshold less the
margin), so it is kept in status and outlives a restart. The words are those of the moment in which the pause
began: they would change with every reading otherwise, and each change is a write.
"""

from dataclasses import replace
from datetime import datetime
from typing import Final

from bernstein_operator.api.concurrency import ConcurrencyStatus
from bernstein_operator.api.conditions import Condition, find
from bernstein_operator.api.snapshot import Pause, RunSnapshot
from bernstein_operator.api.vocabulary import ConditionStatus, ConditionType, RunReason
from bernstein_operator.decisions.conditions import Wanted
from bernstein_operator.decisions.saturation import Verdict, judge, rules_of

_UNTOLD: Final = ConcurrencyStatus()


def verdict_of(snapshot: RunSnapshot, *, now: datetime) -> Verdict | None:
    """Return what the load of its nodes means for a run, None where nothing can be said of it."""
    spec = snapshot.run.spec
    # Before its ConfigMap is read its thresholds aren't known.
    if not (snapshot.load and spec and snapshot.config):
        return None
    rules = rules_of(spec.concurrency.pause, load_default=snapshot.config.cpu_pause_threshold)
    return judge(snapshot.load, rules, paused=_kept(snapshot).paused_since, now=now)


def under_load(snapshot: RunSnapshot, *, now: datetime) -> RunSnapshot:
    """Return the snapshot with the pause that the run is in now; where nothing can be said, as before."""
    kept, verdict = _kept(snapshot), verdict_of(snapshot, now=now)
    paused = verdict.paused if verdict else kept.paused_since is not None
    if not paused:
        return replace(snapshot, pause=None)
    if kept.paused_since:
        return replace(snapshot, pause=Pause(kept.paused_since, kept.message or ""))
    return replace(snapshot, pause=Pause(now, verdict.text if verdict else ""))


def load_conditions(snapshot: RunSnapshot, *, now: datetime) -> list[Wanted]:
    """Return SpawningPaused and NodeMetricsAvailable where there is, or was, something to say."""
    stored, verdict = snapshot.run.status.conditions, verdict_of(snapshot, now=now)
    paused = _paused(find(stored, ConditionType.SPAWNING_PAUSED), snapshot.pause, verdict)
    known = _known(find(stored, ConditionType.NODE_METRICS_AVAILABLE), verdict)
    return [one for one in (paused, known) if one]


def is_news(snapshot: RunSnapshot, *, now: datetime) -> bool:
    """Whether the load of its nodes means something else for a run than its status says."""
    stored = snapshot.run.status.conditions
    told = {one.type: (one.status, one.reason, one.message) for one in stored}
    wanted = load_conditions(under_load(snapshot, now=now), now=now)
    return any(told.get(one.type) != (one.status, one.reason, one.message) for one in wanted)


def _paused(told: Condition | None, pause: Pause | None, verdict: Verdict | None) -> Wanted | None:
    kind = ConditionType.SPAWNING_PAUSED
    if pause:
        return Wanted(kind, RunReason.SPAWNING_PAUSED, pause.message)
    if not told or told.status == ConditionStatus.FALSE or not verdict:
        return _again(told) if told else None
    reason = RunReason.NODES_IDLE if verdict.known else RunReason.METRICS_UNAVAILABLE
    return Wanted(kind, reason, verdict.text or verdict.unknown, ConditionStatus.FALSE)


def _known(told: Condition | None, verdict: Verdict | None) -> Wanted | None:
    kind = ConditionType.NODE_METRICS_AVAILABLE
    if not verdict:
        return _again(told) if told else None
    if verdict.unknown:
        reason = RunReason.NODES_OUT_OF_REACH if verdict.forbidden else RunReason.METRICS_UNAVAILABLE
        return Wanted(kind, reason, verdict.unknown, ConditionStatus.FALSE)
    return Wanted(kind, RunReason.METRICS_AVAILABLE) if told else None


def _again(told: Condition) -> Wanted:
    return Wanted(ConditionType(told.type), told.reason, told.message, ConditionStatus(told.status))


def _kept(snapshot: RunSnapshot) -> ConcurrencyStatus:
    """Return what was last concluded, stored already or not."""
    return snapshot.ceiling or snapshot.run.status.concurrency or _UNTOLD
