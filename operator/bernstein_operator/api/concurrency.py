"""How many agents of a run may be live, and what moves that number: the spec's side and the status'."""

from typing import Annotated, ClassVar, Final, Self

from pydantic import Field, model_validator

from bernstein_operator.api.base import Counter, DnsLabel, Message, Model, Moment, Rule, Word, keyed_by

MAX_AGENTS: Final = 1000
_ERROR_RATES: Final = "errorRateLowPercent can't be more than errorRateHighPercent"

AgentCount = Annotated[int, Field(ge=0, le=MAX_AGENTS)]
Percent = Annotated[int, Field(ge=0, le=100)]


class AdaptiveCeiling(Model):
    """When failures lower the ceiling, and when it rises again."""

    enabled: bool | None = None
    """False: failures don't move the ceiling. Built-in: true."""
    error_rate_high_percent: Percent | None = None
    """The ceiling drops by 1 above this share of failed attempts. Built-in: 20."""
    error_rate_low_percent: Percent | None = None
    """It rises by 1 after raiseAfterSeconds below this share. Built-in: 5."""
    window_seconds: Annotated[int, Field(ge=1, le=86_400)] | None = None
    """An attempt counts for so long after its end. Built-in: 600."""
    raise_after_seconds: Annotated[int, Field(ge=1, le=86_400)] | None = None
    """How long the share has to stay low before each rise. Built-in: 120."""
    minimum_samples: Annotated[int, Field(ge=1, le=1000)] | None = None
    """With fewer attempts in the window the ceiling doesn't drop. Built-in: 1."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            rule="!has(self.errorRateLowPercent) || !has(self.errorRateHighPercent)"
            " || self.errorRateLowPercent <= self.errorRateHighPercent",
            message=_ERROR_RATES,
            field_path=".errorRateLowPercent",
        ),
    )

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        low, high = self.error_rate_low_percent, self.error_rate_high_percent
        if low is not None and high is not None and low > high:
            raise ValueError(_ERROR_RATES)
        return self


class SpawningPause(Model):
    """Above which load of its nodes a run starts nothing."""

    node_cpu_percent: Annotated[int, Field(ge=1, le=100)] | None = None
    """Mean CPU use of the nodes, of what they can give to Pods. Built-in: 90."""
    node_load_percent: Annotated[int, Field(ge=1, le=100_000)] | None = None
    """Mean load average for each CPU, 100 being one runnable process; acts where the operator has a load
    source. Built-in: 300."""
    resume_margin_percent: Annotated[int, Field(ge=0, le=100)] | None = None
    """Spawning goes on below the threshold less this. Built-in: 5."""
    samples: Annotated[int, Field(ge=1, le=100)] | None = None
    """So many readings in a row above a threshold pause spawning. Built-in: 2."""


class RoleLimit(Model):
    """How many agents of one role may be live."""

    role: DnsLabel
    """The role."""
    max: AgentCount
    """At most so many at once; 0 starts none."""


class RunConcurrency(Model):
    """How many agents may be live at once."""

    max_agents: AgentCount | None = None
    """The run's ceiling; 0 starts nothing. Built-in: 6, and never above the operator's own limit."""
    adaptive: AdaptiveCeiling = AdaptiveCeiling()
    """How failures move the ceiling."""
    pause: SpawningPause = SpawningPause()
    """How busy nodes pause the run."""
    max_per_role: Annotated[
        tuple[RoleLimit, ...], Field(max_length=64, json_schema_extra=keyed_by("role"))
    ] = ()
    """Ceilings of single roles below the run's."""


class ConcurrencyStatus(Model):
    """The ceiling and what is under it."""

    configured: AgentCount = 0
    """What spec, its ConfigMap and the operator allow."""
    effective: AgentCount = 0
    """What is allowed now: configured less reduction, at least 1; 0 where configured is 0 or while spawning
    is paused."""
    reduction: AgentCount = 0
    """By how much failures have lowered it; kept when the configured ceiling changes."""
    live: Counter = 0
    """Agent Pods that aren't over, and attempts whose Pod isn't confirmed yet."""
    reason: Word | None = None
    """Why effective is less than configured."""
    message: Message | None = None
    """The same for people."""
    last_lowered_time: Moment | None = None
    """When failures last lowered it: what ended before counts against it no further."""
    last_raised_time: Moment | None = None
    """When it last rose."""
    low_error_since: Moment | None = None
    """Since when the share of failures has been low; it rises raiseAfterSeconds later."""
    paused_since: Moment | None = None
    """Since when busy nodes have paused spawning."""
    resumed_time: Moment | None = None
    """When spawning last went on."""
    held_before_pause: AgentCount | None = None
    """The ceiling that it had then and comes back to."""
