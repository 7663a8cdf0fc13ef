"""How long an attempt may take, and who is told when it is over.

``startTimeoutSeconds`` counts from the Pod's creation until the agent container starts, ``timeoutSeconds``
from there. The kubelet's own clock (activeDeadlineSeconds) starts only once a node has taken the Pod and
stops with that node, so it is the backstop and the operator keeps the time itself.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from bernstein_operator.api.effective import EffectiveTask
from bernstein_operator.api.pod import Pod

LONGEST_ACTIVE_DEADLINE: Final = 2_147_483_647
TERMINATION_GRACE: Final = timedelta(seconds=10)
LOST_AFTER: Final = timedelta(seconds=60)
"""So long after its grace period a Pod that should have ended is taken for lost."""
CLOCK_SKEW: Final = timedelta(seconds=60)
"""So far ahead a moment may lie that was recorded on another machine."""


@dataclass(frozen=True, slots=True)
class Limit:
    """When an attempt's present stretch is over."""

    at: datetime
    started: bool
    """Whether the agent container runs, so that it is timeoutSeconds that ends."""


def active_deadline_seconds(task: EffectiveTask) -> int:
    """Return the Pod's activeDeadlineSeconds: both limits one after the other, within what a Pod may hold."""
    return max(1, min(task.start_timeout_seconds + task.timeout_seconds, LONGEST_ACTIVE_DEADLINE))


def limit_of(pod: Pod, task: EffectiveTask, *, now: datetime) -> Limit:
    """Return the limit that applies to a Pod which hasn't ended."""
    started = pod.started_at
    if started:
        return Limit(at=started + timedelta(seconds=task.timeout_seconds), started=True)
    created = pod.metadata.creation_timestamp or now
    return Limit(at=created + timedelta(seconds=task.start_timeout_seconds), started=False)


def overdue_since(pod: Pod, *, now: datetime) -> datetime | None:
    """Return the moment from which a Pod that was told to end is taken for lost.

    Where the record of that moment was damaged, it counts from the Pod's creation: long ago. One that lies
    ahead of ``now`` was not written by us either, and whoever did may not keep a Pod for ever.
    """
    if pod.metadata.deletion_timestamp:
        # deletionTimestamp lies at the end of the grace period already.
        return pod.metadata.deletion_timestamp + LOST_AFTER
    recorded = pod.stopped_at if pod.stopped_at and pod.stopped_at <= now + CLOCK_SKEW else None
    told = recorded or pod.metadata.creation_timestamp
    return told + TERMINATION_GRACE + LOST_AFTER if told else None
