"""Events follow from what is stored: the same list after a restart, each under a name of its own."""

import re
from collections.abc import Iterable
from typing import Any

import pytest

from bernstein_operator.api.choices import Effort
from bernstein_operator.api.objects import RunObject, TaskObject
from bernstein_operator.api.task_status import AgentTaskStatus, Escalation
from bernstein_operator.builders.events import NOTE_LIMIT, Notice, event
from bernstein_operator.builders.run_notices import profile_notices, run_notices
from bernstein_operator.builders.task_notices import task_notices
from tests.unit.objects import Raw, at, attempt, profile, raw_run, raw_task, run, stamp, status, task

FAILED = attempt(
    1, start_time=at(1), end_time=at(9), result_class="agent", reason="NonZeroExit", message="no"
)
DONE = attempt(
    2, intent_time=at(20), start_time=at(21), end_time=at(29), result_class="success", reason="Completed"
)
LATE = attempt(
    1, start_time=at(1), end_time=at(9), result_class="deadline", reason="DeadlineExceeded", message="m"
)


def condition(
    kind: str, value: str = "True", *, message: str = "because", since: float = 3
) -> dict[str, Any]:
    return {
        "type": kind,
        "status": value,
        "reason": "Why",
        "message": message,
        "lastTransitionTime": stamp(since),
        "observedGeneration": 1,
    }


def told(notices: Iterable[Notice]) -> list[tuple[str, float]]:
    return sorted((str(one.reason), (one.at - at(0)).total_seconds()) for one in notices)


@pytest.mark.parametrize(
    ("before", "events"),
    [
        pytest.param(status(), [], id="nothing happened"),
        pytest.param(status(attempt(1)), [], id="an intent"),
        pytest.param(status(attempt(1, start_time=at(1))), [("AttemptStarted", 1)], id="it started"),
        pytest.param(
            status(FAILED, next_attempt_time=at(20)),
            [("AttemptFailed", 9), ("AttemptStarted", 1), ("RetryScheduled", 9)],
            id="it failed and is tried again",
        ),
        pytest.param(
            status(FAILED, phase="Failed"),
            [("AttemptFailed", 9), ("AttemptStarted", 1)],
            id="it failed for good",
        ),
        pytest.param(
            status(FAILED, DONE, phase="Succeeded"),
            [
                ("AttemptFailed", 9),
                ("AttemptStarted", 1),
                ("AttemptStarted", 21),
                ("AttemptSucceeded", 29),
                ("RetryScheduled", 9),
            ],
            id="it failed and then succeeded",
        ),
        pytest.param(
            status(LATE),
            [("AttemptFailed", 9), ("AttemptStarted", 1), ("DeadlineExceeded", 9)],
            id="it was stopped at its timeout",
        ),
        pytest.param(
            status(
                attempt(1, end_time=at(5), result_class="cancelled"), phase="Cancelled", completion_time=at(4)
            ),
            [("Cancelled", 4)],
            id="it was cancelled",
        ),
        pytest.param(
            status(FAILED, phase="Pending", escalation=Escalation(level=1)),
            [("AttemptFailed", 9), ("AttemptStarted", 1), ("Escalated", 9)],
            id="it failed and climbs",
        ),
        pytest.param(
            status(FAILED, attempt(2, level=1), escalation=Escalation(level=1)),
            [("AttemptFailed", 9), ("AttemptStarted", 1), ("Escalated", 9), ("RetryScheduled", 9)],
            id="it failed and has climbed",
        ),
        pytest.param(
            status(FAILED, phase="Pending", escalation=Escalation(memory="2Gi")),
            [("AttemptFailed", 9), ("AttemptStarted", 1), ("Escalated", 9)],
            id="it failed and gets more memory",
        ),
        pytest.param(
            status(attempt(1, start_time=at(1), end_time=at(5), result_class="asked"), phase="AwaitingInput"),
            [("AttemptStarted", 1)],
            id="its agent asked",
        ),
        pytest.param(
            status(
                FAILED.model_copy(update={"level": 2, "memory": "2Gi"}),
                phase="Failed",
                escalation=Escalation(level=2, memory="2Gi"),
            ),
            [("AttemptFailed", 9), ("AttemptStarted", 1)],
            id="it failed where it had climbed to",
        ),
        pytest.param(
            status(FAILED.model_copy(update={"level": 2}), attempt(2, level=0)),
            [("AttemptFailed", 9), ("AttemptStarted", 1), ("RetryScheduled", 9)],
            id="it began anew at the bottom",
        ),
        pytest.param(
            status(phase="BlockedByAbandon", conditions=(condition("Failed"),)),
            [("BlockedByAbandon", 3)],
            id="it was blocked by an abandonment",
        ),
        pytest.param(status(unblocked_time=at(7)), [("Unblocked", 7)], id="it was unblocked"),
        pytest.param(
            status(phase="BlockedByFailure", conditions=(condition("Failed"),)),
            [("BlockedByFailure", 3)],
            id="it was blocked",
        ),
    ],
)
def test_the_events_of_a_task(before: AgentTaskStatus, events: list[tuple[str, float]]) -> None:
    assert told(task_notices(task(status=before))) == events


