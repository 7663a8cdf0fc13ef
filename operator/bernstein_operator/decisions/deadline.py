"""Every limit of an attempt, and who is told when one is over.

``startTimeoutSeconds`` counts from the Pod's creation until the agent container starts, ``timeoutSeconds``
from there; the task's deadline and its run's are moments. The earliest ends the attempt. The kubelet's own
clock (activeDeadlineSeconds) starts only once a node has taken the Pod and stops with that node, so it is the
backstop and the operator keeps the time itself.
"""

import math
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from bernstein_agent.contract import ResultClass
from bernstein_operator.api.choices import LimitKind
from bernstein_operator.api.effective import EffectiveTask
from bernstein_operator.api.objects import RunObject
from bernstein_operator.api.pod import Pod
from bernstein_operator.api.task_status import AgentTaskStatus, Attempt

SHORTEST_ACTIVE_DEADLINE: Final = 1
LONGEST_ACTIVE_DEADLINE: Final = 2_147_483_647
TERMINATION_GRACE: Final = timedelta(seconds=10)
LOST_AFTER: Final = timedelta(seconds=60)
"""So long after its grace period a Pod that should have ended is taken for lost."""
CLOCK_SKEW: Final = timedelta(seconds=60)
"""So far ahead a moment may lie that was recorded on another machine."""


@dataclass(frozen=True, slots=True)
class Limit:
    """A moment at which an attempt, or a task that waits for one, is over."""

    at: datetime
    kind: LimitKind

    @property
    def result_class(self) -> ResultClass:
        """What an attempt counts as that runs into it."""
        return ResultClass.TRANSIENT if self.kind is LimitKind.START_TIMEOUT else ResultClass.DEADLINE

    @property
    def called(self) -> str:
        """What people call it; a moment is named with its date."""
        match self.kind:
            case LimitKind.DEADLINE:
                return f"the task's deadline, {self.at:%Y-%m-%dT%H:%M:%SZ}"
            case LimitKind.RUN_DEADLINE:
                return f"its run's deadline, {self.at:%Y-%m-%dT%H:%M:%SZ}"
            case _:
                return f"its {self.kind}"


@dataclass(frozen=True, slots=True)
class Bounds:
    """What an attempt is allowed, whatever its Pod does.

    Attributes:
        start_timeout: from its Pod's creation to its agent container's start.
        timeout: from there to its end.
        input_timeout: the longest that scheduling gates may keep its Pod.
        deadline: the task's, as it holds now.
        run_deadline: the run's.
    """

    start_timeout: timedelta
    timeout: timedelta
    input_timeout: timedelta
    deadline: datetime | None = None
    run_deadline: datetime | None = None

    @property
    def moments(self) -> tuple[Limit, ...]:
        """The limits that hold with and without a Pod, the earliest first."""
        pairs = ((LimitKind.DEADLINE, self.deadline), (LimitKind.RUN_DEADLINE, self.run_deadline))
        # Of two that pass at once the run's is told: it is the one that nothing can move.
        return _in_order([Limit(at, kind) for kind, at in reversed(pairs) if at])


def bounds_of(status: AgentTaskStatus, task: EffectiveTask, run: RunObject | None) -> Bounds:
    """Return what a task's attempt is allowed: the open one, or the next."""
    return Bounds(
        start_timeout=timedelta(seconds=task.start_timeout_seconds),
        timeout=timedelta(seconds=task.timeout_seconds),
        input_timeout=timedelta(seconds=task.input_timeout_seconds),
        deadline=deadline_of(status, task),
        run_deadline=run_deadline_of(run),
    )


def run_deadline_of(run: RunObject | None) -> datetime | None:
    """Return the moment at which a run ends at the latest, if it has one."""
    return run.spec.deadline if run and run.spec else None


def deadline_of(status: AgentTaskStatus, task: EffectiveTask) -> datetime | None:
    """Return the task's deadline as it holds now.

    What was granted holds until spec.deadline is changed. Then a shorter one holds at once, and a longer one
    from the next attempt on.
    """
    kept = status.deadline
    if not kept:
        return task.deadline
    if kept.basis == task.deadline:
        return kept.effective or task.deadline
    is_open = bool(status.attempts) and not status.attempts[-1].end_time
    if not (is_open and kept.effective):
        return task.deadline
    return min(kept.effective, task.deadline or kept.effective)


def limits_of(
    bounds: Bounds, attempt: Attempt | None, pod: Pod | None, *, now: datetime
) -> tuple[Limit, ...]:
    """Return every limit that holds, the earliest first; without a Pod only the moments do."""
    if not pod:
        return bounds.moments
    started = pod.started_at
    if started:
        own = Limit(started + bounds.timeout, LimitKind.TIMEOUT)
    else:
        own = Limit(_start_by(bounds, attempt, pod, now=now), LimitKind.START_TIMEOUT)
    return _in_order([own, *bounds.moments])


def active_deadline_seconds(bounds: Bounds, *, intent: datetime) -> int:
    """Return the Pod's activeDeadlineSeconds: both stretches one after the other, or less to a deadline.

    It counts from the ``intent``, which is on record, so that the same Pod comes out again after a restart.
    """
    moments = [(limit.at - intent).total_seconds() for limit in bounds.moments]
    seconds = math.ceil(min([(bounds.start_timeout + bounds.timeout).total_seconds(), *moments]))
    return max(SHORTEST_ACTIVE_DEADLINE, min(seconds, LONGEST_ACTIVE_DEADLINE))


def timeout_seconds(bounds: Bounds, *, intent: datetime) -> int:
    """Return the longest that the agent may run, from its own start, in whole seconds."""
    moments = [(limit.at - intent).total_seconds() for limit in bounds.moments]
    return max(1, math.ceil(min([bounds.timeout.total_seconds(), *moments])))


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


def _start_by(bounds: Bounds, attempt: Attempt | None, pod: Pod, *, now: datetime) -> datetime:
    """Return until when the agent container has to start; behind scheduling gates that clock stands still."""
    created = pod.metadata.creation_timestamp or now
    if pod.gated:
        return created + bounds.input_timeout
    gated_until = attempt.gated_until if attempt else None
    return (min(gated_until, now) if gated_until else created) + bounds.start_timeout


def _in_order(limits: list[Limit]) -> tuple[Limit, ...]:
    return tuple(sorted(limits, key=lambda limit: limit.at))
