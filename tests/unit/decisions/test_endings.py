"""Where a task goes from the end of an attempt: each kind of end, and what is put on record of it."""

from typing import Any

import pytest

from bernstein_agent.contract import Abandonment, AbandonReason, ResultClass
from bernstein_operator.api.choices import Effort
from bernstein_operator.api.conditions import find
from bernstein_operator.api.objects import TaskObject
from bernstein_operator.api.pod import Pod
from bernstein_operator.api.snapshot import Dependency, Sighting, TaskSnapshot
from bernstein_operator.api.task_status import AgentTaskStatus, Escalation
from bernstein_operator.api.vocabulary import ConditionType, TaskPhase
from bernstein_operator.decisions.closing import after
from bernstein_operator.decisions.course import Question
from bernstein_operator.decisions.outcome import Outcome
from bernstein_operator.decisions.plan import CreatePod, TaskDecision
from bernstein_operator.decisions.task import decide, decide_refused
from tests.unit.objects import (
    COMMIT_A,
    at,
    attempt,
    effective,
    name_of_pod,
    pod,
    profile,
    raw_task,
    reasons,
    run,
    running,
    said,
    snapshot,
    status,
    task,
    terminated,
)

BEGUN = status(attempt(), first_admitted_time=at(0))
RUNS = status(
    attempt(pod_uid=f"{name_of_pod()}-uid", start_time=at(1), level=0),
    phase="Running",
    first_admitted_time=at(0),
)
LADDER = profile(models=[{"name": "small"}, {"name": "big"}], memoryGrowth={"max": "4Gi"})
REPOSITORY = {"url": "https://git/x.git", "ref": "main"}


def on(seen: TaskSnapshot, now: float = 10) -> TaskDecision:
    return decide(seen, now=at(now))


def ended(result_class: str, *, exit_code: int = 1, number: int = 1, **fields: Any) -> Pod:
    """Return a Pod whose agent ended with a result of that class."""
    name = name_of_pod(number)
    phase = "Failed" if exit_code else "Succeeded"
    message = said(name, result_class, attempt=number, **fields)
    return pod(number, phase=phase, agent=terminated(exit_code, end=9, message=message))


def silent(exit_code: int, why: str = "Error") -> Pod:
    return pod(phase="Failed", agent=terminated(exit_code, end=9, reason=why))


def failed(decision: TaskDecision) -> tuple[str, str] | None:
    return reasons(decision.status.conditions).get("Failed")


def followed(result_class: ResultClass, before: AgentTaskStatus = RUNS, **spec: Any) -> AgentTaskStatus:
    """Return what becomes of a task whose attempt ended in that class, whoever found that out."""
    owner = task(status=before, **spec)
    outcome = Outcome(result_class, "ItIsSo", "because", None, at(9), None)
    return after(before, outcome, Question(snapshot(owner), effective(owner), at(10))).status


# --- ends that the class decides --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("result_class", "phase", "ended_at"),
    [
        ("success", "Succeeded", 9),
        ("contract", "Failed", 10),
        ("security", "Quarantined", 10),
        ("unknown", "Quarantined", 10),
        ("asked", "AwaitingInput", None),
        ("abandoned", "Abandoned", 9),
        ("cancelled", "Cancelled", 9),
        ("task_budget", "Failed", 10),
        ("budget", "Pending", None),
        ("agent", "Pending", None),
    ],
)
def test_each_class_leads_to_its_phase(result_class: str, phase: str, ended_at: float | None) -> None:
    found = followed(ResultClass(result_class))
    assert found.phase == phase
    assert found.completion_time == (at(ended_at) if ended_at else None)


@pytest.mark.parametrize("result_class", ["success", "contract", "security", "abandoned"])
def test_an_end_breaks_every_row(result_class: str) -> None:
    before = RUNS.model_copy(update={"rate_limits": 4, "same_failures": 2, "retries": 1})
    found = followed(ResultClass(result_class), before)
    assert (found.rate_limits, found.same_failures, found.retries) == (0, 0, 1)


def test_a_quarantined_task_says_why_with_the_results_own_reason() -> None:
    decision = on(snapshot(task(status=RUNS, effects="external"), silent(1)))
    assert failed(decision) == ("True", "EffectsUnknown")
    assert reasons(decision.status.conditions)["Stalled"] == ("True", "EffectsUnknown")
    assert "Finished" not in reasons(decision.status.conditions), "a person may still let it out"


