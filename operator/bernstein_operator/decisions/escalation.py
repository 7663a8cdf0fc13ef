"""What the next attempt gets more of: effort, then bigger models, and memory where that was too little.

What failed once often succeeds with a bit more effort, and what failed twice rarely does with the same model.
The cheapest rung that may do is tried first; work that is known to be hard starts at the top. The level alone
is counted; what it means is looked up in the profile's ladder as it stands when an attempt begins.
"""

from dataclasses import dataclass
from typing import Final

from bernstein_operator.api.choices import Effort, ScopeSize
from bernstein_operator.api.effective import EffectiveTask
from bernstein_operator.api.profile import AgentProfileSpec
from bernstein_operator.api.task_status import Attempt, Escalation
from bernstein_operator.decisions.memory import grown, memory_limit, raised
from bernstein_operator.decisions.retry import Climb

HARD_ROLES: Final = frozenset({"architect", "security"})
"""Roles whose work starts at the top of the ladder."""
_EFFORTS: Final = tuple(Effort)
_HIGH_LEVEL: Final = 2
"""From this level on effort is high; each further one is a bigger model."""


@dataclass(frozen=True, slots=True)
class Means:
    """What an attempt works with; ``model`` and ``memory`` are None where nothing but the usual is said."""

    level: int
    model: str | None
    effort: Effort
    memory: str | None = None


def means(escalation: Escalation | None, task: EffectiveTask, profile: AgentProfileSpec | None) -> Means:
    """Return what an attempt that begins now works with."""
    level = escalation.level if escalation else 0
    memory = escalation.memory if escalation else None
    return Means(
        level=level,
        model=_model(level, task, profile),
        effort=_effort(level, task, profile),
        memory=raised(memory, profile) if profile else memory,
    )


def climbed(
    before: Escalation | None,
    climb: Climb,
    task: EffectiveTask,
    profile: AgentProfileSpec | None,
) -> Escalation | None:
    """Return where a task stands after a failure that climbs as ``climb`` says; ``before`` where none does.

    Without the profile, which may be deleted for a while, no amount of memory can be computed.
    """
    stood = before or Escalation()
    memory = _more_memory(stood, profile) if climb is Climb.MEMORY else stood.memory
    level = _next_level(stood.level, climb, task, profile)
    if (level, memory) == (stood.level, stood.memory):
        return before
    after = Escalation(level=level, memory=memory)
    got = means(after, task, profile)
    return after.model_copy(update={"model": got.model, "effort": got.effort})


def in_words(given: Escalation | Attempt) -> str:
    """Return what an attempt works with, for people."""
    said = {"level": given.level, "model": given.model, "effort": given.effort, "memory": given.memory}
    return ", ".join(f"{name} {value}" for name, value in said.items() if value)


def _next_level(level: int, climb: Climb, task: EffectiveTask, profile: AgentProfileSpec | None) -> int:
    match climb:
        case Climb.STEP:
            return level + 1
        case Climb.TOP:
            steps = len(_ladder(task, profile)) - 1 - _first_rung(task, profile)
            return max(level + 1, _HIGH_LEVEL, steps + 1)
        case Climb.NONE | Climb.MEMORY:
            return level


def _more_memory(stood: Escalation, profile: AgentProfileSpec | None) -> str | None:
    if not (profile and profile.memory_growth):
        return stood.memory
    limit = raised(stood.memory, profile) or memory_limit(profile.pod.resources)
    return raised(grown(limit, profile.memory_growth), profile)


def _model(level: int, task: EffectiveTask, profile: AgentProfileSpec | None) -> str | None:
    ladder = _ladder(task, profile)
    if not ladder:
        return None
    # Level 1 is more effort with the same model.
    rung = _first_rung(task, profile) + max(0, level - 1)
    return ladder[min(rung, len(ladder) - 1)]


def _effort(level: int, task: EffectiveTask, profile: AgentProfileSpec | None) -> Effort:
    wanted = _EFFORTS.index(task.effort)
    high = max(wanted, _EFFORTS.index(Effort.HIGH))
    if level >= _HIGH_LEVEL or _starts_at_the_top(task):
        wanted = high
    elif level:
        wanted = min(wanted + 1, high)
    most = profile.max_effort if profile and profile.max_effort else Effort.MAX
    return _EFFORTS[min(wanted, _EFFORTS.index(most))]


def _ladder(task: EffectiveTask, profile: AgentProfileSpec | None) -> tuple[str, ...]:
    """Return the models to climb, cheapest first: a pinned one is all there is."""
    if task.model:
        return (task.model,)
    return tuple(one.name for one in profile.models) if profile else ()


def _first_rung(task: EffectiveTask, profile: AgentProfileSpec | None) -> int:
    return max(0, len(_ladder(task, profile)) - 1) if _starts_at_the_top(task) else 0


def _starts_at_the_top(task: EffectiveTask) -> bool:
    return task.scope is ScopeSize.LARGE or task.role in HARD_ROLES
