"""What a task without a running attempt waits for: the first gate that is shut, told in plain words.

The gates stand in the order in which a person would want to hear of them: what can't heal by itself first,
then what other tasks must do, then what only takes time. A task that passes them all waits for a slot.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from bernstein_operator.api.effective import EffectiveTask
from bernstein_operator.api.objects import ProfileObject
from bernstein_operator.api.snapshot import TaskSnapshot
from bernstein_operator.api.task_status import AgentTaskStatus
from bernstein_operator.api.vocabulary import ENDED_RUN_PHASES, AdmittedReason
from bernstein_operator.decisions.circuit import probes_from
from bernstein_operator.decisions.dependencies import Verdict
from bernstein_operator.decisions.stopping import left_text
from bernstein_operator.decisions.task_budget import used_up


@dataclass(frozen=True, slots=True)
class Gate:
    """A gate that is shut.

    Attributes:
        reason: of the Admitted condition.
        message: the same for people.
        until: when it opens by itself, where that is known.
    """

    reason: AdmittedReason
    message: str
    until: datetime | None = None


def first_gate(
    snapshot: TaskSnapshot,
    status: AgentTaskStatus,
    effective: EffectiveTask,
    verdict: Verdict,
    *,
    now: datetime,
) -> Gate | None:
    """Return the first gate that is shut, None for a task that waits for nothing but a slot."""
    return next(gates(snapshot, status, effective, verdict, now=now), None)


def invalid_gate(snapshot: TaskSnapshot) -> Gate | None:
    """Return the gate of a task that can't be understood."""
    task = snapshot.task
    if task.invalid:
        return Gate(AdmittedReason.INVALID_SPEC, task.invalid)
    if snapshot.name_taken_by:
        text = f"spec.name: {task.name!r} is the name of {snapshot.name_taken_by!r}, which is older."
        return Gate(AdmittedReason.INVALID_SPEC, text)
    return None


def gates(
    snapshot: TaskSnapshot,
    status: AgentTaskStatus,
    effective: EffectiveTask,
    verdict: Verdict,
    *,
    now: datetime,
) -> Iterator[Gate]:
    """Yield every gate that is shut, in the order in which they are told."""
    if not snapshot.run:
        owner = " that owns this task" if snapshot.task.made_by else ""
        yield Gate(AdmittedReason.RUN_NOT_FOUND, f"There is no BernsteinRun {effective.run!r}{owner}.")
    if snapshot.cycle:
        yield Gate(AdmittedReason.INVALID_GRAPH, _cycle_text(snapshot.cycle))
    if snapshot.run and snapshot.run.status.phase in ENDED_RUN_PHASES:
        text = f"The run ended as {snapshot.run.status.phase} before this task could start."
        yield Gate(AdmittedReason.RUN_ENDED, text)
    if verdict.waits_for:
        yield Gate(AdmittedReason.DEPENDENCY_PENDING, _dependency_text(verdict), verdict.until)
    if effective.suspend:
        yield Gate(AdmittedReason.SUSPENDED, "spec.suspend of the task holds it back.")
    yield from _budget_gate(status, effective)
    yield from _time_gates(snapshot, status, now=now)
    yield from _profile_gates(snapshot, effective)
    if snapshot.profile:
        yield from _provider_gates(snapshot.task.meta.uid, snapshot.profile, now=now)


def _budget_gate(status: AgentTaskStatus, effective: EffectiveTask) -> Iterator[Gate]:
    spent = used_up(effective.budget, status.usage)
    if spent:
        text = f"Its attempts have used up {spent}; it starts once that is raised."
        yield Gate(AdmittedReason.TASK_BUDGET_EXHAUSTED, text)


def _time_gates(snapshot: TaskSnapshot, status: AgentTaskStatus, *, now: datetime) -> Iterator[Gate]:
    at = status.next_attempt_time
    if at and now < at:
        text = f"The next attempt starts at {_moment(at)} or later."
        yield Gate(AdmittedReason.BACKING_OFF, text, at)
    live = [sighting for sighting in snapshot.sightings if sighting.live]
    if live:
        left = " ".join(left_text(sighting.pod) for sighting in live if sighting.left_until)
        yield Gate(AdmittedReason.BACKING_OFF, left or "The previous attempt's Pod has not ended yet.")


def _profile_gates(snapshot: TaskSnapshot, effective: EffectiveTask) -> Iterator[Gate]:
    if not snapshot.profile:
        text = f"There is no AgentProfile {effective.profile!r} in this namespace."
        yield Gate(AdmittedReason.PROFILE_NOT_FOUND, text)
    elif snapshot.profile.invalid:
        text = f"The AgentProfile {effective.profile!r} is invalid: {snapshot.profile.invalid}"
        yield Gate(AdmittedReason.PROFILE_NOT_FOUND, text)


def _provider_gates(task: str, profile: ProfileObject, *, now: datetime) -> Iterator[Gate]:
    """Yield what keeps all tasks of a profile back: the last gates, so that a probe passes all others."""
    name, hold = profile.meta.name, profile.status.hold
    if hold and now < hold.until:
        text = f"AgentProfile {name!r}: its provider is let alone until {_moment(hold.until)}. {hold.message}"
        yield Gate(AdmittedReason.PROVIDER_HOLD, text, hold.until)
    shut = [one for one in profile.status.circuits if one.probe != task]
    begins = probes_from(shut)
    if begins:
        text = f"AgentProfile {name!r} fails; a task probes it from {_moment(begins)} on. {shut[0].message}"
        yield Gate(AdmittedReason.CIRCUIT_OPEN, text)


def _moment(at: datetime) -> str:
    return f"{at:%Y-%m-%dT%H:%M:%SZ}"


def _cycle_text(cycle: tuple[str, ...]) -> str:
    return f"The tasks depend on each other in a circle: {' → '.join((*cycle, cycle[0]))}."


def _dependency_text(verdict: Verdict) -> str:
    text = f"Waits for {', '.join(verdict.waits_for)}."
    if not verdict.unknown:
        return text
    return f"{text} No task of the run is called {', '.join(verdict.unknown)} yet."
