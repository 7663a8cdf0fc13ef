"""What people ask of tasks by annotation: what acts, what is kept of it, and what beats what."""

from dataclasses import replace
from typing import Any

import pytest

from bernstein_operator.api.choices import CommandVerb
from bernstein_operator.api.objects import TaskObject
from bernstein_operator.api.pod import Pod
from bernstein_operator.api.snapshot import Dependency
from bernstein_operator.api.task_status import AgentTaskStatus, Request
from bernstein_operator.api.vocabulary import TaskPhase
from bernstein_operator.decisions.plan import CreatePod, StopPod, TaskDecision
from bernstein_operator.decisions.requests import kept
from bernstein_operator.decisions.task import decide
from tests.unit.objects import (
    at,
    attempt,
    name_of_pod,
    pod,
    raw_task,
    reasons,
    run,
    running,
    snapshot,
    stamp,
    status,
    task,
    terminated,
)

NAME = name_of_pod()
LIVE = pod(phase="Running", agent=running(1))
WAITS = status(phase="Pending")
RUNS = status(attempt(pod_uid=f"{NAME}-uid", start_time=at(1)), phase="Running", first_admitted_time=at(0))
ENDED = attempt(pod_uid=f"{NAME}-uid", start_time=at(1), end_time=at(5), result_class="agent")
FAILED = status(
    ENDED,
    phase="Failed",
    completion_time=at(5),
    retries=3,
    disruptions=1,
    rate_limits=2,
    same_failures=3,
    escalation={"level": 2},
)
QUARANTINED = status(ENDED, phase="Quarantined", completion_time=at(5))
BLOCKED = status(phase="BlockedByFailure", blocked_by={"task": "a", "root_cause": "a", "cause": "Failed"})
DONE = status(ENDED, phase="Succeeded", completion_time=at(5))
GIVEN_UP = status(
    ENDED,
    phase="Abandoned",
    completion_time=at(5),
    abandonment={"reason": "other", "actor": "agent", "time": at(5)},
)


def asked(stands: AgentTaskStatus, actor: str = "ada", **annotations: str) -> TaskObject:
    """Return the task ``t`` in that status, with these commands written on it."""
    marks = {f"bernstein.run/{verb}": value for verb, value in annotations.items()}
    marks |= {"bernstein.run/actor": actor} if actor else {}
    return task(status=stands, metadata={"annotations": marks})


def on(seen: TaskObject, *pods: Pod, now: float = 10, **facts: Any) -> TaskDecision:
    return decide(snapshot(seen, *pods, **facts), now=at(now))


def records(found: AgentTaskStatus) -> list[tuple[str, str, str, str]]:
    return [(one.verb, one.value, one.actor, one.effect) for one in found.requests]


