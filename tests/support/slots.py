"""How well a run's slots were used while there was work for them.

A ceiling that is never exceeded is easy to have by starting nothing. The other half of the promise is that a
freed slot is filled: over the moments at which a task was queued, how many of the slot-seconds that could
have been used were used? A moment offers as many slots as the ceiling, or as live and queued tasks together
would fill if that is less.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.support.invariants import Limits, shown_ceiling
from tests.support.timeline import Observation, World, in_order, owner_uid, phase, run_key

QUEUED_REASONS = frozenset({None, "Queued"})


@dataclass(frozen=True)
class SlotUsage:
    """Slot-seconds that were used and offered while work was queued."""

    used: float
    offered: float

    @property
    def share(self) -> float:
        """The used share, 1.0 if nothing was ever queued."""
        return self.used / self.offered if self.offered else 1.0


def slot_usage(
    observations: Iterable[Observation],
    *,
    run: str,
    start: float,
    end: float,
    limits: Limits,
    excluded: Sequence[tuple[float, float]] = (),
) -> SlotUsage:
    """Return the usage of the slots of ``run`` (namespace/name) between two moments.

    ``excluded`` are intervals that don't count, such as those without an operator.
    """
    world, used, offered, since = World(), 0.0, 0.0, start
    # A watch may deliver a little late, never early: by time of arrival no moment is judged on the future.
    for seen in sorted(in_order(observations), key=lambda entry: entry.time):
        seconds = _counted(since, min(seen.time, end), excluded)
        taken, wanted = _demand(world, run, limits) if seconds else (0, 0)
        used, offered = used + taken * seconds, offered + wanted * seconds
        since = max(since, min(seen.time, end))
        world.apply(seen)
    seconds = _counted(since, end, excluded)
    taken, wanted = _demand(world, run, limits) if seconds else (0, 0)
    return SlotUsage(used + taken * seconds, offered + wanted * seconds)


def _demand(world: World, run: str, limits: Limits) -> tuple[int, int]:
    """Return (slots used, slots offered) at one moment; (0, 0) while nothing is queued."""
    if run not in world.runs:
        return 0, 0
    live = world.live_of_run(run)
    owners = {owner_uid(pod) for pod in live}
    queued = sum(
        run_key(task) == run and uid not in owners and _is_queued(task) for uid, task in world.tasks.items()
    )
    if not queued:
        return 0, 0
    ceiling = shown_ceiling(world.runs[run], limits)
    return min(len(live), ceiling), min(ceiling, len(live) + queued)


def _is_queued(task: Mapping[str, Any]) -> bool:
    if phase(task) != "Pending" or task["spec"].get("suspend"):
        return False
    conditions = task.get("status", {}).get("conditions", ())
    reason = next((entry.get("reason") for entry in conditions if entry["type"] == "Admitted"), None)
    return reason in QUEUED_REASONS


def _counted(start: float, end: float, excluded: Sequence[tuple[float, float]]) -> float:
    lost = sum(max(0.0, min(end, to) - max(start, at)) for at, to in excluded)
    return max(0.0, end - start - lost)
