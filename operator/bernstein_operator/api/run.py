"""BernsteinRun: a goal, the limits it is pursued under, and (optionally) its tasks.

Tasks written into the run are a convenience: the operator makes an AgentTask of each exactly once and
remembers it, so that one deleted later isn't made, and paid for, again. That is why the list only grows
and why its entries don't change; what may change is changed on the AgentTask.
"""

from enum import StrEnum
from typing import Annotated, ClassVar, Final, Self

from pydantic import Field, model_validator

from bernstein_operator.api.base import (
    ATOMIC,
    Counter,
    DnsLabel,
    Generation,
    Model,
    Moment,
    ObjectName,
    Rule,
    Wait,
    keyed_by,
    unchanged,
    validated,
)
from bernstein_operator.api.budget import BudgetStatus, RunBudget
from bernstein_operator.api.concurrency import ConcurrencyStatus, RunConcurrency
from bernstein_operator.api.conditions import Condition
from bernstein_operator.api.task import TaskDefaults, TaskWork
from bernstein_operator.api.task_status import KEPT_REQUESTS, CancelRequest, Request
from bernstein_operator.api.vocabulary import RunPhase

MAX_INLINE_TASKS: Final = 100
_URL: Final = r"^(https?|git|ssh)://[^\s]+$|^[A-Za-z0-9._-]+@[A-Za-z0-9.-]+:[^\s]+$"
_REF: Final = r"^[A-Za-z0-9_][A-Za-z0-9._/+#@=,%-]*$"
_PREFIX: Final = r"^[A-Za-z0-9]+((\.|[_-]+)[A-Za-z0-9]+)*(/[A-Za-z0-9]+((\.|[_-]+)[A-Za-z0-9]+)*)*[/_-]?$"
_SECRET_IN_URL: Final = "a password in the url would be readable by everybody who may read the run"  # noqa: S105


class BranchBase(StrEnum):
    """What an attempt's branch starts from."""

    DEPENDENCIES = "Dependencies"
    """repository.ref merged with the commits of the task's dependencies."""
    REF = "Ref"
    """repository.ref alone."""


class ConfigMapRef(Model):
    """A ConfigMap of the same namespace."""

    name: ObjectName
    """metadata.name of the ConfigMap."""


class ConfigFrom(Model):
    """Where a run's limits may be written beside its spec, in the files of the Bernstein program."""

    config_map_ref: ConfigMapRef
    """Its keys are bernstein.yaml, run_config.json or both; it is read again at least once a minute."""


class Repository(Model):
    """The git repository that the agents work on."""

    url: Annotated[
        str,
        Field(
            min_length=1,
            max_length=1024,
            pattern=_URL,
            json_schema_extra=validated(
                Rule(
                    rule="!self.matches('^[a-z]+://[^/@]*:[^/@]*@')",
                    message=_SECRET_IN_URL,
                    reason="FieldValueForbidden",
                )
            ),
        ),
    ]
    """https://, http://, ssh://, git:// or user@host:path; without a password."""
    ref: Annotated[str, Field(min_length=1, max_length=255, pattern=_REF)]
    """Branch, tag or commit that the work starts from; resolved once, by the first attempt."""
    push_branch_prefix: Annotated[str, Field(min_length=1, max_length=100, pattern=_PREFIX)] = "bernstein/"
    """A task's commits are pushed to <prefix><run>/<task>."""
    base: BranchBase = BranchBase.DEPENDENCIES
    """Dependencies: start from ref merged with the dependencies' commits. Ref: from ref alone."""

    @model_validator(mode="after")
    def _without_password(self) -> Self:
        authority = self.url.partition("://")[2].partition("/")[0]
        if ":" in authority.rpartition("@")[0]:
            raise ValueError(_SECRET_IN_URL)
        return self


class InlineTask(TaskWork):
    """A task written into its run."""

    name: DnsLabel
    """What dependsOn means; the AgentTask is called <run>-<name>."""

    rules: ClassVar[tuple[Rule, ...]] = (
        *TaskWork.rules,
        Rule(
            rule="self == oldSelf",
            message="a task in the list can't be changed; change the AgentTask that was made from it",
            reason="FieldValueForbidden",
        ),
    )


class TimeToLive(Model):
    """How long the tasks of a run that has ended are kept, with their Pods and logs. Absent: for good."""

    succeeded_seconds: Wait | None = None
    """After it succeeded."""
    failed_seconds: Wait | None = None
    """After it failed."""
    cancelled_seconds: Wait | None = None
    """After it was cancelled."""
    delete_run: bool = False
    """True: the run goes too. What applies it again, as GitOps does, then runs it again."""


