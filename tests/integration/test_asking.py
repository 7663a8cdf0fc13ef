"""A task that needs a person's word: it asks, waits without a slot, and goes on with the answer or fails."""

import json
from typing import Any

import pytest

from tests.support import clock
from tests.support.builders import hand_profile, inline_task, make_run, make_task
from tests.support.kube import Kube, Manifest, condition, eventually
from tests.support.operator import OperatorProcess
from tests.support.pods import bind, end_pod, make_result, pods_of, set_pod_running, stamp, succeed, wait_pod
from tests.support.tasks import attempts, holds_for, result_classes, wait_phase, wait_run, wait_waiting
from tests.support.timeline import phase

QUESTION = "Which of the two formats?"
HARD = {"usd": "1.00", "mode": "hard-stop-on-zero"}
LADDER = [{"name": "small"}, {"name": "big"}]


@pytest.fixture(autouse=True)
def by_hand(kube: Kube) -> None:
    """Pods whose lives the test plays."""
    kube.create(hand_profile(models=LADDER))


def start(kube: Kube, task: str = "t", *, attempt: int = 1) -> Manifest:
    """Let the task's next agent run, on a node."""
    pod = wait_pod(kube, task, attempt=attempt)
    bind(kube, pod["metadata"]["name"])
    return set_pod_running(kube, pod)


def ask(kube: Kube, pod: Manifest, question: str = QUESTION, **told: Any) -> None:
    """End as an agent that can't go on without an answer."""
    result = make_result(pod, result_class="asked", exit_code=1, reason="Asked", question=question, **told)
    end_pod(kube, pod, "Failed", 1, "Error", result=result)


def spend_all(kube: Kube, pod: Manifest, **told: Any) -> None:
    """End as an agent that was stopped with nothing left of its task's budget."""
    why = {"reason": "TaskBudgetExhausted", "message": "$1.00 of $1.00 are spent", "cost_usd": "1.00"}
    result = make_result(pod, result_class="task_budget", exit_code=1, **why, **told)
    end_pod(kube, pod, "Failed", 1, "Error", result=result)


def asking(kube: Kube, *, run: Manifest | None = None, **spec: Any) -> Manifest:
    """Return a task whose first agent has asked something."""
    kube.create(make_run(**(run or {})))
    kube.create(make_task(**spec))
    ask(kube, start(kube))
    return wait_phase(kube, "t", "AwaitingInput")


def told(kube: Kube, name: str) -> set[str]:
    """Return the reasons of the events about an object."""
    return {text.partition(":")[0] for text in kube.events_of(name)}


def exchange(pod: Manifest) -> Manifest | None:
    """Return what an agent is told of a question and its answer."""
    envelope = json.loads(pod["metadata"]["annotations"]["bernstein.run/envelope"])
    found: Manifest | None = envelope["payload"].get("exchange")
    return found


def shown(operator: OperatorProcess, sample: str) -> float:
    """Return the value of a sample of /metrics, written as it is there."""
    lines = operator.http("/metrics")[1].splitlines()
    return next(float(line.rpartition(" ")[2]) for line in lines if line.startswith(f"{sample} "))


def test_an_agent_asks_and_the_next_one_has_the_answer(kube: Kube, operator: OperatorProcess) -> None:
    waits = asking(kube)
    question = waits["status"]["question"]
    assert question["text"] == QUESTION
    assert question["time"] < question["deadline"]
    found = condition(waits, "InputRequired")
    assert (found["status"], found["reason"], found["message"]) == ("True", "InputRequired", QUESTION)
    assert condition(waits, "Reconciling")["status"] == "True"
    assert not condition(waits, "Failed")

    kube.annotate("agenttasks", "t", answer="The second, as ever.", actor="ada")
    second = start(kube, attempt=2)
    assert exchange(second) == {"question": QUESTION, "answer": "The second, as ever."}
    succeed(kube, second)
    done = wait_phase(kube, "t", "Succeeded")
    answer = done["status"]["answer"]
    assert (answer["text"], answer["actor"]) == ("The second, as ever.", "ada")
    assert result_classes(done) == ["asked", "success"]
    assert done["status"].get("retries", 0) == 0
    wait_run(kube, "r", "Succeeded")
    eventually(lambda: {"InputRequested", "InputAnswered"} <= told(kube, "t"), what="its events")