# --- no attempt is left -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("result_class", "reason"),
    [
        ("deadline", AbandonReason.TIME_BUDGET_EXHAUSTED),
        ("task_budget", AbandonReason.BUDGET_EXCEEDED),
        ("agent", AbandonReason.ENV_BROKEN),
        ("business", AbandonReason.ENV_BROKEN),
        ("oom", AbandonReason.ENV_BROKEN),
        ("transient", AbandonReason.ENV_BROKEN),
    ],
)
def test_a_task_may_be_given_up_once_no_attempt_is_left(result_class: str, reason: AbandonReason) -> None:
    given_up: dict[str, Any] = {
        "retry": {"limit": 0, "onExhausted": "Abandon"},
        "budget": {"onExhausted": "Abandon"},
    }
    found = followed(ResultClass(result_class), **given_up)
    assert found.phase is TaskPhase.ABANDONED
    assert found.abandonment
    assert (found.abandonment.reason, found.abandonment.actor) == (reason, "operator")
    assert found.abandonment.detail == f"{result_class}: ItIsSo: because"
    assert found.abandonment.time == at(10)


@pytest.mark.parametrize(
    ("retries", "phase"),
    [
        pytest.param(1, "Pending", id="the last retry"),
        pytest.param(2, "Abandoned", id="one after the last retry"),
    ],
)
def test_nothing_is_given_up_while_a_retry_is_left(retries: int, phase: str) -> None:
    before = RUNS.model_copy(update={"retries": retries})
    assert followed(ResultClass.AGENT, before, retry={"onExhausted": "Abandon"}).phase == phase


def test_a_broken_contract_is_a_failure_whatever_exhaustion_means() -> None:
    assert followed(ResultClass.CONTRACT, retry={"onExhausted": "Abandon"}).phase is TaskPhase.FAILED


@pytest.mark.parametrize(
    ("fingerprints", "same_failures", "reason"),
    [
        pytest.param(("aa", "aa"), 1, None, id="the second of a kind"),
        pytest.param(("aa", "aa"), 2, "SameFailure", id="the third of a kind"),
        pytest.param(("aa", "bb"), 2, None, id="another one after two of a kind"),
    ],
)
def test_the_same_failure_again_and_again_ends_the_retries(
    fingerprints: tuple[str, str], same_failures: int, reason: str | None
) -> None:
    attempts = [attempt(number, fingerprint=one) for number, one in enumerate(fingerprints, start=1)]
    before = status(*attempts, same_failures=same_failures)
    owner = task(status=before, retry={"limit": 100})
    outcome = Outcome(ResultClass.AGENT, "ItIsSo", "because", 1, at(9), None)
    course = after(before, outcome, Question(snapshot(owner), effective(owner), at(10)))
    assert (course.standing.reason if course.standing else None) == reason


# --- the agent gives up -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "reason", "detail"),
    [
        pytest.param(
            Abandonment(reason=AbandonReason.OUT_OF_SCOPE, detail="not mine"),
            "out_of_scope",
            "not mine",
            id="in the agent's words",
        ),
        pytest.param(None, "other", "I can't", id="by a runner that knows no reasons"),
    ],
)
def test_an_agents_abandonment_is_on_record(given: Abandonment | None, reason: str, detail: str) -> None:
    seen = ended("abandoned", message="I can't", abandonment=given)
    decision = on(snapshot(task(status=RUNS), seen))
    found = decision.status.abandonment
    assert found
    assert (found.reason, found.detail, found.actor, found.time) == (reason, detail, "agent", at(10))
    condition = find(decision.status.conditions, ConditionType.ABANDONED)
    assert condition
    assert (condition.reason, condition.message) == (
        "".join(part.capitalize() for part in reason.split("_")),
        detail,
    )


# --- what the work changes --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("effects", "phase"),
    [
        pytest.param("repository", "Pending", id="a commit is missing"),
        pytest.param("external", "Pending", id="a commit is missing there too"),
        pytest.param("none", "Succeeded", id="no commit is expected"),
    ],
)
def test_success_means_a_commit_unless_nothing_is_to_be_changed(effects: str, phase: str) -> None:
    seen = ended("success", exit_code=0, head_before=COMMIT_A, head_after=COMMIT_A)
    decision = on(snapshot(task(status=RUNS, effects=effects), seen, run=run(repository=REPOSITORY)))
    assert decision.status.phase == phase


UNSTARTED = pod(phase="Failed", reason="OutOfcpu", message="no room")
EVICTED = pod(phase="Failed", reason="Evicted")


