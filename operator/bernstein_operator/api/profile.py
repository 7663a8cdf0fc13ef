"""AgentProfile: what an agent is, written by the platform's administrator.

Image, credentials and the Pod's shape are here and nowhere else. Whoever may only write runs and tasks can
choose among profiles and so borrows no Secret, node or image that the administrator didn't offer.
"""

from enum import StrEnum
from typing import Annotated, ClassVar, Final, Self

from pydantic import Field, model_validator

from bernstein_operator.api.base import (
    ATOMIC,
    Generation,
    Labels,
    Message,
    Model,
    Moment,
    ObjectName,
    Quantity,
    Rule,
    Uid,
    keyed_by,
)
from bernstein_operator.api.choices import CircuitState, Effort, Metering
from bernstein_operator.api.conditions import Condition
from bernstein_operator.api.money import Money
from bernstein_operator.api.task import ModelName

_ENV_NAME: Final = r"^[A-Za-z_][A-Za-z0-9_]*$"
_SECRET_KEY: Final = r"^[-._a-zA-Z0-9]+$"  # noqa: S105
_ONE_LINE: Final = r"^[^<>\x00-\x1f]+$"
_ONE_VALUE: Final = "set exactly one of value and valueFrom"
_OWN_NAMES: Final = "HOME, TMPDIR and names that begin with BERNSTEIN_ are the operator's own"
_COMMAND_IFF: Final = "command belongs to adapter command, and adapter command needs it"


class Adapter(StrEnum):
    """The kind of program that does the work."""

    COMMAND = "command"
    """Any program: command.args is run with the prompt in its environment."""
    SCRIPT = "script"
    """A scripted agent for tests and demos: the prompt says what it does."""


class ImagePullPolicy(StrEnum):
    """As on a container."""

    ALWAYS = "Always"
    IF_NOT_PRESENT = "IfNotPresent"
    NEVER = "Never"


class Command(Model):
    """The program that adapter ``command`` runs."""

    args: Annotated[
        tuple[Annotated[str, Field(max_length=4096)], ...],
        Field(min_length=1, max_length=64, json_schema_extra=ATOMIC),
    ]
    """Program and arguments, no shell in between."""
    resume_args: Annotated[
        tuple[Annotated[str, Field(max_length=4096)], ...],
        Field(max_length=64, json_schema_extra=ATOMIC),
    ] = ()
    """Program and arguments that go on with the session; {session_id} stands for it. Without them an agent
    that ended can't be told anything."""
    session_id_path: Annotated[str, Field(max_length=256)] | None = None
    """Where a JSON line of its output holds the session's name, as fields with dots between them."""


class SecretKeyRef(Model):
    """One key of a Secret of the same namespace."""

    name: ObjectName
    """metadata.name of the Secret."""
    key: Annotated[str, Field(min_length=1, max_length=253, pattern=_SECRET_KEY)]
    """The key inside it."""


class EnvVarSource(Model):
    """Where a value comes from."""

    secret_key_ref: SecretKeyRef
    """A key of a Secret."""


class EnvVar(Model):
    """A variable of the agent's environment."""

    name: Annotated[str, Field(min_length=1, max_length=253, pattern=_ENV_NAME)]
    """Letters, digits and underscores."""
    value: Annotated[str, Field(max_length=8192)] | None = None
    """The value itself."""
    value_from: EnvVarSource | None = None
    """Where the value is."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(rule="has(self.value) != has(self.valueFrom)", message=_ONE_VALUE, field_path=".value"),
        Rule(
            rule="!(self.name in ['HOME', 'TMPDIR']) && !self.name.startsWith('BERNSTEIN_')",
            message=_OWN_NAMES,
            field_path=".name",
            reason="FieldValueForbidden",
        ),
    )

    @model_validator(mode="after")
    def _one_value(self) -> Self:
        if (self.value is None) == (self.value_from is None):
            raise ValueError(_ONE_VALUE)
        if self.name in ("HOME", "TMPDIR") or self.name.startswith("BERNSTEIN_"):
            raise ValueError(_OWN_NAMES)
        return self


class ImagePullSecret(Model):
    """A Secret of type kubernetes.io/dockerconfigjson in the same namespace."""

    name: ObjectName
    """metadata.name of the Secret."""


class GitIdentity(Model):
    """Who the commits are by."""

    author_name: Annotated[str, Field(min_length=1, max_length=128, pattern=_ONE_LINE)] = "Bernstein Agent"
    """user.name of git."""
    author_email: Annotated[str, Field(min_length=1, max_length=254, pattern=_ONE_LINE)] = (
        "agent@bernstein.run"
    )
    """user.email of git."""


class Resources(Model):
    """What the agent container asks for and may use at most."""

    requests: Annotated[dict[str, Quantity], Field(max_length=16)] | None = None
    """By resource name: cpu, memory, ephemeral-storage…"""
    limits: Annotated[dict[str, Quantity], Field(max_length=16)] | None = None
    """By resource name."""


class Medium(StrEnum):
    """Where a workspace lives."""

    DISK = "Disk"
    """On the node's disk."""
    MEMORY = "Memory"
    """In memory, counted against the container's limit."""


class Workspace(Model):
    """The volume that holds the clone and the agent's home."""

    size: Quantity | None = None
    """The kubelet evicts the Pod above it."""
    medium: Medium = Medium.DISK
    """Disk or Memory."""


class TolerationOperator(StrEnum):
    """As on a Pod."""

    EQUAL = "Equal"
    EXISTS = "Exists"


