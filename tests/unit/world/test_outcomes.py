"""Which finished attempts of a run are in its window: each once, for as long as it is young enough."""

from datetime import timedelta

import pytest

from bernstein_operator.api.concurrency import ConcurrencyStatus
from bernstein_operator.api.objects import TaskObject
from bernstein_operator.api.run import BernsteinRunStatus
from bernstein_operator.api.snapshot import OutcomeWindow
from bernstein_operator.decisions.plan import RunDecision
from bernstein_operator.world.outcomes import Outcomes
from tests.unit.objects import RUN_UID, at, attempt, raw_run, status, task
from tests.unit.world.test_world import RUN, Scene

SPAN = timedelta(seconds=600)
REDUCED = ConcurrencyStatus(reduction=3)


def ended(name: str, /, *ends: tuple[float, str]) -> TaskObject:
    """Return a task with attempts that ended at these seconds with these results."""
    attempts = [
        attempt(number, end_time=at(second), result_class=result)
        for number, (second, result) in enumerate(ends, start=1)
    ]
    return task(name, status=status(*attempts))


def window(outcomes: Outcomes, now: float, *tasks: TaskObject, span: timedelta = SPAN) -> OutcomeWindow:
    return outcomes.window(span, tasks=tasks, now=at(now))


@pytest.mark.parametrize(
    ("now", "total", "errors"),
    [
        pytest.param(100, 1, 1, id="in the moment of its end"),
        pytest.param(700, 1, 1, id="exactly windowSeconds later"),
        pytest.param(700.001, 0, 0, id="a moment later still"),
    ],
)
def test_an_attempt_counts_for_the_length_of_the_window(now: float, total: int, errors: int) -> None:
    outcomes = Outcomes()
    outcomes.put(ended("t", (100, "agent")))
    found = window(outcomes, now)
    assert (found.total, found.errors) == (total, errors)


def test_an_attempt_counts_once_however_often_its_task_is_heard_of() -> None:
    outcomes, seen = Outcomes(), ended("t", (10, "agent"), (20, "success"))
    for _ in range(3):
        outcomes.put(seen)
    assert window(outcomes, 30) == OutcomeWindow(total=2, errors=1, newest=at(20))
    assert window(outcomes, 615) == OutcomeWindow(total=1, errors=0, newest=at(20))
    outcomes.put(seen)
    assert window(outcomes, 615).total == 1, "one that is too old doesn't come back"


def test_attempts_of_one_number_are_told_apart_by_their_tasks() -> None:
    outcomes = Outcomes()
    outcomes.put(ended("a", (10, "agent")))
    outcomes.put(ended("b", (10, "agent")))
    assert window(outcomes, 20).total == 2


def test_what_has_not_ended_is_no_outcome() -> None:
    outcomes = Outcomes()
    outcomes.put(task(status=status(attempt(1))))
    assert window(outcomes, 20) == OutcomeWindow()


@pytest.mark.parametrize(
    ("result", "errors"),
    [("agent", 1), ("capacity", 1), ("oom", 1), ("success", 0), ("disruption", 0), ("cancelled", 0)],
)
def test_every_result_counts_and_only_some_are_errors(result: str, errors: int) -> None:
    outcomes = Outcomes()
    outcomes.put(ended("t", (10, result)))
    found = window(outcomes, 20)
    assert (found.total, found.errors) == (1, errors)


def test_a_window_that_became_longer_is_filled_again_from_what_is_there() -> None:
    outcomes, old = Outcomes(), ended("t", (10, "agent"))
    outcomes.put(old)
    assert window(outcomes, 1000, old).total == 0
    assert window(outcomes, 1000, old, span=timedelta(seconds=2000)).total == 1


def test_an_end_ahead_of_the_clock_is_no_news_yet() -> None:
    outcomes = Outcomes()
    outcomes.put(ended("t", (10, "agent"), (90, "agent")))
    assert window(outcomes, 50).newest == at(10)
    assert window(outcomes, 90).newest == at(90)


def test_a_run_knows_the_ends_of_its_tasks_and_keeps_those_of_deleted_ones() -> None:
    scene = Scene()
    scene.put("t", status=status(attempt(end_time=at(0), result_class="agent"), phase="Failed"))
    assert (scene.run.outcomes.total, scene.run.outcomes.errors) == (1, 1)
    deleted = scene.world.task(("ns", "t"))
    assert deleted
    scene.world.drop_task(deleted.meta)
    assert scene.run.outcomes.total == 1
    scene.now += timedelta(seconds=601)
    assert scene.run.outcomes.total == 0


def test_another_run_of_the_same_name_begins_anew() -> None:
    scene = Scene()
    scene.put("t", owner=RUN_UID, status=status(attempt(end_time=at(0), result_class="agent")))
    scene.world.roster(RUN).conclude(RunDecision(BernsteinRunStatus(concurrency=REDUCED), evaluated=at(1)))
    assert (scene.run.ceiling, scene.run.evaluated, scene.run.outcomes.total) == (REDUCED, at(1), 1)
    scene.world.put_run(raw_run(version=9, metadata={"uid": "another"}))
    assert (scene.run.ceiling, scene.run.evaluated, scene.run.outcomes.total) == (None, None, 0)
