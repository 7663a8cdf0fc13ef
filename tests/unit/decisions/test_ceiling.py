"""How failures move a run's ceiling: both sides of every threshold, the timers, and what moves nothing."""

from datetime import timedelta
from fractions import Fraction
from typing import Any

import pytest

from bernstein_operator.api.concurrency import AdaptiveCeiling, ConcurrencyStatus
from bernstein_operator.api.snapshot import OutcomeWindow, Pause
from bernstein_operator.decisions.ceiling import (
    Ceiling,
    Thresholds,
    allowed,
    ceiling_conditions,
    effective_ceiling,
    judge_ceiling,
    thresholds_of,
)
from tests.unit.objects import at

BUSY = Pause(at(0), "The nodes are busy.")


def outcomes(errors: int, total: int, *, newest: float | None = 99) -> OutcomeWindow:
    return OutcomeWindow(total=total, errors=errors, newest=None if newest is None else at(newest))


def kept(**facts: Any) -> ConcurrencyStatus:
    """Return what the last look came to; moments are given in seconds."""
    whole: dict[str, Any] = {
        name: at(value) if name.endswith(("time", "since")) else value for name, value in facts.items()
    }
    return ConcurrencyStatus(**whole)


def judge(
    state: ConcurrencyStatus | None = None,
    window: OutcomeWindow | None = None,
    *,
    configured: int = 6,
    evaluated: float | None = 90,
    paused: Pause | None = None,
    now: float = 100,
    **spec: Any,
) -> Ceiling:
    return judge_ceiling(
        state or ConcurrencyStatus(),
        thresholds_of(AdaptiveCeiling(**spec)),
        window or OutcomeWindow(),
        configured=configured,
        evaluated=None if evaluated is None else at(evaluated),
        paused=paused,
        now=at(now),
    )


def test_a_clock_that_was_set_back_puts_no_look_off() -> None:
    first = judge(window=outcomes(5, 10, newest=50), evaluated=5000, now=60)
    assert (first.evaluated, first.wake) == (at(60), at(70))
    assert judge(window=outcomes(5, 10, newest=50), evaluated=60, now=70).state.reduction == 1


def test_a_clock_that_was_set_back_puts_no_rise_off() -> None:
    state = kept(reduction=2, low_error_since=5000)
    assert judge(state, evaluated=90, now=100).state.low_error_since == at(100)


# --- lowering ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("errors", "total", "spec", "effective"),
    [
        pytest.param(1, 5, {}, 6, id="exactly 20 %"),
        pytest.param(2, 10, {}, 6, id="exactly 20 % of more"),
        pytest.param(201, 1000, {}, 5, id="just above 20 %"),
        pytest.param(200, 1001, {}, 6, id="just under 20 %"),
        pytest.param(1, 1, {}, 5, id="one of one"),
        pytest.param(0, 0, {}, 6, id="nothing ended"),
        pytest.param(3, 10, {"error_rate_high_percent": 30}, 6, id="exactly what the run allows"),
        pytest.param(31, 100, {"error_rate_high_percent": 30}, 5, id="above what the run allows"),
        pytest.param(1, 1, {"error_rate_high_percent": 100}, 6, id="a threshold of 100 % is never passed"),
        pytest.param(1, 99, {"error_rate_high_percent": 0, "error_rate_low_percent": 0}, 5, id="above 0 %"),
        pytest.param(4, 4, {"minimum_samples": 5}, 6, id="one fewer than minimumSamples"),
        pytest.param(5, 5, {"minimum_samples": 5}, 5, id="exactly minimumSamples"),
        pytest.param(9, 9, {"enabled": False}, 6, id="turned off"),
    ],
)
def test_what_lowers_the_ceiling(errors: int, total: int, spec: dict[str, Any], effective: int) -> None:
    state = judge(window=outcomes(errors, total), **spec).state
    assert (state.effective, state.reduction, state.configured) == (effective, 6 - effective, 6)
    assert state.last_lowered_time == (at(100) if effective < 6 else None)


def test_a_share_that_decimals_would_round_is_compared_exactly() -> None:
    third = Thresholds(high=Fraction(100, 3))
    for errors, total, left in ((1, 3, 6), (333, 999, 6), (334, 1001, 5)):
        found = judge_ceiling(
            ConcurrencyStatus(),
            third,
            outcomes(errors, total),
            configured=6,
            evaluated=at(0),
            paused=None,
            now=at(10),
        )
        assert found.state.effective == left


@pytest.mark.parametrize(
    ("newest", "effective"),
    [
        pytest.param(49, 4, id="the reading is the one that it dropped for"),
        pytest.param(50, 4, id="an attempt that ended in the very moment"),
        pytest.param(50.001, 3, id="an attempt has ended since"),
        pytest.param(None, 4, id="no attempt is known to have ended"),
    ],
)
def test_one_bad_reading_is_not_counted_again_and_again(newest: float | None, effective: int) -> None:
    state = kept(reduction=2, last_lowered_time=50)
    assert judge(state, outcomes(9, 10, newest=newest)).state.effective == effective


