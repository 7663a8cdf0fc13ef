"""The built-in window and times on a clock that the test turns: down in a minute, back in half an hour."""

from datetime import timedelta
from itertools import pairwise

from bernstein_operator.decisions.run import decide_run
from tests.unit.objects import T0, attempt, status
from tests.unit.world.test_world import RUN, Scene

EVERY_SECONDS = 2
FAIL_FOR_SECONDS = 120
IN_THREE_OF_TEN = frozenset({0, 3, 6})


class Play:
    """A run with an attempt that ends every two seconds, looked at each second."""

    def __init__(self) -> None:
        self.scene = Scene(max_agents=6)
        self.seconds = 0
        self.steps: list[tuple[int, int]] = []
        self._ended = 0

    def go_on(self, *, seconds: int, failing: frozenset[int] = frozenset()) -> None:
        """Let time pass; of each ten attempts those numbers fail."""
        for _ in range(seconds):
            self.seconds += 1
            self.scene.now = T0 + timedelta(seconds=self.seconds)
            if self.seconds % EVERY_SECONDS == 0:
                self._end(failing=self._ended % 10 in failing)
            self._look()

    def _end(self, *, failing: bool) -> None:
        result = "agent" if failing else "success"
        last = attempt(end_time=self.scene.now, result_class=result)
        self.scene.put(f"t{self._ended}", status=status(last, phase="Failed" if failing else "Succeeded"))
        self._ended += 1

    def _look(self) -> None:
        self.scene.put("more")
        decision = decide_run(self.scene.run, now=self.scene.now)
        self.scene.world.roster(RUN).conclude(decision)
        assert decision.status.concurrency
        effective = decision.status.concurrency.effective
        if not self.steps or self.steps[-1][1] != effective:
            self.steps.append((self.seconds, effective))


def test_three_of_ten_fail_for_two_minutes_and_then_none() -> None:
    play = Play()
    play.go_on(seconds=FAIL_FOR_SECONDS, failing=IN_THREE_OF_TEN)
    began = EVERY_SECONDS
    assert play.steps == [(1, 6), *((began + 10 * step, 6 - step) for step in range(1, 6))]

    play.go_on(seconds=1800)
    up = play.steps[6:]
    assert [effective for _, effective in up] == [2, 3, 4, 5, 6]
    assert up[0][0] >= 600 + 120, "the first failures left the window, and the rate was low for two minutes"
    assert {later - sooner for (sooner, _), (later, _) in pairwise(up)} == {120}
