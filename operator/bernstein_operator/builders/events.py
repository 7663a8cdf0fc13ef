"""The events that an object's status owes.

Events follow from what is stored, not from the moment in which it was stored: after a crash between the
write and its event, the same list is made again, under the same names, and the API server answers the
repeats with 409. Each is one change that has happened, told once.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from bernstein_agent.contract import ResultClass
from bernstein_operator.api.choices import CommandVerb
from bernstein_operator.api.conditions import Condition, find
from bernstein_operator.api.names import ANNOTATION_EVENT, API_VERSION, CONTROLLER, event_name
from bernstein_operator.api.objects import ProfileObject, RunObject, TaskObject
from bernstein_operator.api.pod import Metadata
from bernstein_operator.api.task_status import Attempt, Escalation, Request
from bernstein_operator.api.vocabulary import (
    ENDED_RUN_PHASES,
    ConditionStatus,
    ConditionType,
    EventReason,
    RunPhase,
    RunReason,
    TaskPhase,
)
from bernstein_operator.decisions.abandoning import read_wish
from bernstein_operator.decisions.escalation import in_words
from bernstein_operator.decisions.requests import IGNORED, ONLY_TRUE

NOTE_LIMIT: Final = 1024
NORMAL: Final = "Normal"
WARNING: Final = "Warning"
WARNED: Final = "task.deadline_warning"
EXCEEDED: Final = "task.deadline_exceeded"


@dataclass(frozen=True, slots=True)
class Notice:
    """One event before it is an API object.

    Attributes:
        reason: what happened.
        at: when it happened; part of the event's identity.
        note: the same for people.
        type: Normal or Warning.
        action: what the operator was doing.
        pod: the Pod that it is about, where it is about one; part of the event's identity too.
        about: what else tells it from another one of the same moment.
        document: the name that the documents give to it, if they do.
    """

    reason: EventReason
    at: datetime
    note: str
    type: str = NORMAL
    action: str = "Reconcile"
    pod: str = ""
    about: str = ""
    document: str = ""

    @property
    def identity(self) -> tuple[EventReason, datetime, str]:
        """What tells it from every other event of the same object, and is the same in a repeat."""
        return self.reason, self.at, f"{self.pod}{self.about}"


def task_notices(task: TaskObject) -> Iterator[Notice]:
    """Yield everything that a task's status tells to have happened, in no particular order."""
    for attempt in task.status.attempts:
        yield from _attempt_notices(attempt)
    yield from _retry_notice(task)
    yield from _climb_notices(task)
    yield from _end_notices(task)
    yield from _deadline_notices(task)
    yield from _request_notices(task.status.requests)


def run_notices(run: RunObject) -> Iterator[Notice]:
    """Yield everything that a run's status tells to have happened."""
    status = run.status
    if status.start_time:
        yield Notice(
            EventReason.RUN_STARTED, status.start_time, "The first task was admitted.", action="Admit"
        )
    yield from _request_notices(status.requests)
    if status.drain_requested:
        note = "Its live agents finish; nothing new starts."
        yield Notice(EventReason.RUN_DRAINING, status.drain_requested.time, note, action="Drain")
    suspended = find(status.conditions, ConditionType.SUSPENDED)
    if suspended:
        yield _pause_notice(suspended)
    ledger = find(status.conditions, ConditionType.LEDGER_WRITABLE)
    if ledger and ledger.status == ConditionStatus.FALSE:
        at, note = ledger.last_transition_time, ledger.message
        yield Notice(EventReason.LEDGER_WRITE_FAILED, at, note, WARNING, action="Record")
    if status.deadline_warned and run.spec and run.spec.deadline:
        note = f"The run's deadline is {run.spec.deadline:%Y-%m-%dT%H:%M:%SZ}."
        yield Notice(EventReason.DEADLINE_WARNING, status.deadline_warned, note, WARNING, action="Warn")
    if status.phase in ENDED_RUN_PHASES and status.completion_time:
        finished = find(status.conditions, ConditionType.FINISHED)
        kind = NORMAL if status.phase is RunPhase.SUCCEEDED else WARNING
        note = f"{status.phase}: {finished.message}" if finished else status.phase
        yield Notice(EventReason.RUN_FINISHED, status.completion_time, note, kind, action="Finish")
        if finished and finished.reason == RunReason.DEADLINE_EXCEEDED:
            at = status.completion_time
            yield Notice(EventReason.DEADLINE_EXCEEDED, at, finished.message, WARNING, action="Stop")


