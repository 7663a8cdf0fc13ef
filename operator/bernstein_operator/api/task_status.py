"""AgentTask.status: what became of a task so far, enough for a restart at any moment to go on from."""

from typing import Annotated, Final

from pydantic import Field

from bernstein_operator.api.base import (
    ATOMIC,
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
    Quantity,
    Uid,
    Wait,
    Word,
    keyed_by,
)
from bernstein_operator.api.budget import Tokens
from bernstein_operator.api.choices import CommandVerb, Effort, LimitKind
from bernstein_operator.api.conditions import Condition
from bernstein_operator.api.money import Money
from bernstein_operator.api.task import ModelName
from bernstein_operator.api.vocabulary import BlockCause, TaskPhase

MAX_DETAIL: Final = 32_768
KEPT_ATTEMPTS: Final = 10
KEPT_REQUESTS: Final = 10
UNKNOWN_ACTOR: Final = "unknown"
"""Where the cluster can't tell who asked."""

Actor = Annotated[str, Field(max_length=253)]


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
    estimated_usd: Money | None = None
    """The part of costUsd that nobody reported, and that was estimated."""


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
    level: Counter | None = None
    """How far up its profile's ladder it is, 0 where the task began."""
    model: ModelName | None = None
    """The model it was told to use."""
    effort: Effort | None = None
    """The effort it was told to make."""
    memory: Quantity | None = None
    """Its agent container's memory limit, where out-of-memory kills made it more than the profile's."""
    fingerprint: Annotated[str | None, Field(max_length=32, pattern=r"^[0-9a-f]+$")] = None
    """Equal for two attempts that failed in the same way."""
    retry_after_seconds: Wait | None = None
    """How long the provider asked to be left alone."""
    reservation_usd: Money | None = None
    """What it was taken to cost when it was admitted; counts against the run's budget until its end."""
    reservation_tokens: Tokens | None = None
    """How many tokens it was taken to use when it was admitted, where its run has a limit of them."""
    cap_usd: Money | None = None
    """What its agent may spend at most; absent where that is unbounded."""
    cap_tokens: Tokens | None = None
    """How many tokens its agent may use at most; absent where that is unbounded."""
    finish_percent: Annotated[int, Field(ge=0, le=100)] | None = None
    """How much of its task's budget was left when its agent was given its final turn."""
    suggested_model: ModelName | None = None
    """A cheaper model, where it was stopped with nothing left of its task's budget."""
    gated_until: Moment | None = None
    """Until when its Pod's scheduling gates held it, or may hold it at most; the start clock begins there."""


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


class Abandonment(Model):
    """That a task was given up, by whom, and why."""

    reason: Annotated[str, Field(max_length=32, pattern=r"^[a-z]+(_[a-z]+)*$")]
    """One of the twelve reasons."""
    detail: Annotated[str, Field(max_length=MAX_DETAIL)] = ""
    """The same in the words of whoever gave it up."""
    actor: Actor
    """agent, operator, or the user's name; unknown where the cluster can't tell."""
    time: Moment
    """When."""


class Request(Model):
    """Something that a person asked for by annotation, and what came of it."""

    verb: CommandVerb
    """What was asked."""
    value: Annotated[str, Field(max_length=256)] = ""
    """The annotation's value, cut."""
    actor: Actor = UNKNOWN_ACTOR
    """The user's name; unknown where the cluster can't tell."""
    time: Moment
    """When the operator first saw it."""
    effect: Annotated[str, Field(max_length=256)]
    """What came of it, for people."""


class LimitWarning(Model):
    """That a limit of an attempt was told to be near."""

    attempt: Counter
    """The attempt's number; 0 before the first."""
    limit: LimitKind
    """Which limit."""
    time: Moment
    """When it was told."""
    at: Moment
    """When the limit is reached."""


class DeadlineStatus(Model):
    """What a task's deadline is at present."""

    effective: Moment | None = None
    """The moment that holds: spec.deadline, or a later one that was granted after it was missed."""
    basis: Moment | None = None
    """The spec.deadline that it was concluded from."""
    missed_time: Moment | None = None
    """When the task was given up because a deadline had passed while no attempt was open."""
    warned: Annotated[tuple[LimitWarning, ...], Field(max_length=8, json_schema_extra=ATOMIC)] = ()
    """Warnings of the latest attempt and of the one before."""


class Escalation(Model):
    """How far up its profile's ladder a task has come."""

    level: Counter = 0
    """0 as it began, then one more for each failure that escalates; a missed limit leads to the top."""
    model: ModelName | None = None
    """The model of the next attempt."""
    effort: Effort | None = None
    """The effort of the next attempt."""
    memory: Quantity | None = None
    """The memory limit of the next attempt, where it was raised."""


class Continuation(Model):
    """That an agent which ended without a commit was told so and went on; once in a task's life."""

    attempt: Annotated[int, Field(ge=1, le=1_000_000)]
    """The attempt in which it was."""
    time: Moment
    """When it was allowed to."""
    session_id: Annotated[str, Field(max_length=256)] = ""
    """The session that it went on with, in its program's words."""


class Question(Model):
    """What a task needs an answer to."""

    text: Annotated[str, Field(max_length=8192)]
    """The question."""
    time: Moment
    """When it was asked."""
    deadline: Moment
    """The task fails where nobody has answered by then."""


class Answer(Model):
    """What a person answered; the next attempt's prompt holds it."""

    text: Annotated[str, Field(max_length=8192)]
    """The answer."""
    actor: Actor = UNKNOWN_ACTOR
    """Who answered; unknown where the cluster can't tell."""
    time: Moment
    """When the operator first saw it."""


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
    same_failures: Counter = 0
    """Attempts in a row, up to the latest, that failed in the very same way."""
    escalation: Escalation | None = None
    """Set once a failure has made the task climb."""
    deadline: DeadlineStatus | None = None
    """What of its limits has to be remembered."""
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
    unblocked_time: Moment | None = None
    """When it was last found to be blocked no more."""
    cancel_requested: CancelRequest | None = None
    """Set once a cancel of the task was seen."""
    abandonment: Abandonment | None = None
    """Set in the phase Abandoned."""
    continuation: Continuation | None = None
    """Set once an agent of the task was told that it had left no commit."""
    question: Question | None = None
    """Set in the phase AwaitingInput, and afterwards beside its answer."""
    answer: Answer | None = None
    """What a person last answered to question."""
    retried_time: Moment | None = None
    """When a person's retry last gave it a fresh start."""
    requests: Annotated[tuple[Request, ...], Field(max_length=KEPT_REQUESTS, json_schema_extra=ATOMIC)] = ()
    """The last ten things that people asked for, oldest first; the latest of each verb stays."""
    summary: Message | None = None
    """The agent's last word."""
    conditions: Annotated[
        tuple[Condition, ...], Field(max_length=16, json_schema_extra=keyed_by("type"))
    ] = ()
    """What is so, and since when."""