@pytest.mark.parametrize(
    ("stands", "pods", "command", "phase"),
    [
        pytest.param(WAITS, (), {"abandon": "out_of_scope"}, "Abandoned", id="abandon: waits"),
        pytest.param(RUNS, (LIVE,), {"abandon": "out_of_scope"}, "Abandoned", id="abandon: runs"),
        pytest.param(QUARANTINED, (), {"abandon": "other"}, "Abandoned", id="abandon: quarantined"),
        pytest.param(FAILED, (), {"abandon": "other"}, "Failed", id="abandon: failed, stays"),
        pytest.param(DONE, (), {"abandon": "other"}, "Succeeded", id="abandon: succeeded, stays"),
        pytest.param(WAITS, (), {"cancel": "true"}, "Cancelled", id="cancel: waits"),
        pytest.param(QUARANTINED, (), {"cancel": "true"}, "Cancelled", id="cancel: quarantined"),
        pytest.param(FAILED, (), {"cancel": "true"}, "Failed", id="cancel: failed, stays"),
        pytest.param(GIVEN_UP, (), {"cancel": "true"}, "Abandoned", id="cancel: abandoned, stays"),
        pytest.param(WAITS, (), {"cancel": "yes"}, "Pending", id="cancel: another value"),
        pytest.param(WAITS, (), {"cancel": "True"}, "Pending", id="cancel: a capital letter"),
        pytest.param(WAITS, (), {"quarantine": "odd"}, "Quarantined", id="quarantine: waits"),
        pytest.param(RUNS, (LIVE,), {"quarantine": ""}, "Quarantined", id="quarantine: runs, no word"),
        pytest.param(FAILED, (), {"quarantine": "odd"}, "Failed", id="quarantine: failed, stays"),
        pytest.param(FAILED, (), {"retry": "1"}, "Pending", id="retry: failed"),
        pytest.param(QUARANTINED, (), {"retry": "1"}, "Pending", id="retry: quarantined"),
        pytest.param(DONE, (), {"retry": "1"}, "Succeeded", id="retry: succeeded, stays"),
        pytest.param(GIVEN_UP, (), {"retry": "1"}, "Abandoned", id="retry: abandoned, stays"),
        pytest.param(WAITS, (), {"drain": "true"}, "Pending", id="drain: not of a task"),
        pytest.param(
            WAITS, (), {"cancel": "true", "abandon": "other"}, "Cancelled", id="cancel beats abandon"
        ),
        pytest.param(FAILED, (), {"retry": "1", "cancel": "true"}, "Failed", id="cancel beats retry"),
        pytest.param(
            RUNS, (LIVE,), {"quarantine": "x", "retry": "1"}, "Quarantined", id="a retry waits for the stop"
        ),
    ],
)
def test_where_a_command_leads(
    stands: AgentTaskStatus, pods: tuple[Pod, ...], command: dict[str, str], phase: str
) -> None:
    assert on(asked(stands, **command), *pods).status.phase == phase


@pytest.mark.parametrize(
    ("stands", "command", "effect"),
    [
        (WAITS, {"abandon": "out_of_scope: ask sales"}, "Abandoned as out_of_scope."),
        (WAITS, {"cancel": "true"}, "Cancelled."),
        (WAITS, {"cancel": "yes"}, 'Ignored: only exactly "true" acts.'),
        (WAITS, {"quarantine": "odd"}, "Quarantined."),
        (FAILED, {"retry": "1"}, "A fresh start."),
        (BLOCKED, {"retry": "1"}, "Looked at again."),
        (WAITS, {"retry": "1"}, "Ignored: the task is Pending."),
        (DONE, {"quarantine": "odd"}, "Ignored: the task is Succeeded."),
        (DONE, {"retry": "1"}, "Ignored: the task is Succeeded."),
        (WAITS, {"drain": "true"}, "Ignored: only a run can be drained; cancel ends a task."),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, dict) else "",
)
def test_every_command_is_kept_with_its_effect(
    stands: AgentTaskStatus, command: dict[str, str], effect: str
) -> None:
    ((verb, value),) = command.items()
    assert records(on(asked(stands, **command)).status) == [(verb, value, "ada", effect)]


@pytest.mark.parametrize(
    ("text", "reason", "detail"),
    [
        pytest.param("out_of_scope", "out_of_scope", "", id="a reason alone"),
        pytest.param(
            "  Out_Of_Scope : ask: sales ", "out_of_scope", "ask: sales", id="in any case, untrimmed"
        ),
        pytest.param("", "operator_override", "", id="nothing"),
        pytest.param("  ", "operator_override", "", id="blanks"),
        pytest.param("too hard: really", "other", "too hard: really", id="no reason of the list"),
        pytest.param("out-of-scope", "other", "out-of-scope", id="a hyphen is no underscore"),
        pytest.param(": because", "other", ": because", id="no reason before the colon"),
    ],
)
def test_what_an_abandon_says(text: str, reason: str, detail: str) -> None:
    given_up = on(asked(WAITS, abandon=text)).status.abandonment
    assert given_up
    assert (given_up.reason, given_up.detail, given_up.actor, given_up.time) == (
        reason,
        detail,
        "ada",
        at(10),
    )


