"""The life of one attempt: intent, Pod, start, end.

An attempt is recorded before its Pod is asked for, under a name that can be computed again, and confirmed
once the Pod has been seen. So whatever the operator was doing when it was killed, the record says which
Pod may exist, and asking for it once more can't make a second one.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final

from bernstein_agent.contract import Result, ResultClass
from bernstein_operator.api.choices import LimitKind
from bernstein_operator.api.effective import EffectiveTask
from bernstein_operator.api.names import pod_name
from bernstein_operator.api.objects import TaskObject
from bernstein_operator.api.pod import Pod, Waiting
from bernstein_operator.api.profile import AgentProfileSpec
from bernstein_operator.api.snapshot import Sighting
from bernstein_operator.api.spending import Allotment
from bernstein_operator.api.task_status import KEPT_ATTEMPTS, AgentTaskStatus, Attempt
from bernstein_operator.api.vocabulary import AttemptReason
from bernstein_operator.decisions.deadline import Bounds, Limit, limits_of
from bernstein_operator.decisions.escalation import means
from bernstein_operator.decisions.fingerprint import fingerprint
from bernstein_operator.decisions.granting import on_record
from bernstein_operator.decisions.outcome import IMPOSSIBLE_IMAGE, Outcome, classify, result_of
from bernstein_operator.decisions.usage import continued, facts, of_contract, with_spend

SHOW_WAITING_AFTER: Final = timedelta(seconds=10)
"""A Pod that hasn't started by then gets its reason shown; a plain one needs no such write."""


def open_attempt(status: AgentTaskStatus) -> Attempt | None:
    """Return the attempt that has begun and not ended, if there is one."""
    last = status.attempts[-1] if status.attempts else None
    return last if last and not last.end_time else None


def begin(
    task: TaskObject,
    effective: EffectiveTask,
    *,
    profile: AgentProfileSpec | None,
    now: datetime,
    share: Allotment | None = None,
) -> AgentTaskStatus:
    """Return the status that records the next attempt as begun, with what it is to work with.

    ``share`` is what it was given of its run's budget.
    """
    status, number = task.status, task.status.attempt + 1
    given = means(status.escalation, effective, profile)
    attempt = Attempt(
        number=number,
        pod_name=pod_name(task=task.meta.name, task_uid=task.meta.uid, attempt=number),
        profile=effective.profile,
        intent_time=now,
        level=given.level,
        model=given.model,
        effort=given.effort,
        memory=given.memory,
        **_spending(share or Allotment()),
    )
    changes = {
        "attempt": number,
        "attempts": (*status.attempts, attempt)[-KEPT_ATTEMPTS:],
        "first_admitted_time": status.first_admitted_time or now,
        "next_attempt_time": None,
        "deadline": on_record(status, effective),
    }
    return status.model_copy(update=changes)


def _spending(share: Allotment) -> dict[str, Any]:
    """Return a share by the names of an attempt's fields; nothing is said of what reserves nothing."""
    return {
        "reservation_usd": share.reservation_usd if share.reservation_usd.micros else None,
        "reservation_tokens": share.reservation_tokens or None,
        "cap_usd": share.cap_usd,
        "cap_tokens": share.cap_tokens,
    }


def rolled_back(status: AgentTaskStatus) -> AgentTaskStatus:
    """Return the status without its open attempt, whose Pod the API server has definitely refused."""
    first = status.attempt == 1
    changes = {
        "attempt": status.attempt - 1,
        "attempts": status.attempts[:-1],
        "first_admitted_time": None if first else status.first_admitted_time,
    }
    return status.model_copy(update=changes)


def update(status: AgentTaskStatus, **changes: object) -> AgentTaskStatus:
    """Return the status with the latest attempt changed."""
    latest = status.attempts[-1].model_copy(update=changes)
    return status.model_copy(update={"attempts": (*status.attempts[:-1], latest)})


def confirm(status: AgentTaskStatus, pod: Pod) -> AgentTaskStatus:
    """Return the status with the Pod's identity, and the agent's start where it has started.

    A Pod that was evicted may have lost its container statuses; what they said before stays.
    """
    known = status.attempts[-1]
    node, started = pod.spec.node_name or known.node, pod.started_at or known.start_time
    return update(status, pod_uid=pod.metadata.uid, node=node, start_time=started)


def close(status: AgentTaskStatus, outcome: Outcome, pod: Pod | None) -> AgentTaskStatus:
    """Return the status with the open attempt ended as ``outcome`` says, and its spend added."""
    confirmed = confirm(status, pod) if pod else status
    result = outcome.result
    ended = update(
        confirmed,
        end_time=outcome.ended_at,
        exit_code=outcome.exit_code,
        result_class=str(outcome.result_class),
        reason=outcome.reason,
        message=outcome.message[:1024] or None,
        fingerprint=fingerprint(outcome.result_class, reason=outcome.reason, message=outcome.message),
        **(facts(result) if result else {}),
    )
    if not result:
        return ended
    went_on = status.continuation or continued(result, at=outcome.ended_at)
    changes = {"summary": result.summary[:1024] or status.summary, "continuation": went_on}
    return with_spend(ended.model_copy(update=changes), ended.attempt, of_contract(result.usage))


