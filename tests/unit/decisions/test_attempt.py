"""An attempt from its intent to its end, and what is on record of it."""

from typing import Any

import pytest

from bernstein_agent.contract import ResultClass
from bernstein_operator.api.pod import Pod
from bernstein_operator.api.snapshot import Sighting
from bernstein_operator.api.task_status import AgentTaskStatus, Attempt, Escalation
from bernstein_operator.decisions.attempt import (
    begin,
    close,
    confirm,
    find_end,
    open_attempt,
    rolled_back,
    waiting_text,
)
from bernstein_operator.decisions.outcome import Outcome
from tests.unit.objects import (
    COMMIT_A,
    COMMIT_B,
    at,
    attempt,
    bounds,
    effective,
    name_of_pod,
    pod,
    profile,
    running,
    said,
    status,
    task,
    terminated,
    waiting,
)

NEW = status()
SPEC = effective(startTimeoutSeconds=100, timeoutSeconds=60)
PROFILE = profile(models=[{"name": "small"}, {"name": "big"}], memoryGrowth={"max": "4Gi"}).spec
BOUNDS = bounds(startTimeoutSeconds=100, timeoutSeconds=60)


def begun(before: AgentTaskStatus = NEW, *, now: float = 5) -> AgentTaskStatus:
    return begin(task(status=before), SPEC, profile=PROFILE, now=at(now))


def test_an_intent_names_the_pod_before_it_exists() -> None:
    after = begun()
    given: dict[str, Any] = {"level": 0, "model": "small", "effort": "medium"}
    assert after.attempts == (attempt(1, intent_time=at(5), profile="default", **given),)
    assert (after.attempt, after.first_admitted_time) == (1, at(5))


def test_a_further_attempt_counts_on_and_ends_the_backing_off() -> None:
    before = status(attempt(1, end_time=at(1)), first_admitted_time=at(0), next_attempt_time=at(4))
    after = begun(before)
    assert [one.number for one in after.attempts] == [1, 2]
    assert (after.attempt, after.first_admitted_time, after.next_attempt_time) == (2, at(0), None)


@pytest.mark.parametrize(
    ("climbed", "level", "model", "effort", "memory"),
    [
        pytest.param(None, 0, "small", "medium", None, id="nothing has failed"),
        pytest.param(Escalation(level=1), 1, "small", "high", None, id="more effort"),
        pytest.param(Escalation(level=2), 2, "big", "high", None, id="a bigger model"),
        pytest.param(Escalation(memory="2Gi"), 0, "small", "medium", "2Gi", id="more memory"),
    ],
)
def test_an_attempt_records_what_it_is_given(
    climbed: Escalation | None, level: int, model: str, effort: str, memory: str | None
) -> None:
    last = begun(status(escalation=climbed)).attempts[-1]
    assert (last.level, last.model, last.effort, last.memory) == (level, model, effort, memory)


def test_the_last_ten_attempts_are_kept() -> None:
    before = status(*(attempt(one, end_time=at(one)) for one in range(1, 11)))
    after = begun(before)
    assert [one.number for one in after.attempts] == list(range(2, 12))


@pytest.mark.parametrize(
    "before",
    [NEW, status(attempt(1, end_time=at(1)), first_admitted_time=at(0))],
    ids=["the first attempt", "a further attempt"],
)
def test_a_refused_attempt_leaves_no_trace(before: AgentTaskStatus) -> None:
    assert rolled_back(begun(before)) == before


@pytest.mark.parametrize(
    ("before", "is_open"),
    [
        pytest.param(status(), False, id="none yet"),
        pytest.param(status(attempt()), True, id="one that has begun"),
        pytest.param(status(attempt(end_time=at(1))), False, id="one that has ended"),
        pytest.param(status(attempt(1, end_time=at(1)), attempt(2)), True, id="the second has begun"),
    ],
)
def test_which_attempt_is_open(before: AgentTaskStatus, is_open: bool) -> None:
    assert bool(open_attempt(before)) is is_open


def test_a_pod_confirms_its_attempt() -> None:
    seen = pod(uid="p-uid", node="n1", phase="Running", agent=running(3))
    confirmed = confirm(status(attempt()), seen).attempts[-1]
    assert (confirmed.pod_uid, confirmed.node, confirmed.start_time) == ("p-uid", "n1", at(3))


def test_what_an_evicted_pod_forgot_stays_on_record() -> None:
    known = status(attempt(pod_uid="p-uid", node="n1", start_time=at(3)))
    evicted = pod(uid="p-uid", node="", phase="Failed", reason="Evicted")
    kept = confirm(known, evicted).attempts[-1]
    assert (kept.node, kept.start_time) == ("n1", at(3))


def test_a_closed_attempt_tells_everything() -> None:
    message = said(
        name_of_pod(),
        head_before=COMMIT_A,
        head_after=COMMIT_B,
        branch="b/r/t",
        summary="did it",
        message="fine",
    )
    seen = pod(phase="Succeeded", agent=terminated(0, start=3, end=9, message=message))
    found = find_end(attempt(), Sighting(seen), bounds=BOUNDS, has_repository=True, now=at(20))
    assert found
    closed = close(status(attempt()), found.outcome, found.pod)
    last = closed.attempts[-1]
    assert (last.end_time, last.exit_code, last.result_class, last.reason) == (
        at(9),
        0,
        "success",
        "Completed",
    )
    assert (last.head_before, last.head_after, last.branch) == (COMMIT_A, COMMIT_B, "b/r/t")
    assert (closed.summary, last.message, last.fingerprint) == ("did it", "fine", None)


