"""Three levels, one answer: the task's own word, else the run's, else the built-in one."""

import pytest

from bernstein_agent.contract import BudgetMode
from bernstein_operator.api.choices import AfterDeadline, Effects, Effort, OnExhausted, ScopeSize
from bernstein_operator.api.effective import EffectiveBudget, EffectiveRetry, EffectiveTask, effective
from bernstein_operator.api.money import Money
from bernstein_operator.api.task import AgentTaskSpec, RetryPolicy, RunRef, TaskDefaults

MINIMAL = {"runRef": {"name": "r"}, "prompt": "do it"}
EVERYTHING = {
    "role": "backend",
    "priority": 1,
    "scope": "small",
    "dependencyTimeoutSeconds": 1,
    "profile": "fast",
    "timeoutSeconds": 2,
    "startTimeoutSeconds": 3,
    "deadlineWarningSeconds": 7,
    "inputTimeoutSeconds": 8,
    "model": "big",
    "effort": "low",
    "effects": "external",
    "retry": {
        "limit": 4,
        "backoffSeconds": 5,
        "maxBackoffSeconds": 6,
        "disruptionLimit": 7,
        "onExhausted": "Abandon",
    },
    "essential": False,
    "budget": {
        "usd": "1.50",
        "tokens": 64_000,
        "steps": 30,
        "toolCalls": 100,
        "mode": "hard-stop-on-zero",
        "onExhausted": "Abandon",
    },
    "acceptance": {"allowNoChange": True},
}


def spec(**fields: object) -> AgentTaskSpec:
    return AgentTaskSpec.model_validate({**MINIMAL, **fields})


def run_says(**fields: object) -> TaskDefaults:
    return TaskDefaults.model_validate(fields)


def test_a_bare_task_gets_the_built_in_values() -> None:
    assert effective(spec(), None, object_name="r-t") == EffectiveTask(
        run="r",
        name="r-t",
        title="r-t",
        role="auto",
        prompt="do it",
        priority=2,
        scope=ScopeSize.MEDIUM,
        depends_on=(),
        dependency_timeout_seconds=3600,
        profile="default",
        timeout_seconds=1800,
        start_timeout_seconds=600,
        retry=EffectiveRetry(limit=2, backoff_seconds=30, max_backoff_seconds=300),
        suspend=False,
    )


@pytest.mark.parametrize("level", ["task", "run"])
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("role", "backend"),
        ("priority", 1),
        ("scope", ScopeSize.SMALL),
        ("dependency_timeout_seconds", 1),
        ("profile", "fast"),
        ("timeout_seconds", 2),
        ("start_timeout_seconds", 3),
        ("deadline_warning_seconds", 7),
        ("input_timeout_seconds", 8),
        ("model", "big"),
        ("effort", Effort.LOW),
        ("effects", Effects.EXTERNAL),
        ("essential", False),
        (
            "budget",
            EffectiveBudget(
                usd=Money.parse("1.50"),
                tokens=64_000,
                steps=30,
                tool_calls=100,
                mode=BudgetMode.HARD,
                on_exhausted=OnExhausted.ABANDON,
            ),
        ),
        ("allow_no_change", True),
        (
            "retry",
            EffectiveRetry(
                limit=4,
                backoff_seconds=5,
                max_backoff_seconds=6,
                disruption_limit=7,
                on_exhausted=OnExhausted.ABANDON,
            ),
        ),
    ],
)
def test_each_level_alone_is_heard(level: str, field: str, value: object) -> None:
    if level == "task":
        resolved = effective(spec(**EVERYTHING), None, object_name="t")
    else:
        resolved = effective(spec(), run_says(**EVERYTHING), object_name="t")
    assert getattr(resolved, field) == value


@pytest.mark.parametrize(
    ("field", "task", "run"),
    [
        ("role", "qa", "backend"),
        ("priority", 3, 1),
        ("scope", "large", "small"),
        ("dependencyTimeoutSeconds", 0, 1),
        ("profile", "slow", "fast"),
        ("timeoutSeconds", 20, 2),
        ("startTimeoutSeconds", 30, 3),
        ("deadlineWarningSeconds", 0, 7),
        ("inputTimeoutSeconds", 80, 8),
        ("model", "small", "big"),
        ("effort", "max", "low"),
        ("effects", "none", "external"),
    ],
)
def test_the_task_has_the_last_word(field: str, task: object, run: object) -> None:
    alone = effective(spec(**{field: task}), None, object_name="t")
    assert effective(spec(**{field: task}), run_says(**{field: run}), object_name="t") == alone


@pytest.mark.parametrize(
    ("scope", "seconds"), [(ScopeSize.SMALL, 900), (ScopeSize.MEDIUM, 1800), (ScopeSize.LARGE, 3600)]
)
def test_scope_sets_the_timeout_wherever_it_was_said(scope: ScopeSize, seconds: int) -> None:
    assert effective(spec(scope=scope), None, object_name="t").timeout_seconds == seconds
    assert effective(spec(), run_says(scope=scope), object_name="t").timeout_seconds == seconds