class TaintEffect(StrEnum):
    """As on a node."""

    NO_SCHEDULE = "NoSchedule"
    PREFER_NO_SCHEDULE = "PreferNoSchedule"
    NO_EXECUTE = "NoExecute"


class Toleration(Model):
    """As on a Pod."""

    key: Annotated[str, Field(max_length=317)] | None = None
    """The taint's key; without it (and with operator Exists) every key."""
    operator: TolerationOperator | None = None
    """Equal (as without it) or Exists."""
    value: Annotated[str, Field(max_length=63)] | None = None
    """The taint's value, for operator Equal."""
    effect: TaintEffect | None = None
    """The taint's effect; without it every effect."""
    toleration_seconds: Annotated[int, Field(ge=0, le=2**31 - 1)] | None = None
    """How long a NoExecute taint is borne."""


class PodShape(Model):
    """What the agent's Pod looks like, as far as it isn't fixed."""

    resources: Resources = Resources()
    """Requests and limits of the agent container."""
    workspace: Workspace = Workspace()
    """The volume at /workspace."""
    node_selector: Labels | None = None
    """Labels that the node must have."""
    tolerations: Annotated[tuple[Toleration, ...], Field(max_length=32, json_schema_extra=ATOMIC)] = ()
    """Taints that the Pod bears."""


class Prices(Model):
    """What a million tokens of a model cost, in US dollars."""

    input_usd: Money
    """Sent to the model."""
    output_usd: Money
    """Received from it."""
    cached_usd: Money | None = None
    """Sent, and cached by the provider. Without it as inputUsd."""


class ProfileModel(Model):
    """A model of the profile's ladder."""

    name: ModelName
    """As the adapter's program knows it."""
    prices: Prices | None = None
    """What a million tokens cost; used where the program tells tokens and no costs."""


class MemoryGrowth(Model):
    """How an attempt after an out-of-memory kill gets more memory."""

    percent: Annotated[int, Field(ge=101, le=1000)] = 150
    """Of the memory limit before."""
    max: Quantity
    """The memory limit never gets above it."""


class AgentProfileSpec(Model):
    """What an agent is."""

    adapter: Adapter
    """The kind of program that does the work."""
    command: Command | None = None
    """The program, for adapter command."""
    image: Annotated[str, Field(min_length=1, max_length=512, pattern=r"^[^\s]+$")] | None = None
    """The agent container's image; needs git and Python 3.11. Without it the operator's own agent image."""
    image_pull_policy: ImagePullPolicy | None = None
    """As on a container."""
    image_pull_secrets: Annotated[
        tuple[ImagePullSecret, ...], Field(max_length=16, json_schema_extra=keyed_by("name"))
    ] = ()
    """Secrets to pull the image with."""
    env: Annotated[tuple[EnvVar, ...], Field(max_length=64, json_schema_extra=keyed_by("name"))] = ()
    """The agent's environment."""
    models: Annotated[tuple[ProfileModel, ...], Field(max_length=16, json_schema_extra=keyed_by("name"))] = ()
    """The ladder, cheapest first: retries climb it."""
    max_effort: Effort | None = None
    """No attempt is told to make more effort."""
    memory_growth: MemoryGrowth | None = None
    """Without it an attempt after an out-of-memory kill gets the same memory."""
    metering: Metering | None = None
    """When what it spends is known: turn, end or none. Built-in: none for adapter command, else turn."""
    git: GitIdentity = GitIdentity()
    """Who the commits are by."""
    pod: PodShape = PodShape()
    """What the Pod looks like."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            rule="(self.adapter == 'command') == has(self.command)",
            message=_COMMAND_IFF,
            field_path=".command",
        ),
    )

    @model_validator(mode="after")
    def _command_for_its_adapter(self) -> Self:
        if (self.adapter == Adapter.COMMAND) != (self.command is not None):
            raise ValueError(_COMMAND_IFF)
        return self


MAX_CIRCUITS: Final = 10
Fingerprint = Annotated[str, Field(max_length=32, pattern=r"^[0-9a-f]+$")]


class Hold(Model):
    """That nothing starts with the profile for a while."""

    until: Moment
    """When it is over."""
    since: Moment
    """When the attempt ended that heard of it."""
    reason: Annotated[str, Field(max_length=128)]
    """Why, as one CamelCase word."""
    message: Message = ""
    """Why, for people."""


class Circuit(Model):
    """That the profile fails in one and the same way."""

    fingerprint: Fingerprint
    """Of the failure."""
    state: CircuitState
    """Open: nothing starts. HalfOpen: one task probes."""
    since: Moment
    """When it was opened, or opened again."""
    message: Message = ""
    """The failure, for people."""
    probe: Uid | None = None
    """UID of the AgentTask that probes."""


class AgentProfileStatus(Model):
    """What keeps the profile's tasks from starting; written by the operator, absent while nothing does."""

    observed_generation: Generation = -1
    """The metadata.generation that the rest was concluded from."""
    hold: Hold | None = None
    """Set while a provider has asked for less."""
    circuits: Annotated[
        tuple[Circuit, ...], Field(max_length=MAX_CIRCUITS, json_schema_extra=keyed_by("fingerprint"))
    ] = ()
    """Failures that keep the profile's tasks back."""
    cleared_time: Moment | None = None
    """When a circuit was last closed: failures of attempts that began before don't count any more."""
    conditions: Annotated[
        tuple[Condition, ...], Field(max_length=16, json_schema_extra=keyed_by("type"))
    ] = ()
    """What is so, and since when."""
