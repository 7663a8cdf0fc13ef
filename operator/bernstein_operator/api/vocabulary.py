"""Every word that a user can meet in a status, a condition or an event, each with when it is said.

The sets are closed: dashboards, alerts and scripts match on them, so a new word is a change of the API.
"""

from enum import StrEnum
from typing import Final


class TaskPhase(StrEnum):
    """Where a task stands."""

    PENDING = "Pending"
    """It waits for what the Admitted condition names; without that condition, for a slot of its run."""
    RUNNING = "Running"
    """The agent container of the current attempt has started."""
    SUCCEEDED = "Succeeded"
    """An attempt did the work. Never left."""
    FAILED = "Failed"
    """No attempt is left, or none could help."""
    CANCELLED = "Cancelled"
    """A person cancelled the task or its run. Never left."""
    ABANDONED = "Abandoned"
    """The agent gave the task up and said why. Never left."""
    BLOCKED_BY_FAILURE = "BlockedByFailure"
    """A task that this one depends on, however far, failed, was cancelled, or never came."""
    BLOCKED_BY_ABANDON = "BlockedByAbandon"
    """A task that this one depends on, however far, was abandoned."""
    QUARANTINED = "Quarantined"
    """It may not go on before a person has looked: a policy was broken, what it did outside is unknown, or a
    person said so."""
    AWAITING_INPUT = "AwaitingInput"
    """It needs a person's answer (status.question) and holds no slot meanwhile."""


SETTLED_PHASES: Final = frozenset(
    {
        TaskPhase.SUCCEEDED,
        TaskPhase.FAILED,
        TaskPhase.CANCELLED,
        TaskPhase.ABANDONED,
        TaskPhase.QUARANTINED,
    }
)
"""Phases that a task's own work ends in; Failed and Quarantined are left when a person asks for a retry."""

BLOCKED_PHASES: Final = frozenset({TaskPhase.BLOCKED_BY_FAILURE, TaskPhase.BLOCKED_BY_ABANDON})
"""Phases that follow from another task's end and are looked at again when that changes."""

MOVING_PHASES: Final = frozenset({TaskPhase.PENDING, TaskPhase.RUNNING, TaskPhase.AWAITING_INPUT})
"""Phases from which a task may yet come to a good end without a retry."""

FINAL_PHASES: Final = frozenset({TaskPhase.SUCCEEDED, TaskPhase.CANCELLED, TaskPhase.ABANDONED})
"""Phases that nothing and nobody ever changes."""

CLOSED_PHASES: Final = FINAL_PHASES | {TaskPhase.FAILED}
"""Phases in which there is nothing left to stop; a person's retry may lead out of Failed."""


class RunPhase(StrEnum):
    """Where a run stands."""

    PENDING = "Pending"
    """None of its tasks has started."""
    RUNNING = "Running"
    """At least one task has started and some can still move."""
    PAUSED = "Paused"
    """spec.suspend: nothing new starts, live agents go on."""
    DRAINING = "Draining"
    """Cancelled or drained by a person; its live agents are being stopped, or finish."""
    SUCCEEDED = "Succeeded"
    """Every task succeeded."""
    FAILED = "Failed"
    """No task can move and not all succeeded."""
    CANCELLED = "Cancelled"
    """Cancelled or drained by a person, and nothing is live any more."""
    STOPPED = "Stopped"
    """Its budget is used up and nothing is live any more; it goes on once a person has raised the cap."""


ENDED_RUN_PHASES: Final = frozenset({RunPhase.SUCCEEDED, RunPhase.FAILED, RunPhase.CANCELLED})
"""Phases of a run that starts nothing more."""

FINAL_RUN_PHASES: Final = ENDED_RUN_PHASES - {RunPhase.FAILED}
"""Phases of a run that nothing and nobody ever changes."""


