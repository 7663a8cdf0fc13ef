"""How long the tasks of a run that has ended are kept."""

from datetime import datetime, timedelta

from bernstein_operator.api.run import BernsteinRunSpec, BernsteinRunStatus
from bernstein_operator.api.vocabulary import RunPhase


def clear_at(spec: BernsteinRunSpec, status: BernsteinRunStatus) -> datetime | None:
    """Return when the tasks of a run have been kept for long enough; None while it goes on, or for good."""
    seconds = {
        RunPhase.SUCCEEDED: spec.ttl.succeeded_seconds,
        RunPhase.FAILED: spec.ttl.failed_seconds,
        RunPhase.CANCELLED: spec.ttl.cancelled_seconds,
    }.get(status.phase)
    if seconds is None or not status.completion_time:
        return None
    return status.completion_time + timedelta(seconds=seconds)
