"""What a refused Pod means: which kind of no it was, and what becomes of the attempt.

The API server answers a full quota, a missing permission, a namespace that is going away and a Pod that
breaks the namespace's rules all with 403. They end at different people's desks, so they are told apart by
the words that Kubernetes itself uses. None of them is the agent's failure: the attempt is taken back.
"""

from dataclasses import replace
from datetime import datetime
from typing import Final

from bernstein_agent.contract import ResultClass
from bernstein_operator.api.snapshot import Refusal, TaskSnapshot
from bernstein_operator.api.vocabulary import AdmittedReason, AttemptReason
from bernstein_operator.decisions.attempt import rolled_back
from bernstein_operator.decisions.outcome import Outcome

_BY_WORDS: Final = (
    ("exceeded quota", AdmittedReason.QUOTA_EXCEEDED),
    ("because it is being terminated", AdmittedReason.NAMESPACE_TERMINATING),
    ('cannot create resource "', AdmittedReason.PERMISSION_MISSING),
)
_FRESH_NAMESPACE: Final = "error looking up service account"
_MALFORMED: Final = (400, 413, 422)


def refusal_of(message: str) -> Refusal | None:
    """Return what a definite no to creating a Pod means; None where asking again in a moment will do.

    ``message`` is the API server's own text.
    """
    if _FRESH_NAMESPACE in message:
        # The namespace is so new that its default ServiceAccount isn't there yet.
        return None
    reason = next((reason for words, reason in _BY_WORDS if words in message), AdmittedReason.POD_FORBIDDEN)
    return Refusal(reason=reason, message=message)


def can_never_be(status: int) -> bool:
    """Whether a refusal is about the Pod itself, so that asking again unchanged is pointless."""
    return status in _MALFORMED


def taken_back(snapshot: TaskSnapshot) -> TaskSnapshot:
    """Return the snapshot as if the refused attempt had never been begun."""
    status = rolled_back(snapshot.task.status)
    return replace(snapshot, task=replace(snapshot.task, status=status), has_slot=False)


def malformed(message: str, *, now: datetime) -> Outcome:
    """Return the end of an attempt whose Pod the API server can never accept."""
    return Outcome(ResultClass.CONTRACT, AttemptReason.POD_REFUSED, message, None, now, None)