@pytest.mark.parametrize(
    ("detail", "kept_bytes"),
    [
        pytest.param("x" * 32_768, 32_768, id="32 KiB stay whole"),
        pytest.param("x" * 32_769, 32_768, id="one byte more is cut, with a mark"),
        pytest.param("x" + "é" * 16_384, 32_768, id="not inside a character"),
        pytest.param("é" * 16_385, 32_767, id="a byte is left over"),
    ],
)
def test_a_long_detail_is_cut_between_characters(detail: str, kept_bytes: int) -> None:
    given_up = on(asked(WAITS, abandon=f"other: {detail}")).status.abandonment
    assert given_up
    assert len(given_up.detail.encode()) == kept_bytes
    assert given_up.detail.endswith("… [cut]") == (len(detail.encode()) > 32_768)


def test_without_the_admission_policy_the_actor_is_unknown() -> None:
    assert records(on(asked(WAITS, actor="", cancel="true")).status)[0][2] == "unknown"


@pytest.mark.parametrize(
    ("command", "stop"),
    [
        ({"abandon": "other"}, "abandoned"),
        ({"cancel": "true"}, "Cancelled"),
        ({"quarantine": "x"}, "Quarantined"),
    ],
    ids=["abandon", "cancel", "quarantine"],
)
def test_a_live_agent_is_stopped(command: dict[str, str], stop: str) -> None:
    assert on(asked(RUNS, **command), LIVE).actions == (StopPod(LIVE, stop),)


@pytest.mark.parametrize(
    ("command", "result_class"),
    [
        ({"abandon": "other"}, "abandoned"),
        ({"cancel": "true"}, "cancelled"),
        ({"quarantine": "x"}, "cancelled"),
    ],
    ids=["abandon", "cancel", "quarantine"],
)
def test_no_pod_is_asked_for_afterwards(command: dict[str, str], result_class: str) -> None:
    decision = on(asked(status(attempt(), first_admitted_time=at(0)), **command), has_slot=True)
    assert CreatePod() not in decision.actions
    assert [one.result_class for one in decision.status.attempts] == [result_class]


def stored(decision: TaskDecision, **annotations: str) -> TaskObject:
    marks = {f"bernstein.run/{verb}": value for verb, value in annotations.items()}
    return TaskObject.parse(raw_task(status=decision.status, metadata={"annotations": marks}))


@pytest.mark.parametrize(
    ("first", "then", "phase"),
    [
        pytest.param({"cancel": "true"}, {}, "Cancelled", id="a cancel that is taken back"),
        pytest.param({"abandon": "other"}, {}, "Abandoned", id="an abandon that is taken back"),
        pytest.param(
            {"abandon": "other"}, {"cancel": "true"}, "Abandoned", id="a cancel that comes too late"
        ),
        pytest.param({"quarantine": "x"}, {}, "Quarantined", id="a quarantine that is taken back"),
        pytest.param({"quarantine": "x"}, {"quarantine": "x", "retry": "1"}, "Pending", id="let out again"),
    ],
)
def test_what_was_seen_once_stays(first: dict[str, str], then: dict[str, str], phase: str) -> None:
    seen = on(asked(WAITS, **first))
    assert on(stored(seen, **then), now=20).status.phase == phase


def test_an_agent_in_quarantine_is_told_to_end_before_a_retry_acts() -> None:
    commands = {"quarantine": "x", "retry": "1"}
    first = on(asked(RUNS, **commands), LIVE)
    assert first.actions == (StopPod(LIVE, "Quarantined"),)
    ends = pod(phase="Running", agent=running(1), stop="Quarantined", stopped=10)
    second = on(stored(first, **commands), ends, now=11)
    assert second.status.retried_time == at(11)
    gone = on(stored(second, **commands), pod(phase="Failed", agent=terminated(143), stop="Quarantined"))
    assert [one.result_class for one in gone.status.attempts] == ["cancelled"]
    assert gone.status.phase == "Pending"


