"""What a decision is made from: one frozen picture of everything that it may look at, and nothing else."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from bernstein_agent.contract import Result
from bernstein_operator.api.concurrency import ConcurrencyStatus
from bernstein_operator.api.load import NodeLoad
from bernstein_operator.api.objects import ProfileObject, RunObject, TaskObject
from bernstein_operator.api.pod import Pod
from bernstein_operator.api.run_config import RunConfig
from bernstein_operator.api.spending import NO_SETTINGS, NO_SPEND, Allotment, Need, OperatorBudget, Spend
from bernstein_operator.api.task_status import BlockedBy, Usage
from bernstein_operator.api.vocabulary import AdmittedReason, TaskPhase

_SILENT: Final = RunConfig()


@dataclass(frozen=True, slots=True)
class Sighting:
    """A Pod as it was last seen.

    Attributes:
        pod: its last known state.
        gone: whether the API server said that it is no more.
        left_until: until when its end is left to its node, which was found Ready; None where nobody asked.
    """

    pod: Pod
    gone: bool = False
    left_until: datetime | None = None

    @property
    def live(self) -> bool:
        """Whether it holds a slot: Pending, Running and Terminating Pods do."""
        return not (self.gone or self.pod.terminal)


@dataclass(frozen=True, slots=True)
class Reading:
    """What an open attempt has reported of itself while it works.

    Attributes:
        usage: the highest that it reported of each number.
        written: since when what is stored of its usage stands, or since when this process hears of it.
        cost_unknown: whether it says that its program tells no costs and no price is known.
        continues: the session that it announced to go on with, None where it announced none.
        result: how it says to have ended, whole.
    """

    usage: Usage
    written: datetime
    cost_unknown: bool = False
    continues: str | None = None
    result: Result | None = None


@dataclass(frozen=True, slots=True)
class Dependency:
    """What a name in dependsOn means at this moment.

    Attributes:
        name: as in dependsOn.
        uid: of the task that has the name, empty while there is none.
        phase: its phase.
        stuck: whether its own spec or graph is invalid, so that it can't ever start.
        blocked_by: why it is blocked itself, if it is.
        commit: what it came to in the repository, if it succeeded there.
        branch: where that commit is.
        unrecorded: whether it was abandoned and nobody has tried to write its row yet; it is followed after.
    """

    name: str
    uid: str = ""
    phase: TaskPhase | None = None
    stuck: bool = False
    blocked_by: BlockedBy | None = None
    commit: str | None = None
    branch: str | None = None
    unrecorded: bool = False


@dataclass(frozen=True, slots=True)
class Refusal:
    """That the API server definitely refused a Pod, and in which words."""

    reason: AdmittedReason
    message: str


@dataclass(frozen=True, slots=True)
class TaskSnapshot:
    """Everything that concerns one task.

    Attributes:
        task: the task itself.
        run: its run, None where there is none of that name.
        profile: its profile, None where there is none of that name.
        sightings: its Pods, and the last words of those that are gone while their attempt is open.
        dependencies: in the order of dependsOn.
        cycle: the members of the cycle that it is part of, empty for most.
        name_taken_by: the object that has its name in the run already, empty for most.
        has_slot: whether its run has given it a slot in this process.
        ready_since: since when it has waited for nothing but a slot, None if it hasn't.
        refusal: why the API server refused its Pod last, if it did.
        run_gone_since: since when its run, which was there before, has been missing.
        row_missing: whether it has no row in the abandonment ledger, as nearly all tasks haven't.
        row_tried: whether such a row was written, or could not be, in this process.
        inherited: whether its open attempt, whose Pod was never seen, is another process's.
        reading: what its open attempt has reported to this process, None where it hasn't.
        share: what it was given of its run's budget together with its slot, None where it has none.
        short: what it waits for where its run's budget is not enough for it, None where it is.
        operator_budget: what the operator's own settings say of any run's budget.
        role_limit: how many agents of its role its run allows, where so many are live; else None.
    """

    task: TaskObject
    run: RunObject | None
    profile: ProfileObject | None
    sightings: tuple[Sighting, ...] = ()
    dependencies: tuple[Dependency, ...] = ()
    cycle: tuple[str, ...] = ()
    name_taken_by: str = ""
    has_slot: bool = False
    ready_since: datetime | None = None
    refusal: Refusal | None = None
    run_gone_since: datetime | None = None
    row_missing: bool = False
    row_tried: bool = False
    inherited: bool = False
    reading: Reading | None = None
    share: Allotment | None = None
    short: AdmittedReason | None = None
    operator_budget: OperatorBudget = NO_SETTINGS
    role_limit: int | None = None


@dataclass(frozen=True, slots=True)
class LedgerState:
    """What a run has to tell of its abandonment ledger.

    Attributes:
        known: whether the ledger could be read; if not, what was told before stands.
        first: the ConfigMap with its first rows, empty while there is none.
        reasons: how many rows there are of each reason, in alphabetical order.
        failure: why a row can't be written, empty if all are there.
        owed: whether the run has ended and a row is missing that only its task can give.
        edited: tasks (UIDs) whose row somebody else has changed.
    """

    known: bool = False
    first: str = ""
    reasons: tuple[tuple[str, int], ...] = ()
    failure: str = ""
    owed: bool = False
    edited: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Fault:
    """A failed attempt that tells against its profile.

    Attributes:
        task: UID of the task.
        fingerprint: of the failure.
        message: the failure, for people.
        began: when its Pod was intended.
        ended: when it ended.
        certain: whether any other attempt would end in the same way.
    """

    task: str
    fingerprint: str
    message: str
    began: datetime
    ended: datetime
    certain: bool


@dataclass(frozen=True, slots=True)
class Limit:
    """That a provider wants to be let alone until a moment, as an attempt heard at ``since``."""

    until: datetime
    since: datetime
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class ProfileSnapshot:
    """Everything that concerns one profile.

    Attributes:
        profile: the profile itself.
        faults: of its tasks' attempts, those that tell against it.
        limits: what its provider asked for.
        retried: when a person last asked for a retry of any of its tasks, or of a run of theirs.
        probe: the task that its circuits name as the probe, None where they name none or it is gone.
        probe_may_start: whether that one's run would let it start now.
        candidate: UID of the oldest task that waits for the circuit only, and whose run would let it start.
    """

    profile: ProfileObject
    faults: tuple[Fault, ...] = ()
    limits: tuple[Limit, ...] = ()
    retried: datetime | None = None
    probe: TaskObject | None = None
    probe_may_start: bool = False
    candidate: str | None = None


@dataclass(frozen=True, slots=True)
class OutcomeWindow:
    """The attempts of a run that ended lately, deleted tasks' ones too.

    Attributes:
        total: how many ended within the window.
        errors: how many of these count as failures.
        newest: when the latest of them ended, None where there is none.
    """

    total: int = 0
    errors: int = 0
    newest: datetime | None = None


@dataclass(frozen=True, slots=True)
class Pause:
    """That nothing of a run starts because its nodes are too busy, since when, and in which words."""

    since: datetime
    message: str


@dataclass(frozen=True, slots=True)
class RunSnapshot:
    """Everything that concerns one run, already counted.

    Attributes:
        run: the run itself.
        phases: how many of its tasks stand in each phase; deleted ones count as what they were, or as
            Cancelled where they hadn't succeeded.
        departed: how many of those were deleted; only the counts in the run's status remember them.
        stuck: how many Pending tasks can't ever start (InvalidSpec, InvalidGraph).
        live: how many slots are held.
        waiting: how many tasks wait for a slot only.
        operator_limit: the operator's own limit on any run, if it has one.
        refused: why an inline task could not be created, if so.
        first_admitted: when the first of its tasks got its slot, None if none has.
        retriable: how many of its tasks a person's retry could give a fresh start.
        retrying: how many of its tasks have yet to answer a retry that was asked of them or of the run.
        resumed: how many of its tasks go on since a retry gave them a fresh start.
        last_retried: when one of its tasks last took a fresh start, None if none has.
        present: how many of its tasks are still there.
        ledger: what is in its abandonment ledger.
        outcomes: of its attempts that ended within its window.
        ceiling: what this process last concluded of its ceiling, stored or not; None before that.
        evaluated: when its outcomes were last looked at in this process.
        load: how busy the nodes are that it could use, None where nothing can be said of that yet.
        pause: set while its nodes are too busy.
        config: what its ConfigMap says of its limits; None where it has one that hasn't been read yet.
        operator_budget: what the operator's own settings say of any run's budget.
        spend: what its attempts have spent, and what live ones may yet.
        needs: what its waiting tasks would take of its budget, each need once.
        all_wait: whether, with nothing live, all that could move waits for a slot, or behind such a task.
        operator_room: how many further agents the operator's limits on all runs together allow now, None
            where there are none.
    """

    run: RunObject
    phases: Mapping[TaskPhase, int] = field(default_factory=dict)
    departed: int = 0
    stuck: int = 0
    live: int = 0
    waiting: int = 0
    operator_limit: int | None = None
    refused: str = ""
    first_admitted: datetime | None = None
    retriable: int = 0
    retrying: int = 0
    resumed: int = 0
    last_retried: datetime | None = None
    present: int = 0
    ledger: LedgerState = LedgerState()
    outcomes: OutcomeWindow = OutcomeWindow()
    ceiling: ConcurrencyStatus | None = None
    evaluated: datetime | None = None
    load: NodeLoad | None = None
    pause: Pause | None = None
    operator_room: int | None = None
    config: RunConfig | None = _SILENT
    operator_budget: OperatorBudget = NO_SETTINGS
    spend: Spend = NO_SPEND
    needs: frozenset[Need] = frozenset()
    all_wait: bool = False
