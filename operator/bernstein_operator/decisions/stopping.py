"""How a Pod is brought to its end: asked first, then removed, then removed by force.

Asking is one patch that lowers the Pod's activeDeadlineSeconds: the kubelet then sends SIGTERM, keeps the
grace period, and the Pod stays with its logs and its last word. Deleting is for Pods that nobody would end
otherwise, and for those that belong to no attempt that goes on.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from bernstein_agent.contract import ResultClass
from bernstein_operator.api.effective import EffectiveTask
from bernstein_operator.api.pod import Pod
from bernstein_operator.api.snapshot import TaskSnapshot
from bernstein_operator.api.task_status import AgentTaskStatus
from bernstein_operator.api.vocabulary import AttemptReason, TaskPhase
from bernstein_operator.decisions.attempt import open_attempt
from bernstein_operator.decisions.budget_stop import stopped_at
from bernstein_operator.decisions.deadline import bounds_of, limits_of, overdue_since
from bernstein_operator.decisions.plan import Action, DeletePod, StopPod

RUN_GONE_GRACE: Final = timedelta(seconds=60)
"""So long agents of a run that was deleted go on, in case it is applied again at once."""
OUTLIVE_AGENT: Final = timedelta(seconds=10)
"""So long after its agent a Pod may go on: kubelets report the Pod's end a moment after the container's."""
_STOPS: Final[dict[TaskPhase, str]] = {
    TaskPhase.CANCELLED: AttemptReason.CANCELLED,
    TaskPhase.ABANDONED: ResultClass.ABANDONED,
    TaskPhase.QUARANTINED: AttemptReason.QUARANTINED,
}
"""Phases that a person can put a task into while its agent works, and what its Pod is told."""


@dataclass(frozen=True, slots=True)
class Ending:
    """What to do now, and when to look again."""

    actions: tuple[Action, ...] = ()
    moments: tuple[datetime | None, ...] = ()


def keep_limits(
    status: AgentTaskStatus, pod: Pod, snapshot: TaskSnapshot, task: EffectiveTask, *, now: datetime
) -> Ending:
    """Say what to do with the Pod of an attempt that goes on."""
    if pod.stop_class or pod.metadata.deletion_timestamp:
        return _urge(pod, _left_until(pod, snapshot), now=now)
    limit = limits_of(bounds_of(status, task, snapshot.run), open_attempt(status), pod, now=now)[0]
    gone_at = snapshot.run_gone_since + RUN_GONE_GRACE if snapshot.run_gone_since else None
    if status.phase in _STOPS:
        return Ending((StopPod(pod, _STOPS[status.phase]),))
    if gone_at and now >= gone_at:
        return Ending((StopPod(pod, AttemptReason.RUN_GONE),))
    if pod.started_at and now >= limit.at:
        return Ending((StopPod(pod, ResultClass.DEADLINE),))
    broke_at = stopped_at(snapshot.run, task)
    if broke_at and now >= broke_at:
        return Ending((StopPod(pod, ResultClass.BUDGET),))
    return Ending(moments=(limit.at, gone_at, broke_at))


def left_text(pod: Pod) -> str:
    """Return what is said of a Pod that should have ended and that a node still has."""
    return f"Pod {pod.metadata.name} should have ended; node {pod.spec.node_name} is Ready and still has it."


def clear_away(status: AgentTaskStatus, snapshot: TaskSnapshot, *, now: datetime) -> Ending:
    """Say how to end Pods that belong to no open attempt: late ones, and ones whose agent is done."""
    attempt = open_attempt(status)
    kept = attempt.pod_name if attempt else ""
    strays = [one for one in snapshot.sightings if one.live and one.pod.metadata.name != kept]
    endings = [_end_stray(one.pod, one.left_until, now=now) for one in strays]
    actions = tuple(action for ending in endings for action in ending.actions)
    return Ending(actions, tuple(moment for ending in endings for moment in ending.moments))


def _left_until(pod: Pod, snapshot: TaskSnapshot) -> datetime | None:
    return next((one.left_until for one in snapshot.sightings if one.pod is pod), None)


def _urge(pod: Pod, left_until: datetime | None, *, now: datetime) -> Ending:
    """Say what to do with a Pod that was told to end: nothing, until it has taken too long.

    Whoever removes it by force asks its node first: one that is Ready ends it yet, ``left_until`` then.
    """
    deleting = pod.metadata.deletion_timestamp is not None
    if not pod.scheduled and not deleting:
        # No kubelet has it, so nobody would ever end it.
        return Ending((DeletePod(pod),))
    overdue = overdue_since(pod, now=now)
    if overdue and left_until:
        overdue = max(overdue, left_until)
    if overdue and now >= overdue:
        return Ending((DeletePod(pod, force=deleting),))
    return Ending(moments=(overdue,))


def _end_stray(pod: Pod, left_until: datetime | None, *, now: datetime) -> Ending:
    if pod.stop_class or pod.metadata.deletion_timestamp:
        return _urge(pod, left_until, now=now)
    done = pod.agent.terminated
    if not done:
        return Ending((DeletePod(pod),))
    leave_until = done.finished_at + OUTLIVE_AGENT if done.finished_at else now
    if now < leave_until:
        return Ending(moments=(leave_until,))
    return Ending((StopPod(pod, AttemptReason.COMPLETED),))