class ConditionType(StrEnum):
    """Condition types; the ones that other tools read have those tools' names (Job, kstatus)."""

    ADMITTED = "Admitted"
    """False: the task waits, the reason says for what. True: an attempt has its slot."""
    RECONCILING = "Reconciling"
    """True while the operator still works on it; absent otherwise (kstatus)."""
    STALLED = "Stalled"
    """True when it can't come to a good end by itself; absent otherwise (kstatus)."""
    COMPLETE = "Complete"
    """True when the work is done (as on a Job)."""
    FAILED = "Failed"
    """True when the work will not be done (as on a Job)."""
    FINISHED = "Finished"
    """True when nothing more will happen, whatever the outcome: what scripts wait for."""
    SUSPENDED = "Suspended"
    """True while spec.suspend holds the run back."""
    BLOCKED = "Blocked"
    """True while a dependency's end keeps the task from ever starting."""
    ABANDONED = "Abandoned"
    """True on a task that was given up; the reason is the ledger's, in CamelCase."""
    ESCALATED = "Escalated"
    """True while a task runs with a bigger model, more effort or more memory than it began with."""
    DEADLINE_WARNING = "DeadlineWarning"
    """True while a limit of the open attempt, or the run's deadline, is near."""
    DEADLINE_EXCEEDED = "DeadlineExceeded"
    """True on a task whose last attempt, or which itself, ran into its deadline."""
    SPAWNING_PAUSED = "SpawningPaused"
    """True on a run of which nothing starts because its nodes are too busy; live agents go on."""
    CEILING_REDUCED = "CeilingReduced"
    """True on a run whose ceiling is lower than configured because too many attempts failed."""
    NODE_METRICS_AVAILABLE = "NodeMetricsAvailable"
    """False on a run whose nodes' load can't be known, so that it has no say; True once it could again."""
    BUDGET_PRESSURE = "BudgetPressure"
    """True on a run that has used up warnPercent of its budget or more; the reason says which band."""
    SHOULD_STOP = "ShouldStop"
    """True on a run whose budget is used up: nothing starts, and live agents are being stopped."""
    INPUT_REQUIRED = "InputRequired"
    """True on a task that a person has to answer, and on its run."""
    READY = "Ready"
    """On a profile that once couldn't be: False while its tasks are kept back, the reason says by what."""
    LEDGER_WRITABLE = "LedgerWritable"
    """False on a run whose abandonments can't be written down; True once they could again, or if somebody
    changed a row."""


class ConditionStatus(StrEnum):
    """The three values that Kubernetes allows."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


class AdmittedReason(StrEnum):
    """Why a task has its slot (the first one) or not (all others)."""

    ADMITTED = "Admitted"
    """An attempt was given a slot."""
    QUEUED = "Queued"
    """It waits for nothing but a slot of its run; the run's own conditions say why none is free."""
    DEPENDENCY_PENDING = "DependencyPending"
    """A task it depends on has not succeeded yet, or doesn't exist yet."""
    BACKING_OFF = "BackingOff"
    """The next attempt starts at status.nextAttemptTime, and not before the previous Pod has ended."""
    SUSPENDED = "Suspended"
    """spec.suspend of the task."""
    QUOTA_EXCEEDED = "QuotaExceeded"
    """A ResourceQuota of the namespace refused the Pod."""
    POD_FORBIDDEN = "PodForbidden"
    """Pod Security, a LimitRange, an admission policy or webhook refused the Pod or is down; see its text."""
    PERMISSION_MISSING = "PermissionMissing"
    """The operator's own role lacks a verb that the text names."""
    NAMESPACE_TERMINATING = "NamespaceTerminating"
    """The namespace is being deleted."""
    POD_NAME_CONFLICT = "PodNameConflict"
    """A Pod that belongs to somebody else has the attempt's name; it is left alone."""
    RUN_NOT_FOUND = "RunNotFound"
    """spec.runRef names a run that doesn't exist."""
    PROFILE_NOT_FOUND = "ProfileNotFound"
    """The task's AgentProfile doesn't exist in its namespace, or is invalid."""
    RUN_ENDED = "RunEnded"
    """The run ended before the task could start."""
    PROVIDER_HOLD = "ProviderHold"
    """The provider of the task's profile asked for less until status.hold of the profile is over."""
    CIRCUIT_OPEN = "CircuitOpen"
    """The task's profile fails again and again in the same way; one task at a time probes it."""
    INVALID_SPEC = "InvalidSpec"
    """What is stored can't be understood or contradicts another task; the text names the field."""
    INVALID_GRAPH = "InvalidGraph"
    """The task is part of a cycle of dependencies, whose members the text names."""
    ROLE_CEILING = "RoleCeiling"
    """As many agents of its role are live as the run's concurrency.maxPerRole allows."""
    BUDGET_RESERVED = "BudgetReserved"
    """What the run has left of its budget is reserved by live agents; it starts if they spend less."""
    BUDGET_CRITICAL = "BudgetCritical"
    """The run's budget is critical or used up: tasks that aren't essential, or none at all, start."""
    TASK_BUDGET_EXHAUSTED = "TaskBudgetExhausted"
    """Nothing is left of the task's own budget; it starts if that is raised."""
    POD_WAITING = "PodWaiting"
    """Said with Admitted=True: the attempt has its slot, but its Pod can't start yet; the text is the
    scheduler's or the kubelet's."""


