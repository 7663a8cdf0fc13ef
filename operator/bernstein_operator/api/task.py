"""AgentTask: one piece of work, from its first attempt to its last.

Whatever a run may say for all its tasks (``TaskDefaults``) has no default in the schema: a default written
into the stored object could not be told from the author's own wish, and the run's would never act. The
built-in values are in ``effective.py``, the only place that resolves the three levels.
"""

from typing import Annotated, ClassVar, Final, Self

from pydantic import AfterValidator, Field, model_validator

from bernstein_operator.api.base import (
    ATOMIC,
    DAY,
    MAX_DEPENDENCIES,
    Branch,
    Commit,
    Counter,
    DnsLabel,
    Generation,
    Message,
    Model,
    Moment,
    ObjectName,
    Rule,
    Timeout,
    Uid,
    Wait,
    Word,
    keyed_by,
    unchanged,
    validated,
)
from bernstein_operator.api.conditions import Condition
from bernstein_operator.api.money import Money
from bernstein_operator.api.vocabulary import FINAL_PHASES, BlockCause, ScopeSize, TaskPhase

MAX_PROMPT_BYTES: Final = 65_536
KEPT_ATTEMPTS: Final = 10


def _fits_in_bytes(prompt: str) -> str:
    if len(prompt.encode()) > MAX_PROMPT_BYTES:
        raise ValueError(f"the prompt is longer than {MAX_PROMPT_BYTES} bytes of UTF-8")
    return prompt


_PROMPT_BYTES = Rule(
    rule=f"size(bytes(self)) <= {MAX_PROMPT_BYTES}",
    message=f"the prompt may have {MAX_PROMPT_BYTES} bytes of UTF-8",
)

Role = DnsLabel
Priority = Annotated[int, Field(ge=1, le=100)]
Prompt = Annotated[str, AfterValidator(_fits_in_bytes), Field(min_length=1, max_length=MAX_PROMPT_BYTES)]
Backoff = Annotated[int, Field(ge=0, le=DAY)]
Tokens = Annotated[int, Field(ge=0, le=2**53)]


class RetryPolicy(Model):
    """How often and how soon a failed attempt is followed by another."""

    limit: Annotated[int, Field(ge=0, le=100)] | None = None
    """Attempts after the first that failures may use up. Built-in: 2."""
    backoff_seconds: Backoff | None = None
    """Wait before the first retry; it doubles with each further one. Built-in: 30."""
    max_backoff_seconds: Backoff | None = None
    """The longest wait. Built-in: 300, or backoffSeconds where that is more."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            rule="!has(self.backoffSeconds) || !has(self.maxBackoffSeconds)"
            " || self.backoffSeconds <= self.maxBackoffSeconds",
            message="backoffSeconds can't be more than maxBackoffSeconds",
            field_path=".backoffSeconds",
        ),
    )

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if (
            self.backoff_seconds is not None
            and self.max_backoff_seconds is not None
            and self.backoff_seconds > self.max_backoff_seconds
        ):
            raise ValueError("backoffSeconds can't be more than maxBackoffSeconds")
        return self


class TaskDefaults(Model):
    """What a run may say for all its tasks and each task for itself."""

    role: Role | None = None
    """The kind of worker: backend, qa, docs… Built-in: auto."""
    priority: Priority | None = None
    """1 is admitted first. Built-in: 2."""
    scope: ScopeSize | None = None
    """How big the work is; sets the default timeout. Built-in: medium."""
    dependency_timeout_seconds: Wait | None = None
    """How long a dependency may stay unknown before the task is BlockedByFailure. Built-in: 3600."""
    profile: ObjectName | None = None
    """The AgentProfile of this namespace to run with. Built-in: default."""
    timeout_seconds: Timeout | None = None
    """The longest an attempt may run, from its container's start. Built-in: 900, 1800 or 3600 by scope."""
    start_timeout_seconds: Timeout | None = None
    """The longest from a Pod's creation to its agent container's start. Built-in: 600."""
    retry: RetryPolicy | None = None
    """What happens after a failed attempt; merged field by field with the run's."""