@pytest.mark.parametrize(
    ("task", "run", "limit", "on_exhausted"),
    [
        pytest.param({}, {}, 3, "Fail", id="nobody says anything"),
        pytest.param({"disruptionLimit": 0}, {"disruptionLimit": 5}, 0, "Fail", id="zero is an answer"),
        pytest.param(
            {"onExhausted": "Fail"}, {"onExhausted": "Abandon"}, 3, "Fail", id="the task has the last word"
        ),
        pytest.param(
            {"disruptionLimit": 1}, {"onExhausted": "Abandon"}, 1, "Abandon", id="each field for itself"
        ),
    ],
)
def test_the_ends_of_retries_are_merged_too(
    task: dict[str, object], run: dict[str, object], limit: int, on_exhausted: str
) -> None:
    resolved = effective(spec(retry=task), run_says(retry=run), object_name="t").retry
    assert (resolved.disruption_limit, resolved.on_exhausted) == (limit, on_exhausted)


@pytest.mark.parametrize(
    ("task", "run", "merged"),
    [
        pytest.param({}, {}, (2, 30, 300), id="nobody says anything"),
        pytest.param({"limit": 0}, {"limit": 5}, (0, 30, 300), id="zero is an answer"),
        pytest.param({"limit": 1}, {"backoffSeconds": 7}, (1, 7, 300), id="field by field"),
        pytest.param(
            {"backoffSeconds": 600}, {}, (2, 600, 600), id="a long back-off lifts the unsaid maximum"
        ),
        pytest.param(
            {"backoffSeconds": 600},
            {"maxBackoffSeconds": 60},
            (2, 600, 60),
            id="a maximum that was said holds",
        ),
    ],
)
def test_retry_is_merged_field_by_field(
    task: dict[str, int], run: dict[str, int], merged: tuple[int, int, int]
) -> None:
    resolved = effective(spec(retry=task), run_says(retry=run), object_name="t").retry
    assert resolved == EffectiveRetry(*merged)


@pytest.mark.parametrize(
    ("task", "run", "found"),
    [
        pytest.param({}, {}, AfterDeadline.FRESH, id="nobody says anything"),
        pytest.param({}, {"afterDeadline": "None"}, AfterDeadline.NONE, id="the run says it"),
        pytest.param(
            {"afterDeadline": "Fresh"},
            {"afterDeadline": "None"},
            AfterDeadline.FRESH,
            id="the task does",
        ),
    ],
)
def test_what_follows_a_missed_deadline_is_merged_too(
    task: dict[str, str], run: dict[str, str], found: AfterDeadline
) -> None:
    resolved = effective(spec(retry=task), run_says(retry=run), object_name="t").retry
    assert resolved.after_deadline is found


def test_names_and_dependencies() -> None:
    resolved = effective(
        AgentTaskSpec(
            run_ref=RunRef(name="r"),
            name="build",
            title="Build it",
            prompt="x",
            depends_on=("b", "a", "b"),
            retry=RetryPolicy(),
            suspend=True,
        ),
        None,
        object_name="r-build",
    )
    assert (resolved.name, resolved.title, resolved.depends_on) == ("build", "Build it", ("b", "a"))
    assert resolved.suspend


@pytest.mark.parametrize(
    ("task", "run", "found"),
    [
        pytest.param({}, {}, EffectiveBudget(), id="nobody says anything: unbounded"),
        pytest.param({"usd": 0}, {"usd": 5}, EffectiveBudget(), id="a task's 0 lifts its run's"),
        pytest.param({"usd": 5}, {"usd": 0}, EffectiveBudget(usd=Money(5_000_000)), id="and its own holds"),
        pytest.param(
            {"tokens": 7},
            {"usd": 5, "tokens": 9, "steps": 3},
            EffectiveBudget(usd=Money(5_000_000), tokens=7, steps=3),
            id="field by field",
        ),
        pytest.param(
            {"mode": "hard-stop-on-zero"},
            {},
            EffectiveBudget(mode=BudgetMode.HARD, on_exhausted=OnExhausted.AWAIT_INPUT),
            id="the hard mode asks",
        ),
        pytest.param(
            {},
            {"mode": "hard-stop-on-zero"},
            EffectiveBudget(mode=BudgetMode.HARD, on_exhausted=OnExhausted.AWAIT_INPUT),
            id="its run's hard mode asks too",
        ),
        pytest.param(
            {"mode": "hard-stop-on-zero"},
            {"onExhausted": "Fail"},
            EffectiveBudget(mode=BudgetMode.HARD),
            id="unless somebody says otherwise",
        ),
    ],
)
def test_budgets_are_merged_field_by_field(
    task: dict[str, object], run: dict[str, object], found: EffectiveBudget
) -> None:
    assert effective(spec(budget=task), run_says(budget=run), object_name="t").budget == found
