"""Ends after which nobody knows what the work has changed in the world outside.

A commit that isn't there can be made again; a message that was sent can't. So an attempt whose task acts
outside, and which may have begun to, is never followed by another one unless its own last word says how far
it came.
"""

from dataclasses import replace
from datetime import datetime
from typing import Final

from bernstein_agent.contract import Reason, ResultClass
from bernstein_operator.api.choices import Effects
from bernstein_operator.api.snapshot import Sighting
from bernstein_operator.api.task_status import Attempt
from bernstein_operator.api.vocabulary import AttemptReason
from bernstein_operator.decisions.attempt import Ended
from bernstein_operator.decisions.outcome import Outcome

_CUT_SHORT: Final = (ResultClass.DEADLINE, ResultClass.DISRUPTION, ResultClass.OOM, ResultClass.BUDGET)
"""Ends that came from outside, whatever the runner could still write."""
_BY_A_PERSON: Final = (AttemptReason.CANCELLED, AttemptReason.QUARANTINED, AttemptReason.ABANDONED)
"""Stops whose author knows that the work is half done; the phase says that already."""


def weighed(end: Ended, attempt: Attempt, *, effects: Effects) -> Outcome:
    """Return the outcome of ``attempt``, as ``unknown`` where its effects outside can't be told from it."""
    outcome = end.outcome
    if effects is not Effects.EXTERNAL or _says_how_far(outcome) or not _may_have_acted(end, attempt):
        return outcome
    text = f"What it has done outside is unknown: {outcome.message or outcome.reason}"
    return replace(
        outcome, result_class=ResultClass.UNKNOWN, reason=AttemptReason.EFFECTS_UNKNOWN, message=text
    )


def untraceable(attempt: Attempt, seen: Sighting | None, *, effects: Effects, now: datetime) -> Ended | None:
    """Return the end of an attempt that a process before this one recorded; None where its Pod may be made.

    That Pod may have been made, have done its work and be gone: a second one of its name would do it again.
    """
    if effects is not Effects.EXTERNAL or seen or attempt.pod_uid:
        return None
    text = "What it has done outside is unknown: the operator was restarted before its Pod was seen."
    return Ended(Outcome(ResultClass.UNKNOWN, AttemptReason.EFFECTS_UNKNOWN, text, None, now, None), None)


def _says_how_far(outcome: Outcome) -> bool:
    if outcome.reason in _BY_A_PERSON:
        return True
    killed = outcome.result_class in _CUT_SHORT or outcome.reason == Reason.KILLED
    return outcome.result is not None and not killed and outcome.result_class is not ResultClass.CANCELLED


def _may_have_acted(end: Ended, attempt: Attempt) -> bool:
    """Whether the agent ran, or ran perhaps: a Pod that was lost may have lost its record of that too."""
    if attempt.start_time or (end.pod and end.pod.started_at):
        return True
    lost = end.outcome.result_class is ResultClass.DISRUPTION
    return lost and end.outcome.reason != AttemptReason.KUBELET_REFUSED
