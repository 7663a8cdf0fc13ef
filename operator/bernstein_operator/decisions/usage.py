"""What an attempt's own word puts on record, and what a task has spent over all its attempts.

Every word about an attempt's spend holds its total. So each number of it only ever rises, whoever says it and
however often, and what a task has spent rises by the difference.
"""

from datetime import datetime
from typing import Any, Final

from bernstein_agent import contract
from bernstein_agent.contract import Result
from bernstein_operator.api.money import MAX_DOLLARS, Money
from bernstein_operator.api.task_status import AgentTaskStatus, Continuation, Usage

MOST_TOKENS: Final = 2**53
MOST_MONEY: Final = Money(MAX_DOLLARS * 1_000_000)
"""What a status can hold: an agent that claims more must not make its task's unwritable."""
_NOTHING: Final = Usage()


def facts(result: Result) -> dict[str, Any]:
    """Return the result's facts by the names of an attempt's fields; the contract has checked their form."""
    return {
        "head_before": result.head_before,
        "head_after": result.head_after,
        "branch": result.branch,
        "rescue_branch": result.rescue_branch,
        "retry_after_seconds": result.retry_after_seconds,
        "finish_percent": result.finish_percent,
    }


def of_contract(spent: contract.Usage) -> Usage:
    """Return what an agent's Pod says of its spend as statuses have it."""
    return Usage(
        input_tokens=min(spent.input_tokens, MOST_TOKENS),
        output_tokens=min(spent.output_tokens, MOST_TOKENS),
        cached_tokens=min(spent.cached_tokens, MOST_TOKENS),
        cost_usd=min(Money(spent.cost_micros), MOST_MONEY),
    )


def highest(known: Usage | None, heard: Usage | None) -> Usage | None:
    """Return the higher of each number; None only where nothing was ever reported."""
    if not (known and heard):
        return known or heard
    changes = {
        "input_tokens": max(known.input_tokens, heard.input_tokens),
        "output_tokens": max(known.output_tokens, heard.output_tokens),
        "cached_tokens": max(known.cached_tokens, heard.cached_tokens),
        "cost_usd": max(known.cost_usd, heard.cost_usd),
        # An estimate stands until at least as much is reported.
        "estimated_usd": (heard if heard.cost_usd >= known.cost_usd else known).estimated_usd,
    }
    return known.model_copy(update=changes)


def continued(result: Result, *, at: datetime) -> Continuation | None:
    """Return that the agent went on after it had left no commit, for a task of which that isn't known yet."""
    if result.continued is None:
        return None
    return Continuation(attempt=result.subject.attempt, time=at, session_id=result.continued)


def total(before: Usage | None, spent: Usage | None) -> Usage | None:
    """Return the sum of two records of spend; None only where nothing was ever reported."""
    if not (before and spent):
        return before or spent
    changes = {
        "input_tokens": min(before.input_tokens + spent.input_tokens, MOST_TOKENS),
        "output_tokens": min(before.output_tokens + spent.output_tokens, MOST_TOKENS),
        "cached_tokens": min(before.cached_tokens + spent.cached_tokens, MOST_TOKENS),
        "cost_usd": min(before.cost_usd + spent.cost_usd, MOST_MONEY),
    }
    return before.model_copy(update=changes)


def rise(before: Usage | None, now: Usage | None) -> Usage | None:
    """Return what ``now`` has above ``before``, a part or an earlier record of it; None where it is none."""
    if not (before and now):
        return now
    return Usage(
        input_tokens=max(now.input_tokens - before.input_tokens, 0),
        output_tokens=max(now.output_tokens - before.output_tokens, 0),
        cached_tokens=max(now.cached_tokens - before.cached_tokens, 0),
        cost_usd=Money(max(now.cost_usd.micros - before.cost_usd.micros, 0)),
    )


def with_spend(status: AgentTaskStatus, attempt: int, heard: Usage | None) -> AgentTaskStatus:
    """Return the status with an attempt's spend raised to what was ``heard``, and the task's by as much."""
    one = next((one for one in status.attempts if one.number == attempt), None)
    now = highest(one.usage, heard) if one else None
    if not one or now == one.usage:
        return status
    raised = one.model_copy(update={"usage": now})
    attempts = tuple(raised if other is one else other for other in status.attempts)
    spent = total(status.usage, rise(one.usage, now))
    guessed = _estimated(status.usage) - _estimated(one.usage) + _estimated(now)
    known = {"estimated_usd": Money(guessed) if guessed > 0 else None}
    usage = spent.model_copy(update=known) if spent else None
    return status.model_copy(update={"attempts": attempts, "usage": usage})


def _estimated(usage: Usage | None) -> int:
    return usage.estimated_usd.micros if usage and usage.estimated_usd else 0
