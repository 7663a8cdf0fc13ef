"""What an attempt's own report puts on record, and what a task has spent over all its attempts."""

from datetime import datetime
from typing import Any

from bernstein_agent.contract import Result
from bernstein_operator.api.money import Money
from bernstein_operator.api.task_status import Continuation, Usage


def facts(result: Result) -> dict[str, Any]:
    """Return the result's facts by the names of an attempt's fields; the contract has checked their form."""
    spent = result.usage
    return {
        "usage": Usage(
            input_tokens=spent.input_tokens,
            output_tokens=spent.output_tokens,
            cached_tokens=spent.cached_tokens,
            cost_usd=Money(spent.cost_micros),
        ),
        "head_before": result.head_before,
        "head_after": result.head_after,
        "branch": result.branch,
        "rescue_branch": result.rescue_branch,
        "retry_after_seconds": result.retry_after_seconds,
        "finish_percent": result.finish_percent,
    }


def continued(result: Result, *, at: datetime) -> Continuation | None:
    """Return that the agent went on after it had left no commit, for a task of which that isn't known yet."""
    if result.continued is None:
        return None
    return Continuation(attempt=result.subject.attempt, time=at, session_id=result.continued)


def total(before: Usage | None, spent: Usage | None) -> Usage | None:
    """Return the sum of two records of spend; None only where nothing was ever reported."""
    if not (before and spent):
        return before or spent
    return Usage(
        input_tokens=before.input_tokens + spent.input_tokens,
        output_tokens=before.output_tokens + spent.output_tokens,
        cached_tokens=before.cached_tokens + spent.cached_tokens,
        cost_usd=before.cost_usd + spent.cost_usd,
    )
