"""How Pods are brought to their end: asked, then removed, then removed by force."""

from typing import Any

import pytest

from bernstein_operator.api.pod import Pod
from bernstein_operator.api.snapshot import Sighting
from bernstein_operator.decisions.plan import Action, DeletePod, StopPod
from bernstein_operator.decisions.stopping import clear_away, keep_limits
from tests.unit.objects import at, attempt, effective, pod, running, snapshot, status, task, terminated

SPEC = effective(timeoutSeconds=60, startTimeoutSeconds=600)


def on(
    now: float, seen: Pod, *, phase: str = "Running", gone_since: float | None = None
) -> tuple[Action, ...]:
    facts: dict[str, Any] = {} if gone_since is None else {"run_gone_since": at(gone_since), "run": None}
    before = status(attempt(), phase=phase)
    return keep_limits(before, seen, snapshot(task(), seen, **facts), SPEC, now=at(now)).actions


def live(**options: Any) -> Pod:
    return pod(**{"phase": "Running", "agent": running(10), **options})


@pytest.mark.parametrize(
    ("now", "stop"),
    [
        pytest.param(69.999, None, id="a moment before its timeout"),
        pytest.param(70, "deadline", id="exactly at its timeout"),
        pytest.param(500, "deadline", id="long after, as when the operator was away"),
    ],
)
def test_an_agent_is_asked_to_stop_at_its_timeout(now: float, stop: str | None) -> None:
    assert on(now, live()) == ((StopPod(live(), stop),) if stop else ())


def test_a_pod_that_has_not_started_is_not_stopped_for_its_timeout() -> None:
    assert on(70, pod()) == ()


def test_the_next_look_is_at_the_limit() -> None:
    ending = keep_limits(status(attempt()), live(), snapshot(task(), live()), SPEC, now=at(20))
    assert at(70) in ending.moments


def test_a_cancelled_agent_is_asked_to_stop_at_once() -> None:
    assert on(20, live(), phase="Cancelled") == (StopPod(live(), "Cancelled"),)


@pytest.mark.parametrize(
    ("now", "stopped"),
    [pytest.param(64.999, False, id="within the grace"), pytest.param(65, True, id="exactly at its end")],
)
def test_agents_of_a_deleted_run_are_stopped_after_a_grace(now: float, stopped: bool) -> None:
    assert on(now, live(), gone_since=5) == ((StopPod(live(), "RunGone"),) if stopped else ())


@pytest.mark.parametrize(
    ("now", "seen", "action"),
    [
        pytest.param(100, live(stop="deadline", stopped=70), None, id="asked, within its grace"),
        pytest.param(
            139.999, live(stop="deadline", stopped=70), None, id="asked, a moment before it is lost"
        ),
        pytest.param(140, live(stop="deadline", stopped=70), "delete", id="asked, and lost"),
        pytest.param(71, live(stop="deadline", stopped=70, node=""), "delete", id="asked, and on no node"),
        pytest.param(100, live(deleted=80), None, id="terminating, within its time"),
        pytest.param(139.999, live(deleted=80), None, id="terminating, a moment before it is lost"),
        pytest.param(140, live(deleted=80), "force", id="terminating, and lost"),
        pytest.param(100, live(stop="deadline"), "delete", id="asked, and the moment was damaged"),
    ],
)
def test_a_pod_that_was_told_to_end_is_urged_once_it_is_lost(
    now: float, seen: Pod, action: str | None
) -> None:
    wanted = {None: (), "delete": (DeletePod(seen),), "force": (DeletePod(seen, force=True),)}
    assert on(now, seen) == wanted[action]


@pytest.mark.parametrize(
    ("now", "forced"),
    [
        pytest.param(169.999, False, id="left to its node"),
        pytest.param(170, True, id="no longer"),
    ],
)
@pytest.mark.parametrize("of_attempt", [True, False], ids=["the open attempt's Pod", "a stray"])
def test_a_pod_that_its_node_may_end_yet_is_looked_at_again(
    now: float, forced: bool, of_attempt: bool
) -> None:
    seen = live(deleted=80)
    left = snapshot(task(), sightings=(Sighting(seen, left_until=at(170)),))
    if of_attempt:
        ending = keep_limits(status(attempt()), seen, left, SPEC, now=at(now))
    else:
        ending = clear_away(status(attempt(end_time=at(50))), left, now=at(now))
    assert ending.actions == ((DeletePod(seen, force=True),) if forced else ())
    assert forced or at(170) in ending.moments


@pytest.mark.parametrize(
    ("seen", "action"),
    [
        pytest.param(live(name="late"), "delete", id="one that turned up late"),
        pytest.param(pod(name="late", node=""), "delete", id="one that no node has"),
        pytest.param(live(name="late", agent=terminated(end=90)), "stop", id="one that outlives its agent"),
        pytest.param(live(name="late", agent=terminated(end=91)), None, id="one whose agent has just ended"),
        pytest.param(live(name="late", deleted=500), None, id="one that is being deleted"),
        pytest.param(pod(name="late", phase="Failed"), None, id="one that ended"),
        pytest.param(live(), None, id="the open attempt's own"),
    ],
)
def test_pods_of_no_open_attempt_are_cleared_away(seen: Pod, action: str | None) -> None:
    ending = clear_away(status(attempt()), snapshot(task(), seen), now=at(100))
    wanted = {None: (), "delete": (DeletePod(seen),), "stop": (StopPod(seen, "Completed"),)}
    assert ending.actions == wanted[action]


def test_the_last_attempts_pod_is_a_stray_once_it_is_closed() -> None:
    closed = status(attempt(end_time=at(50)))
    assert clear_away(closed, snapshot(task(), live()), now=at(100)).actions == (DeletePod(live()),)


def test_a_pod_that_is_gone_is_left_alone() -> None:
    seen = snapshot(task(), live(name="late"))
    gone = snapshot(task(), sightings=tuple(type(one)(one.pod, gone=True) for one in seen.sightings))
    assert clear_away(status(), gone, now=at(100)).actions == ()
