"""What becomes of a run whose nodes are too busy: a pause, kept in its status, and what people read of it.

Whether a run is paused decides how the next reading is taken (it goes on only below the threshold less the
margin), so it is kept in status and outlives a restart. The words are those of the moment in which the pause
began: they would change with every reading otherwise, and each change is a write.
"""

from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from bernstein_operator.api.concurrency import ConcurrencyStatus
from bernstein_operator.api.conditions import Condition, find
from bernstein_operator.api.objects import RunObject
from bernstein_operator.api.snapshot import Pause, RunSnapshot
from bernstein_operator.api.vocabulary import ConditionStatus, ConditionType, RunReason
from bernstein_operator.decisions.conditions import Wanted
from bernstein_operator.decisions.saturation import Verdict, judge, rules_of

_UNTOLD: Final = ConcurrencyStatus()


@dataclass(frozen=True, slots=True)
class Breathing:
    """Where a run stands between its pauses.

    Attributes:
        pause: the pause that it is in, if it is in one.
        resumed: since when it goes on after the last one, None where there was none.
        verdict: what the nodes' load means now, None where nothing can be said of that.
    """

    pause: Pause | None = None
    resumed: datetime | None = None
    verdict: Verdict | None = None


def breathing(snapshot: RunSnapshot, *, now: datetime) -> Breathing:
    """Say whether a run is paused now; where nothing can be said, as before."""
    run = snapshot.run
    stored = run.status.concurrency or _UNTOLD
    since = stored.paused_since
    before = Breathing(Pause(since, _told(run)) if since else None, stored.resumed_time)
    if not snapshot.load or not run.spec:
        return before
    rules = rules_of(run.spec.concurrency.pause)
    verdict = judge(snapshot.load, rules, paused=since is not None, now=now)
    if not verdict.paused:
        return Breathing(None, now if since else stored.resumed_time, verdict)
    if before.pause:
        return replace(before, verdict=verdict)
    return Breathing(Pause(now, verdict.text), None, verdict)


def with_pause(ceiling: ConcurrencyStatus, stored: ConcurrencyStatus | None, is_now: Breathing) -> ConcurrencyStatus:
    """Return the ceiling as the pause leaves it: 0 while there is one, what it would be otherwise."""
    if not is_now.pause:
        return ceiling.model_copy(update={"resumed_time": is_now.resumed})
    held = stored.held_before_pause if stored and stored.paused_since else None
    changes = {
        "effective": 0,
        "reason": RunReason.SPAWNING_PAUSED,
        "message": is_now.pause.text,
        "paused_since": is_now.pause.since,
        "held_before_pause": ceiling.effective if held is None else held,
    }
    return ceiling.model_copy(update=changes)


def load_conditions(run: RunObject, is_now: Breathing) -> list[Wanted]:
    """Return SpawningPaused and NodeMetricsAvailable where there is, or was, something to say."""
    stored = run.status.conditions
    paused = _paused(find(stored, ConditionType.SPAWNING_PAUSED), is_now)
    known = _known(find(stored, ConditionType.NODE_METRICS_AVAILABLE), is_now.verdict)
    return [one for one in (paused, known) if one]


def _paused(told: Condition | None, is_now: Breathing) -> Wanted | None:
    kind = ConditionType.SPAWNING_PAUSED
    if is_now.pause:
        return Wanted(kind, RunReason.SPAWNING_PAUSED, is_now.pause.text)
    if not told:
        return None
    if told.status == ConditionStatus.FALSE or not is_now.verdict:
        return _again(told)
    lost = not is_now.verdict.known
    reason = RunReason.METRICS_UNAVAILABLE if lost else RunReason.NODES_IDLE
    return Wanted(kind, reason, is_now.verdict.text or is_now.verdict.unknown, ConditionStatus.FALSE)


def _known(told: Condition | None, verdict: Verdict | None) -> Wanted | None:
    kind = ConditionType.NODE_METRICS_AVAILABLE
    if not verdict:
        return _again(told) if told else None
    if verdict.unknown:
        reason = RunReason.NODES_OUT_OF_REACH if verdict.forbidden else RunReason.METRICS_UNAVAILABLE
        return Wanted(kind, reason, verdict.unknown, ConditionStatus.FALSE)
    return Wanted(kind, RunReason.METRICS_AVAILABLE) if told else None


def _again(told: Condition) -> Wanted:
    return Wanted(ConditionType(told.type), told.reason, told.message, told.status)


def _told(run: RunObject) -> str:
    concurrency = run.status.concurrency
    return (concurrency.message if concurrency else None) or ""
