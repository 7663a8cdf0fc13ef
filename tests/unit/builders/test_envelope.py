"""What an attempt is told: run, task and profile in one document, the same for the same attempt."""

from typing import Any

import pytest

from bernstein_agent import contract
from bernstein_operator.api.objects import ProfileObject, RunObject, TaskObject
from bernstein_operator.api.run import Repository
from bernstein_operator.api.task_status import Attempt, DependencyStatus
from bernstein_operator.builders.envelope import branch_of, envelope
from bernstein_operator.builders.pod import TOKEN_DIRECTORY, TOKEN_FILE
from tests.unit.objects import (
    COMMIT_A,
    COMMIT_B,
    RUN_UID,
    at,
    attempt,
    name_of_pod,
    profile,
    run,
    stamp,
    status,
    task,
)

REPOSITORY = {"url": "https://git/x.git", "ref": "main"}
MERGED = DependencyStatus(name="a", uid="a-uid", succeeded=True, commit=COMMIT_A, branch="bernstein/r/a")
BARE = DependencyStatus(name="b", uid="b-uid", succeeded=True)


def told(
    owner: TaskObject | None = None,
    *,
    attempts: tuple[Attempt, ...] = (),
    dependencies: tuple[DependencyStatus, ...] = (),
    of: RunObject | None = None,
    by: ProfileObject | None = None,
    report_url: str = "",
    facts: dict[str, Any] | None = None,
    **spec: Any,
) -> contract.Envelope:
    before = status(*(attempts or (attempt(),)), dependencies=dependencies, **(facts or {}))
    subject = owner or task(status=before, **spec)
    effective = subject.effective(None)
    shape = (by or profile()).spec
    assert effective
    assert shape
    return envelope(subject, effective, run=of or run(), profile=shape, report_url=report_url)


def test_the_agent_is_told_what_run_and_task_want() -> None:
    of = run(goal="ship it", repository={**REPOSITORY, "pushBranchPrefix": "agents/"})
    found = told(of=of, name="api", title="The API", prompt="write it", role="backend", timeoutSeconds=77)
    said = found.payload
    assert (said.goal, said.title, said.prompt, said.role) == ("ship it", "The API", "write it", "backend")
    assert (said.run, said.task, said.attempt, said.timeout_seconds) == ("r", "api", 1, 77)
    assert said.repository == contract.Repository(
        url="https://git/x.git", ref="main", branch="agents/r/api", rescue_branch="agents/r/api.rescue-1"
    )


def test_the_agent_is_told_how_its_program_goes_on() -> None:
    command = {
        "args": ["coder"],
        "resumeArgs": ["coder", "--resume", "{session_id}"],
        "sessionIdPath": "session.id",
    }
    assert told(by=profile(adapter="command", command=command)).payload.command == contract.Command(
        args=("coder",), resume_args=("coder", "--resume", "{session_id}"), session_id_path="session.id"
    )


@pytest.mark.parametrize(
    ("spec", "reason_will_do", "optional"),
    [
        ({}, False, False),
        ({"acceptance": {"allowNoChange": True}}, True, False),
        ({"effects": "none"}, False, True),
        ({"effects": "external"}, False, False),
    ],
    ids=["a commit", "a commit or a reason", "nothing that is kept", "a commit and more"],
)
def test_the_agent_is_told_what_its_success_takes(
    spec: dict[str, Any], reason_will_do: bool, optional: bool
) -> None:
    said = told(of=run(repository=REPOSITORY), **spec).payload
    assert (said.allow_no_change, said.commit_optional) == (reason_will_do, optional)


def test_the_agent_is_told_what_its_profile_says() -> None:
    git = {"authorName": "Ada", "authorEmail": "ada@example.org"}
    said = told(by=profile(adapter="command", command={"args": ["sh", "-c", "$(X)"]}, git=git)).payload
    assert (said.adapter, said.command.args) == ("command", ("sh", "-c", "$(X)"))
    assert said.git == contract.GitIdentity(author_name="Ada", author_email="ada@example.org")


@pytest.mark.parametrize("name", ["a" * 253, "a.lock", "a" * 248 + ".lock"], ids=["long", "lock", "both"])
def test_a_branch_whose_name_git_would_refuse_is_called_otherwise(name: str) -> None:
    repository = Repository.model_validate(REPOSITORY)
    parts = branch_of(repository, run=name, task=name).split("/")
    assert len(parts) == 3
    for part in parts:
        assert not part.endswith(".lock")
        assert len(f"{part}.rescue-1000000.lock") <= 255
    assert branch_of(repository, run="r", task=name) != branch_of(repository, run="r", task=name[:-1])


