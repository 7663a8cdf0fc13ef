"""A task that waits for a person: how it comes there, how long it waits, and what leads out."""

from typing import Any

import pytest

from bernstein_agent.contract import ResultClass
from bernstein_operator.api.effective import EffectiveBudget
from bernstein_operator.api.money import Money
from bernstein_operator.api.objects import TaskObject
from bernstein_operator.api.profile import AgentProfileSpec
from bernstein_operator.api.task_status import AgentTaskStatus, Usage
from bernstein_operator.api.vocabulary import TaskPhase
from bernstein_operator.builders.envelope import envelope
from bernstein_operator.decisions.asking import MAX_WORDS
from bernstein_operator.decisions.closing import after
from bernstein_operator.decisions.course import Course, Question
from bernstein_operator.decisions.outcome import Outcome
from bernstein_operator.decisions.plan import TaskDecision
from bernstein_operator.decisions.requests import new_value
from bernstein_operator.decisions.task import decide
from bernstein_operator.decisions.task_budget import Left, cheaper, left, used_up
from tests.unit.objects import (
    at,
    attempt,
    effective,
    name_of_pod,
    pod,
    profile,
    raw_task,
    reasons,
    run,
    said,
    snapshot,
    stamp,
    status,
    task,
    terminated,
)

ASKED = attempt(end_time=at(5), start_time=at(1), result_class="asked")
FAILED = attempt(end_time=at(5), start_time=at(1), result_class="agent", fingerprint="aa")
QUESTION = {"text": "Which?", "time": at(5), "deadline": at(65)}
USED = {"retries": 3, "disruptions": 1, "rate_limits": 2, "same_failures": 2}
WAITS = status(ASKED, phase="AwaitingInput", question=QUESTION, first_admitted_time=at(0), **USED)
GAVE_OUT = WAITS.model_copy(update={"attempts": (FAILED,)})
RUNS = status(attempt(start_time=at(1)), phase="Running", first_admitted_time=at(0))


def on(
    stands: AgentTaskStatus, now: float = 10, *, marks: dict[str, str] | None = None, **spec: Any
) -> TaskDecision:
    known = {f"bernstein.run/{verb}": value for verb, value in (marks or {}).items()}
    owner = task(status=stands, metadata={"annotations": known}, **spec)
    return decide(snapshot(owner, run=run()), now=at(now))


def exhausted(result_class: str, **spec: Any) -> Course:
    owner = task(status=RUNS, **spec)
    outcome = Outcome(ResultClass(result_class), "ItIsSo", "because", None, at(9), None)
    return after(RUNS, outcome, Question(snapshot(owner), effective(owner), at(10)))


# --- it asks ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "text"),
    [
        pytest.param("Which?", "Which?", id="in its own words"),
        pytest.param("é" * (MAX_WORDS + 1), "é" * 1024, id="a long one is cut for the condition"),
        pytest.param(None, "it has a question", id="the words of an older runner"),
    ],
)
def test_an_agents_question_is_what_is_told(question: str | None, text: str) -> None:
    word = said(name_of_pod(), "asked", question=question, message="it has a question")
    ended = pod(phase="Failed", agent=terminated(1, message=word))
    found = decide(snapshot(task(status=RUNS, inputTimeoutSeconds=60), ended), now=at(10)).status
    assert found.phase is TaskPhase.AWAITING_INPUT
    assert found.question
    assert (found.question.time, found.question.deadline) == (at(10), at(70))
    assert len(found.question.text) <= MAX_WORDS
    [required] = [one for one in found.conditions if one.type == "InputRequired"]
    assert required.message[:9] == text[:9]
    assert reasons(found.conditions)["Reconciling"] == ("True", "AwaitingInput")


@pytest.mark.parametrize(
    ("result_class", "spec", "phase", "reason"),
    [
        pytest.param("agent", {"retry": {"limit": 0}}, "Failed", "RetriesExhausted", id="retries: unsaid"),
        pytest.param(
            "agent",
            {"retry": {"limit": 0, "onExhausted": "AwaitInput"}},
            "AwaitingInput",
            "RetriesExhausted",
            id="retries: asked",
        ),
        pytest.param(
            "disruption",
            {"retry": {"disruptionLimit": 0, "onExhausted": "AwaitInput"}},
            "AwaitingInput",
            "DisruptionsExhausted",
            id="lost Pods: asked",
        ),
        pytest.param("task_budget", {}, "Failed", "TaskBudgetExhausted", id="budget: unsaid"),
        pytest.param(
            "task_budget",
            {"budget": {"mode": "hard-stop-on-zero"}},
            "AwaitingInput",
            "TaskBudgetExhausted",
            id="budget: unsaid in the hard mode",
        ),
        pytest.param(
            "task_budget",
            {"budget": {"mode": "hard-stop-on-zero", "onExhausted": "Fail"}},
            "Failed",
            "TaskBudgetExhausted",
            id="budget: the hard mode and failed",
        ),
        pytest.param(
            "task_budget",
            {"retry": {"onExhausted": "AwaitInput"}},
            "Failed",
            "TaskBudgetExhausted",
            id="budget: what retries say has no say",
        ),
    ],
)
def test_what_becomes_of_a_task_with_nothing_left(
    result_class: str, spec: dict[str, Any], phase: str, reason: str
) -> None:
    course = exhausted(result_class, **spec)
    assert course.status.phase == phase
    assert course.standing
    assert course.standing.reason == reason
    assert "because" in course.standing.message