class BernsteinRunSpec(Model):
    """What is wanted of a run."""

    goal: Annotated[str, Field(max_length=16_384)] = ""
    """What all the tasks are for; every agent reads it."""
    suspend: bool = False
    """True: no new Pods; live ones go on."""
    open: bool = False
    """True: more tasks may come, so the run doesn't end by itself."""
    deadline: Moment | None = None
    """When the run ends at the latest: live agents are stopped, and what hasn't started fails."""
    deadline_warning_seconds: Wait | None = None
    """How long before its deadline a warning comes. 0: none. Built-in: 300."""
    ttl: TimeToLive = TimeToLive()
    """What becomes of its tasks after its end."""
    concurrency: RunConcurrency = RunConcurrency()
    """How many agents may be live at once."""
    budget: RunBudget = RunBudget()
    """What all its tasks may cost together."""
    config_from: ConfigFrom | None = None
    """Where else limits are written."""
    repository: Repository | None = None
    """Where the code is; without it agents get an empty workspace. Immutable once a task has started."""
    task_defaults: TaskDefaults = TaskDefaults()
    """What holds for every task that doesn't say otherwise."""
    tasks: Annotated[
        tuple[InlineTask, ...], Field(max_length=MAX_INLINE_TASKS, json_schema_extra=keyed_by("name"))
    ] = ()
    """Tasks to make. The list only grows."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            rule="!has(oldSelf.tasks)"
            " || (has(self.tasks) && oldSelf.tasks.all(old, self.tasks.exists(new, new.name == old.name)))",
            message="a task can't be taken out of the list; cancel or delete the AgentTask made from it",
            field_path=".tasks",
            reason="FieldValueForbidden",
        ),
    )


class TaskCounts(Model):
    """How many tasks the run has, and how many in each phase."""

    total: Counter = 0
    """All tasks of the run."""
    pending: Counter = 0
    """Tasks that wait."""
    running: Counter = 0
    """Tasks with an agent at work."""
    succeeded: Counter = 0
    """Tasks that are done."""
    failed: Counter = 0
    """Tasks with no attempt left."""
    cancelled: Counter = 0
    """Tasks that a person cancelled."""
    abandoned: Counter = 0
    """Tasks that their agent gave up."""
    blocked_by_failure: Counter = 0
    """Tasks in the way of which another one failed."""
    blocked_by_abandon: Counter = 0
    """Tasks in the way of which another one was abandoned."""
    quarantined: Counter = 0
    """Tasks that wait for a person's verdict."""
    awaiting_input: Counter = 0
    """Tasks that wait for a person's answer."""


class ReasonCount(Model):
    """How many tasks were given up for one reason."""

    reason: Annotated[str, Field(max_length=32, pattern=r"^[a-z]+(_[a-z]+)*$")]
    """One of the twelve reasons."""
    count: Counter
    """How many."""


class AbandonmentCounts(Model):
    """What is in the run's ledger."""

    total: Counter = 0
    """Rows."""
    by_reason: Annotated[
        tuple[ReasonCount, ...], Field(max_length=16, json_schema_extra=keyed_by("reason"))
    ] = ()
    """Rows by reason."""
    ledger: ObjectName | None = None
    """The ConfigMap with its first rows; each names the next."""


class BernsteinRunStatus(Model):
    """What became of a run so far; written by the operator only."""

    observed_generation: Generation = -1
    """The metadata.generation that the rest was concluded from; -1 until the operator has seen the run."""
    phase: RunPhase = RunPhase.PENDING
    """One word for people and columns, derived from the rest."""
    start_time: Moment | None = None
    """When its first task was admitted."""
    completion_time: Moment | None = None
    """When it came to its end."""
    created_tasks: Annotated[
        tuple[DnsLabel, ...], Field(max_length=MAX_INLINE_TASKS, json_schema_extra=ATOMIC)
    ] = ()
    """Inline tasks whose AgentTask was made; none is made twice."""
    cancel_requested: CancelRequest | None = None
    """Set once a cancel of the run was seen."""
    drain_requested: CancelRequest | None = None
    """Set once a drain of the run was seen."""
    deadline_warned: Moment | None = None
    """When its deadline was told to be near."""
    requests: Annotated[tuple[Request, ...], Field(max_length=KEPT_REQUESTS, json_schema_extra=ATOMIC)] = ()
    """The last ten things that people asked for, oldest first; the latest of each verb stays."""
    abandonments: AbandonmentCounts | None = None
    """What is in its ledger; absent while nothing is."""
    concurrency: ConcurrencyStatus | None = None
    """The ceiling and what is under it."""
    budget: BudgetStatus | None = None
    """What it may cost, has cost, and may yet."""
    warnings: Annotated[
        tuple[Annotated[str, Field(max_length=512)], ...], Field(max_length=10, json_schema_extra=ATOMIC)
    ] = ()
    """What its configuration says and can't be used; each names its source, and the next one was tried."""
    tasks: TaskCounts | None = None
    """How many tasks there are, by phase."""
    conditions: Annotated[
        tuple[Condition, ...], Field(max_length=16, json_schema_extra=keyed_by("type"))
    ] = ()
    """What is so, and since when."""


RUN_RULES: Final = (
    Rule(
        rule=f"!has(oldSelf.status) || !has(oldSelf.status.startTime) || ({unchanged('spec.repository')})",
        message="the repository can't change once a task has started: its commits are in the old one",
        field_path=".spec.repository",
        reason="FieldValueForbidden",
    ),
)
"""Rules that compare parts of the whole object, so they stand at the schema's root."""