def test_who_it_is_about_and_for_whom() -> None:
    found = told(attempts=(attempt(1, end_time=at(1), result_class="agent"), attempt(2)))
    pod = name_of_pod(2)
    assert (found.correlation_id, found.command_id, found.idempotency_key) == (RUN_UID, pod, "t-uid:2")
    assert found.subject == contract.Subject(id=pod, version=2)
    assert (found.tenant, found.actor.grant.profile) == ("ns", "ns/default")


@pytest.mark.parametrize(
    ("given", "model", "effort"),
    [
        pytest.param({}, None, None, id="begun before there was a ladder"),
        pytest.param({"model": "big", "effort": "high"}, "big", contract.Effort.HIGH, id="both"),
        pytest.param({"effort": "max"}, None, contract.Effort.MAX, id="the program's own model"),
    ],
)
def test_the_agent_is_told_model_and_effort_of_its_attempt(
    given: dict[str, str], model: str | None, effort: contract.Effort | None
) -> None:
    said = told(
        attempts=(attempt(1, end_time=at(1), model="small", effort="low"), attempt(2, **given))
    ).payload
    assert (said.model, said.effort) == (model, effort)


def test_dependencies_commits_are_merged_where_there_are_any() -> None:
    found = told(of=run(repository=REPOSITORY), dependencies=(MERGED, BARE)).payload
    assert found.dependencies == (contract.DependencyRef(name="a", commit=COMMIT_A, branch="bernstein/r/a"),)


def test_base_ref_leaves_the_dependencies_commits_out() -> None:
    found = told(of=run(repository={**REPOSITORY, "base": "Ref"}), dependencies=(MERGED,)).payload
    assert found.dependencies == ()


def test_without_a_repository_there_is_nothing_to_push_or_merge() -> None:
    found = told(dependencies=(MERGED,)).payload
    assert (found.repository, found.dependencies) == (None, ())


def test_every_attempt_starts_from_the_commit_that_the_first_resolved() -> None:
    first = attempt(1, end_time=at(1), result_class="agent", head_before=COMMIT_A, head_after=COMMIT_B)
    repository = told(of=run(repository=REPOSITORY), attempts=(first, attempt(2))).payload.repository
    assert repository
    assert (repository.base_commit, repository.rescue_branch) == (COMMIT_A, "bernstein/r/t.rescue-2")


@pytest.mark.parametrize(
    ("attempts", "previous"),
    [
        pytest.param((attempt(1),), None, id="the first attempt"),
        pytest.param(
            (attempt(1, end_time=at(1), result_class="deadline", message="stopped"), attempt(2)),
            contract.PreviousAttempt(result_class=contract.ResultClass.DEADLINE, message="stopped"),
            id="after a deadline",
        ),
        pytest.param(
            (
                attempt(1, end_time=at(1), result_class="agent", message="one"),
                attempt(
                    2,
                    end_time=at(2),
                    result_class="business",
                    reason="NoCommit",
                    branch="b/r/t",
                    rescue_branch="b/r/t.rescue-2",
                ),
                attempt(3),
            ),
            contract.PreviousAttempt(
                result_class=contract.ResultClass.BUSINESS,
                message="NoCommit",
                branch="b/r/t",
                rescue_branch="b/r/t.rescue-2",
            ),
            id="the latest of two, its reason where it left no message",
        ),
    ],
)
def test_what_the_previous_attempt_found(
    attempts: tuple[Attempt, ...], previous: contract.PreviousAttempt | None
) -> None:
    assert told(attempts=attempts).payload.previous_attempt == previous


def test_where_to_report_is_told_where_somebody_listens() -> None:
    assert told().payload.reporting is None
    found = told(report_url="http://reports:8081").payload.reporting
    assert found == contract.Reporting(
        url="http://reports:8081", token_file=f"{TOKEN_DIRECTORY}/{TOKEN_FILE}", interval_seconds=5
    )


CONTINUED = {"continuation": {"attempt": 1, "time": stamp(1)}}


@pytest.mark.parametrize(
    ("options", "may"),
    [
        pytest.param({}, True, id="a commit is wanted, and somebody listens"),
        pytest.param({"report_url": ""}, False, id="nobody listens"),
        pytest.param({"of": run()}, False, id="there is no repository"),
        pytest.param({"effects": "none"}, False, id="no commit is wanted"),
        pytest.param({"facts": CONTINUED}, False, id="the task has had its one"),
    ],
)
def test_an_agent_without_a_commit_may_continue_once_in_its_tasks_life(
    options: dict[str, Any], may: bool
) -> None:
    given = {"of": run(repository=REPOSITORY), "report_url": "http://reports:8081", **options}
    assert told(**given).payload.may_continue is may