def test_an_end_without_a_result_keeps_the_earlier_summary_and_spend() -> None:
    before = status(attempt(), summary="earlier")
    outcome = Outcome(ResultClass.AGENT, "ResultMissing", "m" * 5000, 1, at(9), None)
    closed = close(before, outcome, None)
    assert (closed.summary, closed.usage) == ("earlier", None)
    assert len(closed.attempts[-1].message or "") == 1024


def test_a_failed_attempt_keeps_its_fingerprint_and_how_long_the_provider_wants_to_be_left_alone() -> None:
    def closed(number: int, **said_so: Any) -> Attempt:
        message = said(name_of_pod(number), attempt=number, **said_so)
        seen = pod(number, phase="Failed", agent=terminated(1, message=message))
        found = find_end(attempt(number), Sighting(seen), bounds=BOUNDS, has_repository=False, now=at(20))
        assert found
        return close(status(attempt(number)), found.outcome, found.pod).attempts[-1]

    limited = {"result_class": "capacity", "reason": "RateLimited", "retry_after_seconds": 30}
    first = closed(1, message="limit reached at 12:00:01", **limited)
    assert first.retry_after_seconds == 30
    assert first.fingerprint == closed(2, message="limit reached at 13:30:59", **limited).fingerprint
    assert first.fingerprint != closed(2, result_class="agent", message="limit reached").fingerprint


def end(seen: Pod | None, *, gone: bool = False, now: float = 20, **known: Any) -> str | None:
    sighting = Sighting(seen, gone=gone) if seen else None
    found = find_end(attempt(**known), sighting, bounds=BOUNDS, has_repository=False, now=at(now))
    return f"{found.outcome.result_class} {found.outcome.reason}" if found else None


@pytest.mark.parametrize(
    ("found", "wanted"),
    [
        pytest.param(end(None), None, id="not seen yet"),
        pytest.param(end(None, pod_uid="p"), "disruption PodDeleted", id="confirmed and missing"),
        pytest.param(end(pod(), gone=True), "disruption PodDeleted", id="seen and gone"),
        pytest.param(end(pod()), None, id="it waits"),
        pytest.param(end(pod(phase="Running", agent=running())), None, id="it runs"),
        pytest.param(
            end(pod(phase="Running", agent=terminated(1))),
            "agent ResultMissing",
            id="its agent ended in a Pod that runs on",
        ),
        pytest.param(end(pod(agent=waiting("ErrImagePull"))), None, id="a pull that may work yet"),
        pytest.param(end(pod(agent=waiting("ImagePullBackOff"))), None, id="a pull that is tried again"),
        pytest.param(
            end(pod(agent=waiting("InvalidImageName"))),
            "contract ImageImpossible",
            id="an image name that is none",
        ),
        pytest.param(
            end(pod(runner=waiting("ErrImageNeverPull"))),
            "contract ImageImpossible",
            id="an image never to be pulled",
        ),
        pytest.param(end(pod(), now=99.999), None, id="a moment before its start timeout"),
        pytest.param(end(pod(), now=100), "transient StartTimeout", id="exactly at its start timeout"),
        pytest.param(end(pod(phase="Running", agent=running(99)), now=120), None, id="started just in time"),
    ],
)
def test_whether_and_how_an_attempt_ended(found: str | None, wanted: str | None) -> None:
    assert found == wanted


UNSCHEDULED = [
    {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no node fits"}
]


def test_a_start_timeout_says_what_the_scheduler_said() -> None:
    seen = pod(node="", conditions=UNSCHEDULED)
    found = find_end(attempt(), Sighting(seen), bounds=BOUNDS, has_repository=False, now=at(100))
    assert found
    assert "Unschedulable: no node fits" in found.outcome.message


@pytest.mark.parametrize(
    ("seen", "now", "text"),
    [
        pytest.param(pod(node="", conditions=UNSCHEDULED), 9.999, "", id="not yet worth a word"),
        pytest.param(pod(node="", conditions=UNSCHEDULED), 10, "Unschedulable: no node fits", id="no node"),
        pytest.param(pod(conditions=UNSCHEDULED), 10, "", id="it has a node by now"),
        pytest.param(
            pod(agent=waiting("ErrImagePull", "401")),
            10,
            "ImagePullBackOff: 401",
            id="a failing pull, one word for it",
        ),
        pytest.param(pod(agent=waiting("ContainerCreating")), 60, "", id="it is being made"),
        pytest.param(pod(agent=waiting("PodInitializing")), 60, "", id="its init container runs"),
        pytest.param(pod(phase="Running", agent=running()), 60, "", id="it runs"),
    ],
)
def test_what_keeps_a_pod_from_starting(seen: Pod, now: float, text: str) -> None:
    assert waiting_text(seen, now=at(now)) == text
