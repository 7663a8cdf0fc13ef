"""How many agents of a run may be live now: what is configured, less what failures have taken off.

Kept is the reduction and not the ceiling itself, so that a changed maxAgents acts at once in both directions.
The run's finished attempts are looked at every ten seconds and in no other moment: the first failure of ten
agents that end together isn't all that is known of them. Failures alone never bring a run to a stand: the
ceiling stays at 1, so that what has become better can be found out. Busy nodes may, and then nothing is
concluded from attempts until they are less so.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction
from typing import Final

from bernstein_operator.api.concurrency import AdaptiveCeiling, ConcurrencyStatus
from bernstein_operator.api.objects import RunObject
from bernstein_operator.api.run import BernsteinRunSpec
from bernstein_operator.api.run_config import RunConfig
from bernstein_operator.api.snapshot import OutcomeWindow, Pause, RunSnapshot
from bernstein_operator.api.vocabulary import ENDED_RUN_PHASES, ConditionType, RunPhase, RunReason
from bernstein_operator.decisions.admission import configured_ceiling
from bernstein_operator.decisions.conditions import Wanted

_STARTS_NOTHING: Final = ENDED_RUN_PHASES | {RunPhase.STOPPED}
EVALUATE_EVERY: Final = timedelta(seconds=10)


@dataclass(frozen=True, slots=True)
class Thresholds:
    """When the ceiling moves, with every default filled in.

    Attributes:
        high: percent of failed attempts above which it drops.
        low: percent below which it rises.
        window: for how long an attempt counts after its end.
        raise_after: how long the share has to stay low before each rise.
        minimum: with fewer attempts in the window it doesn't drop.
        enabled: whether it moves at all.
    """

    high: Fraction = Fraction(20)
    low: Fraction = Fraction(5)
    window: timedelta = timedelta(seconds=600)
    raise_after: timedelta = timedelta(seconds=120)
    minimum: int = 1
    enabled: bool = True


@dataclass(frozen=True, slots=True)
class Ceiling:
    """What a look at a run's ceiling came to.

    Attributes:
        state: what is to be kept and shown of it; ``live`` is the caller's to fill in.
        evaluated: when attempts were last looked at, or the time until that began; None while there is
            nothing that could move the ceiling.
        wake: when to look again by itself.
    """

    state: ConcurrencyStatus
    evaluated: datetime | None = None
    wake: datetime | None = None


def thresholds_of(spec: AdaptiveCeiling, *, error_rate_high: Fraction | None = None) -> Thresholds:
    """Return what moves a run's ceiling; ``error_rate_high`` (percent) counts where the spec has none."""
    built_in = Thresholds()
    high = spec.error_rate_high_percent
    low, window, raise_after = spec.error_rate_low_percent, spec.window_seconds, spec.raise_after_seconds
    return Thresholds(
        high=Fraction(high) if high is not None else _or(error_rate_high, built_in.high),
        low=Fraction(low) if low is not None else built_in.low,
        window=timedelta(seconds=window) if window is not None else built_in.window,
        raise_after=timedelta(seconds=raise_after) if raise_after is not None else built_in.raise_after,
        minimum=built_in.minimum if spec.minimum_samples is None else spec.minimum_samples,
        enabled=spec.enabled is not False,
    )


def allowed(*, configured: int, reduction: int) -> int:
    """Return the ceiling that failures leave: 0 only where that is configured."""
    return max(1, configured - reduction) if configured else 0


def effective_ceiling(*, configured: int, stored: ConcurrencyStatus | None) -> int:
    """Return how many agents may be live now, by what was last kept of the ceiling."""
    if not stored:
        return configured
    return 0 if stored.paused_since else allowed(configured=configured, reduction=stored.reduction)


def judge_ceiling(
    kept: ConcurrencyStatus,
    thresholds: Thresholds,
    outcomes: OutcomeWindow,
    *,
    configured: int,
    evaluated: datetime | None,
    paused: Pause | None,
    now: datetime,
) -> Ceiling:
    """Say how many agents may be live; ``kept`` is what the last look came to. No side effects."""
    state = kept if thresholds.enabled else _untouched(kept)
    state = _with_pause(state, paused, configured=configured, now=now)
    frozen = not (thresholds.enabled and configured) or paused
    if frozen or not (outcomes.errors or state.reduction):
        quiet = state.model_copy(update={"low_error_since": None})
        return Ceiling(_shown(quiet, configured=configured, paused=paused))
    if evaluated:
        # A clock that was set back must not put the next look off by as much.
        evaluated = min(evaluated, now)
    due = evaluated + EVALUATE_EVERY if evaluated else None
    if due and now >= due:
        state = _evaluated(state, thresholds, outcomes, configured=configured, now=now)
    since = evaluated if evaluated and due and now < due else now
    return Ceiling(_shown(state, configured=configured, paused=None), since, since + EVALUATE_EVERY)


def ceiling_conditions(state: ConcurrencyStatus) -> list[Wanted]:
    """Return what a run's conditions are to say of its ceiling: CeilingReduced while it is."""
    left = allowed(configured=state.configured, reduction=state.reduction)
    if left >= state.configured:
        return []
    text = _reduced_text(left, configured=state.configured)
    return [Wanted(ConditionType.CEILING_REDUCED, RunReason.CEILING_REDUCED, text)]


