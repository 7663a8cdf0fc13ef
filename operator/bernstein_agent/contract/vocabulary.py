"""The closed sets of words in envelopes and results, and the contract's version.

A class decides what the operator does next (count, wait, give up); a reason tells people and scripts why.
"""

from enum import StrEnum
from typing import Final

CONTRACT_VERSION: Final = "1.0"
"""major.minor: a new optional field raises the minor number, anything else the major one."""

REPLY_CONTRACT: Final = "attempt-result@1"
"""The shape of answer that an envelope asks for."""


class ResultClass(StrEnum):
    """How the end of an attempt counts."""

    SUCCESS = "success"
    BUSINESS = "business"
    """The agent ran to its end, and the work isn't there: no commit, dependencies that don't merge."""
    AGENT = "agent"
    """Any other failure of the agent's own."""
    DEADLINE = "deadline"
    CONTRACT = "contract"
    """Deterministic: a bad spec, a missing repository, refused credentials. Trying again can't help."""
    TRANSIENT = "transient"
    """Network, provider, a lost race: trying again may help."""
    OOM = "oom"
    CAPACITY = "capacity"
    """A provider's rate limit or overload."""
    DISRUPTION = "disruption"
    """Stopped from outside through no fault of the agent."""
    SECURITY = "security"
    UNKNOWN = "unknown"
    BUDGET = "budget"
    TASK_BUDGET = "task_budget"
    ABANDONED = "abandoned"
    """The agent gave the task up and said why."""
    CANCELLED = "cancelled"
    ASKED = "asked"


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
    RATE_LIMITED = "RateLimited"
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