def test_the_ceiling_never_falls_under_one() -> None:
    state = judge(kept(reduction=5, low_error_since=10), outcomes(9, 9)).state
    assert (state.effective, state.reduction, state.last_lowered_time) == (1, 5, None)
    assert state.low_error_since is None


def test_it_drops_step_by_step_and_each_step_needs_news() -> None:
    state, evaluated, seen = ConcurrencyStatus(), at(0), []
    for step in range(1, 9):
        window = outcomes(3, 10, newest=step * 10 - 1)
        found = judge_ceiling(
            state, Thresholds(), window, configured=6, evaluated=evaluated, paused=None, now=at(step * 10)
        )
        state, evaluated = found.state, found.evaluated or at(0)
        seen.append(state.effective)
    assert seen == [5, 4, 3, 2, 1, 1, 1, 1]


# --- rising -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("errors_of", "since", "spec", "effective", "left_since"),
    [
        pytest.param((0, 0), None, {}, 3, 200, id="low from now on"),
        pytest.param((0, 0), 80.001, {}, 3, 80.001, id="not yet for raiseAfterSeconds"),
        pytest.param((0, 0), 80, {}, 4, 200, id="for raiseAfterSeconds: one up, and the timer restarts"),
        pytest.param((0, 0), 0, {}, 4, 200, id="for far longer: one up all the same"),
        pytest.param((1, 20), 0, {}, 3, None, id="exactly 5 % clears the timer"),
        pytest.param((49, 1000), 0, {}, 4, 200, id="just under 5 %"),
        pytest.param((1, 10), 0, {}, 3, None, id="between the thresholds clears the timer"),
        pytest.param((3, 10), 0, {}, 2, None, id="above the higher one drops and clears the timer"),
        pytest.param((0, 9), 140, {"raise_after_seconds": 60}, 4, 200, id="as soon as the run says"),
        pytest.param((0, 9), 141, {"raise_after_seconds": 60}, 3, 141, id="no sooner than the run says"),
        pytest.param((1, 20), 0, {"error_rate_low_percent": 6}, 4, 200, id="under what the run calls low"),
        pytest.param((0, 9), 0, {"error_rate_low_percent": 0}, 3, None, id="nothing is under 0 %"),
    ],
)
def test_what_raises_the_ceiling(
    errors_of: tuple[int, int],
    since: float | None,
    spec: dict[str, Any],
    effective: int,
    left_since: float | None,
) -> None:
    state = kept(reduction=3, **({} if since is None else {"low_error_since": since}))
    found = judge(state, outcomes(*errors_of, newest=199), evaluated=190, now=200, **spec).state
    assert found.effective == effective
    assert found.low_error_since == (None if left_since is None else at(left_since))
    assert found.last_raised_time == (at(200) if effective > 3 else None)


def test_it_rises_no_higher_than_configured() -> None:
    top = judge(kept(reduction=1, low_error_since=0), evaluated=190, now=200)
    assert (top.state.effective, top.state.reduction, top.state.low_error_since) == (6, 0, None)
    quiet = judge(top.state, evaluated=200, now=400)
    assert (quiet.state, quiet.wake) == (top.state, None)


# --- when it is looked at ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("evaluated", "effective", "next_look"),
    [
        pytest.param(None, 6, 110, id="the first failure begins the ten seconds"),
        pytest.param(100, 6, 110, id="evaluated in this moment"),
        pytest.param(90.001, 6, 100.001, id="ten seconds aren't over"),
        pytest.param(90, 5, 110, id="ten seconds are over"),
        pytest.param(10, 5, 110, id="far longer ago: once, not several times"),
    ],
)
def test_there_is_one_evaluation_every_ten_seconds(
    evaluated: float | None, effective: int, next_look: float
) -> None:
    found = judge(window=outcomes(9, 9), evaluated=evaluated)
    assert (found.state.effective, found.wake) == (effective, at(next_look))
    assert found.evaluated == at(next_look) - timedelta(seconds=10)


@pytest.mark.parametrize(
    ("state", "window", "options"),
    [
        pytest.param(kept(), outcomes(0, 50), {}, id="nothing failed and nothing is taken off"),
        pytest.param(kept(), outcomes(9, 9), {"enabled": False}, id="turned off"),
        pytest.param(kept(reduction=2), outcomes(9, 9), {"configured": 0}, id="nothing may start anyway"),
        pytest.param(kept(reduction=2), outcomes(9, 9), {"paused": BUSY}, id="busy nodes"),
    ],
)
def test_where_nothing_can_move_nobody_looks_by_the_clock(
    state: ConcurrencyStatus, window: OutcomeWindow, options: dict[str, Any]
) -> None:
    found = judge(state, window, **options)
    assert (found.evaluated, found.wake) == (None, None)


def test_a_look_in_between_changes_nothing_that_is_stored() -> None:
    state = judge(kept(reduction=2, low_error_since=10), now=95, evaluated=90).state
    assert judge(state, now=97, evaluated=90).state == state


