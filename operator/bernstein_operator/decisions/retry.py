"""What an attempt's result class means for the task: the class table, counting and back-off.

The table is the single place that says which failures use up a retry. Losing a Pod to a node drain says
nothing about the agent, so it has a small allowance of its own; a broken spec can't heal, so it ends the task
at once; a rate limit passes, so it costs nothing until it looks like something else.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from hashlib import sha256
from typing import Final

from bernstein_agent.contract import ResultClass
from bernstein_operator.api.effective import EffectiveRetry
from bernstein_operator.api.vocabulary import TaskReason


class Counting(StrEnum):
    """Which allowance a result uses up."""

    RETRIES = "retries"
    DISRUPTIONS = "disruptions"
    NONE = "none"
    FINAL = "final"
    """Nothing is tried again."""


@dataclass(frozen=True, slots=True)
class ClassRule:
    """What one result class means.

    Attributes:
        counts: the allowance that it uses up.
        backs_off: whether the next attempt waits.
    """

    counts: Counting
    backs_off: bool = True


RULES: Final[dict[ResultClass, ClassRule]] = {
    ResultClass.SUCCESS: ClassRule(Counting.FINAL),
    ResultClass.BUSINESS: ClassRule(Counting.RETRIES),
    ResultClass.AGENT: ClassRule(Counting.RETRIES),
    ResultClass.DEADLINE: ClassRule(Counting.RETRIES, backs_off=False),
    ResultClass.CONTRACT: ClassRule(Counting.FINAL),
    ResultClass.TRANSIENT: ClassRule(Counting.RETRIES),
    ResultClass.OOM: ClassRule(Counting.RETRIES),
    ResultClass.CAPACITY: ClassRule(Counting.NONE),
    ResultClass.DISRUPTION: ClassRule(Counting.DISRUPTIONS),
    ResultClass.ABANDONED: ClassRule(Counting.FINAL),
    ResultClass.CANCELLED: ClassRule(Counting.FINAL),
}
"""The classes that an attempt can end in."""

DISRUPTION_LIMIT: Final = 3
CAPACITY_PATIENCE: Final = 10
"""So many rate limits in a row are patience; the next one is counted as a transient failure."""
_JITTER_PERCENT: Final = 10


@dataclass(frozen=True, slots=True)
class Counters:
    """What a task has used up: failures that count, lost Pods, and rate limits in a row."""

    retries: int = 0
    disruptions: int = 0
    rate_limits: int = 0

    def after(self, result: ResultClass, counting: Counting) -> "Counters":
        """Return the counters after one more attempt ended in ``result``, counted as ``counting`` says."""
        return Counters(
            retries=self.retries + (counting is Counting.RETRIES),
            disruptions=self.disruptions + (counting is Counting.DISRUPTIONS),
            rate_limits=self.rate_limits + 1 if result is ResultClass.CAPACITY else 0,
        )


@dataclass(frozen=True, slots=True)
class Retry:
    """Another attempt, not before ``at``."""

    at: datetime
    counters: Counters


@dataclass(frozen=True, slots=True)
class GiveUp:
    """No further attempt."""

    reason: TaskReason
    counters: Counters


def next_step(
    attempt: int,
    result: ResultClass,
    *,
    before: Counters,
    policy: EffectiveRetry,
    task_uid: str,
    now: datetime,
) -> Retry | GiveUp:
    """Say what follows attempt number ``attempt``, which has just failed with ``result``."""
    rule = rule_for(result, before=before)
    counters = before.after(result, rule.counts)
    exhausted = _exhausted(rule, counters=counters, limit=policy.limit)
    if exhausted:
        return GiveUp(reason=exhausted, counters=counters)
    wait = _wait(rule, counters=counters, policy=policy, seed=f"{task_uid}/{attempt}")
    return Retry(at=now + wait, counters=counters)


def rule_for(result: ResultClass, *, before: Counters) -> ClassRule:
    """Return the rule of a result class; patience with rate limits ends after so many in a row."""
    if result is ResultClass.CAPACITY and before.rate_limits >= CAPACITY_PATIENCE:
        return RULES[ResultClass.TRANSIENT]
    return RULES[result]


def backoff(policy: EffectiveRetry, *, nth: int, seed: str) -> timedelta:
    """Return the wait before the retry after the ``nth`` failure: doubling, capped, ± 10 % by ``seed``.

    The spread keeps tasks that failed together from coming back together; the seed makes it the same after
    a restart.
    """
    # Beyond 2^31 every allowed base is over every allowed cap; the exponent needn't grow without end.
    seconds = min(policy.backoff_seconds * 2 ** min(nth - 1, 31), policy.max_backoff_seconds)
    spread = int.from_bytes(sha256(seed.encode()).digest()[:4]) / 2**32 * 2 - 1
    return timedelta(seconds=seconds * (1 + spread * _JITTER_PERCENT / 100))


def _wait(rule: ClassRule, *, counters: Counters, policy: EffectiveRetry, seed: str) -> timedelta:
    if not rule.backs_off:
        return timedelta()
    nth = {Counting.RETRIES: counters.retries, Counting.DISRUPTIONS: counters.disruptions}
    return backoff(policy, nth=nth.get(rule.counts, counters.rate_limits), seed=seed)


def _exhausted(rule: ClassRule, *, counters: Counters, limit: int) -> TaskReason | None:
    if rule.counts is Counting.FINAL:
        return TaskReason.CONTRACT_BROKEN
    if counters.retries > limit:
        return TaskReason.RETRIES_EXHAUSTED
    return TaskReason.DISRUPTIONS_EXHAUSTED if counters.disruptions > DISRUPTION_LIMIT else None