class TaskWork(TaskDefaults):
    """The work itself: what an inline task and an AgentTask have in common."""

    title: Annotated[str, Field(min_length=1, max_length=256)] | None = None
    """One line for people. Without it the name."""
    prompt: Annotated[Prompt, Field(json_schema_extra=validated(_PROMPT_BYTES))]
    """What the agent is asked to do; up to 64 KiB of UTF-8. Immutable after the first attempt."""
    depends_on: Annotated[
        tuple[DnsLabel, ...], Field(max_length=MAX_DEPENDENCIES, json_schema_extra=ATOMIC)
    ] = ()
    """Names of tasks of the same run that must have succeeded first. Naming one twice is naming it once."""
    suspend: bool = False
    """True: no attempt starts; one that runs goes on."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            rule="!has(self.name) || !has(self.dependsOn) || !(self.name in self.dependsOn)",
            message="a task can't depend on itself",
            field_path=".dependsOn",
        ),
    )


class RunRef(Model):
    """A run of the same namespace."""

    name: ObjectName
    """metadata.name of the BernsteinRun."""


class AgentTaskSpec(TaskWork):
    """What is wanted of one task."""

    run_ref: Annotated[
        RunRef,
        Field(
            json_schema_extra=validated(
                Rule(
                    rule="self == oldSelf",
                    message="a task can't move to another run",
                    reason="FieldValueForbidden",
                )
            )
        ),
    ]
    """The run that this task belongs to. Immutable."""
    name: DnsLabel | None = None
    """What dependsOn of other tasks means, unique in the run. Without it the object's own name."""


class Usage(Model):
    """What was spent."""

    input_tokens: Tokens = 0
    """Tokens sent to models, cached ones left out."""
    output_tokens: Tokens = 0
    """Tokens received from models."""
    cached_tokens: Tokens = 0
    """Tokens sent that the provider had cached."""
    cost_usd: Money = Money()
    """US dollars, as text with up to six places."""


class Attempt(Model):
    """One Pod's worth of work on a task."""

    number: Annotated[int, Field(ge=1, le=1_000_000)]
    """Counts from 1."""
    pod_name: ObjectName
    """Derived from task and number, so it is known before the Pod exists."""
    pod_uid: Annotated[Uid | None, Field(alias="podUID")] = None
    """Set once the API server has confirmed the Pod."""
    node: ObjectName | None = None
    """Where it runs or ran."""
    profile: ObjectName | None = None
    """The AgentProfile it was started with."""
    intent_time: Moment
    """When the operator recorded that it is going to create the Pod."""
    start_time: Moment | None = None
    """When the agent container started."""
    end_time: Moment | None = None
    """When it ended, or when the operator found it gone."""
    exit_code: Annotated[int, Field(ge=-(2**31), le=2**31 - 1)] | None = None
    """The agent container's."""
    result_class: Annotated[str, Field(max_length=32, pattern=r"^[a-z]+(_[a-z]+)*$")] | None = None
    """How the end counts: success, business, agent, deadline, contract, transient, oom, disruption…"""
    reason: Word | None = None
    """Why, as one CamelCase word."""
    message: Message | None = None
    """Why, for people."""
    usage: Usage | None = None
    """What this attempt spent."""
    head_before: Commit | None = None
    """The commit that the attempt began with."""
    head_after: Commit | None = None
    """The commit that it ended with."""
    branch: Branch | None = None
    """Where its commits were pushed to."""
    rescue_branch: Branch | None = None
    """Where uncommitted work was saved to."""


class DependencyStatus(Model):
    """What a name in dependsOn was found to mean."""

    name: DnsLabel
    """As in dependsOn."""
    uid: Uid | None = None
    """Of the AgentTask that has the name; absent while there is none."""
    succeeded: bool = False
    """Kept when the task is deleted after it succeeded."""
    commit: Commit | None = None
    """What it came to in the repository; merged into the base of every attempt."""
    branch: Branch | None = None
    """Where that commit is."""