def test_an_open_question_holds_no_slot_and_keeps_the_run_open(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(make_run(max_agents=1, tasks=[inline_task("a", priority=1), inline_task("b")]))
    ask(kube, start(kube, "r-a"))
    wait_phase(kube, "r-a", "AwaitingInput")
    succeed(kube, start(kube, "r-b"))
    wait_phase(kube, "r-b", "Succeeded")
    shown = kube.wait_for(
        "bernsteinruns",
        "r",
        lambda run: condition(run, "Reconciling").get("reason") == "InputRequired",
        what="that only an answer helps",
    )
    assert phase(shown) == "Running"
    assert condition(shown, "InputRequired")["status"] == "True"
    counted = kube.wait_for(
        "bernsteinruns",
        "r",
        lambda run: run["status"]["tasks"].get("awaitingInput") == 1,
        what="that it is counted",
    )
    assert counted["status"]["concurrency"]["live"] == 0
    kube.annotate("agenttasks", "r-a", answer="This one.")
    succeed(kube, start(kube, "r-a", attempt=2))
    assert not condition(wait_run(kube, "r", "Succeeded"), "InputRequired")


def test_nobody_answers(kube: Kube, operator: OperatorProcess) -> None:
    asking(kube, inputTimeoutSeconds=3)
    failed = wait_phase(kube, "t", "Failed")
    assert condition(failed, "Failed")["reason"] == "InputTimeout"
    assert QUESTION in condition(failed, "Failed")["message"]
    wait_run(kube, "r", "Failed")
    kube.annotate("agenttasks", "t", answer="Too late.")
    eventually(lambda: "ChangeIgnored" in told(kube, "t"), what="that it is told")

    kube.annotate("agenttasks", "t", retry="1")
    again = start(kube, attempt=2)
    assert exchange(again) is None
    succeed(kube, again)
    wait_run(kube, "r", "Succeeded")


def test_a_question_survives_a_restart_and_so_does_its_answer(kube: Kube, operator: OperatorProcess) -> None:
    before = asking(kube, inputTimeoutSeconds=600)
    operator.restart(kill=True)
    holds_for(2, lambda: phase(kube.get("agenttasks", "t")) == "AwaitingInput", what="the question")
    assert kube.get("agenttasks", "t")["status"] == before["status"]
    operator.stop()
    kube.annotate("agenttasks", "t", answer="The first.")
    operator.start()
    succeed(kube, start(kube, attempt=2))
    wait_run(kube, "r", "Succeeded")


def test_a_second_question_needs_an_answer_of_its_own(kube: Kube, operator: OperatorProcess) -> None:
    asking(kube)
    kube.annotate("agenttasks", "t", answer="yes")
    second = start(kube, attempt=2)
    ask(kube, second, "And which of the two lengths?")
    waits = wait_phase(kube, "t", "AwaitingInput")
    assert "answer" not in waits["status"]
    holds_for(2, lambda: len(pods_of(kube, "t")) == 2, what="an old answer is none to a new question")
    kube.annotate("agenttasks", "t", answer="yes, the short one")
    third = start(kube, attempt=3)
    assert exchange(third) == {"question": "And which of the two lengths?", "answer": "yes, the short one"}


def test_a_used_up_budget_asks_and_goes_on_once_it_is_raised(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(make_run())
    kube.create(make_task(budget=HARD, model="big"))
    spend_all(kube, start(kube))
    waits = wait_phase(kube, "t", "AwaitingInput")
    assert condition(waits, "InputRequired")["reason"] == "TaskBudgetExhausted"
    [first] = attempts(waits)
    assert (first["resultClass"], first["suggestedModel"]) == ("task_budget", "small")
    eventually(lambda: "DowngradeSuggested" in told(kube, "t"), what="its event")

    kube.annotate("agenttasks", "t", answer="Go on.")
    gate = wait_waiting(kube, "t", "TaskBudgetExhausted")
    assert "budget.usd (1.00)" in condition(gate, "Admitted")["message"]
    holds_for(2, lambda: len(pods_of(kube, "t")) == 1, what="nothing starts with nothing left")
    kube.patch("agenttasks", "t", {"spec": {"budget": {"usd": "1.50"}}})
    succeed(kube, start(kube, attempt=2))
    wait_run(kube, "r", "Succeeded")


@pytest.mark.parametrize(
    ("budget", "ends", "reason"),
    [
        pytest.param({"usd": "1.00"}, "Failed", "TaskBudgetExhausted", id="failed without a word"),
        pytest.param({"usd": "1.00", "onExhausted": "Abandon"}, "Abandoned", None, id="given up"),
    ],
)
def test_a_used_up_budget_ends_a_task_that_nobody_is_asked_about(
    kube: Kube, operator: OperatorProcess, budget: Manifest, ends: str, reason: str | None
) -> None:
    kube.create(make_run())
    kube.create(make_task(budget=budget))
    spend_all(kube, start(kube))
    ended = wait_phase(kube, "t", ends)
    if reason:
        assert condition(ended, "Failed")["reason"] == reason
    else:
        assert ended["status"]["abandonment"]["reason"] == "budget_exceeded"
    assert len(pods_of(kube, "t")) == 1


def test_a_final_turn_is_told_and_counted(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(make_run())
    kube.create(make_task(role="backend", budget={"tokens": 64_000}))
    pod = start(kube)
    end_pod(kube, pod, result=make_result(pod, finishPercent=18))
    done = wait_phase(kube, "t", "Succeeded")
    assert attempts(done)[0]["finishPercent"] == 18
    eventually(lambda: "GracefulFinish" in told(kube, "t"), what="its event")
    buckets = "bernstein_task_budget_remaining_at_finish_pct_bucket"
    assert shown(operator, 'bernstein_task_budget_graceful_finish_total{role="backend"}') == 1
    assert shown(operator, f'{buckets}{{le="15.0",role="backend"}}') == 0
    assert shown(operator, f'{buckets}{{le="20.0",role="backend"}}') == 1


def test_a_continuation_that_nobody_wrote_down_is_taken_from_the_result(
    kube: Kube, operator: OperatorProcess
) -> None:
    kube.create(make_run())
    kube.create(make_task())
    pod = start(kube)
    end_pod(kube, pod, result=make_result(pod, continued="s-1"))
    known = wait_phase(kube, "t", "Succeeded")["status"]["continuation"]
    assert (known["attempt"], known["sessionId"]) == (1, "s-1")
    assert known["time"] == attempts(kube.get("agenttasks", "t"))[0]["endTime"]
    eventually(lambda: "RetryContinuation" in told(kube, "t"), what="its event")


@pytest.mark.parametrize(
    ("where", "marks", "ends"),
    [
        pytest.param("agenttasks", {"cancel": "true"}, "Cancelled", id="cancelled"),
        pytest.param("bernsteinruns", {"cancel": "true"}, "Cancelled", id="its run is cancelled"),
        pytest.param("bernsteinruns", {"drain": "true"}, "Cancelled", id="its run is drained"),
        pytest.param("agenttasks", {"abandon": "out_of_scope"}, "Abandoned", id="abandoned"),
        pytest.param("agenttasks", {"quarantine": "odd"}, "Quarantined", id="put into quarantine"),
    ],
)
def test_a_person_ends_a_task_that_asks(
    kube: Kube, operator: OperatorProcess, where: str, marks: dict[str, str], ends: str
) -> None:
    asking(kube)
    kube.annotate(where, "t" if where == "agenttasks" else "r", **marks)
    ended = wait_phase(kube, "t", ends)
    assert not condition(ended, "InputRequired")
    wait_run(kube, "r", "Cancelled" if where == "bernsteinruns" else "Failed")
    assert len(pods_of(kube, "t")) == 1


@pytest.mark.parametrize("where", ["agenttasks", "bernsteinruns"])
def test_a_retry_leads_out_of_a_question_without_an_answer(
    kube: Kube, operator: OperatorProcess, where: str
) -> None:
    asking(kube)
    kube.annotate(where, "t" if where == "agenttasks" else "r", retry="1")
    second = start(kube, attempt=2)
    assert exchange(second) is None
    assert "question" not in kube.get("agenttasks", "t")["status"]
    succeed(kube, second)
    wait_run(kube, "r", "Succeeded")


def test_the_runs_deadline_ends_the_wait(kube: Kube, operator: OperatorProcess) -> None:
    asking(kube, run={"deadline": stamp(clock.now() + 12)})
    failed = wait_phase(kube, "t", "Failed")
    assert condition(failed, "Failed")["reason"] == "DeadlineExceeded"
    assert condition(wait_run(kube, "r", "Failed"), "Failed")["reason"] == "DeadlineExceeded"


def test_no_retry_is_left_and_an_answer_gives_as_many_as_at_first(
    kube: Kube, operator: OperatorProcess
) -> None:
    kube.create(make_run())
    kube.create(make_task(retry={"limit": 0, "onExhausted": "AwaitInput"}))
    pod = start(kube)
    result = make_result(pod, result_class="agent", exit_code=1, reason="NonZeroExit", message="red tests")
    end_pod(kube, pod, "Failed", 1, "Error", result=result)
    waits = wait_phase(kube, "t", "AwaitingInput")
    assert condition(waits, "InputRequired")["reason"] == "RetriesExhausted"
    assert "red tests" in waits["status"]["question"]["text"]
    kube.annotate("agenttasks", "t", answer="The tests were wrong; they are corrected.")
    succeed(kube, start(kube, attempt=2))
    assert wait_phase(kube, "t", "Succeeded")["status"].get("retries", 0) == 0
