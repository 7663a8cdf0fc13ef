"""The closed sets of words in envelopes and results, and the contract's version.

A class decides what the operator does next (count, wait, give up); a reason tells people and scripts why.
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final

CONTRACT_VERSION: Final = "1.2"
"""major.minor: a new optional field raises the minor number, anything else the major one."""

REPLY_CONTRACT: Final = "attempt-result@1"
"""The shape of answer that an envelope asks for."""


class ResultClass(StrEnum):
    """How the end of an attempt counts."""

    SUCCESS = "success"
    """The work is done; with a repository, its commits are on the task's branch."""
    BUSINESS = "business"
    """The agent ran to its end, and the work isn't there: no commit, dependencies that don't merge."""
    AGENT = "agent"
    """Any other failure of the agent's own."""
    DEADLINE = "deadline"
    """Its time was over."""
    CONTRACT = "contract"
    """Deterministic: a bad spec, a missing repository, refused credentials. Trying again can't help."""
    TRANSIENT = "transient"
    """Network, provider, a lost race: trying again may help."""
    OOM = "oom"
    """A container, or a process in it, used more memory than its limit."""
    CAPACITY = "capacity"
    """A provider's rate limit or overload."""
    DISRUPTION = "disruption"
    """Stopped from outside through no fault of the agent."""
    SECURITY = "security"
    """A policy or a permission was denied."""
    UNKNOWN = "unknown"
    """The task acts on the world outside, and nothing says how far this attempt came."""
    BUDGET = "budget"
    """Stopped because the run's money or tokens were used up."""
    TASK_BUDGET = "task_budget"
    """The task's own budget was used up."""
    ABANDONED = "abandoned"
    """The agent gave the task up and said why."""
    CANCELLED = "cancelled"
    """Stopped because a person cancelled the task or its run, or deleted the run."""
    ASKED = "asked"
    """The agent asked a person something and can't go on without the answer."""


class Reason(StrEnum):
    """Why an attempt ended, in the runner's words; other writers may use words of their own."""

    COMPLETED = "Completed"
    NO_COMMIT = "NoCommit"
    """The agent ended well and its HEAD holds no commit of its own."""
    MERGE_CONFLICT = "MergeConflict"
    """The dependencies' commits don't merge onto the base."""
    PUSH_REJECTED = "PushRejected"
    """The server accepted the connection and refused the commits: a hook or a protected branch."""
    NON_ZERO_EXIT = "NonZeroExit"
    HEAD_UNKNOWN = "HeadUnknown"
    """The agent left a clone whose HEAD can't be read."""
    DEADLINE_EXCEEDED = "DeadlineExceeded"
    TERMINATED = "Terminated"
    """The Pod was asked to stop before the agent was done."""
    ABANDONED = "Abandoned"
    ASKED = "Asked"
    """The agent asked a person something."""
    NO_CHANGE_NEEDED = "NoChangeNeeded"
    """The agent left no commit, said why none was needed, and may do so."""
    TASK_BUDGET_EXHAUSTED = "TaskBudgetExhausted"
    """Nothing is left of the task's own budget."""
    BUDGET_EXHAUSTED = "BudgetExhausted"
    """The run's budget is used up, or the operator asked the agent to finish for it."""
    REPORTS_REFUSED = "ReportsRefused"
    """The operator accepted no report for too long, so nobody kept the run's limits any more."""
    CREDENTIALS_REFUSED = "CredentialsRefused"
    """A provider refused the profile's credentials."""
    MODEL_UNKNOWN = "ModelUnknown"
    """A provider doesn't have the model, or not for these credentials."""
    PROVIDER_UNAVAILABLE = "ProviderUnavailable"
    """A provider couldn't be reached, or failed by itself."""
    PROVIDER_OVERLOADED = "ProviderOverloaded"
    """A provider has more to do than it can."""
    RATE_LIMITED = "RateLimited"
    """A provider serves these credentials no further for now."""
    OOM_KILLED = "OOMKilled"
    KILLED = "Killed"
    """The system killed the agent, and not for memory."""
    INVALID_ENVELOPE = "InvalidEnvelope"
    UNKNOWN_ADAPTER = "UnknownAdapter"
    COMMAND_NOT_FOUND = "CommandNotFound"
    INVALID_SCRIPT = "InvalidScript"
    GIT_MISSING = "GitMissing"
    ACCESS_DENIED = "AccessDenied"
    """The git server refused the credentials, or asked for some where there are none."""
    REPOSITORY_NOT_FOUND = "RepositoryNotFound"
    REF_NOT_FOUND = "RefNotFound"
    DEPENDENCY_NOT_FOUND = "DependencyNotFound"
    """A dependency's commit is not on the server any more."""
    BRANCH_IMPOSSIBLE = "BranchImpossible"
    """A branch of the repository is in the way of the task's branch name."""
    PUSH_CONFLICT = "PushConflict"
    """Somebody moved the task's branch while the agent worked."""
    GIT_UNAVAILABLE = "GitUnavailable"
    RUNNER_ERROR = "RunnerError"
    """A fault of the runner itself or of the machine under it."""


