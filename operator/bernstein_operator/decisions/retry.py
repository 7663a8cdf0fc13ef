"""What an attempt's result class means for the task: the class table, counting and back-off.

The table is the single place that says which failures use up a retry. Losing a Pod to a node drain says
nothing about the agent, so it has an allowance of its own; a broken spec can't heal, so it ends the task at
once; a rate limit passes, so it costs nothing until it looks like something else; and what may have happened
outside isn't tried again before a person has looked.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from hashlib import sha256
from types import MappingProxyType
from typing import Final

from bernstein_agent.contract import ResultClass
from bernstein_operator.api.effective import EffectiveRetry
from bernstein_operator.api.task_status import AgentTaskStatus
from bernstein_operator.api.vocabulary import TaskPhase, TaskReason


class Counting(StrEnum):
    """Which allowance a result uses up."""

    RETRIES = "retries"
    DISRUPTIONS = "disruptions"
    NONE = "none"
    ALL = "all"
    """Whatever is left: nothing is tried again by itself."""


class Climb(StrEnum):
    """What the next attempt gets more of."""

    NONE = "none"
    STEP = "step"
    """One step of effort first, then one model further each time."""
    TOP = "top"
    """The top of the ladder at once."""
    MEMORY = "memory"


@dataclass(frozen=True, slots=True)
class ClassRule:
    """What one result class means.

    Attributes:
        counts: the allowance that it uses up.
        backs_off: whether the next attempt waits.
        climb: what the next attempt gets more of.
        error: whether it speaks against running as many agents as now.
        ends: the phase in which it leaves the task at once; None where another attempt may follow.
    """

    counts: Counting = Counting.NONE
    backs_off: bool = False
    climb: Climb = Climb.NONE
    error: bool = False
    ends: TaskPhase | None = None


_FAILURE: Final = ClassRule(Counting.RETRIES, backs_off=True, error=True)

RULES: Final[Mapping[ResultClass, ClassRule]] = MappingProxyType(
    {
        ResultClass.SUCCESS: ClassRule(ends=TaskPhase.SUCCEEDED),
        ResultClass.BUSINESS: replace(_FAILURE, climb=Climb.STEP),
        ResultClass.AGENT: replace(_FAILURE, climb=Climb.STEP),
        ResultClass.DEADLINE: replace(_FAILURE, backs_off=False, climb=Climb.TOP),
        ResultClass.CONTRACT: ClassRule(error=True, ends=TaskPhase.FAILED),
        ResultClass.TRANSIENT: _FAILURE,
        ResultClass.OOM: replace(_FAILURE, climb=Climb.MEMORY),
        ResultClass.CAPACITY: ClassRule(backs_off=True, error=True),
        ResultClass.DISRUPTION: ClassRule(Counting.DISRUPTIONS, backs_off=True),
        ResultClass.SECURITY: ClassRule(ends=TaskPhase.QUARANTINED),
        ResultClass.UNKNOWN: ClassRule(ends=TaskPhase.QUARANTINED),
        ResultClass.BUDGET: ClassRule(),
        ResultClass.TASK_BUDGET: ClassRule(Counting.ALL),
        ResultClass.ABANDONED: ClassRule(ends=TaskPhase.ABANDONED),
        ResultClass.CANCELLED: ClassRule(ends=TaskPhase.CANCELLED),
        ResultClass.ASKED: ClassRule(ends=TaskPhase.AWAITING_INPUT),
    }
)
"""Every class that an attempt can end in."""

CAPACITY_PATIENCE: Final = 10
"""So many rate limits in a row are patience; the next one is counted as a transient failure."""
SAME_FAILURES_LIMIT: Final = 3
"""So often in a row one and the same failure is believed to be chance."""
_JITTER_PERCENT: Final = 10


@dataclass(frozen=True, slots=True)
class Counters:
    """What a task has used up: failures that count, lost Pods, and what came in a row up to the latest."""

    retries: int = 0
    disruptions: int = 0
    rate_limits: int = 0
    same_failures: int = 0

    @classmethod
    def of(cls, status: AgentTaskStatus) -> "Counters":
        """Return what ``status`` has counted."""
        return cls(status.retries, status.disruptions, status.rate_limits, status.same_failures)

    def after(self, result: ResultClass, counting: Counting, *, alike: int = 0) -> "Counters":
        """Return the counters after one more attempt ended in ``result``, counted as ``counting`` says.

        ``alike`` is how often in a row its failure has come; only those that count are held against it.
        """
        return Counters(
            retries=self.retries + (counting is Counting.RETRIES),
            disruptions=self.disruptions + (counting is Counting.DISRUPTIONS),
            rate_limits=self.rate_limits + 1 if result is ResultClass.CAPACITY else 0,
            same_failures=alike if counting is Counting.RETRIES else 0,
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
    alike: int = 0,
    asked_to_wait: int | None = None,
) -> Retry | GiveUp:
    """Say what follows attempt number ``attempt``, which has just failed with ``result``.

    ``alike`` counts how often in a row it failed in this very way; ``asked_to_wait`` are the seconds for
    which the provider asked, where it did.
    """
    rule = rule_for(result, before=before)
    counters = before.after(result, rule.counts, alike=alike)
    exhausted = _exhausted(rule, counters=counters, policy=policy)
    if exhausted:
        return GiveUp(reason=exhausted, counters=counters)
    wait = _wait(rule, counters=counters, policy=policy, seed=f"{task_uid}/{attempt}")
    if result is ResultClass.CAPACITY and asked_to_wait is not None:
        wait = timedelta(seconds=asked_to_wait)
    return Retry(at=now + wait, counters=counters)


def rule_for(result: ResultClass, *, before: Counters) -> ClassRule:
    """Return the rule of a result class; patience with rate limits ends after so many in a row."""
    if result is ResultClass.CAPACITY and before.rate_limits >= CAPACITY_PATIENCE:
        return RULES[ResultClass.TRANSIENT]
    return RULES[result]


def alike_in_a_row(status: AgentTaskStatus) -> int:
    """Return how often in a row the latest attempt's failure has come now; 0 where it has no fingerprint.

    One that came back though there was more memory is another one: more may help yet.
    """
    latest, *earlier = reversed(status.attempts)
    if not latest.fingerprint:
        return 0
    before = (earlier[0].fingerprint, earlier[0].memory) if earlier else None
    return status.same_failures + 1 if before == (latest.fingerprint, latest.memory) else 1


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


def _exhausted(rule: ClassRule, *, counters: Counters, policy: EffectiveRetry) -> TaskReason | None:
    if rule.counts is Counting.ALL:
        return TaskReason.TASK_BUDGET_EXHAUSTED
    if counters.retries > policy.limit:
        return TaskReason.RETRIES_EXHAUSTED
    if counters.disruptions > policy.disruption_limit:
        return TaskReason.DISRUPTIONS_EXHAUSTED
    return TaskReason.SAME_FAILURE if counters.same_failures >= SAME_FAILURES_LIMIT else None
