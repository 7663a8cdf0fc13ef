"""What runs and tasks may cost: the spec's side and the status'."""

from typing import Annotated, ClassVar, Final, Self

from pydantic import Field, model_validator

from bernstein_agent.contract import BudgetMode
from bernstein_operator.api.base import Counter, Model, Moment, Rule, Wait, keyed_by
from bernstein_operator.api.choices import BudgetBand, BudgetUnit, CapSource, OnExhausted
from bernstein_operator.api.money import Money

_BANDS: Final = "warnPercent can't be more than criticalPercent"

Tokens = Annotated[int, Field(ge=0, le=2**53)]


class RunBudget(Model):
    """What all tasks of a run may cost together."""

    usd: Money | None = None
    """US dollars. Absent, or 0: as far as this field is concerned, unlimited."""
    tokens: Tokens | None = None
    """Input and output tokens, cached ones left out. Absent, or 0: unlimited."""
    warn_percent: Annotated[int, Field(ge=1, le=100)] | None = None
    """From here on it is said. Built-in: 80."""
    critical_percent: Annotated[int, Field(ge=1, le=100)] | None = None
    """From here on only essential tasks start. Built-in: 95."""
    stop_grace_seconds: Wait | None = None
    """How long live agents may take to finish once it is used up. Built-in: 30."""
    estimate_per_attempt_usd: Money | None = None
    """What an attempt is taken to cost before any of its scope has ended. Without it the operator's own
    setting, 1.00."""

    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            rule="!has(self.warnPercent) || !has(self.criticalPercent)"
            " || self.warnPercent <= self.criticalPercent",
            message=_BANDS,
            field_path=".warnPercent",
        ),
    )

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        warn, critical = self.warn_percent, self.critical_percent
        if warn is not None and critical is not None and warn > critical:
            raise ValueError(_BANDS)
        return self


class TaskBudget(Model):
    """What one task may use up; usd and tokens in its whole life, steps and toolCalls in each attempt."""

    usd: Money | None = None
    """US dollars. Absent, or 0: unbounded."""
    tokens: Tokens | None = None
    """Input and output tokens, cached ones left out. Absent, or 0: unbounded."""
    steps: Annotated[int, Field(ge=0, le=1_000_000)] | None = None
    """Turns of the agent. Absent, or 0: unbounded."""
    tool_calls: Annotated[int, Field(ge=0, le=1_000_000)] | None = None
    """Calls of tools. Absent, or 0: unbounded."""
    mode: BudgetMode | None = None
    """How the agent meets the end. Built-in: graceful-finish-on-low."""
    on_exhausted: OnExhausted | None = None
    """Fail, AwaitInput or Abandon, once it is used up. Built-in: Fail, in mode hard-stop-on-zero
    AwaitInput."""


class ReachedBand(Model):
    """That a run has reached a band."""

    band: BudgetBand
    """Which."""
    time: Moment
    """When."""


class BudgetStatus(Model):
    """What a run may cost, has cost, and may yet."""

    cap_usd: Money | None = None
    """What it may cost; absent where that is unlimited."""
    source: CapSource = CapSource.UNLIMITED
    """Who said so."""
    spent_usd: Money = Money()
    """What its attempts have cost, as far as was reported; it never falls."""
    carried_usd: Money = Money()
    """The part of it that deleted tasks have spent."""
    estimated_usd: Money = Money()
    """The part of it that nobody reported, and that was estimated."""
    in_flight_usd: Money = Money()
    """The part of it that live attempts have reported and that their tasks' statuses don't tell yet."""
    reserved_usd: Money = Money()
    """What live attempts may yet cost beyond what they have reported."""
    remaining_usd: Money | None = None
    """What is left of the cap, at least 0; absent where that is unlimited."""
    cap_tokens: Tokens | None = None
    """Tokens that it may use; absent where that is unlimited."""
    tokens: Tokens = 0
    """Tokens that its attempts have used; it never falls."""
    carried_tokens: Tokens = 0
    """The part of it that deleted tasks have used."""
    in_flight_tokens: Tokens = 0
    """The part of it that live attempts have reported and that their tasks' statuses don't tell yet."""
    percent: Counter = 0
    """How much of the nearer cap is used up, rounded down; 0 where there is none."""
    limiting: BudgetUnit | None = None
    """Which cap is the nearer one; absent where there is none."""
    band: BudgetBand = BudgetBand.NONE
    """The highest band that it has reached."""
    should_stop: bool = False
    """True once nothing is left."""
    stop_time: Moment | None = None
    """When nothing was left: stopGraceSeconds count from here."""
    reached: Annotated[tuple[ReachedBand, ...], Field(max_length=3, json_schema_extra=keyed_by("band"))] = ()
    """Bands reached under the present cap, each told once."""
    overridden_time: Moment | None = None
    """When a source that comes before the spec first allowed more than spec.budget.usd."""
    rearmed_time: Moment | None = None
    """When a higher cap last put it below a band that it had reached."""
