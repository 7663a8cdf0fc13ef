"""The words that a spec chooses among, and the few other closed lists that no condition or event says."""

from enum import StrEnum


class ScopeSize(StrEnum):
    """How big a piece of work is; decides the default timeout."""

    SMALL = "small"
    """timeoutSeconds 900 where none is given."""
    MEDIUM = "medium"
    """timeoutSeconds 1800 where none is given."""
    LARGE = "large"
    """timeoutSeconds 3600 where none is given."""


class Effort(StrEnum):
    """How hard the model is asked to think; what it means is the adapter's to say."""

    LOW = "low"
    """The least."""
    MEDIUM = "medium"
    """What an attempt gets where nothing else is said."""
    HIGH = "high"
    """What later retries get."""
    MAX = "max"
    """The most; only where a task asks for it."""


class Effects(StrEnum):
    """What a task's work changes."""

    NONE = "none"
    """Nothing that is kept: a report or a check. No commit is expected."""
    REPOSITORY = "repository"
    """The run's repository: success means a commit."""
    EXTERNAL = "external"
    """The world outside too. An attempt without a result leaves the task Quarantined, never retried by
    itself."""


class AfterDeadline(StrEnum):
    """What becomes of a task's deadline once an attempt was stopped on it."""

    FRESH = "Fresh"
    """It is granted again, as long as it was at the first admission."""
    NONE = "None"
    """It stands: the task fails."""


class OnExhausted(StrEnum):
    """What becomes of a task whose retries, or whose budget, are used up."""

    FAIL = "Fail"
    """It is Failed."""
    AWAIT_INPUT = "AwaitInput"
    """It is AwaitingInput: a person's answer lets it go on, nothing else does."""
    ABANDON = "Abandon"
    """It is Abandoned, with a reason that follows from how the last attempt ended."""


class BudgetBand(StrEnum):
    """How much of a run's budget is used up; each band holds what the lower ones say too."""

    NONE = "none"
    """Less than warnPercent."""
    WARN = "warn"
    """warnPercent or more: it is said, and spawning goes on."""
    CRITICAL = "critical"
    """criticalPercent or more: tasks that aren't essential don't start, and live ones are asked to finish."""
    STOP = "stop"
    """All of it: nothing starts, and live agents are asked to finish and then stopped."""


class BudgetUnit(StrEnum):
    """What a run's budget is counted in, where it is the nearer of its two caps."""

    USD = "usd"
    TOKENS = "tokens"


class CapSource(StrEnum):
    """Who said what a run may cost."""

    ENVIRONMENT = "BERNSTEIN_MAX_COST_USD"
    """The operator's own variable or flag: it comes before all others."""
    RUN_CONFIG = "run_config.json"
    """budget_usd in that key of spec.configFrom's ConfigMap."""
    SPEC = "spec"
    """spec.budget.usd of the run."""
    SEED = "bernstein.yaml"
    """seed.budget_usd, budget_usd or budget in that key of spec.configFrom's ConfigMap."""
    DEFAULT = "default"
    """The operator's setting for runs that say nothing."""
    MAXIMUM = "maxRunCostUsd"
    """The operator's setting for the most that any run may cost was lower than what came out."""
    UNLIMITED = "unlimited"
    """Nobody said anything, or the first who did said 0 or less."""


class Metering(StrEnum):
    """When an agent's spend is known."""

    TURN = "turn"
    """While it works, after each of its turns."""
    END = "end"
    """Once it has ended."""
    NONE = "none"
    """Never: it costs nothing, and reserves nothing."""


class LimitKind(StrEnum):
    """Which of an attempt's limits is meant."""

    TIMEOUT = "timeoutSeconds"
    """Of the attempt, from its agent container's start."""
    START_TIMEOUT = "startTimeoutSeconds"
    """Of the attempt, from its Pod's creation."""
    DEADLINE = "deadline"
    """Of the task."""
    RUN_DEADLINE = "runDeadline"
    """Of the run."""


class CommandVerb(StrEnum):
    """What a person can ask for by annotation."""

    ABANDON = "abandon"
    """Of a task: give it up."""
    CANCEL = "cancel"
    """Of a task or run: end it."""
    DRAIN = "drain"
    """Of a run: let live agents finish, start nothing, then end as Cancelled."""
    RETRY = "retry"
    """Of a task or run: try again with fresh counters."""
    QUARANTINE = "quarantine"
    """Of a task: stop it until a person has looked."""
    ANSWER = "answer"
    """Of a task: what was asked, answered; another attempt goes on with it."""


class CircuitState(StrEnum):
    """Where a profile's circuit stands; a closed one isn't listed."""

    OPEN = "Open"
    """Nothing starts."""
    HALF_OPEN = "HalfOpen"
    """One task probes; the others wait."""