def test_one_value_retries_once() -> None:
    again = on(asked(FAILED, retry="1")).status
    failed_again = again.model_copy(update={"phase": TaskPhase.FAILED, "completion_time": at(30)})
    assert on(asked(failed_again, retry="1"), now=40).status.phase == "Failed"
    assert on(asked(failed_again, retry="2"), now=40).status.phase == "Pending"


def test_a_persons_retry_starts_afresh_and_numbers_go_on() -> None:
    decision = on(asked(FAILED, retry="1"), has_slot=True)
    begun = decision.status
    assert (begun.retries, begun.disruptions, begun.rate_limits, begun.same_failures) == (0, 0, 0, 0)
    assert begun.escalation is None
    assert (begun.completion_time, begun.retried_time) == (None, at(10))
    assert [one.number for one in begun.attempts] == [1, 2]


@pytest.mark.parametrize(
    ("of_run", "stands", "phase"),
    [
        pytest.param({"time": at(5)}, FAILED, "Pending", id="failed when the run was retried"),
        pytest.param({"time": at(4)}, FAILED, "Failed", id="failed after that"),
        pytest.param({"time": at(6)}, QUARANTINED, "Pending", id="quarantined before"),
        pytest.param({"time": at(6)}, DONE, "Succeeded", id="succeeded stays"),
        pytest.param({"time": at(6), "effect": "Ignored: no."}, FAILED, "Failed", id="an ignored retry"),
    ],
)
def test_a_runs_retry_is_for_each_of_its_failed_tasks(
    of_run: dict[str, Any], stands: AgentTaskStatus, phase: str
) -> None:
    asked_of_run = Request.model_validate(
        {"verb": "retry", "value": "1", "effect": "A fresh start.", **of_run}
    )
    retried = run(status={"phase": "Running", "requests": [asked_of_run.manifest()]})
    assert on(asked(stands), run=retried).status.phase == phase


@pytest.mark.parametrize("of_run", ["Succeeded", "Cancelled"])
def test_no_retry_in_a_run_whose_end_is_final(of_run: str) -> None:
    decision = on(asked(FAILED, retry="1"), run=run(status={"phase": of_run}))
    assert decision.status.phase == "Failed"
    assert records(decision.status)[0][3] == f"Ignored: its run is {of_run}, which is final."


@pytest.mark.parametrize(
    ("verb", "told"), [("cancel", "cancelled"), ("drain", "drained")], ids=["cancelled", "drained"]
)
def test_no_retry_in_a_run_that_is_to_end(verb: str, told: str) -> None:
    ending = run(metadata={"annotations": {f"bernstein.run/{verb}": "true"}})
    decision = on(asked(FAILED, retry="1"), run=ending)
    assert decision.status.phase == "Failed"
    effect = f"Ignored: its run is being {told}, or its annotation says so."
    assert records(decision.status)[0][3] == effect


def test_a_retry_of_a_failed_task_says_that_a_cancel_is_in_its_way() -> None:
    decision = on(asked(FAILED, cancel="true", retry="1"))
    assert [effect for *_, effect in records(decision.status)] == [
        "Ignored: the task is Failed.",
        "Ignored: its annotation says cancel; that has to be taken off first.",
    ]


ASKED_OF_RUN = {"verb": "retry", "value": "1", "time": stamp(6), "effect": "A fresh start."}