# --- what is configured -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("configured", "reduction", "ceiling"),
    [
        (6, 0, 6),
        (6, 2, 4),
        (10, 2, 8),
        (3, 2, 1),
        (2, 2, 1),
        (1, 5, 1),
        (1, 0, 1),
        (0, 0, 0),
        (0, 3, 0),
    ],
)
def test_a_changed_ceiling_acts_at_once_in_both_directions(
    configured: int, reduction: int, ceiling: int
) -> None:
    assert allowed(configured=configured, reduction=reduction) == ceiling
    state = judge(kept(reduction=reduction), configured=configured, evaluated=100).state
    assert (state.configured, state.effective) == (configured, ceiling)
    assert state.reduction == reduction


@pytest.mark.parametrize(
    ("configured", "reduction", "low_error", "effective"),
    [
        pytest.param(3, 5, True, 2, id="rises from where it is"),
        pytest.param(1, 5, True, 1, id="there is nothing to rise to"),
        pytest.param(3, 5, False, 1, id="is at its floor"),
        pytest.param(9, 5, False, 3, id="drops from where it is"),
    ],
)
def test_a_step_goes_out_from_the_ceiling_that_there_is(
    configured: int, reduction: int, *, low_error: bool, effective: int
) -> None:
    state = kept(reduction=reduction, **({"low_error_since": -200} if low_error else {}))
    found = judge(state, outcomes(0 if low_error else 9, 9), configured=configured)
    assert found.state.effective == effective


def test_turned_off_what_was_taken_off_comes_back() -> None:
    state = judge(kept(reduction=4, low_error_since=3, last_lowered_time=2), enabled=False).state
    assert (state.effective, state.reduction, state.low_error_since) == (6, 0, None)


# --- busy nodes -------------------------------------------------------------------------------------------


def test_busy_nodes_allow_nothing_and_then_the_ceiling_from_before() -> None:
    before = kept(reduction=2, last_lowered_time=50)
    paused = judge(before, outcomes(9, 9), paused=BUSY).state
    assert (paused.effective, paused.held_before_pause, paused.paused_since) == (0, 4, at(0))
    assert (paused.reason, paused.message) == ("SpawningPaused", "The nodes are busy.")
    later = judge(paused, outcomes(9, 9), paused=Pause(at(150), "Busy still."), evaluated=None, now=900).state
    assert (later.effective, later.held_before_pause, later.paused_since) == (0, 4, at(0))
    resumed = judge(later, outcomes(0, 9), evaluated=None, now=1000).state
    assert (resumed.effective, resumed.held_before_pause, resumed.paused_since) == (4, None, None)
    assert (resumed.resumed_time, resumed.reason) == (at(1000), "CeilingReduced")


def test_a_pause_does_not_count_as_time_without_failures() -> None:
    paused = judge(kept(reduction=2, low_error_since=0), paused=BUSY).state
    assert paused.low_error_since is None


# --- what is told -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stored", "ceiling"),
    [
        pytest.param(None, 6, id="nothing is known yet"),
        pytest.param(kept(reduction=2), 4, id="failures"),
        pytest.param(kept(reduction=2, paused_since=3), 0, id="busy nodes"),
    ],
)
def test_what_is_allowed_by_what_was_kept(stored: ConcurrencyStatus | None, ceiling: int) -> None:
    assert effective_ceiling(configured=6, stored=stored) == ceiling


@pytest.mark.parametrize(
    ("facts", "text"),
    [
        pytest.param({"configured": 6}, None, id="nothing is taken off"),
        pytest.param({"configured": 1, "reduction": 3}, None, id="one is configured and one is left"),
        pytest.param({"configured": 0, "reduction": 3}, None, id="nothing is configured"),
        pytest.param({"configured": 6, "reduction": 2}, "4 of the 6 agents", id="reduced"),
        pytest.param({"configured": 6, "reduction": 2, "paused_since": 1}, "4 of the 6", id="paused too"),
    ],
)
def test_a_reduced_ceiling_is_told(facts: dict[str, Any], text: str | None) -> None:
    told = [(one.type, one.message) for one in ceiling_conditions(kept(**facts))]
    assert [kind for kind, _ in told] == ([] if text is None else ["CeilingReduced"])
    assert text is None or text in told[0][1]


@pytest.mark.parametrize(
    ("spec", "config", "high"),
    [
        pytest.param({}, None, 20, id="nobody says anything"),
        pytest.param({}, Fraction(25, 2), Fraction(25, 2), id="the run's ConfigMap"),
        pytest.param({"error_rate_high_percent": 30}, Fraction(10), 30, id="spec goes first"),
        pytest.param({"error_rate_high_percent": 5}, None, 5, id="spec"),
    ],
)
def test_where_the_higher_threshold_comes_from(
    spec: dict[str, Any], config: Fraction | None, high: Fraction
) -> None:
    assert thresholds_of(AdaptiveCeiling(**spec), error_rate_high=config).high == high


def test_the_built_in_thresholds() -> None:
    assert thresholds_of(AdaptiveCeiling()) == Thresholds(
        high=Fraction(20),
        low=Fraction(5),
        window=timedelta(minutes=10),
        raise_after=timedelta(minutes=2),
        minimum=1,
        enabled=True,
    )
