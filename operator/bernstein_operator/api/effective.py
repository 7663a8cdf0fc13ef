"""What holds for a task once the three levels are laid over each other: task, run, built-in.

This is the only place that knows the built-in values. Decisions and builders read an ``EffectiveTask`` and
never ask where a value came from.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from types import MappingProxyType
from typing import Final, TypeVar

from bernstein_agent.contract import BudgetMode
from bernstein_operator.api.budget import TaskBudget
from bernstein_operator.api.choices import AfterDeadline, Effects, Effort, OnExhausted, ScopeSize
from bernstein_operator.api.money import Money
from bernstein_operator.api.task import Acceptance, AgentTaskSpec, RetryPolicy, TaskDefaults

DEFAULT_ROLE: Final = "auto"
DEFAULT_PRIORITY: Final = 2
DEFAULT_SCOPE: Final = ScopeSize.MEDIUM
DEFAULT_DEPENDENCY_TIMEOUT_SECONDS: Final = 3600
DEFAULT_PROFILE: Final = "default"
DEFAULT_START_TIMEOUT_SECONDS: Final = 600
DEFAULT_TIMEOUT_SECONDS: Final[Mapping[ScopeSize, int]] = MappingProxyType(
    {ScopeSize.SMALL: 900, ScopeSize.MEDIUM: 1800, ScopeSize.LARGE: 3600}
)
DEFAULT_RETRY_LIMIT: Final = 2
DEFAULT_BACKOFF_SECONDS: Final = 30
DEFAULT_MAX_BACKOFF_SECONDS: Final = 300
DEFAULT_DISRUPTION_LIMIT: Final = 3
DEFAULT_DEADLINE_WARNING_SECONDS: Final = 300
DEFAULT_INPUT_TIMEOUT_SECONDS: Final = 86_400
DEFAULT_EFFORT: Final = Effort.MEDIUM
DEFAULT_ESSENTIAL: Final = True

_T = TypeVar("_T")
_NOTHING: Final = TaskDefaults()
_NO_RETRY_SAID: Final = RetryPolicy()
_NO_BUDGET_SAID: Final = TaskBudget()


@dataclass(frozen=True, slots=True)
class EffectiveRetry:
    """A retry policy with nothing left open."""

    limit: int
    backoff_seconds: int
    max_backoff_seconds: int
    disruption_limit: int = DEFAULT_DISRUPTION_LIMIT
    after_deadline: AfterDeadline = AfterDeadline.FRESH
    on_exhausted: OnExhausted = OnExhausted.FAIL


@dataclass(frozen=True, slots=True)
class EffectiveBudget:
    """A task's budget with nothing left open; None is unbounded, never 0."""

    usd: Money | None = None
    tokens: int | None = None
    steps: int | None = None
    tool_calls: int | None = None
    mode: BudgetMode = BudgetMode.GRACEFUL
    on_exhausted: OnExhausted = OnExhausted.FAIL


@dataclass(frozen=True, slots=True)
class EffectiveTask:
    """A task with nothing left open. ``depends_on`` names each dependency once, in the author's order.

    ``model`` is None unless the task or its run pins one; the profile's ladder says which it is then.
    """

    run: str
    name: str
    title: str
    role: str
    prompt: str
    priority: int
    scope: ScopeSize
    depends_on: tuple[str, ...]
    dependency_timeout_seconds: int
    profile: str
    timeout_seconds: int
    start_timeout_seconds: int
    retry: EffectiveRetry
    suspend: bool
    deadline: datetime | None = None
    deadline_warning_seconds: int = DEFAULT_DEADLINE_WARNING_SECONDS
    input_timeout_seconds: int = DEFAULT_INPUT_TIMEOUT_SECONDS
    model: str | None = None
    effort: Effort = DEFAULT_EFFORT
    effects: Effects = Effects.REPOSITORY
    essential: bool = True
    budget: EffectiveBudget = EffectiveBudget()
    allow_no_change: bool = False