class BlockedBy(Model):
    """Why a task can't ever start as things are."""

    task: ObjectName
    """The nearest task in the way: a name that dependsOn has."""
    root_cause: ObjectName
    """The task where it began; the same as task when that is the nearest."""
    cause: BlockCause
    """What became of the root cause."""


class CancelRequest(Model):
    """That a person asked for the end; kept even if the annotation is taken away again."""

    time: Moment
    """When the operator first saw it."""


class AgentTaskStatus(Model):
    """What became of a task so far; written by the operator only."""

    observed_generation: Generation = -1
    """The metadata.generation that the rest was concluded from; -1 until the operator has seen the task."""
    phase: TaskPhase = TaskPhase.PENDING
    """One word for people and columns, derived from the rest."""
    attempt: Counter = 0
    """Number of the latest attempt; 0 before the first."""
    attempts: Annotated[
        tuple[Attempt, ...], Field(max_length=KEPT_ATTEMPTS, json_schema_extra=keyed_by("number"))
    ] = ()
    """The last ten attempts, oldest first."""
    retries: Counter = 0
    """Attempts that failed and count against retry.limit."""
    disruptions: Counter = 0
    """Pods that were lost through no fault of the agent."""
    rate_limits: Counter = 0
    """Attempts in a row, up to the latest, that a provider's rate limit ended."""
    usage: Usage | None = None
    """What all attempts spent, those no longer listed too."""
    first_admitted_time: Moment | None = None
    """When the first attempt was given its slot."""
    completion_time: Moment | None = None
    """When the task came to its end."""
    next_attempt_time: Moment | None = None
    """Before this moment no further attempt starts."""
    waiting_since: Moment | None = None
    """Since when a dependency has been unknown; dependencyTimeoutSeconds counts from here."""
    dependencies: Annotated[
        tuple[DependencyStatus, ...], Field(max_length=MAX_DEPENDENCIES, json_schema_extra=keyed_by("name"))
    ] = ()
    """Every dependency with what was found under its name."""
    blocked_by: BlockedBy | None = None
    """Set in the phases BlockedByFailure and BlockedByAbandon."""
    cancel_requested: CancelRequest | None = None
    """Set once a cancel of the task was seen."""
    summary: Message | None = None
    """The agent's last word."""
    conditions: Annotated[
        tuple[Condition, ...], Field(max_length=16, json_schema_extra=keyed_by("type"))
    ] = ()
    """What is so, and since when."""


def _fixed_once_started(field: str) -> Rule:
    return Rule(
        rule="!has(oldSelf.status) || !has(oldSelf.status.attempt) || oldSelf.status.attempt == 0"
        f" || ({unchanged(f'spec.{field}')})",
        message=f"{field} can't change after the first attempt: retries would do other work than was begun",
        field_path=f".spec.{field}",
        reason="FieldValueForbidden",
    )


_FINAL = ", ".join(f"'{phase}'" for phase in sorted(FINAL_PHASES))

TASK_RULES: Final = (
    _fixed_once_started("prompt"),
    _fixed_once_started("name"),
    _fixed_once_started("role"),
    Rule(
        rule="has(self.spec.name) || !has(self.spec.dependsOn)"
        " || !(self.metadata.name in self.spec.dependsOn)",
        message="a task can't depend on itself",
        field_path=".spec.dependsOn",
    ),
    Rule(
        rule=f"!has(oldSelf.status) || !has(oldSelf.status.phase) || !(oldSelf.status.phase in [{_FINAL}])"
        " || (has(self.status) && has(self.status.phase) && self.status.phase == oldSelf.status.phase)",
        message="a task that succeeded, was cancelled or was abandoned stays so",
        field_path=".status.phase",
        reason="FieldValueForbidden",
    ),
)
"""Rules that compare parts of the whole object, so they stand at the schema's root."""