@pytest.mark.parametrize(
    ("before", "seen", "result_class"),
    [
        pytest.param(RUNS, silent(1), "unknown", id="no readable result"),
        pytest.param(RUNS, silent(64), "unknown", id="no readable result, whatever the exit code says"),
        pytest.param(RUNS, silent(137), "unknown", id="killed by the system"),
        pytest.param(RUNS, silent(137, "OOMKilled"), "unknown", id="killed for its memory"),
        pytest.param(RUNS, ended("oom"), "unknown", id="killed for its memory, and the runner could say so"),
        pytest.param(
            RUNS, ended("transient", reason="Killed"), "unknown", id="killed, and the runner could say so"
        ),
        pytest.param(RUNS, ended("deadline"), "unknown", id="the runner stopped it at its deadline"),
        pytest.param(RUNS, ended("disruption"), "unknown", id="the runner was told to end"),
        pytest.param(
            RUNS,
            pod(phase="Failed", stop="deadline", agent=terminated(137, end=9)),
            "unknown",
            id="the operator stopped it at its deadline",
        ),
        pytest.param(RUNS, EVICTED, "unknown", id="evicted while it ran"),
        pytest.param(BEGUN, EVICTED, "unknown", id="evicted, and perhaps it ran unseen"),
        pytest.param(RUNS, None, "unknown", id="it vanished"),
        pytest.param(
            RUNS,
            pod(phase="Failed", stop="RunGone", agent=terminated(137, end=9)),
            "unknown",
            id="its run is gone",
        ),
        pytest.param(BEGUN, UNSTARTED, "disruption", id="the kubelet refused it"),
        pytest.param(
            BEGUN,
            pod(phase="Failed", runner=terminated(1, end=9)),
            "transient",
            id="the init container failed",
        ),
        pytest.param(RUNS, ended("agent"), "agent", id="it says that it failed"),
        pytest.param(RUNS, ended("business"), "business", id="it says that nothing came of it"),
        pytest.param(RUNS, ended("transient"), "transient", id="it says that its provider is away"),
        pytest.param(RUNS, ended("success", exit_code=0), "success", id="it succeeded"),
        pytest.param(RUNS, ended("abandoned"), "abandoned", id="it gave up"),
        pytest.param(
            RUNS,
            pod(phase="Failed", stop="Cancelled", agent=terminated(137, end=9)),
            "cancelled",
            id="a person cancelled it",
        ),
    ],
)
def test_what_may_have_happened_outside_is_not_tried_again(
    before: AgentTaskStatus, seen: Pod | None, result_class: str
) -> None:
    pods = (seen,) if seen else ()
    decision = on(snapshot(task(status=before, effects="external"), *pods))
    last = decision.status.attempts[-1]
    assert last.result_class == result_class
    unknown = result_class == "unknown"
    assert (decision.status.phase is TaskPhase.QUARANTINED) is unknown
    assert (last.reason == "EffectsUnknown") is unknown
    assert (decision.status.completion_time == at(10)) or not unknown


@pytest.mark.parametrize("seen", [silent(1), ended("deadline"), EVICTED], ids=["mute", "late", "evicted"])
def test_what_stays_in_the_repository_can_be_tried_again(seen: Pod) -> None:
    assert on(snapshot(task(status=RUNS), seen)).status.phase is TaskPhase.PENDING


def test_a_gone_pod_of_a_task_that_acts_outside_may_have_acted() -> None:
    gone = (Sighting(pod(phase="Pending"), gone=True),)
    decision = on(snapshot(task(status=BEGUN, effects="external"), sightings=gone))
    assert decision.status.phase is TaskPhase.QUARANTINED


@pytest.mark.parametrize(
    ("inherited", "effects", "pods", "phase"),
    [
        pytest.param(True, "external", (), "Quarantined", id="nobody knows whether its Pod was there"),
        pytest.param(False, "external", (), "Pending", id="this process recorded it"),
        pytest.param(True, "repository", (), "Pending", id="it can be done again"),
        pytest.param(True, "external", (pod(phase="Pending"),), "Pending", id="its Pod is there"),
    ],
)
def test_what_another_process_recorded_is_not_done_again_outside(
    inherited: bool, effects: str, pods: tuple[Pod, ...], phase: str
) -> None:
    decision = on(snapshot(task(status=BEGUN, effects=effects), *pods, inherited=inherited))
    assert decision.status.phase == phase
    assert (CreatePod() in decision.actions) is (phase == "Pending" and not pods)


def test_what_a_person_ended_stays_so_though_another_process_recorded_its_attempt() -> None:
    asked = task(status=BEGUN, effects="external", cancel="true")
    assert on(snapshot(asked, inherited=True)).status.phase is TaskPhase.CANCELLED


# --- what the next attempt gets ---------------------------------------------------------------------------