def ceiling_of(snapshot: RunSnapshot, spec: BernsteinRunSpec, *, closing: bool, now: datetime) -> Ceiling:
    """Say how many agents of a run may be live; of one that is ``closing`` failures move that no more."""
    stored = snapshot.ceiling or snapshot.run.status.concurrency
    kept = (stored or ConcurrencyStatus()).model_copy(update={"live": snapshot.live})
    # While the run's ConfigMap can't be read, what it last came to stands.
    config = snapshot.config or RunConfig(max_agents=kept.configured if stored else None)
    configured = _configured(spec, config, snapshot.operator_limit)
    if closing:
        effective = effective_ceiling(configured=configured, stored=kept)
        return Ceiling(kept.model_copy(update={"configured": configured, "effective": effective}))
    return judge_ceiling(
        kept,
        thresholds_of(spec.concurrency.adaptive, error_rate_high=_error_rate_high(snapshot.config)),
        snapshot.outcomes,
        configured=configured,
        evaluated=snapshot.evaluated,
        paused=snapshot.pause,
        now=now,
    )


def has_room(
    run: RunObject | None,
    config: RunConfig | None,
    *,
    live: int,
    kept: ConcurrencyStatus | None,
    operator_limit: int | None,
) -> bool:
    """Whether a run that holds ``live`` slots would let one more task start; ``kept`` is of its ceiling."""
    if not (run and run.spec) or run.spec.suspend or run.status.phase in _STARTS_NOTHING:
        return False
    if run.status.budget and run.status.budget.should_stop:
        return False
    configured = _configured(run.spec, config, operator_limit)
    return live < effective_ceiling(configured=configured, stored=kept or run.status.concurrency)


def _configured(spec: BernsteinRunSpec, config: RunConfig | None, operator: int | None) -> int:
    said = config.max_agents if config else None
    return configured_ceiling(spec=spec.concurrency.max_agents, config=said, operator=operator)


def _error_rate_high(config: RunConfig | None) -> Fraction | None:
    percent = config.error_rate_high_percent if config else None
    return None if percent is None else Fraction(percent)


def _or(value: Fraction | None, default: Fraction) -> Fraction:
    return default if value is None else value


def _untouched(kept: ConcurrencyStatus) -> ConcurrencyStatus:
    return kept.model_copy(update={"reduction": 0, "low_error_since": None})


def _evaluated(
    state: ConcurrencyStatus,
    thresholds: Thresholds,
    outcomes: OutcomeWindow,
    *,
    configured: int,
    now: datetime,
) -> ConcurrencyStatus:
    """Apply the three rules, in this order; all comparisons are strict."""
    left = allowed(configured=configured, reduction=state.reduction)
    share = Fraction(100 * outcomes.errors, outcomes.total) if outcomes.total else Fraction(0)
    if share > thresholds.high and outcomes.total >= thresholds.minimum and _is_news(state, outcomes):
        lowered = {"reduction": configured - left + 1, "last_lowered_time": now} if left > 1 else {}
        return state.model_copy(update={"low_error_since": None, **lowered})
    if share < thresholds.low:
        return _with_low_errors(state, thresholds, taken_off=configured - left, now=now)
    return state.model_copy(update={"low_error_since": None})


def _is_news(state: ConcurrencyStatus, outcomes: OutcomeWindow) -> bool:
    """Whether an attempt ended since the last drop: one bad reading isn't counted again and again."""
    lowered = state.last_lowered_time
    return outcomes.newest is not None and (lowered is None or outcomes.newest > lowered)


def _with_low_errors(
    state: ConcurrencyStatus, thresholds: Thresholds, *, taken_off: int, now: datetime
) -> ConcurrencyStatus:
    if not state.reduction:
        return state.model_copy(update={"low_error_since": None})
    since = min(state.low_error_since or now, now)
    if now - since < thresholds.raise_after:
        return state.model_copy(update={"low_error_since": since})
    # What is configured may have become less than what was once taken off.
    rest = max(0, taken_off - 1)
    raised = {"reduction": rest, "last_raised_time": now, "low_error_since": now if rest else None}
    return state.model_copy(update=raised)


def _with_pause(
    state: ConcurrencyStatus, paused: Pause | None, *, configured: int, now: datetime
) -> ConcurrencyStatus:
    if paused and not state.paused_since:
        held = allowed(configured=configured, reduction=state.reduction)
        return state.model_copy(update={"paused_since": paused.since, "held_before_pause": held})
    if not paused and state.paused_since:
        over = {"paused_since": None, "held_before_pause": None, "resumed_time": now}
        return state.model_copy(update=over)
    return state


def _shown(state: ConcurrencyStatus, *, configured: int, paused: Pause | None) -> ConcurrencyStatus:
    left = allowed(configured=configured, reduction=state.reduction)
    reason, message = None, None
    if paused:
        reason, message = RunReason.SPAWNING_PAUSED, paused.message
    elif left < configured:
        reason, message = RunReason.CEILING_REDUCED, _reduced_text(left, configured=configured)
    shown = {
        "configured": configured,
        "effective": 0 if paused else left,
        "reason": reason,
        "message": message,
    }
    return state.model_copy(update=shown)


def _reduced_text(left: int, *, configured: int) -> str:
    return f"Too many attempts failed: {left} of the {configured} agents that are configured may be live."