def test_a_new_question_ends_the_exchange_before_it() -> None:
    known = {"question": QUESTION, "answer": {"text": "That.", "time": at(6)}}
    before = AgentTaskStatus.model_validate({**RUNS.model_dump(), **known})
    word = said(name_of_pod(), "asked", question="And now?")
    ended = pod(phase="Failed", agent=terminated(1, message=word))
    found = decide(snapshot(task(status=before), ended), now=at(10)).status
    assert found.question
    assert (found.question.text, found.answer) == ("And now?", None)


# --- it waits ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("now", "phase"),
    [
        pytest.param(64.9, "AwaitingInput", id="a moment before"),
        pytest.param(65, "Failed", id="exactly then"),
    ],
)
def test_nobody_is_waited_for_beyond_the_limit(now: float, phase: str) -> None:
    decision = on(WAITS, now)
    assert decision.status.phase == phase
    if phase == "Failed":
        assert reasons(decision.status.conditions)["Failed"] == ("True", "InputTimeout")
    else:
        assert decision.wake == at(65)
        assert not decision.actions


@pytest.mark.parametrize(
    ("deadline", "now", "reason"),
    [
        pytest.param(40, 41, "DeadlineExceeded", id="the deadline comes first"),
        pytest.param(40, 99, "DeadlineExceeded", id="it came first, and nobody looked"),
        pytest.param(80, 99, "InputTimeout", id="it comes after the question's own limit"),
    ],
)
def test_a_deadline_goes_on_meanwhile(deadline: float, now: float, reason: str) -> None:
    found = on(WAITS, now, deadline=stamp(deadline)).status
    assert reasons(found.conditions)["Failed"] == ("True", reason)


def test_what_it_says_stays_said() -> None:
    first = decide(snapshot(task(status=WAITS)), now=at(10)).status
    assert decide(snapshot(task(status=first)), now=at(20)).status == first


def test_a_question_that_somebody_took_away_is_waited_for_no_longer() -> None:
    assert on(WAITS.model_copy(update={"question": None})).status.phase is TaskPhase.FAILED


# --- what leads out ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("stands", "marks", "phase", "effect"),
    [
        pytest.param(WAITS, {"answer": "This."}, "Pending", "Answered; another attempt", id="an answer"),
        pytest.param(WAITS, {"answer": " "}, "AwaitingInput", "Ignored: an answer needs", id="an empty one"),
        pytest.param(RUNS, {"answer": "This."}, "Running", "Ignored: the task is Running", id="unasked"),
        pytest.param(WAITS, {"retry": "1"}, "Pending", "A fresh start.", id="a retry"),
        pytest.param(WAITS, {"cancel": "true"}, "Cancelled", "Cancelled.", id="a cancel"),
        pytest.param(WAITS, {"abandon": "other"}, "Abandoned", "Abandoned", id="an abandonment"),
        pytest.param(WAITS, {"quarantine": "odd"}, "Quarantined", "Quarantined.", id="a quarantine"),
        pytest.param(WAITS, {"drain": "true"}, "AwaitingInput", "Ignored: only a run", id="a task's drain"),
    ],
)
def test_what_people_can_say_to_it(
    stands: AgentTaskStatus, marks: dict[str, str], phase: str, effect: str
) -> None:
    found = on(stands, marks=marks).status
    assert found.phase == phase
    assert found.requests[-1].effect.startswith(effect)


@pytest.mark.parametrize(
    ("stands", "used"),
    [
        pytest.param(WAITS, (3, 1, 2, 2), id="it asked by itself: the counters stay"),
        pytest.param(GAVE_OUT, (0, 0, 0, 0), id="nothing was left: they begin anew"),
    ],
)
def test_an_answer_and_the_counters(stands: AgentTaskStatus, used: tuple[int, ...]) -> None:
    found = on(stands, marks={"answer": "This.", "x": ""}).status
    assert found.answer
    assert (found.answer.text, found.answer.actor, found.answer.time) == ("This.", "unknown", at(10))
    assert (found.retries, found.disruptions, found.rate_limits, found.same_failures) == used
    assert found.retried_time is None


def test_an_answer_is_cut_and_kept_whole_up_to_there() -> None:
    found = on(WAITS, marks={"answer": "é" * (MAX_WORDS + 1)}).status
    assert found.answer
    assert found.answer.text == "é" * MAX_WORDS