class BlockCause(StrEnum):
    """What became of the dependency that blocks a task."""

    FAILED = "Failed"
    """It ended Failed."""
    CANCELLED = "Cancelled"
    """A person cancelled it."""
    DELETED = "Deleted"
    """It was deleted before it succeeded."""
    ABANDONED = "Abandoned"
    """It was given up, by its agent, a person or the operator."""
    MISSING = "Missing"
    """It was still unknown after dependencyTimeoutSeconds."""
    INVALID = "Invalid"
    """Its own spec or its part of the graph is invalid, so it can't ever start."""
    QUARANTINED = "Quarantined"
    """It waits for a person's verdict."""


class AttemptReason(StrEnum):
    """Why an attempt ended, where its own result doesn't say it."""

    COMPLETED = "Completed"
    """The agent did the work. On a Pod's stop annotation: its agent is done and another container runs on."""
    NON_ZERO_EXIT = "NonZeroExit"
    """The agent claimed success and its container's exit code says otherwise."""
    NO_COMMIT = "NoCommit"
    """The run has a repository and the agent left no new commit."""
    RESULT_MISSING = "ResultMissing"
    """The agent ended without a result that could be read."""
    OOM_KILLED = "OOMKilled"
    """A container used more memory than its limit."""
    DEADLINE_EXCEEDED = "DeadlineExceeded"
    """timeoutSeconds, counted from the agent container's start, ran out; or a deadline was reached."""
    START_TIMEOUT = "StartTimeout"
    """startTimeoutSeconds, counted from the Pod's creation, ran out."""
    IMAGE_IMPOSSIBLE = "ImageImpossible"
    """The image's name is invalid, or may never be pulled and isn't there."""
    EVICTED = "Evicted"
    """The node or the scheduler took the Pod away: eviction, preemption, shutdown, lost node."""
    POD_DELETED = "PodDeleted"
    """The Pod was deleted, or vanished, before its end was seen."""
    KUBELET_REFUSED = "KubeletRefused"
    """The node's kubelet didn't admit the Pod."""
    RUN_GONE = "RunGone"
    """The run that the task names was deleted while the attempt ran."""
    CANCELLED = "Cancelled"
    """A person cancelled the task or its run."""
    ABANDONED = "Abandoned"
    """The agent, or a person, gave the task up."""
    QUARANTINED = "Quarantined"
    """A person put the task into quarantine."""
    EFFECTS_UNKNOWN = "EffectsUnknown"
    """The task acts on the world outside, and its end doesn't say how far it came."""
    POD_REFUSED = "PodRefused"
    """The API server can never accept such a Pod."""
    BUDGET_EXHAUSTED = "BudgetExhausted"
    """The run's budget was used up, or critical and the task not essential."""


class TaskReason(StrEnum):
    """Reason of a task's Complete, Failed and Stalled conditions, beside the phases' own names."""

    RETRIES_EXHAUSTED = "RetriesExhausted"
    """More attempts failed than retry.limit allows."""
    CONTRACT_BROKEN = "ContractBroken"
    """Trying again unchanged can't help: a deterministic error of spec, image or credentials."""
    DISRUPTIONS_EXHAUSTED = "DisruptionsExhausted"
    """The Pod was lost more often than retry.disruptionLimit allows."""
    SAME_FAILURE = "SameFailure"
    """Three attempts in a row failed in the very same way."""
    DEADLINE_EXCEEDED = "DeadlineExceeded"
    """Its own deadline, or its run's, passed before it could succeed."""
    QUARANTINED = "Quarantined"
    """It waits for a person's verdict."""
    DRAINED = "Drained"
    """Its run was drained before the task could succeed."""
    TASK_BUDGET_EXHAUSTED = "TaskBudgetExhausted"
    """Its own budget was used up before it could succeed."""
    INPUT_REQUIRED = "InputRequired"
    """It waits for a person's answer to status.question."""
    INPUT_TIMEOUT = "InputTimeout"
    """Nobody answered within inputTimeoutSeconds."""