def profile_notices(profile: ProfileObject) -> Iterator[Notice]:
    """Yield everything that a profile's status tells to have happened."""
    status = profile.status
    for circuit in status.circuits:
        note = f"Tasks of this profile wait: {circuit.message}"
        yield Notice(EventReason.CIRCUIT_OPENED, circuit.since, note, WARNING, action="Hold")
    if status.cleared_time:
        note = "Failures of this profile's attempts from before don't keep its tasks back any more."
        yield Notice(EventReason.CIRCUIT_CLOSED, status.cleared_time, note, action="Resume")
    hold = status.hold
    if hold:
        note = f"{hold.reason}: nothing starts with this profile until {hold.until:%Y-%m-%dT%H:%M:%SZ}. "
        note += hold.message
        yield Notice(EventReason.PROVIDER_HOLD, hold.since, note, WARNING, action="Hold")


def event(notice: Notice, *, kind: str, meta: Metadata, instance: str) -> dict[str, Any]:
    """Return the events.k8s.io/v1 object; ``instance`` names the operator's process."""
    regarding = {
        "apiVersion": API_VERSION,
        "kind": kind,
        "namespace": meta.namespace,
        "name": meta.name,
        "uid": meta.uid,
    }
    reason, at, told_apart = notice.identity
    related = {"apiVersion": "v1", "kind": "Pod", "namespace": meta.namespace, "name": notice.pod}
    return {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {
            "name": event_name(name=meta.name, uid=meta.uid, reason=reason, at=at, pod=told_apart),
            "namespace": meta.namespace,
            **({"annotations": {ANNOTATION_EVENT: notice.document}} if notice.document else {}),
        },
        "eventTime": notice.at.isoformat(timespec="microseconds").replace("+00:00", "Z"),
        "reportingController": CONTROLLER,
        "reportingInstance": instance,
        "action": notice.action,
        "reason": notice.reason,
        "type": notice.type,
        "note": _cut(notice.note),
        "regarding": regarding,
        **({"related": related} if notice.pod else {}),
    }


def _attempt_notices(attempt: Attempt) -> Iterator[Notice]:
    pod, number = attempt.pod_name, attempt.number
    if attempt.start_time:
        note = f"Attempt {number} started in Pod {pod}."
        yield Notice(EventReason.ATTEMPT_STARTED, attempt.start_time, note, action="Start", pod=pod)
    if not attempt.end_time or attempt.result_class == ResultClass.CANCELLED:
        return
    if attempt.result_class == ResultClass.SUCCESS:
        note = f"Attempt {number} succeeded."
        yield Notice(EventReason.ATTEMPT_SUCCEEDED, attempt.end_time, note, action="Finish", pod=pod)
        return
    why = f": {attempt.message}" if attempt.message else "."
    note = f"Attempt {number} ended as {attempt.result_class} ({attempt.reason}){why}"
    yield Notice(EventReason.ATTEMPT_FAILED, attempt.end_time, note, WARNING, action="Finish", pod=pod)
    if attempt.result_class == ResultClass.DEADLINE:
        note = f"Attempt {number}: {attempt.message or 'stopped at its deadline.'}"
        yield _exceeded(attempt.end_time, note, pod=pod)


def _deadline_notices(task: TaskObject) -> Iterator[Notice]:
    """Tell of limits that came near, and of a deadline that passed while nothing ran."""
    known, pods = task.status.deadline, {one.number: one.pod_name for one in task.status.attempts}
    for one in known.warned if known else ():
        note = f"Attempt {one.attempt}" if one.attempt else "Before the first attempt"
        yield Notice(
            EventReason.DEADLINE_WARNING,
            one.time,
            f"{note}: {one.limit} is over at {one.at:%Y-%m-%dT%H:%M:%SZ}.",
            WARNING,
            action="Warn",
            pod=pods.get(one.attempt, ""),
            about=one.limit,
            document=WARNED,
        )
    failed = find(task.status.conditions, ConditionType.FAILED)
    if known and known.missed_time and failed:
        yield _exceeded(known.missed_time, failed.message)


def _exceeded(at: datetime, note: str, *, pod: str = "") -> Notice:
    return Notice(EventReason.DEADLINE_EXCEEDED, at, note, WARNING, action="Stop", pod=pod, document=EXCEEDED)