@pytest.mark.parametrize("allowed", [True, False])
def test_whether_no_commit_can_be_right_is_told(allowed: bool) -> None:
    assert told(acceptance={"allowNoChange": allowed}).payload.allow_no_change is allowed


def test_the_deadline_is_after_everything_that_the_pod_may_take() -> None:
    found = told(attempts=(attempt(1, intent_time=at(5)),), startTimeoutSeconds=100, timeoutSeconds=60)
    assert found.deadline == at(5 + 86_400 + 100 + 60 + 100), "gates, scheduling, start, work"


def test_the_same_attempt_is_always_told_the_same() -> None:
    of, by = run(repository=REPOSITORY), profile(adapter="script")
    texts = {told(of=of, by=by, dependencies=(MERGED,)).to_json() for _ in range(3)}
    assert len(texts) == 1


def test_the_runner_reads_what_was_written() -> None:
    first = attempt(1, end_time=at(1), result_class="oom", message="too much", head_before=COMMIT_A)
    found = told(
        of=run(goal="", repository=REPOSITORY),
        attempts=(first, attempt(2)),
        dependencies=(MERGED,),
        prompt="Zeile\n„zwei“ $(HOME) \U0001f600",
    )
    assert contract.parse_envelope(found.to_json()) == found


@pytest.mark.parametrize(
    ("caps", "usage", "budget", "expected"),
    [
        pytest.param({}, None, {}, {}, id="nobody limits it"),
        pytest.param(
            {}, None, {"steps": 30, "toolCalls": 9}, {"steps": 30, "tool_calls": 9}, id="each attempt"
        ),
        pytest.param(
            {"cap_usd": "0.50", "cap_tokens": 70},
            None,
            {},
            {"cost_micros": 500_000, "tokens": 70},
            id="what its run had left",
        ),
        pytest.param(
            {"cap_usd": "0.40"},
            None,
            {"usd": "0.40"},
            {"cost_micros": 400_000, "own": True},
            id="all its own",
        ),
        pytest.param(
            {"cap_usd": "0.30"},
            "0.10",
            {"usd": "0.40"},
            {"cost_micros": 300_000, "own": True},
            id="all that earlier attempts left of its own",
        ),
        pytest.param(
            {"cap_usd": "0.30"}, None, {"usd": "0.40"}, {"cost_micros": 300_000}, id="its run had less left"
        ),
        pytest.param(
            {"cap_tokens": 70},
            None,
            {"tokens": 70},
            {"tokens": 70, "own": True},
            id="its own tokens",
        ),
        pytest.param(
            {"cap_usd": "0.30", "cap_tokens": 70},
            None,
            {"tokens": 70},
            {"cost_micros": 300_000, "tokens": 70},
            id="its own tokens and its run's dollars",
        ),
        pytest.param(
            {"cap_usd": "0.30", "cap_tokens": 70},
            None,
            {"usd": "0.30"},
            {"cost_micros": 300_000, "tokens": 70},
            id="its own dollars and its run's tokens",
        ),
        pytest.param(
            {"cap_usd": "0.40"},
            None,
            {"usd": "0.40", "mode": "hard-stop-on-zero"},
            {"cost_micros": 400_000, "own": True, "mode": contract.BudgetMode.HARD},
            id="stopped hard",
        ),
    ],
)
def test_the_agent_is_told_what_it_may_use_up(
    caps: dict[str, Any], usage: str | None, budget: dict[str, Any], expected: dict[str, Any]
) -> None:
    spent = {"cost_usd": usage} if usage else None
    before = status(attempt(1, end_time=at(1), usage=spent), attempt(2, **caps), usage=spent)
    found = told(task(status=before, budget=budget))
    assert found.budget == contract.Budget(**expected)


def test_the_agent_is_told_the_prices_of_its_model() -> None:
    priced = {"name": "m", "prices": {"inputUsd": "3", "outputUsd": "15", "cachedUsd": "0.30"}}
    uncached = {"name": "n", "prices": {"inputUsd": "3", "outputUsd": "15"}}
    by = profile(models=[priced, uncached, {"name": "o"}])
    prices = [told(attempts=(attempt(model=name),), by=by).payload.prices for name in ("m", "n", "o")]
    assert prices == [
        contract.Prices(input_micros=3_000_000, output_micros=15_000_000, cached_micros=300_000),
        contract.Prices(input_micros=3_000_000, output_micros=15_000_000, cached_micros=3_000_000),
        None,
    ]
