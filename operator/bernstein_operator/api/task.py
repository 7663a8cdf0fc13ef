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
    DnsLabel,
    Model,
    Moment,
    ObjectName,
    Rule,
    Timeout,
    Wait,
    unchanged,
    validated,
)
from bernstein_operator.api.budget import TaskBudget
from bernstein_operator.api.choices import (
    AfterDeadline,
    Effects,
    Effort,
    OnExhausted,
    ScopeSize,
)
from bernstein_operator.api.vocabulary import FINAL_PHASES

MAX_PROMPT_BYTES: Final = 65_536


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
ModelName = Annotated[str, Field(min_length=1, max_length=128, pattern=r"^[A-Za-z0-9][-A-Za-z0-9._:/@+]*$")]


class RetryPolicy(Model):
    """How often and how soon a failed attempt is followed by another."""

    limit: Annotated[int, Field(ge=0, le=100)] | None = None
    """Attempts after the first that failures may use up. Built-in: 2."""
    backoff_seconds: Backoff | None = None
    """Wait before the first retry; it doubles with each further one. Built-in: 30."""
    max_backoff_seconds: Backoff | None = None
    """The longest wait. Built-in: 300, or backoffSeconds where that is more."""
    disruption_limit: Annotated[int, Field(ge=0, le=100)] | None = None
    """Pods that may be lost through no fault of the agent, each followed by another attempt. Built-in: 3."""
    after_deadline: AfterDeadline | None = None
    """Fresh: a retry after the task's deadline gets as long again. None: it stands. Built-in: Fresh."""
    on_exhausted: OnExhausted | None = None
    """Fail, AwaitInput or Abandon, once no attempt is left. Built-in: Fail."""

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


class Acceptance(Model):
    """What an attempt has to show for its work."""

    allow_no_change: bool | None = None
    """True: an agent that leaves no commit and says in prose why none was needed has succeeded. Built-in:
    false."""


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
    deadline_warning_seconds: Wait | None = None
    """How long before any of its limits a warning comes, once for each. 0: none. Built-in: 300."""
    input_timeout_seconds: Timeout | None = None
    """How long others may keep the task waiting, as a Pod's scheduling gates do. Built-in: 86400."""
    model: ModelName | None = None
    """The model to use, whatever the profile's ladder says; retries keep it."""
    effort: Effort | None = None
    """How hard the model is to think in the first attempt. Built-in: medium."""
    effects: Effects | None = None
    """What the work changes: none, repository or external. Built-in: repository."""
    essential: bool | None = None
    """False: once its run's budget is critical it doesn't start, and is asked to finish. Built-in: true."""
    retry: RetryPolicy | None = None
    """What happens after a failed attempt; merged field by field with the run's."""
    budget: TaskBudget | None = None
    """What it may use up; merged field by field with the run's."""
    acceptance: Acceptance | None = None
    """What an attempt has to show for its work; merged field by field with the run's."""


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
    deadline: Moment | None = None
    """When the work has to be done. An attempt that runs then is stopped; one that waits never starts."""

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
    _fixed_once_started("effects"),
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
