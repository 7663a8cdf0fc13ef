"""What is to become of a profile: whether its provider is let alone, and whether its tasks wait for a probe.

A profile that is broken would let one task after the other fail. So a fault of its own opens a circuit: its
tasks wait, and after a while a single one tries. Nothing is stopped for good: there is always a next probe,
people close a circuit by a retry or by changing the profile, and a retry ends a hold.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from bernstein_agent.contract import ResultClass
from bernstein_operator.api.choices import CircuitState
from bernstein_operator.api.conditions import find
from bernstein_operator.api.profile import MAX_CIRCUITS, AgentProfileStatus, Circuit, Hold
from bernstein_operator.api.snapshot import Fault, ProfileSnapshot
from bernstein_operator.api.task_status import Attempt
from bernstein_operator.api.vocabulary import (
    AdmittedReason,
    ConditionStatus,
    ConditionType,
    ProfileReason,
    TaskPhase,
)
from bernstein_operator.decisions.attempt import open_attempt
from bernstein_operator.decisions.conditions import Wanted, merge
from bernstein_operator.decisions.plan import ProfileDecision, earliest

OPEN_FOR: Final = timedelta(minutes=5)
"""So long after it was opened nothing probes a circuit."""
WINDOW: Final = timedelta(minutes=10)
"""Faults that ended longer ago don't count any more."""
ENOUGH_ATTEMPTS: Final = 3
ENOUGH_TASKS: Final = 2
LOOK_AGAIN: Final = timedelta(seconds=5)
"""How often a task to probe with is looked for while there is none that could start."""
_MESSAGE_LIMIT: Final = 1024
_ABOUT_TO_START: Final = frozenset({AdmittedReason.CIRCUIT_OPEN, AdmittedReason.QUEUED})


@dataclass(frozen=True, slots=True)
class _Circuits:
    """The circuits that are not closed, and since when attempts count for new ones."""

    all: tuple[Circuit, ...]
    cleared: datetime | None


def decide_profile(snapshot: ProfileSnapshot, *, now: datetime) -> ProfileDecision:
    """Say what is to become of a profile. No side effects."""
    profile, stored = snapshot.profile, snapshot.profile.status
    if profile.meta.deletion_timestamp:
        return ProfileDecision(stored)
    found = _circuits(snapshot, now=now)
    hold = _hold(snapshot, now=now)
    if not (hold or found.all) and stored == AgentProfileStatus():
        # A profile with which nothing ever was wrong is never written.
        return ProfileDecision(stored)
    wanted = [_ready(found.all, hold)]
    generation = profile.meta.generation
    changes = {
        "observed_generation": generation,
        "hold": hold,
        "circuits": found.all,
        "cleared_time": found.cleared,
        "conditions": merge(stored.conditions, wanted, generation=generation, now=now),
    }
    wake = earliest((hold.until if hold else None, _next_look(found.all, snapshot, now=now)))
    return ProfileDecision(stored.model_copy(update=changes), wake)


def probes_from(circuits: Iterable[Circuit]) -> datetime | None:
    """Return from when on a task may probe, None where there is nothing to probe."""
    latest = max((one.since for one in circuits), default=None)
    return latest + OPEN_FOR if latest else None


# --- circuits ---------------------------------------------------------------------------------------------


def _circuits(snapshot: ProfileSnapshot, *, now: datetime) -> _Circuits:
    stored = snapshot.profile.status
    verdict = _verdict(snapshot)
    kept = tuple(
        _tested(one, verdict, now=now) for one in stored.circuits if not _closes(one, verdict, snapshot)
    )
    cleared = now if len(kept) < len(stored.circuits) else stored.cleared_time
    counted = [one for one in snapshot.faults if _counts(one, cleared, verdict, now=now)]
    circuits = (*kept, *_opened(counted, kept, now=now))[:MAX_CIRCUITS]
    return _Circuits(_probed(circuits, snapshot, now=now), cleared)


def _closes(circuit: Circuit, verdict: Attempt | None, snapshot: ProfileSnapshot) -> bool:
    """Whether a person acted on what the circuit is about, or its probe ended in any other way."""
    profile = snapshot.profile
    changed = profile.status.observed_generation != profile.meta.generation
    retried = snapshot.retried is not None and snapshot.retried > circuit.since
    healed = verdict is not None and verdict.fingerprint != circuit.fingerprint
    return changed or retried or healed


def _tested(circuit: Circuit, verdict: Attempt | None, *, now: datetime) -> Circuit:
    """Return a circuit that goes on, opened again where its probe met the same failure."""
    return circuit.model_copy(update={"since": now}) if verdict else circuit


def _verdict(snapshot: ProfileSnapshot) -> Attempt | None:
    """Return the probe's attempt once it has ended and tells anything of the profile."""
    circuits, probe = snapshot.profile.status.circuits, snapshot.probe
    begins = probes_from(circuits)
    if not (probe and begins):
        return None
    known = {one.fingerprint for one in circuits}
    ended = (one for one in probe.status.attempts if one.end_time and one.intent_time >= begins)
    return next((one for one in ended if one.fingerprint in known or _was_tried(one)), None)


