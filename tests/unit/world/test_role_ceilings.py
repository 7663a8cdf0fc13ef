"""Ceilings of roles: who is told of them, and when that is over."""

from datetime import timedelta
from typing import Any

import pytest

from bernstein_operator.decisions.admission import Candidate
from bernstein_operator.decisions.task import decide
from tests.unit.objects import attempt, raw_run, status
from tests.unit.world.test_world import RUN, Scene


def scene(**limits: int) -> Scene:
    return Scene(concurrency=spec(limits))


def spec(limits: dict[str, int]) -> dict[str, Any]:
    return {"maxAgents": 5, "maxPerRole": [{"role": role, "max": most} for role, most in limits.items()]}


def wait(at: Scene, name: str, role: str) -> None:
    task = at.put(name, role=role)
    at.world.slots.offer(task, Candidate(task.meta.uid, 2, role, ("", name)))


def test_a_full_role_keeps_its_tasks_waiting_and_others_start() -> None:
    here = scene(backend=1)
    for name, role in (("a", "backend"), ("b", "backend"), ("c", "docs")):
        wait(here, name, role)
    assert here.world.startable(RUN) == 2
    here.world.grant(RUN, free=5)
    assert [here.of(name).has_slot for name in "abc"] == [True, False, True]
    assert (here.of("b").role_limit, here.of("c").role_limit) == (1, None)
    assert here.world.startable(RUN) == 0


def test_a_role_that_all_tasks_have_from_their_run_frees_its_slots_when_the_run_names_another() -> None:
    here = Scene(concurrency=spec({"backend": 1}), taskDefaults={"role": "backend"})
    here.put("a", status=status(attempt(task="a"), phase="Running"))
    wait(here, "b", "backend")
    assert here.world.startable(RUN) == 0
    here.world.put_run(raw_run(version=2, concurrency=spec({"backend": 1}), taskDefaults={"role": "docs"}))
    assert here.world.startable(RUN) == 1


def test_only_who_waits_for_a_role_is_marked_when_it_fills_and_when_it_does_not() -> None:
    here = scene(backend=1)
    for name, role in (("a", "backend"), ("b", "backend"), ("c", "docs")):
        wait(here, name, role)
    here.world.grant(RUN, free=1)
    assert here.marked.tasks >= {"a", "b"}
    here.marked.forget()
    here.world.grant(RUN, free=0)
    assert here.marked.tasks == set(), "nothing is new"
    here.world.put_run(raw_run(version=2, concurrency=spec({"backend": 2})))
    here.marked.forget()
    here.world.grant(RUN, free=0)
    assert (here.marked.tasks, here.of("b").role_limit) == ({"b"}, None)


@pytest.mark.parametrize(
    ("waited", "reason"),
    [
        pytest.param(4.9, None, id="it may be over in a moment"),
        pytest.param(5, "RoleCeiling", id="it isn't"),
    ],
)
def test_a_task_tells_that_its_role_is_full(waited: float, reason: str | None) -> None:
    here = scene(backend=0)
    wait(here, "a", "backend")
    here.world.grant(RUN, free=5)
    here.now += timedelta(seconds=waited)
    decision = decide(here.of("a"), now=here.now)
    told = {one.type: one for one in decision.status.conditions}
    assert (told["Admitted"].reason if told else None) == reason
    assert decision.candidate, "it queues all the same"
    if reason:
        assert "maxPerRole of its run allows 0 live agents of role backend" in told["Admitted"].message
    else:
        assert decision.wake == here.now + timedelta(seconds=5 - waited)