def next_attempt(decision: TaskDecision) -> TaskDecision:
    """Return the decision that begins the next attempt, long after."""
    stored = TaskObject.parse(raw_task(status=decision.status))
    return on(snapshot(stored, profile=LADDER, has_slot=True), now=10_000)


@pytest.mark.parametrize(
    ("seen", "level", "model", "effort", "memory"),
    [
        pytest.param(ended("agent"), 1, "small", "high", None, id="a failure of the agent's"),
        pytest.param(ended("business"), 1, "small", "high", None, id="nothing came of it"),
        pytest.param(ended("deadline"), 2, "big", "high", None, id="too late: to the top"),
        pytest.param(silent(137, "OOMKilled"), 0, "small", "medium", "1536Mi", id="too little memory"),
        pytest.param(ended("transient"), 0, "small", "medium", None, id="a passing fault"),
        pytest.param(ended("capacity"), 0, "small", "medium", None, id="a rate limit"),
        pytest.param(EVICTED, 0, "small", "medium", None, id="a lost Pod"),
    ],
)
def test_the_next_attempt_gets_what_the_last_one_lacked(
    seen: Pod, level: int, model: str, effort: str, memory: str | None
) -> None:
    decision = on(snapshot(task(status=RUNS), seen, profile=LADDER))
    climbs = bool(level or memory)
    wanted = Escalation(level=level, model=model, effort=Effort(effort), memory=memory) if climbs else None
    assert decision.status.escalation == wanted
    assert ("Escalated" in reasons(decision.status.conditions)) is climbs
    begun = next_attempt(decision).status.attempts[-1]
    assert (begun.number, begun.level, begun.model, begun.effort, begun.memory) == (
        2,
        level,
        model,
        effort,
        memory,
    )


def test_what_a_task_had_climbed_to_is_no_condition_of_its_end() -> None:
    before = RUNS.model_copy(update={"escalation": Escalation(level=1)})
    decision = on(snapshot(task(status=before), ended("success", exit_code=0)))
    assert decision.status.phase is TaskPhase.SUCCEEDED
    assert "Escalated" not in reasons(decision.status.conditions)


def test_a_persons_retry_starts_at_the_bottom_again() -> None:
    before = RUNS.model_copy(update={"retries": 2, "escalation": Escalation(level=2)})
    over = on(snapshot(task(status=before), ended("agent"), profile=LADDER))
    assert over.status.phase is TaskPhase.FAILED
    asked = raw_task(status=over.status, metadata={"annotations": {"bernstein.run/retry": "1"}})
    again = on(snapshot(TaskObject.parse(asked), profile=LADDER, has_slot=True), now=20).status
    assert (again.phase, again.retries, again.escalation) == (TaskPhase.PENDING, 0, None)
    assert (again.attempts[-1].number, again.attempts[-1].level) == (2, 0)


# --- what can't be ----------------------------------------------------------------------------------------


def test_an_illegal_move_changes_nothing() -> None:
    edited = task(status=RUNS.model_copy(update={"phase": TaskPhase.BLOCKED_BY_FAILURE}))
    decision = on(snapshot(edited, pod(phase="Running", agent=running(1))))
    assert decision == TaskDecision(status=edited.status, illegal="BlockedByFailure can't become Running")


def test_a_refused_pod_of_a_task_that_was_cancelled_meanwhile_ends_only_the_attempt() -> None:
    cancelled = task(status=BEGUN.model_copy(update={"phase": TaskPhase.CANCELLED, "completion_time": at(5)}))
    outcome = Outcome(ResultClass.CONTRACT, "PodRefused", "no", None, at(9), None)
    found = decide_refused(snapshot(cancelled), outcome, now=at(10))
    assert (found.phase, found.completion_time) == (TaskPhase.CANCELLED, at(5))
    assert found.attempts[-1].end_time == at(9)


@pytest.mark.parametrize(
    ("phase", "moved"),
    [
        pytest.param(TaskPhase.PENDING, True, id="its blocker is tried again"),
        pytest.param(TaskPhase.FAILED, False, id="its blocker stays where it is"),
    ],
)
def test_when_a_task_was_unblocked_is_on_record(phase: TaskPhase, moved: bool) -> None:
    blocked = on(snapshot(dependencies=(Dependency("a", uid="a-uid", phase=TaskPhase.FAILED),))).status
    assert blocked.unblocked_time is None
    known = TaskObject.parse(raw_task(status=blocked))
    found = on(snapshot(known, dependencies=(Dependency("a", uid="a-uid", phase=phase),)), now=20).status
    assert found.unblocked_time == (at(20) if moved else None)
