"""The class table: which failure uses up what, how long the next attempt waits, and when there is none."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bernstein_agent.contract import ResultClass
from bernstein_operator.api.effective import EffectiveRetry
from bernstein_operator.api.task_status import AgentTaskStatus
from bernstein_operator.api.vocabulary import TaskPhase, TaskReason
from bernstein_operator.decisions.retry import (
    RULES,
    Climb,
    Counters,
    Counting,
    GiveUp,
    Retry,
    alike_in_a_row,
    backoff,
    next_step,
)
from tests.unit.objects import T0, attempt, status

POLICY = EffectiveRetry(limit=2, backoff_seconds=30, max_backoff_seconds=300)
TENTH = 0.1
NONE_YET = Counters()


def step(
    result: ResultClass,
    *,
    before: Counters = NONE_YET,
    limit: int = 2,
    disruption_limit: int = 3,
    alike: int = 0,
    asked_to_wait: int | None = None,
) -> Retry | GiveUp:
    policy = EffectiveRetry(
        limit=limit, backoff_seconds=30, max_backoff_seconds=300, disruption_limit=disruption_limit
    )
    return next_step(
        1,
        result,
        before=before,
        policy=policy,
        task_uid="t-uid",
        now=T0,
        alike=alike,
        asked_to_wait=asked_to_wait,
    )


def wait(result: ResultClass, before: Counters = NONE_YET) -> float:
    following = step(result, before=before, limit=100)
    assert isinstance(following, Retry)
    return (following.at - T0).total_seconds()


TABLE = {
    # class: counts, whether it backs off, what climbs, whether it is an error for the ceiling, the end
    "success": ("none", False, "none", False, "Succeeded"),
    "business": ("retries", True, "step", True, None),
    "agent": ("retries", True, "step", True, None),
    "deadline": ("retries", False, "top", True, None),
    "contract": ("none", False, "none", True, "Failed"),
    "transient": ("retries", True, "none", True, None),
    "oom": ("retries", True, "memory", True, None),
    "capacity": ("none", True, "none", True, None),
    "disruption": ("disruptions", True, "none", False, None),
    "security": ("none", False, "none", False, "Quarantined"),
    "unknown": ("none", False, "none", False, "Quarantined"),
    "budget": ("none", False, "none", False, None),
    "task_budget": ("all", False, "none", False, None),
    "abandoned": ("none", False, "none", False, "Abandoned"),
    "cancelled": ("none", False, "none", False, "Cancelled"),
    "asked": ("none", False, "none", False, "AwaitingInput"),
}


def test_the_table_has_every_class_and_says_what_the_law_says() -> None:
    assert set(RULES) == set(ResultClass)
    found = {
        str(one): (rule.counts, rule.backs_off, rule.climb, rule.error, rule.ends)
        for one, rule in RULES.items()
    }
    assert found == {
        one: (Counting(counts), backs_off, Climb(climb), error, TaskPhase(end) if end else None)
        for one, (counts, backs_off, climb, error, end) in TABLE.items()
    }


@pytest.mark.parametrize(
    ("result", "counters", "seconds"),
    [
        pytest.param(ResultClass.BUSINESS, Counters(retries=1), 30, id="no commit counts and waits"),
        pytest.param(ResultClass.AGENT, Counters(retries=1), 30, id="the agent's failure counts and waits"),
        pytest.param(ResultClass.DEADLINE, Counters(retries=1), 0, id="a deadline counts and does not wait"),
        pytest.param(ResultClass.TRANSIENT, Counters(retries=1), 30, id="a passing fault counts and waits"),
        pytest.param(ResultClass.OOM, Counters(retries=1), 30, id="too little memory counts and waits"),
        pytest.param(ResultClass.CAPACITY, Counters(rate_limits=1), 30, id="a rate limit waits, uncounted"),
        pytest.param(
            ResultClass.DISRUPTION, Counters(disruptions=1), 30, id="a lost Pod has an allowance of its own"
        ),
        pytest.param(ResultClass.BUDGET, Counters(), 0, id="a run without money costs the task nothing"),
    ],
)
def test_each_class_uses_up_its_allowance(result: ResultClass, counters: Counters, seconds: int) -> None:
    following = step(result)
    assert isinstance(following, Retry)
    assert following.counters == counters
    assert (following.at - T0).total_seconds() == pytest.approx(seconds, rel=TENTH)


def test_a_task_without_a_budget_is_never_tried_again() -> None:
    following = step(ResultClass.TASK_BUDGET, limit=100)
    assert following == GiveUp(TaskReason.TASK_BUDGET_EXHAUSTED, Counters())


@pytest.mark.parametrize(
    ("used", "limit", "given_up"),
    [
        pytest.param(0, 0, True, id="no retry is allowed"),
        pytest.param(0, 1, False, id="the first of one"),
        pytest.param(1, 2, False, id="the last retry"),
        pytest.param(2, 2, True, id="one after the last retry"),
    ],
)
@pytest.mark.parametrize("result", [ResultClass.AGENT, ResultClass.DEADLINE, ResultClass.OOM])
def test_retries_are_used_up_exactly_at_the_limit(
    result: ResultClass, used: int, limit: int, given_up: bool
) -> None:
    following = step(result, before=Counters(retries=used), limit=limit)
    assert isinstance(following, GiveUp) is given_up
    assert following.counters.retries == used + 1
    if isinstance(following, GiveUp):
        assert following.reason is TaskReason.RETRIES_EXHAUSTED


@pytest.mark.parametrize(
    ("limit", "lost", "given_up"),
    [
        pytest.param(3, 2, False, id="the third of three lost Pods"),
        pytest.param(3, 3, True, id="the fourth of three"),
        pytest.param(0, 0, True, id="the first of none"),
        pytest.param(5, 4, False, id="the fifth of five"),
    ],
)
def test_lost_pods_are_borne_up_to_their_own_limit(limit: int, lost: int, given_up: bool) -> None:
    before = Counters(disruptions=lost)
    following = step(ResultClass.DISRUPTION, before=before, limit=0, disruption_limit=limit)
    assert isinstance(following, GiveUp) is given_up
    if isinstance(following, GiveUp):
        assert following.reason is TaskReason.DISRUPTIONS_EXHAUSTED


@pytest.mark.parametrize(
    ("in_a_row", "retries"),
    [
        pytest.param(9, 0, id="the tenth is patience"),
        pytest.param(10, 1, id="the eleventh counts as transient"),
        pytest.param(11, 1, id="the twelfth too"),
    ],
)
def test_rate_limits_count_from_the_eleventh_in_a_row(in_a_row: int, retries: int) -> None:
    following = step(ResultClass.CAPACITY, before=Counters(rate_limits=in_a_row))
    assert following.counters == Counters(retries=retries, rate_limits=in_a_row + 1)


def test_a_rate_limit_after_patience_ends_a_task_without_retries() -> None:
    following = step(ResultClass.CAPACITY, before=Counters(rate_limits=10), limit=0)
    assert isinstance(following, GiveUp)


@pytest.mark.parametrize(
    ("result", "asked", "seconds"),
    [
        pytest.param(ResultClass.CAPACITY, 7, 7, id="the provider's time"),
        pytest.param(ResultClass.CAPACITY, 0, 0, id="at once, if it says so"),
        pytest.param(ResultClass.CAPACITY, None, 30, id="the back-off where it says nothing"),
        pytest.param(ResultClass.TRANSIENT, 7, 30, id="only a rate limit is the provider's to time"),
    ],
)
def test_a_provider_may_say_how_long_to_wait(result: ResultClass, asked: int | None, seconds: int) -> None:
    following = step(result, asked_to_wait=asked)
    assert isinstance(following, Retry)
    assert (following.at - T0).total_seconds() == pytest.approx(seconds, rel=TENTH)


@pytest.mark.parametrize(
    ("result", "alike", "given_up"),
    [
        pytest.param(ResultClass.AGENT, 2, False, id="the second time"),
        pytest.param(ResultClass.AGENT, 3, True, id="the third time"),
        pytest.param(ResultClass.DISRUPTION, 3, False, id="lost Pods have a limit of their own"),
        pytest.param(ResultClass.CAPACITY, 3, False, id="rate limits are borne with patience"),
    ],
)
def test_the_same_failure_three_times_in_a_row_ends_the_retries(
    result: ResultClass, alike: int, given_up: bool
) -> None:
    following = step(result, alike=alike, limit=100)
    assert isinstance(following, GiveUp) is given_up
    if isinstance(following, GiveUp):
        assert following.reason is TaskReason.SAME_FAILURE


def test_used_up_retries_are_told_before_the_same_failure() -> None:
    following = step(ResultClass.AGENT, before=Counters(retries=2), alike=3)
    assert isinstance(following, GiveUp)
    assert following.reason is TaskReason.RETRIES_EXHAUSTED


@pytest.mark.parametrize(
    ("before", "alike"),
    [
        pytest.param(status(attempt(1)), 0, id="no fingerprint"),
        pytest.param(status(attempt(1, fingerprint="aa")), 1, id="the first"),
        pytest.param(
            status(attempt(1, fingerprint="aa"), attempt(2, fingerprint="aa"), same_failures=1),
            2,
            id="the second of a kind",
        ),
        pytest.param(
            status(attempt(1, fingerprint="aa"), attempt(2, fingerprint="bb"), same_failures=2),
            1,
            id="another one",
        ),
        pytest.param(
            status(attempt(1, fingerprint="aa"), attempt(2), same_failures=2), 0, id="one without, after two"
        ),
        pytest.param(
            status(attempt(1, fingerprint="aa"), attempt(2, fingerprint="aa"), same_failures=0),
            1,
            id="the same, but a person's retry has come in between",
        ),
        pytest.param(
            status(attempt(1, fingerprint="aa"), attempt(2, fingerprint="aa", memory="2Gi"), same_failures=1),
            1,
            id="the same with more memory",
        ),
        pytest.param(
            status(
                attempt(1, fingerprint="aa", memory="2Gi"),
                attempt(2, fingerprint="aa", memory="2Gi"),
                same_failures=1,
            ),
            2,
            id="the same with as much memory",
        ),
    ],
)
def test_failures_are_alike_by_their_fingerprint(before: AgentTaskStatus, alike: int) -> None:
    assert alike_in_a_row(before) == alike


@pytest.mark.parametrize("result", [one for one in RULES if one is not ResultClass.CAPACITY])
def test_any_other_end_breaks_the_row_of_rate_limits(result: ResultClass) -> None:
    assert step(result, before=Counters(rate_limits=7)).counters.rate_limits == 0


@pytest.mark.parametrize(
    ("nth", "seconds"), [(1, 30), (2, 60), (3, 120), (4, 240), (5, 300), (6, 300), (1_000, 300)]
)
def test_backoff_doubles_up_to_its_maximum(nth: int, seconds: int) -> None:
    for seed in ("a/1", "b/2", "c/3"):
        waited = backoff(POLICY, nth=nth, seed=seed).total_seconds()
        assert waited == pytest.approx(seconds, rel=TENTH)


@given(nth=st.integers(1, 10_000), base=st.integers(0, 86_400), more=st.integers(0, 86_400), seed=st.text())
def test_backoff_stays_within_a_tenth_of_its_maximum(nth: int, base: int, more: int, seed: str) -> None:
    policy = EffectiveRetry(limit=2, backoff_seconds=base, max_backoff_seconds=base + more)
    waited = backoff(policy, nth=nth, seed=seed).total_seconds()
    assert 0.9 * base <= waited + 1e-6
    assert waited <= 1.1 * (base + more) + 1e-6


def test_the_spread_is_the_same_after_a_restart_and_another_for_another_task() -> None:
    waits = {seed: backoff(POLICY, nth=1, seed=seed) for seed in ("a/1", "a/2", "b/1")}
    assert waits["a/1"] == backoff(POLICY, nth=1, seed="a/1")
    assert len(set(waits.values())) == 3


def test_each_allowance_backs_off_by_its_own_count() -> None:
    many = Counters(retries=3, disruptions=0, rate_limits=0)
    assert wait(ResultClass.DISRUPTION, many) == pytest.approx(30, rel=TENTH)
    assert wait(ResultClass.AGENT, Counters(disruptions=3)) == pytest.approx(30, rel=TENTH)
    assert wait(ResultClass.CAPACITY, Counters(retries=9, rate_limits=1)) == pytest.approx(60, rel=TENTH)


def test_no_backoff_at_all_can_be_asked_for() -> None:
    policy = EffectiveRetry(limit=2, backoff_seconds=0, max_backoff_seconds=0)
    assert backoff(policy, nth=5, seed="x") == timedelta()