@pytest.mark.parametrize(
    ("answer", "question"),
    [pytest.param(None, None, id="unanswered"), pytest.param("This.", "Which?", id="answered")],
)
def test_a_fresh_start_keeps_only_what_was_answered(answer: str | None, question: str | None) -> None:
    told = {"answer": {"text": answer, "time": stamp(6)}} if answer else {}
    ended = {"phase": "Failed", "completionTime": stamp(7)} if answer else {}
    stands = AgentTaskStatus.model_validate({**WAITS.manifest(), **told, **ended})
    found = on(stands, marks={"retry": "1"}).status
    assert found.phase is TaskPhase.PENDING
    assert (found.question.text if found.question else None) == question


def test_an_answer_that_differs_at_its_end_only_is_a_new_one() -> None:
    long = "x" * 300
    before = on(WAITS, marks={"answer": long}).status.requests
    assert len(before[-1].value) == 256
    for value, new in ((long, False), (f"{long[:-1]}y", True)):
        owner = task(metadata={"annotations": {"bernstein.run/answer": value}})
        assert (new_value(owner.meta, before, before[-1].verb) is not None) is new


@pytest.mark.parametrize(
    ("known", "told"),
    [
        pytest.param({}, None, id="nothing was asked"),
        pytest.param({"question": QUESTION}, None, id="nobody has answered"),
        pytest.param(
            {"question": QUESTION, "answer": {"text": "This.", "time": at(6)}}, ("Which?", "This."), id="both"
        ),
    ],
)
def test_the_next_agent_is_told_question_and_answer(
    known: dict[str, Any], told: tuple[str, str] | None
) -> None:
    owner = TaskObject.parse(raw_task(status=status(ASKED, attempt(2), **known)))
    spec = profile().spec
    assert isinstance(spec, AgentProfileSpec)
    found = envelope(owner, effective(owner), run=run(), profile=spec).payload.exchange
    assert (found and (found.question, found.answer)) == told


# --- a task's own budget ----------------------------------------------------------------------------------


def spent(usd: str = "0", *, tokens: int = 0, cached: int = 0) -> Usage:
    half = tokens // 2
    return Usage(
        input_tokens=half, output_tokens=tokens - half, cached_tokens=cached, cost_usd=Money.parse(usd)
    )


@pytest.mark.parametrize(
    ("budget", "usage", "rest", "gone"),
    [
        pytest.param(EffectiveBudget(), spent("9.00", tokens=9), Left(None, None), "", id="unbounded"),
        pytest.param(EffectiveBudget(usd=Money(10)), None, Left(Money(10), None), "", id="nothing is spent"),
        pytest.param(
            EffectiveBudget(usd=Money.parse("1.00")),
            spent("0.999999"),
            Left(Money(1), None),
            "",
            id="a millionth is left",
        ),
        pytest.param(
            EffectiveBudget(usd=Money.parse("1.00")),
            spent("1.00"),
            Left(Money(0), None),
            "budget.usd (1.00)",
            id="exactly all dollars",
        ),
        pytest.param(
            EffectiveBudget(usd=Money.parse("1.00")),
            spent("1.20"),
            Left(Money(0), None),
            "budget.usd (1.00)",
            id="more than all dollars",
        ),
        pytest.param(
            EffectiveBudget(tokens=64_000),
            spent(tokens=63_999, cached=9_999),
            Left(None, 1),
            "",
            id="a token is left: cached ones don't count",
        ),
        pytest.param(
            EffectiveBudget(tokens=64_000),
            spent(tokens=64_000),
            Left(None, 0),
            "budget.tokens (64000)",
            id="exactly all tokens",
        ),
    ],
)
def test_what_is_left_of_a_tasks_life(
    budget: EffectiveBudget, usage: Usage | None, rest: Left, gone: str
) -> None:
    assert left(budget, usage) == rest
    assert used_up(budget, usage) == gone


@pytest.mark.parametrize(
    ("model", "below"),
    [("big", "small"), ("small", None), ("unlisted", None), (None, None)],
    ids=["the upper one", "the lowest", "not on the ladder", "none was told"],
)
def test_the_model_below(model: str | None, below: str | None) -> None:
    ladder = profile(models=[{"name": "small"}, {"name": "big"}]).spec
    assert cheaper(model, ladder) == below
    assert cheaper(model, None) is None


@pytest.mark.parametrize(
    ("spends", "reason"),
    [
        pytest.param("0.99", None, id="a cent is left"),
        pytest.param("1.00", ("False", "TaskBudgetExhausted"), id="nothing is left"),
    ],
)
def test_no_attempt_begins_with_nothing_left(spends: str, reason: tuple[str, str] | None) -> None:
    before = status(FAILED, phase="Pending", usage=spent(spends), first_admitted_time=at(0))
    owner = task(status=before, budget={"usd": "1.00"})
    decision = decide(snapshot(owner, has_slot=True), now=at(10))
    found = reasons(decision.status.conditions)["Admitted"]
    assert found == (reason or ("True", "Admitted"))
    assert decision.status.attempt == (1 if reason else 2)