def _was_tried(attempt: Attempt) -> bool:
    """Whether the agent ran, and nobody took it away from its work."""
    return attempt.start_time is not None and attempt.result_class != ResultClass.CANCELLED


def _counts(fault: Fault, cleared: datetime | None, verdict: Attempt | None, *, now: datetime) -> bool:
    if now - fault.ended > WINDOW:
        return False
    # What a probe met instead of the failure that it was sent for is the latest news there is.
    is_verdict = verdict is not None and fault.began == verdict.intent_time
    return cleared is None or fault.began > cleared or is_verdict


def _opened(faults: Iterable[Fault], known: Sequence[Circuit], *, now: datetime) -> Iterator[Circuit]:
    groups: dict[str, list[Fault]] = {}
    for fault in sorted(faults, key=lambda one: one.ended):
        groups.setdefault(fault.fingerprint, []).append(fault)
    for one in known:
        groups.pop(one.fingerprint, None)
    for fingerprint, group in groups.items():
        if _is_enough(group):
            message = group[-1].message[:_MESSAGE_LIMIT]
            yield Circuit(fingerprint=fingerprint, state=CircuitState.OPEN, since=now, message=message)


def _is_enough(group: Sequence[Fault]) -> bool:
    many = len(group) >= ENOUGH_ATTEMPTS and len({one.task for one in group}) >= ENOUGH_TASKS
    return many or any(one.certain for one in group)


# --- the probe --------------------------------------------------------------------------------------------


def _probed(
    circuits: tuple[Circuit, ...], snapshot: ProfileSnapshot, *, now: datetime
) -> tuple[Circuit, ...]:
    """Return the circuits with one task that probes all of them, once none of them is too young."""
    begins = probes_from(circuits)
    probe = _probe(snapshot, begins=begins) if begins and now >= begins else None
    state = CircuitState.HALF_OPEN if probe else CircuitState.OPEN
    return tuple(one.model_copy(update={"state": state, "probe": probe}) for one in circuits)


def _probe(snapshot: ProfileSnapshot, *, begins: datetime) -> str | None:
    """Return the task that probes: the one that does already, else the oldest that could start."""
    probe = snapshot.probe
    if probe and (_runs(snapshot, begins=begins) or _is_about_to_start(snapshot)):
        return probe.meta.uid
    return snapshot.candidate


def _runs(snapshot: ProfileSnapshot, *, begins: datetime) -> bool:
    attempt = open_attempt(snapshot.probe.status) if snapshot.probe else None
    return attempt is not None and attempt.intent_time >= begins


def _is_about_to_start(snapshot: ProfileSnapshot) -> bool:
    if not (snapshot.probe and snapshot.probe_may_start):
        return False
    status = snapshot.probe.status
    admitted = find(status.conditions, ConditionType.ADMITTED)
    waits = admitted is not None and admitted.reason in _ABOUT_TO_START
    return status.phase is TaskPhase.PENDING and waits


def _next_look(circuits: tuple[Circuit, ...], snapshot: ProfileSnapshot, *, now: datetime) -> datetime | None:
    begins = probes_from(circuits)
    if not begins or now < begins:
        return begins
    # A probe that runs is looked at again when it ends.
    return None if circuits[0].probe and _runs(snapshot, begins=begins) else now + LOOK_AGAIN


# --- hold and condition -----------------------------------------------------------------------------------


def _hold(snapshot: ProfileSnapshot, *, now: datetime) -> Hold | None:
    """Return the hold that lasts longest, the one that is known where none lasts longer.

    One that was heard of before a person asked for a retry is over: what a provider asked for is the word of
    an agent, and if it is so, the retry hears it again.
    """
    known = snapshot.profile.status.hold
    told = (
        Hold(until=one.until, since=one.since, reason=one.reason, message=one.message[:_MESSAGE_LIMIT])
        for one in snapshot.limits
    )
    heard = (one for one in (*([known] if known else []), *told) if not _was_overruled(one, snapshot))
    longest = max(heard, key=lambda one: one.until, default=None)
    return longest if longest and now < longest.until else None


def _was_overruled(hold: Hold, snapshot: ProfileSnapshot) -> bool:
    return snapshot.retried is not None and snapshot.retried >= hold.since


def _ready(circuits: Sequence[Circuit], hold: Hold | None) -> Wanted:
    if circuits:
        return Wanted(
            ConditionType.READY, ProfileReason.CIRCUIT_OPEN, circuits[0].message, ConditionStatus.FALSE
        )
    if hold:
        return Wanted(ConditionType.READY, ProfileReason.PROVIDER_HOLD, hold.message, ConditionStatus.FALSE)
    return Wanted(ConditionType.READY, ProfileReason.READY)
