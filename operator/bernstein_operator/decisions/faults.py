"""What a task's attempts tell about their profile: its own faults, and that its provider asks for less.

Only what would hit any other task of the profile just as well counts here: refused credentials, an image that
can't be had, a model that the provider doesn't know, a provider that is down. What a task brings along
itself, a model that it pins included, says nothing about its profile.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from bernstein_agent.contract import PROVIDER_FAULTS, Reason, ResultClass
from bernstein_operator.api.conditions import find
from bernstein_operator.api.effective import EffectiveTask
from bernstein_operator.api.snapshot import Fault, Limit
from bernstein_operator.api.task_status import AgentTaskStatus, Attempt
from bernstein_operator.api.vocabulary import AdmittedReason, AttemptReason, ConditionType, TaskPhase

_CERTAIN: Final = frozenset({Reason.CREDENTIALS_REFUSED, AttemptReason.IMAGE_IMPOSSIBLE})
"""Once is enough: the next attempt would end in the same way."""
_CLASSES: Final[dict[str, ResultClass]] = {
    Reason.CREDENTIALS_REFUSED: PROVIDER_FAULTS[Reason.CREDENTIALS_REFUSED],
    Reason.MODEL_UNKNOWN: PROVIDER_FAULTS[Reason.MODEL_UNKNOWN],
    Reason.PROVIDER_UNAVAILABLE: PROVIDER_FAULTS[Reason.PROVIDER_UNAVAILABLE],
    AttemptReason.IMAGE_IMPOSSIBLE: ResultClass.CONTRACT,
}
_LIMITS: Final = frozenset({Reason.RATE_LIMITED, Reason.PROVIDER_OVERLOADED})


def faults(uid: str, status: AgentTaskStatus, effective: EffectiveTask) -> Iterator[tuple[str, Fault]]:
    """Yield the faults that attempts of the task ``uid`` met, each with the name of the profile at fault."""
    for attempt in status.attempts:
        if not (attempt.profile and attempt.end_time and attempt.fingerprint):
            continue
        if _is_the_profiles(attempt, effective):
            yield (
                attempt.profile,
                Fault(
                    task=uid,
                    fingerprint=attempt.fingerprint,
                    message=_told(attempt),
                    began=attempt.intent_time,
                    ended=attempt.end_time,
                    certain=attempt.reason in _CERTAIN,
                ),
            )


def limits(status: AgentTaskStatus) -> Iterator[tuple[str, Limit]]:
    """Yield until when providers want to be let alone, each with the name of the profile that it is about."""
    for attempt in status.attempts:
        until = _until(attempt, status)
        if until and attempt.profile and attempt.end_time:
            reason = attempt.reason if attempt.reason in _LIMITS else Reason.RATE_LIMITED
            yield attempt.profile, Limit(until, attempt.end_time, str(reason), _told(attempt))


def waits_for_circuit(status: AgentTaskStatus) -> bool:
    """Whether nothing but its profile's circuit keeps a task from queueing: every other gate is open."""
    admitted = find(status.conditions, ConditionType.ADMITTED)
    waits = admitted is not None and admitted.reason == AdmittedReason.CIRCUIT_OPEN
    return status.phase is TaskPhase.PENDING and waits


def _is_the_profiles(attempt: Attempt, effective: EffectiveTask) -> bool:
    if _CLASSES.get(attempt.reason or "") != attempt.result_class:
        return False
    if attempt.reason == AttemptReason.IMAGE_IMPOSSIBLE:
        # The kubelet's word; an agent that ran and says so had an image.
        return attempt.exit_code is None
    pinned = effective.model is not None and attempt.model in (None, effective.model)
    return not (attempt.reason == Reason.MODEL_UNKNOWN and pinned)


def _until(attempt: Attempt, status: AgentTaskStatus) -> datetime | None:
    """Return what the provider asked for, else until when the task itself waits; in whole seconds."""
    if attempt.result_class != ResultClass.CAPACITY or not attempt.end_time:
        return None
    if attempt.retry_after_seconds is not None:
        return _whole(attempt.end_time + timedelta(seconds=attempt.retry_after_seconds))
    latest = attempt.number == status.attempt
    return _whole(status.next_attempt_time) if latest and status.next_attempt_time else None


def _whole(at: datetime) -> datetime:
    """Round up: people are told whole seconds, and a decision made again a moment later means the same."""
    return at.replace(microsecond=0) + timedelta(seconds=1) if at.microsecond else at


def _told(attempt: Attempt) -> str:
    return attempt.message or attempt.reason or ""