@pytest.mark.parametrize(
    ("before", "events"),
    [
        pytest.param({}, [], id="nothing happened"),
        pytest.param({"startTime": stamp(1)}, [("RunStarted", 1)], id="it started"),
        pytest.param({"conditions": [condition("Suspended")]}, [("RunPaused", 3)], id="it was paused"),
        pytest.param(
            {"conditions": [condition("Suspended", "False")]}, [("RunResumed", 3)], id="it was resumed"
        ),
        pytest.param(
            {"phase": "Failed", "completionTime": stamp(9), "conditions": [condition("Finished")]},
            [("RunFinished", 9)],
            id="it ended",
        ),
    ],
)
def test_the_events_of_a_run(before: dict[str, Any], events: list[tuple[str, float]]) -> None:
    assert told(run_notices(run(status=before))) == events


def test_a_runs_end_tells_how() -> None:
    of = run(
        status={
            "phase": "Failed",
            "completionTime": stamp(9),
            "conditions": [condition("Finished", message="1 Failed.")],
        }
    )
    (finished,) = run_notices(of)
    assert (finished.note, finished.type) == ("Failed: 1 Failed.", "Warning")


def test_the_same_is_owed_after_a_restart() -> None:
    before = raw_task(status=status(FAILED, DONE, phase="Succeeded"))
    first = TaskObject.parse(before)
    again = TaskObject.parse({**before, "status": first.status.manifest()})
    assert list(task_notices(again)) == list(task_notices(first))
    of = RunObject.parse(raw_run(status={"startTime": stamp(1), "conditions": [condition("Suspended")]}))
    stored = RunObject.parse(raw_run(status=of.status.manifest()))
    assert list(run_notices(stored)) == list(run_notices(of))


def body(notice: Notice, name: str = "t") -> dict[str, Any]:
    return event(notice, kind="AgentTask", meta=task(name).meta, instance="me")


def notices() -> list[Notice]:
    return list(task_notices(task(status=status(FAILED, DONE, phase="Succeeded"))))


def test_an_event_is_one_that_the_api_takes() -> None:
    started = next(one for one in notices() if one.reason == "AttemptStarted")
    found = body(started)
    assert found["metadata"]["namespace"] == "ns"
    assert found["eventTime"] == "2026-01-01T12:00:01.000000Z"
    assert (found["type"], found["reason"], found["action"]) == ("Normal", "AttemptStarted", "Start")
    assert found["reportingController"] == "bernstein.run/operator"
    assert found["regarding"]["uid"] == "t-uid"
    assert found["related"]["kind"] == "Pod"


def test_names_are_made_of_what_is_told() -> None:
    names = [body(one)["metadata"]["name"] for one in notices()]
    assert names == [body(one)["metadata"]["name"] for one in notices()]
    assert len(set(names)) == len(names)
    other = {body(one, "u")["metadata"]["name"] for one in notices()}
    assert other.isdisjoint(names)


@pytest.mark.parametrize("name", ["t", "a" * 253, "a" * 199 + ".b", "a" * 199 + "-b", "x.y"])
def test_names_are_dns_subdomain_names(name: str) -> None:
    found = body(notices()[0], name)["metadata"]["name"]
    assert len(found) <= 253
    assert re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", found)


@pytest.mark.parametrize(
    ("note", "cut"),
    [
        pytest.param("x" * NOTE_LIMIT, False, id="exactly as long as may be"),
        pytest.param("x" * (NOTE_LIMIT + 1), True, id="one byte more"),
        pytest.param("é" * NOTE_LIMIT, True, id="letters of two bytes"),
    ],
)
def test_a_long_note_is_cut_between_letters(note: str, cut: bool) -> None:
    found = body(Notice(notices()[0].reason, at(0), note))["note"]
    assert len(found.encode()) <= NOTE_LIMIT
    assert found.endswith("…") is cut