PROVIDER_FAULTS: Final[Mapping[Reason, ResultClass]] = MappingProxyType(
    {
        Reason.CREDENTIALS_REFUSED: ResultClass.CONTRACT,
        Reason.MODEL_UNKNOWN: ResultClass.CONTRACT,
        Reason.PROVIDER_UNAVAILABLE: ResultClass.TRANSIENT,
        Reason.PROVIDER_OVERLOADED: ResultClass.CAPACITY,
        Reason.RATE_LIMITED: ResultClass.CAPACITY,
    }
)
"""The faults of a provider rather than of a task, and the class that each belongs to."""


class BudgetMode(StrEnum):
    """How an agent meets the end of its budget."""

    GRACEFUL = "graceful-finish-on-low"
    """At 20 % left, or at the last step, it gets one final turn to commit and to sum up."""
    HARD = "hard-stop-on-zero"
    """It goes on until nothing is left and is stopped at once."""


class Effort(StrEnum):
    """How hard an agent should try, from the cheapest on."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    MAX = "max"


class AbandonReason(StrEnum):
    """Why a task is given up: a closed set, so that the reasons of many runs can be counted."""

    OUT_OF_SCOPE = "out_of_scope"
    """It asks for more, or for something else, than the role may do."""
    INSUFFICIENT_CONTEXT = "insufficient_context"
    """What one has to know for it can't be found."""
    CONFLICTING_INSTRUCTIONS = "conflicting_instructions"
    """Two things that are asked for exclude each other."""
    SPEC_UNDERDETERMINED = "spec_underdetermined"
    """What is asked for leaves open what only its author can decide."""
    TIME_BUDGET_EXHAUSTED = "time_budget_exhausted"
    """It can't be done in the time that is left."""
    BUDGET_EXCEEDED = "budget_exceeded"
    """It can't be done with the tokens or dollars that are left."""
    CAPABILITY_MISMATCH = "capability_mismatch"
    """It needs a tool, a right or a skill that isn't there."""
    ENV_BROKEN = "env_broken"
    """The container, the repository or a service that it needs is broken."""
    BLOCKED_BY_EXTERNAL = "blocked_by_external"
    """Somebody or something outside has to act first."""
    UNSAFE_CHANGE = "unsafe_change"
    """Doing it as asked would do harm."""
    OPERATOR_OVERRIDE = "operator_override"
    """A person decided so."""
    OTHER = "other"
    """None of these; the detail says what."""


class AbandonCategory(StrEnum):
    """What part of the surroundings of a task a reason points at."""

    SPEC = "Spec / intent"
    ENVIRONMENT = "Environment"
    COORDINATION = "Coordination"
    CATCH_ALL = "Catch-all"


ABANDON_CATEGORIES: Final[Mapping[AbandonReason, AbandonCategory]] = MappingProxyType(
    {
        AbandonReason.OUT_OF_SCOPE: AbandonCategory.SPEC,
        AbandonReason.INSUFFICIENT_CONTEXT: AbandonCategory.SPEC,
        AbandonReason.CONFLICTING_INSTRUCTIONS: AbandonCategory.SPEC,
        AbandonReason.SPEC_UNDERDETERMINED: AbandonCategory.SPEC,
        AbandonReason.TIME_BUDGET_EXHAUSTED: AbandonCategory.ENVIRONMENT,
        AbandonReason.BUDGET_EXCEEDED: AbandonCategory.ENVIRONMENT,
        AbandonReason.CAPABILITY_MISMATCH: AbandonCategory.ENVIRONMENT,
        AbandonReason.ENV_BROKEN: AbandonCategory.ENVIRONMENT,
        AbandonReason.BLOCKED_BY_EXTERNAL: AbandonCategory.COORDINATION,
        AbandonReason.UNSAFE_CHANGE: AbandonCategory.COORDINATION,
        AbandonReason.OPERATOR_OVERRIDE: AbandonCategory.COORDINATION,
        AbandonReason.OTHER: AbandonCategory.CATCH_ALL,
    }
)
"""The category of each reason, in the order of the reasons."""
