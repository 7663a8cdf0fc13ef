"""What decisions ask for: frozen values that say what to write and to whom, carried out elsewhere."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from bernstein_operator.api.pod import Pod
from bernstein_operator.api.profile import AgentProfileStatus
from bernstein_operator.api.run import BernsteinRunStatus, InlineTask
from bernstein_operator.api.task_status import AgentTaskStatus
from bernstein_operator.decisions.admission import Candidate
from bernstein_operator.decisions.reserving import UNLIMITED_FUNDS, Funds


@dataclass(frozen=True, slots=True)
class CreatePod:
    """Create the Pod of the attempt that status records as begun; safe to ask for again."""


@dataclass(frozen=True, slots=True)
class StopPod:
    """Ask a Pod to end within its grace period and keep it, with ``stop`` as the reason on record."""

    pod: Pod
    stop: str


@dataclass(frozen=True, slots=True)
class DeletePod:
    """Remove a Pod; ``force`` where nobody is left who could confirm its end."""

    pod: Pod
    force: bool = False


@dataclass(frozen=True, slots=True)
class RecordAbandonment:
    """Write an abandoned task's row into the ledger; safe to ask for again."""


Action: TypeAlias = CreatePod | StopPod | DeletePod | RecordAbandonment


@dataclass(frozen=True, slots=True)
class TaskDecision:
    """What is to become of a task.

    Attributes:
        status: its status as it should be; equal to the stored one where there is nothing to write.
        actions: what to do once the status is stored, in order.
        candidate: set where the task waits for nothing but a slot.
        wake: when to look again if nothing happens before.
        illegal: set where the rules led to a phase that can't follow the stored one; nothing is to be done.
    """

    status: AgentTaskStatus
    actions: tuple[Action, ...] = ()
    candidate: Candidate | None = None
    wake: datetime | None = None
    illegal: str = ""


@dataclass(frozen=True, slots=True)
class RunDecision:
    """What is to become of a run.

    Attributes:
        status: its status as it should be.
        urgent: whether the write can't wait for the next of its regular ones.
        create: inline tasks to make.
        free: how many further agents may start now.
        clear: whether its tasks have been kept for long enough; with ``whole``, the run too.
        wake: when to look again if nothing happens before.
        funds: what those may be given of its budget.
        evaluated: when its finished attempts were last looked at, None while they can't move its ceiling.
    """

    status: BernsteinRunStatus
    urgent: bool = False
    create: tuple[InlineTask, ...] = ()
    free: int = 0
    clear: bool = False
    whole: bool = False
    wake: datetime | None = None
    evaluated: datetime | None = None
    funds: Funds = UNLIMITED_FUNDS


@dataclass(frozen=True, slots=True)
class ProfileDecision:
    """What is to become of a profile: its status as it should be, and when to look again by itself."""

    status: AgentProfileStatus
    wake: datetime | None = None


def earliest(moments: Iterable[datetime | None]) -> datetime | None:
    """Return the first of the moments that are set."""
    return min((moment for moment in moments if moment), default=None)
