"""Agents that really fail, three in ten of them: the ceiling goes down step by step, and comes back."""

from itertools import count

from e2e.scenarios.cast import profile, script, steady_run
from e2e.scenarios.readings import Readings
from tests.support.builders import make_task
from tests.support.kube import Kube, eventually
from tests.support.pods import live_pods
from tests.support.timeline import phase

CEILING = 3
PATIENCE_SECONDS = 120.0
IN_THREE_OF_TEN = frozenset({0, 3, 6})
QUEUE = 5
"""So many tasks are always unfinished, so that agents end one after the other."""


class Agents:
    """Keeps the run's queue filled, and looks at its ceiling meanwhile."""

    def __init__(self, kube: Kube) -> None:
        self._kube = kube
        self._numbers = count()
        self.seen: list[int] = []

    def until(self, wanted: int, *, failing: frozenset[int]) -> list[int]:
        """Have agents work, ``failing`` of each ten badly, until the ceiling is that; return its steps."""
        self.seen = []
        eventually(
            lambda: self._look(failing) == wanted, what=f"the ceiling {wanted}", timeout=PATIENCE_SECONDS
        )
        return self.seen

    def _look(self, failing: frozenset[int]) -> int:
        tasks = self._kube.items("agenttasks")
        for _ in range(QUEUE - sum(phase(task) not in ("Succeeded", "Failed") for task in tasks)):
            self._begin(next(self._numbers), failing)
        shown = self._kube.get("bernsteinruns", "r").get("status", {}).get("concurrency", {})
        level = int(shown.get("effective", CEILING))
        if self.seen[-1:] != [level]:
            self.seen.append(level)
        return level

    def _begin(self, number: int, failing: frozenset[int]) -> None:
        lines = ("sleep 1", "fail 3") if number % 10 in failing else ("sleep 1",)
        self._kube.apply(make_task(f"t{number}", prompt=script(*lines), retry={"limit": 0}))


def changes(readings: Readings, direction: str) -> float:
    """Return how often failures have moved any run's ceiling in that direction."""
    return readings.count("bernstein_ceiling_changes_total", direction=direction, reason="error_rate")


def told_of(kube: Kube) -> list[str]:
    """Return the reasons of the events about the run's ceiling, in their order."""
    reasons = [line.partition(":")[0] for line in kube.events_of("r")]
    return [reason for reason in reasons if reason.startswith("Ceiling")]


def test_failing_agents_lower_the_ceiling_and_it_comes_back_once_they_are_forgotten(
    kube: Kube, readings: Readings
) -> None:
    before = {direction: changes(readings, direction) for direction in ("down", "up")}
    adaptive = {"windowSeconds": 15, "raiseAfterSeconds": 1}
    kube.apply(profile())
    kube.apply(steady_run(open=True, concurrency={"maxAgents": CEILING, "adaptive": adaptive}))
    agents = Agents(kube)

    assert agents.until(1, failing=IN_THREE_OF_TEN) == [3, 2, 1]
    of_run = {"namespace": kube.namespace, "run": "r"}
    eventually(lambda: readings.value("bernstein_parallelism_level", **of_run) == 1, what="the level 1")
    eventually(lambda: len(live_pods(kube)) <= 1, what="that no more than one agent works")

    assert agents.until(CEILING, failing=frozenset()) == [1, 2, 3]
    eventually(lambda: readings.value("bernstein_parallelism_level", **of_run) == CEILING, what="the level 3")
    eventually(lambda: len(live_pods(kube)) == CEILING, what="three agents at work again")
    assert {direction: changes(readings, direction) - before[direction] for direction in before} == {
        "down": 2,
        "up": 2,
    }
    moves = ["CeilingLowered"] * 2 + ["CeilingRaised"] * 2
    eventually(lambda: told_of(kube) == moves, what="an event of each step")