class RunReason(StrEnum):
    """Reason of a run's conditions."""

    NO_TASKS = "NoTasks"
    """The run has no task; it doesn't end."""
    TASKS_ACTIVE = "TasksActive"
    """Work goes on, or waits for something that the tasks themselves tell."""
    AT_CEILING = "AtCeiling"
    """As many agents are live as may be; work is queued."""
    CEILING_ZERO = "CeilingZero"
    """The ceiling is 0, by concurrency.maxAgents or the operator's own limit: nothing starts."""
    AT_OPERATOR_CEILING = "AtOperatorCeiling"
    """As many agents are live in the namespace, or in all, as the operator allows; runs take turns."""
    CEILING_REDUCED = "CeilingReduced"
    """The ceiling is lower than configured because too many attempts failed."""
    SPAWNING_PAUSED = "SpawningPaused"
    """The nodes are too busy; nothing starts until they are less so."""
    NODES_IDLE = "NodesIdle"
    """The nodes are less busy again."""
    METRICS_UNAVAILABLE = "MetricsUnavailable"
    """The load of the nodes can't be known; the text says why, and since when it has no say."""
    NODES_OUT_OF_REACH = "NodesOutOfReach"
    """The operator works in some namespaces only and so may not read nodes; their load has no say."""
    METRICS_AVAILABLE = "MetricsAvailable"
    """The load of the nodes is known again."""
    WARN = "Warn"
    """budget.warnPercent is reached; spawning goes on."""
    CRITICAL = "Critical"
    """budget.criticalPercent is reached; tasks that aren't essential don't start."""
    EXHAUSTED = "Exhausted"
    """The budget is used up."""
    CONFIG_UNREAD = "ConfigUnread"
    """The ConfigMap of spec.configFrom isn't there, or could not be read yet (see status.warnings); nothing
    starts before its limits are known."""
    BUDGET_REQUIRED = "BudgetRequired"
    """The operator requires a budget of every run, and nobody has set one; nothing starts."""
    BUDGET_EXHAUSTED = "BudgetExhausted"
    """The run was stopped by its budget; a higher cap lets it go on."""
    INPUT_REQUIRED = "InputRequired"
    """Nothing else can move: tasks wait for a person's answer."""
    SUSPENDED = "Suspended"
    """spec.suspend: nothing new starts; live agents go on."""
    DRAINING = "Draining"
    """It was cancelled, and its live agents are being stopped; or drained, and they finish."""
    ALL_SUCCEEDED = "AllSucceeded"
    """Every task succeeded."""
    TASKS_FAILED = "TasksFailed"
    """No task can move and not all succeeded; the text counts them by phase."""
    CANCELLED = "Cancelled"
    """It was cancelled or drained, and nothing is live any more."""
    OPEN = "Open"
    """spec.open: no task can move, and the run waits for further ones."""
    DEADLINE_EXCEEDED = "DeadlineExceeded"
    """spec.deadline passed: its live agents were stopped and nothing more starts."""
    LEDGER_WRITE_FAILED = "LedgerWriteFailed"
    """The API server refuses a row of the ledger, or can't be reached; the write is tried again."""
    LEDGER_WRITTEN = "LedgerWritten"
    """Every abandonment is in the ledger again, or always was; the text names rows that somebody changed."""
    INVALID_SPEC = "InvalidSpec"
    """What is stored can't be understood; the text names the field. None of its tasks starts."""
    TASK_CREATION_REFUSED = "TaskCreationRefused"
    """The API server refuses an inline task; the text is its own."""


class ProfileReason(StrEnum):
    """Reason of a profile's Ready condition."""

    READY = "Ready"
    """Nothing keeps its tasks back any more."""
    PROVIDER_HOLD = "ProviderHold"
    """Its provider asked for less; nothing starts with it until status.hold is over."""
    CIRCUIT_OPEN = "CircuitOpen"
    """It fails again and again in the same way; one task at a time probes it."""
