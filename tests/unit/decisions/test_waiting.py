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
from tests.unit.objects import at, effective, pod, profile, run, snapshot, stamp, status, task

NEW = status()
OPEN = Verdict()
ENDED_RUN = run(status={"phase": "Failed"})
WAITS = Verdict(waits_for=("a", "b"), unknown=("b",), until=at(60))
INVALID_PROFILE = profile(adapter="command")
HOLD = {"until": stamp(40), "since": stamp(5), "reason": "RateLimited", "message": "slow down"}
CIRCUIT = {"fingerprint": "f1", "state": "Open", "since": stamp(5), "message": "the key is refused"}


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
    ("ProviderHold", {"profile": profile(status={"hold": HOLD})}),
    ("CircuitOpen", {"profile": profile(status={"circuits": [CIRCUIT]})}),
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


def kept_back(now: float = 10, **told: Any) -> Gate | None:
    seen = snapshot(profile=profile(status=told))
    return first_gate(seen, NEW, effective(), OPEN, now=at(now))


def test_a_hold_is_told_with_its_end_and_before_a_circuit() -> None:
    found = kept_back(hold=HOLD, circuits=[CIRCUIT])
    assert found
    assert (
        found.message
        == "AgentProfile 'default': its provider is let alone until 2026-01-01T12:00:40Z. slow down"
    )
    assert found.until == at(40)


@pytest.mark.parametrize(
    ("now", "shut"), [pytest.param(39.999, True, id="a moment before"), pytest.param(40, False, id="exactly")]
)
def test_a_hold_is_over_exactly_at_its_end(now: float, shut: bool) -> None:
    assert bool(kept_back(now, hold=HOLD)) is shut


def test_an_open_circuit_is_told_with_what_fails_and_when_it_is_probed() -> None:
    found = kept_back(circuits=[CIRCUIT])
    assert found
    assert found.message == (
        "AgentProfile 'default' fails; a task probes it from 2026-01-01T12:05:05Z on. the key is refused"
    )


@pytest.mark.parametrize(
    ("probes", "shut"),
    [
        pytest.param(["t-uid"], False, id="it probes"),
        pytest.param(["u-uid"], True, id="another one does"),
        pytest.param(["t-uid", None], True, id="of two circuits it probes one"),
        pytest.param(["t-uid", "t-uid"], False, id="it probes both"),
    ],
)
def test_only_the_probe_passes_a_circuit(probes: list[str | None], shut: bool) -> None:
    circuits = [
        {**CIRCUIT, "fingerprint": f"f{number}", "state": "HalfOpen", **({"probe": probe} if probe else {})}
        for number, probe in enumerate(probes)
    ]
    assert bool(kept_back(circuits=circuits)) is shut