def with_late_spend(status: AgentTaskStatus, sightings: Iterable[Sighting]) -> AgentTaskStatus:
    """Return the status with what Pods spent whose attempts were closed before they were heard of.

    Nothing else of what they say counts: how these attempts ended is on record.
    """
    for one in sightings:
        status = _with_spend_of(one.pod, status)
    return status


def _with_spend_of(pod: Pod, status: AgentTaskStatus) -> AgentTaskStatus:
    ended = (one for one in status.attempts if one.end_time)
    attempt = next((one for one in ended if one.pod_name == pod.metadata.name), None)
    result = result_of(pod) if attempt else None
    if not (attempt and result):
        return status
    return with_spend(status, attempt.number, of_contract(result.usage))


@dataclass(frozen=True, slots=True)
class Ended:
    """That the open attempt is over, and the Pod it had, if one was ever seen."""

    outcome: Outcome
    pod: Pod | None


def find_end(
    attempt: Attempt,
    sighting: Sighting | None,
    *,
    bounds: Bounds,
    has_repository: bool,
    now: datetime,
    posted: Result | None = None,
) -> Ended | None:
    """Return how the open attempt ended, or None while it goes on; ``posted`` is its own word."""
    if not sighting:
        outcome = _vanished(now) if attempt.pod_uid else _too_late(bounds, now=now)
        return Ended(outcome, None) if outcome else None
    pod = sighting.pod
    limit = limits_of(bounds, attempt, pod, now=now)[0]
    if pod.ended or sighting.gone:
        outcome = classify(
            pod, gone=sighting.gone, limit=limit, has_repository=has_repository, now=now, posted=posted
        )
        return Ended(outcome, pod)
    hopeless = _hopeless(pod, limit, bounds, now=now)
    return Ended(hopeless, pod) if hopeless else None


def waiting_text(pod: Pod, *, now: datetime) -> str:
    """Return what keeps a Pod from starting, once it has taken long enough to be worth a word."""
    created = pod.metadata.creation_timestamp or now
    waiting = pod.waiting
    if not waiting or pod.started_at or now - created < SHOW_WAITING_AFTER:
        return ""
    return _told(waiting)


def _too_late(bounds: Bounds, *, now: datetime) -> Outcome | None:
    """Say that a deadline passed before the attempt's Pod was ever seen: none is asked for any more."""
    limit = next(iter(bounds.moments), None)
    if not limit or now < limit.at:
        return None
    return _over(limit, f"Stopped at {limit.called}, before it had a Pod.", now)


def _hopeless(pod: Pod, limit: Limit, bounds: Bounds, *, now: datetime) -> Outcome | None:
    """Say why a Pod that hasn't started never will, or has taken too long; it leaves nothing to wait for."""
    if pod.started_at:
        return None
    waiting = pod.waiting
    if waiting and waiting.reason in IMPOSSIBLE_IMAGE:
        return _never_started(ResultClass.CONTRACT, AttemptReason.IMAGE_IMPOSSIBLE, _told(waiting), now)
    if now < limit.at:
        return None
    text = _never_came(pod, limit, bounds)
    return _over(limit, f"{text} {_told(waiting)}" if waiting else text, now)


def _never_came(pod: Pod, limit: Limit, bounds: Bounds) -> str:
    if limit.kind is not LimitKind.START_TIMEOUT:
        return f"Stopped at {limit.called}, before its agent container started."
    if pod.gated:
        seconds = bounds.input_timeout.total_seconds()
        return f"Its scheduling gates were not lifted within inputTimeoutSeconds ({seconds:.0f} s)."
    seconds = bounds.start_timeout.total_seconds()
    return f"The agent container did not start within startTimeoutSeconds ({seconds:.0f} s)."


def _over(limit: Limit, message: str, now: datetime) -> Outcome:
    missed = limit.kind is LimitKind.START_TIMEOUT
    reason = AttemptReason.START_TIMEOUT if missed else AttemptReason.DEADLINE_EXCEEDED
    return Outcome(limit.result_class, reason, message, None, now, None, limit.kind)


def _never_started(result_class: ResultClass, reason: str, message: str, now: datetime) -> Outcome:
    return Outcome(result_class, reason, message, exit_code=None, ended_at=now, result=None)


def _vanished(now: datetime) -> Outcome:
    text = "Its Pod vanished before its end was seen."
    return Outcome(ResultClass.DISRUPTION, AttemptReason.POD_DELETED, text, None, now, None)


def _told(waiting: Waiting) -> str:
    # The kubelet alternates between the two words for one and the same failing pull.
    reason = "ImagePullBackOff" if waiting.reason == "ErrImagePull" else waiting.reason
    return f"{reason}: {waiting.message}" if waiting.message else reason