def _retry_notice(task: TaskObject) -> Iterator[Notice]:
    """Tell of the retry that is due, or of the one that has begun after a failure."""
    attempts = task.status.attempts
    for failed, following in zip(attempts, (*attempts[1:], None), strict=False):
        due = following.intent_time if following else task.status.next_attempt_time
        if failed.end_time and due:
            note = f"Attempt {failed.number + 1} follows attempt {failed.number} ({failed.result_class})."
            pod = failed.pod_name
            yield Notice(EventReason.RETRY_SCHEDULED, failed.end_time, note, action="Retry", pod=pod)


def _climb_notices(task: TaskObject) -> Iterator[Notice]:
    """Tell what each attempt after a failure gets more of than the one before it."""
    attempts, next_one = task.status.attempts, task.status.escalation
    for failed, following in zip(attempts, (*attempts[1:], next_one), strict=False):
        if failed.end_time and following and _climbs(failed, following):
            note = f"Attempt {failed.number + 1} gets {in_words(following)}."
            pod = failed.pod_name
            yield Notice(EventReason.ESCALATED, failed.end_time, note, action="Escalate", pod=pod)


def _climbs(failed: Attempt, following: Attempt | Escalation) -> bool:
    higher = (following.level or 0) > (failed.level or 0)
    return higher or following.memory not in (None, failed.memory)


def _end_notices(task: TaskObject) -> Iterator[Notice]:
    status = task.status
    failed = find(status.conditions, ConditionType.FAILED)
    if status.phase is TaskPhase.CANCELLED and status.completion_time:
        note = failed.message if failed else ""
        yield Notice(EventReason.CANCELLED, status.completion_time, note, action="Cancel")
    given_up = status.abandonment
    if given_up:
        detail = f": {given_up.detail}" if given_up.detail else "."
        note = f"Given up by {given_up.actor} as {given_up.reason}{detail}"
        yield Notice(EventReason.ABANDONED, given_up.time, note, WARNING, action="Abandon")
    if status.phase is TaskPhase.QUARANTINED and status.completion_time:
        note = failed.message if failed else ""
        yield Notice(EventReason.QUARANTINED, status.completion_time, note, WARNING, action="Quarantine")
    if status.phase is TaskPhase.BLOCKED_BY_FAILURE and failed:
        at = failed.last_transition_time
        yield Notice(EventReason.BLOCKED_BY_FAILURE, at, failed.message, WARNING, action="Block")
    if status.phase is TaskPhase.BLOCKED_BY_ABANDON and failed:
        at = failed.last_transition_time
        yield Notice(EventReason.BLOCKED_BY_ABANDON, at, failed.message, WARNING, action="Block")
    if status.unblocked_time:
        note = "What kept it from starting has moved: it waits again."
        yield Notice(EventReason.UNBLOCKED, status.unblocked_time, note, action="Unblock")


def _request_notices(requests: Iterable[Request]) -> Iterator[Notice]:
    """Tell what came of what people asked for, where no other event tells it."""
    for one in requests:
        asked = f"{one.actor} asked for {one.verb}={one.value!r}. {one.effect}"
        if one.effect == ONLY_TRUE:
            yield Notice(EventReason.UNKNOWN_ANNOTATION_VALUE, one.time, asked, WARNING, action="Obey")
        elif one.effect.startswith(IGNORED):
            yield Notice(EventReason.CHANGE_IGNORED, one.time, asked, WARNING, action="Obey")
        elif one.verb is CommandVerb.RETRY:
            yield Notice(EventReason.RETRY_REQUESTED, one.time, asked, action="Retry")
        elif one.verb is CommandVerb.ABANDON and not read_wish(one.value).known:
            yield _unknown_reason(one)


def _unknown_reason(asked: Request) -> Notice:
    note = f"{asked.value!r} begins with none of the twelve reasons; it counts as other."
    return Notice(EventReason.UNKNOWN_ABANDON_REASON, asked.time, note, WARNING, action="Abandon")


def _pause_notice(suspended: Condition) -> Notice:
    if suspended.status == ConditionStatus.TRUE:
        at = suspended.last_transition_time
        return Notice(EventReason.RUN_PAUSED, at, suspended.message, action="Pause")
    at = suspended.last_transition_time
    return Notice(EventReason.RUN_RESUMED, at, "spec.suspend is off again.", action="Resume")


def _cut(note: str) -> str:
    encoded = note.encode()
    return note if len(encoded) <= NOTE_LIMIT else encoded[: NOTE_LIMIT - 3].decode(errors="ignore") + "…"