def test_an_escalation_says_what_the_next_attempt_gets() -> None:
    climbed = Escalation(level=1, model="big", effort=Effort.HIGH, memory="2Gi")
    [found] = [
        one
        for one in task_notices(task(status=status(FAILED, phase="Pending", escalation=climbed)))
        if one.reason == "Escalated"
    ]
    assert found.note == "Attempt 2 gets level 1, model big, effort high, memory 2Gi."
    assert found.pod == FAILED.pod_name


HOLD = {"until": stamp(60), "since": stamp(5), "reason": "RateLimited", "message": "slow down"}
CIRCUIT = {"fingerprint": "f1", "state": "Open", "since": stamp(7), "message": "the key is refused"}


@pytest.mark.parametrize(
    ("says", "owed"),
    [
        pytest.param({}, [], id="nothing is wrong"),
        pytest.param({"hold": HOLD}, [("ProviderHold", 5)], id="a hold"),
        pytest.param({"circuits": [CIRCUIT]}, [("CircuitOpened", 7)], id="a circuit"),
        pytest.param(
            {"circuits": [{**CIRCUIT, "state": "HalfOpen", "probe": "u"}]},
            [("CircuitOpened", 7)],
            id="a probe is no news",
        ),
        pytest.param({"clearedTime": stamp(9)}, [("CircuitClosed", 9)], id="closed"),
        pytest.param(
            {"clearedTime": stamp(9), "circuits": [{**CIRCUIT, "since": stamp(11)}]},
            [("CircuitClosed", 9), ("CircuitOpened", 11)],
            id="closed and open again",
        ),
    ],
)
def test_what_a_profile_owes(says: Raw, owed: list[tuple[str, float]]) -> None:
    assert told(profile_notices(profile(status=says))) == owed


def test_a_hold_says_until_when_and_a_circuit_what_fails() -> None:
    notices = list(profile_notices(profile(status={"hold": HOLD, "circuits": [CIRCUIT]})))
    notes = {str(one.reason): one.note for one in notices}
    assert notes == {
        "ProviderHold": "RateLimited: nothing starts with this profile until 2026-01-01T12:01:00Z. slow down",
        "CircuitOpened": "Tasks of this profile wait: the key is refused",
    }
    assert {one.type for one in notices} == {"Warning"}


def warned(limit: str, *, attempt: int = 1) -> dict[str, Any]:
    return {"attempt": attempt, "limit": limit, "time": at(5), "at": at(30)}


NEAR = status(attempt(1), deadline={"warned": [warned("deadline"), warned("runDeadline")]})
LATE_TASK = status(
    phase="Failed", deadline={"missed_time": at(9)}, conditions=[condition("Failed", message="too late")]
)


@pytest.mark.parametrize(
    ("of", "notes", "document"),
    [
        pytest.param(
            NEAR,
            [
                "Attempt 1: deadline is over at 2026-01-01T12:00:30Z.",
                "Attempt 1: runDeadline is over at 2026-01-01T12:00:30Z.",
            ],
            "task.deadline_warning",
            id="two limits near at once",
        ),
        pytest.param(
            status(deadline={"warned": [warned("deadline", attempt=0)]}),
            ["Before the first attempt: deadline is over at 2026-01-01T12:00:30Z."],
            "task.deadline_warning",
            id="one near before the first attempt",
        ),
        pytest.param(LATE_TASK, ["too late"], "task.deadline_exceeded", id="passed while it waited"),
        pytest.param(status(LATE), ["Attempt 1: m"], "task.deadline_exceeded", id="an attempt was stopped"),
    ],
)
def test_a_deadline_is_told_under_the_documents_name(
    of: AgentTaskStatus, notes: list[str], document: str
) -> None:
    told_of = [one for one in task_notices(task(status=of)) if one.reason.startswith("Deadline")]
    bodies = [body(one) for one in told_of]
    assert [one["note"] for one in bodies] == notes
    assert {one["metadata"]["annotations"]["bernstein.run/event"] for one in bodies} == {document}
    assert len({one["metadata"]["name"] for one in bodies}) == len(notes)


def test_a_runs_deadline_is_told_when_it_is_near_and_when_it_is_there() -> None:
    finished = {**condition("Finished", message="1 Failed."), "reason": "DeadlineExceeded"}
    after = {
        "phase": "Failed",
        "deadlineWarned": stamp(5),
        "completionTime": stamp(9),
        "conditions": [finished],
    }
    found = told(run_notices(run(deadline=stamp(9), status=after)))
    assert found == [("DeadlineExceeded", 9), ("DeadlineWarning", 5), ("RunFinished", 9)]
