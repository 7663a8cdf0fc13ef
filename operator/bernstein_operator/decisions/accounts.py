"""What one task adds to its run's money: what it has spent, what it may yet, and what its attempts cost.

A task's status holds the spend of all its attempts, those that it doesn't list any more too; what a live one
has reported since that was written comes on top.
"""

from dataclasses import dataclass

from bernstein_operator.api.choices import Metering, ScopeSize
from bernstein_operator.api.effective import EffectiveTask
from bernstein_operator.api.money import Money
from bernstein_operator.api.profile import Adapter, AgentProfileSpec
from bernstein_operator.api.spending import NO_SAMPLE, Allotment, Need, Sample
from bernstein_operator.api.task_status import AgentTaskStatus, Attempt, Usage
from bernstein_operator.decisions.attempt import open_attempt
from bernstein_operator.decisions.task_budget import left
from bernstein_operator.decisions.usage import rise

_NOTHING_SPENT = Usage()
_NOTHING = Money()


@dataclass(frozen=True, slots=True)
class Account:
    """One task's part of its run's ``Spend``, by the same names; its sample is of one scope.

    Attributes:
        untold: what its open attempt is taken to have cost should nobody ever tell.
    """

    spent: int = 0
    estimated: int = 0
    in_flight: int = 0
    reserved: int = 0
    tokens: int = 0
    in_flight_tokens: int = 0
    reserved_tokens: int = 0
    live: int = 0
    untold: int = 0
    scope: ScopeSize = ScopeSize.MEDIUM
    sample: Sample = NO_SAMPLE


def account_of(status: AgentTaskStatus, scope: ScopeSize, reported: Usage | None) -> Account:
    """Return a task's account; ``reported`` is the most that is known of its open attempt's spend."""
    attempt, whole = open_attempt(status), status.usage or _NOTHING_SPENT
    flying = (rise(attempt.usage, reported) if attempt else None) or _NOTHING_SPENT
    own = reported or _NOTHING_SPENT
    return Account(
        spent=whole.cost_usd.micros + flying.cost_usd.micros,
        estimated=(whole.estimated_usd or _NOTHING).micros,
        in_flight=flying.cost_usd.micros,
        reserved=_beyond((attempt.reservation_usd or _NOTHING).micros, own.cost_usd.micros) if attempt else 0,
        tokens=tokens_of(whole) + tokens_of(flying),
        in_flight_tokens=tokens_of(flying),
        reserved_tokens=_beyond(attempt.reservation_tokens or 0, tokens_of(own)) if attempt else 0,
        live=int(attempt is not None),
        untold=_untold(attempt, own),
        scope=scope,
        sample=_sample(status),
    )


def promised(given: Allotment) -> Account:
    """Return the account of a task that has been given its share and hasn't begun yet."""
    return Account(reserved=given.reservation_usd.micros, reserved_tokens=given.reservation_tokens, live=1)


def need_of(status: AgentTaskStatus, task: EffectiveTask, profile: AgentProfileSpec | None) -> Need:
    """Return what the task's next attempt would take of its run's budget."""
    rest = left(task.budget, status.usage)
    return Need(
        scope=task.scope,
        essential=task.essential,
        metered=is_metered(profile),
        left_usd=rest.usd,
        left_tokens=rest.tokens,
    )


def is_metered(profile: AgentProfileSpec | None) -> bool:
    """Whether attempts with a profile cost anything that is known."""
    if not profile:
        return True
    built_in = Metering.NONE if profile.adapter is Adapter.COMMAND else Metering.TURN
    return (profile.metering or built_in) is not Metering.NONE


def tokens_of(usage: Usage) -> int:
    """Return what counts against a limit of tokens: cached ones are left out."""
    return usage.input_tokens + usage.output_tokens


def _untold(attempt: Attempt | None, reported: Usage) -> int:
    """Return what an attempt has reserved whose agent works and has told of no cost."""
    if not (attempt and attempt.start_time) or reported.cost_usd.micros:
        return 0
    return (attempt.reservation_usd or _NOTHING).micros


def _beyond(reserved: int, reported: int) -> int:
    return max(0, reserved - reported)


def _sample(status: AgentTaskStatus) -> Sample:
    """Return what the ended attempts cost that cost anything: one that never began is no measure."""
    costs = [one.usage for one in status.attempts if one.usage and _cost_something(one)]
    return Sample(
        count=len(costs),
        micros=sum(one.cost_usd.micros for one in costs),
        tokens=sum(tokens_of(one) for one in costs),
    )


def _cost_something(attempt: Attempt) -> bool:
    usage = attempt.usage
    return bool(attempt.end_time and usage and (usage.cost_usd.micros or tokens_of(usage)))
