"""Which gate a waiting task hears of: each by itself, and each before all that follow it."""

from dataclasses import replace
from typing import Any

import pytest

from bernstein_operator.api.effective import EffectiveTask
from bernstein_operator.api.snapshot import Sighting, TaskSnapshot
from bernstein_operator.api.task_status import AgentTaskStatus
from bernstein_operator.api.vocabulary import RunPhase
from bernstein_operator.decisions.dependencies import Verdict
from bernstein_operator.decisions.waiting import Gate, first_gate, invalid_gate
from tests.unit.objects import at, effective, pod, profile, run, snapshot, status, task

NEW = status()
OPEN = Verdict()
ENDED_RUN = run(status={"phase": "Failed"})
WAITS = Verdict(waits_for=("a", "b"), unknown=("b",), until=at(60))
INVALID_PROFILE = profile(adapter="command")


def gate(
    seen: TaskSnapshot,
    *,
    before: AgentTaskStatus = NEW,
    spec: EffectiveTask | None = None,
    verdict: Verdict = OPEN,
) -> Gate | None:
    return first_gate(seen, before, spec or effective(), verdict, now=at(10))


SHUT: list[tuple[str, dict[str, Any]]] = [
    ("RunNotFound", {"run": None}),
    ("InvalidGraph", {"cycle": ("t", "u")}),
    ("RunEnded", {"run": ENDED_RUN}),
    ("DependencyPending", {"verdict": WAITS}),
    ("Suspended", {"spec": effective(suspend=True)}),
    ("BackingOff", {"before": status(next_attempt_time=at(11))}),
    ("ProfileNotFound", {"profile": None}),
]
"""Each gate with what shuts it, in the order in which they are told."""


def told(*shut: dict[str, Any]) -> str | None:
    facts = {key: value for one in shut for key, value in one.items()}
    asked = {key: facts.pop(key) for key in ("verdict", "spec", "before") if key in facts}
    found = gate(replace(snapshot(), **facts), **asked)
    return found.reason if found else None


@pytest.mark.parametrize(("reason", "facts"), SHUT, ids=[reason for reason, _ in SHUT])
def test_each_gate_alone_is_told(reason: str, facts: dict[str, Any]) -> None:
    assert told(facts) == reason


@pytest.mark.parametrize("place", range(len(SHUT)), ids=[reason for reason, _ in SHUT])
def test_each_gate_is_told_before_all_that_follow(place: int) -> None:
    reason, facts = SHUT[place]
    # A run can't be missing and ended, so the later of the two says nothing beside the earlier.
    following = [other for _, other in SHUT[place + 1 :] if other.keys() != facts.keys()]
    assert told(*following, facts) == reason


def test_a_task_with_every_gate_open_waits_for_a_slot_only() -> None:
    assert gate(snapshot()) is None


@pytest.mark.parametrize(
    ("seconds", "shut"),
    [pytest.param(10.001, True, id="a moment before"), pytest.param(10, False, id="exactly at its time")],
)
def test_backing_off_is_over_exactly_at_its_time(seconds: float, shut: bool) -> None:
    found = gate(snapshot(), before=status(next_attempt_time=at(seconds)))
    assert bool(found) is shut
    if found:
        assert found.until == at(seconds)


@pytest.mark.parametrize(
    ("sighting", "shut"),
    [
        pytest.param(Sighting(pod(phase="Running")), True, id="it runs"),
        pytest.param(Sighting(pod(phase="Running", deleted=5)), True, id="it is terminating"),
        pytest.param(Sighting(pod(phase="Failed")), False, id="it ended"),
        pytest.param(Sighting(pod(phase="Running"), gone=True), False, id="it is gone"),
    ],
)
def test_no_attempt_starts_beside_the_previous_ones_pod(sighting: Sighting, shut: bool) -> None:
    assert bool(gate(snapshot(sightings=(sighting,)))) is shut


@pytest.mark.parametrize("phase", [RunPhase.SUCCEEDED, RunPhase.FAILED, RunPhase.CANCELLED])
def test_nothing_starts_in_a_run_that_ended(phase: RunPhase) -> None:
    found = gate(snapshot(run=run(status={"phase": phase})))
    assert found
    assert phase in found.message


@pytest.mark.parametrize("phase", [RunPhase.PENDING, RunPhase.RUNNING, RunPhase.PAUSED, RunPhase.DRAINING])
def test_a_run_that_goes_on_shuts_no_gate(phase: RunPhase) -> None:
    assert gate(snapshot(run=run(status={"phase": phase}))) is None


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        pytest.param({"cycle": ("a", "b")}, "a → b → a", id="a cycle names its members"),
        pytest.param({"run": None}, "'r'", id="a missing run is named"),
        pytest.param({"profile": None}, "'default'", id="a missing profile is named"),
        pytest.param({"profile": INVALID_PROFILE}, "command", id="an invalid profile says why"),
    ],
)
def test_what_people_read(facts: dict[str, Any], words: str) -> None:
    found = gate(snapshot(**facts))
    assert found
    assert words in found.message


def test_dependencies_are_named_and_unknown_ones_apart() -> None:
    found = gate(snapshot(), verdict=WAITS)
    assert found
    assert found.message == "Waits for a, b. No task of the run is called b yet."
    assert found.until == at(60)


@pytest.mark.parametrize(
    ("seen", "words"),
    [
        pytest.param(snapshot(task(priority=0)), "spec.priority", id="a field out of bounds"),
        pytest.param(snapshot(task(status={"attempt": -1})), "status.attempt", id="a status out of bounds"),
        pytest.param(snapshot(name_taken_by="older"), "spec.name", id="a name that an older task has"),
    ],
)
def test_an_invalid_task_names_the_field(seen: TaskSnapshot, words: str) -> None:
    found = invalid_gate(seen)
    assert found
    assert found.reason == "InvalidSpec"
    assert words in found.message


def test_a_plain_task_is_valid() -> None:
    assert invalid_gate(snapshot()) is None


@pytest.mark.parametrize(
    ("owner", "text"),
    [
        pytest.param("", "There is no BernsteinRun 'r'.", id="it only names its run"),
        pytest.param(
            "another", "There is no BernsteinRun 'r' that owns this task.", id="another run has the name"
        ),
    ],
)
def test_which_run_is_missing(owner: str, text: str) -> None:
    found = gate(snapshot(task(owner=owner), run=None))
    assert found
    assert found.message == text