@pytest.mark.parametrize("verb", ["cancel", "drain"])
@pytest.mark.parametrize(
    ("of_run", "stands", "phase"),
    [
        pytest.param({"phase": "Failed"}, BLOCKED, "BlockedByFailure", id="a blocked one stays so"),
        pytest.param({"phase": "Failed"}, FAILED, "Failed", id="no retry brings it back"),
        pytest.param({"phase": "Running", "requests": [ASKED_OF_RUN]}, FAILED, "Failed", id="nor the run's"),
        pytest.param({"phase": "Running"}, BLOCKED, "Cancelled", id="in time it acts"),
    ],
)
def test_an_end_that_was_asked_of_the_run(
    verb: str, of_run: dict[str, Any], stands: AgentTaskStatus, phase: str
) -> None:
    ends = run(metadata={"annotations": {f"bernstein.run/{verb}": "true"}}, status=of_run)
    blocker = Dependency(name="a", uid="a-uid", phase=TaskPhase.FAILED)
    decision = on(asked(stands, retry="1"), run=ends, dependencies=(blocker,))
    assert decision.status.phase == phase


def test_a_runs_retry_passes_over_a_task_whose_end_is_asked_for() -> None:
    retried = run(status={"phase": "Running", "requests": [ASKED_OF_RUN]})
    assert on(asked(FAILED, cancel="true"), run=retried).status.phase == "Failed"


@pytest.mark.parametrize(("deadline", "phase"), [(10, "Failed"), (11, "Pending")], ids=["reached", "ahead"])
def test_no_retry_after_the_runs_deadline(deadline: float, phase: str) -> None:
    late = run(deadline=at(deadline).isoformat())
    assert on(asked(FAILED, retry="1"), run=late).status.phase == phase


DRAINED = run(metadata={"annotations": {"bernstein.run/drain": "true"}})


@pytest.mark.parametrize(
    ("stands", "pods", "phase"),
    [
        pytest.param(WAITS, (), "Cancelled", id="what waits ends"),
        pytest.param(RUNS, (LIVE,), "Running", id="a live agent finishes"),
        pytest.param(BLOCKED, (), "Cancelled", id="what is blocked ends"),
        pytest.param(FAILED, (), "Failed", id="what failed stays so"),
        pytest.param(
            RUNS, (pod(phase="Failed", agent=terminated(1)),), "Cancelled", id="a failure isn't retried"
        ),
    ],
)
def test_a_drained_runs_tasks(stands: AgentTaskStatus, pods: tuple[Pod, ...], phase: str) -> None:
    decision = on(asked(stands), *pods, run=DRAINED)
    assert decision.status.phase == phase
    assert not [action for action in decision.actions if isinstance(action, StopPod)]


def test_an_attempt_stopped_for_quarantine_does_not_end_the_task_that_was_let_out() -> None:
    stopped = pod(phase="Failed", agent=terminated(143), stop="Quarantined", stopped=9)
    let_out = replace(asked(RUNS), status=RUNS.model_copy(update={"retried_time": at(9)}))
    decision = on(let_out, stopped)
    assert decision.status.phase == "Pending"
    assert decision.status.attempts[-1].result_class == "cancelled"


def test_conditions_of_a_quarantined_task() -> None:
    found = reasons(on(asked(WAITS, quarantine="odd network traffic")).status.conditions)
    assert found == {"Failed": ("True", "Quarantined"), "Stalled": ("True", "Quarantined")}


def test_conditions_of_an_abandoned_task() -> None:
    found = reasons(on(asked(WAITS, abandon="env_broken: no docker")).status.conditions)
    assert found["Abandoned"] == ("True", "EnvBroken")
    assert found["Finished"] == ("True", "Abandoned")


def test_the_latest_of_each_verb_is_never_dropped() -> None:
    def asks(verb: CommandVerb, number: int) -> Request:
        return Request(verb=verb, value=str(number), time=at(number), effect="done")

    cancel = asks(CommandVerb.CANCEL, 0)
    requests: tuple[Request, ...] = (cancel,)
    for number in range(1, 15):
        requests = kept(requests, asks(CommandVerb.RETRY, number))
    assert len(requests) == 10
    assert requests[0] == cancel
    assert [one.value for one in requests[1:]] == [str(number) for number in range(6, 15)]