def effective(spec: AgentTaskSpec, defaults: TaskDefaults | None, *, object_name: str) -> EffectiveTask:
    """Resolve ``spec`` against its run's ``defaults`` and the built-in values.

    ``object_name`` is the AgentTask's metadata.name, which stands in for a name that the spec doesn't give.
    """
    run = defaults or _NOTHING
    name = spec.name or object_name
    scope = _first(spec.scope, run.scope, DEFAULT_SCOPE)
    return EffectiveTask(
        run=spec.run_ref.name,
        name=name,
        title=spec.title or name,
        role=_first(spec.role, run.role, DEFAULT_ROLE),
        prompt=spec.prompt,
        priority=_first(spec.priority, run.priority, DEFAULT_PRIORITY),
        scope=scope,
        depends_on=tuple(dict.fromkeys(spec.depends_on)),
        dependency_timeout_seconds=_first(
            spec.dependency_timeout_seconds,
            run.dependency_timeout_seconds,
            DEFAULT_DEPENDENCY_TIMEOUT_SECONDS,
        ),
        profile=_first(spec.profile, run.profile, DEFAULT_PROFILE),
        timeout_seconds=_first(spec.timeout_seconds, run.timeout_seconds, DEFAULT_TIMEOUT_SECONDS[scope]),
        start_timeout_seconds=_first(
            spec.start_timeout_seconds, run.start_timeout_seconds, DEFAULT_START_TIMEOUT_SECONDS
        ),
        retry=_retry(spec.retry or _NO_RETRY_SAID, run.retry or _NO_RETRY_SAID),
        suspend=spec.suspend,
        deadline=spec.deadline,
        deadline_warning_seconds=_first(
            spec.deadline_warning_seconds, run.deadline_warning_seconds, DEFAULT_DEADLINE_WARNING_SECONDS
        ),
        input_timeout_seconds=_first(
            spec.input_timeout_seconds, run.input_timeout_seconds, DEFAULT_INPUT_TIMEOUT_SECONDS
        ),
        model=spec.model or run.model,
        effort=_first(spec.effort, run.effort, DEFAULT_EFFORT),
        effects=_first(spec.effects, run.effects, Effects.REPOSITORY),
        essential=_first(spec.essential, run.essential, DEFAULT_ESSENTIAL),
        budget=_budget(spec.budget or _NO_BUDGET_SAID, run.budget or _NO_BUDGET_SAID),
        allow_no_change=_allow_no_change(spec.acceptance, run.acceptance),
    )


def _retry(task: RetryPolicy, run: RetryPolicy) -> EffectiveRetry:
    backoff = _first(task.backoff_seconds, run.backoff_seconds, DEFAULT_BACKOFF_SECONDS)
    longest_unasked = max(DEFAULT_MAX_BACKOFF_SECONDS, backoff)
    return EffectiveRetry(
        limit=_first(task.limit, run.limit, DEFAULT_RETRY_LIMIT),
        backoff_seconds=backoff,
        max_backoff_seconds=_first(task.max_backoff_seconds, run.max_backoff_seconds, longest_unasked),
        disruption_limit=_first(task.disruption_limit, run.disruption_limit, DEFAULT_DISRUPTION_LIMIT),
        after_deadline=_first(task.after_deadline, run.after_deadline, AfterDeadline.FRESH),
        on_exhausted=_first(task.on_exhausted, run.on_exhausted, OnExhausted.FAIL),
    )


def _budget(task: TaskBudget, run: TaskBudget) -> EffectiveBudget:
    mode = _first(task.mode, run.mode, BudgetMode.GRACEFUL)
    unsaid = OnExhausted.AWAIT_INPUT if mode is BudgetMode.HARD else OnExhausted.FAIL
    usd = _first(task.usd, run.usd, Money())
    return EffectiveBudget(
        usd=usd if usd.micros else None,
        tokens=_first(task.tokens, run.tokens, 0) or None,
        steps=_first(task.steps, run.steps, 0) or None,
        tool_calls=_first(task.tool_calls, run.tool_calls, 0) or None,
        mode=mode,
        on_exhausted=_first(task.on_exhausted, run.on_exhausted, unsaid),
    )


def _allow_no_change(task: Acceptance | None, run: Acceptance | None) -> bool:
    said = (one.allow_no_change if one else None for one in (task, run))
    return next((one for one in said if one is not None), False)


def _first(task: _T | None, run: _T | None, built_in: _T) -> _T:
    if task is not None:
        return task
    return built_in if run is None else run
