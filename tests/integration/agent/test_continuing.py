"""An agent that ends well and leaves no commit is told so once, where the operator has put that on record.

The runner, its programs and their sessions, the git server and the operator's endpoint are real.
"""

import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import bernstein_agent
from bernstein_agent.allowance import Allowance, Clock
from bernstein_agent.completion import NUDGE
from bernstein_agent.console import Console
from bernstein_agent.contract import (
    Budget,
    Command,
    Continuation,
    Envelope,
    Instruction,
    Reason,
    Report,
    Reporting,
    Result,
    ResultClass,
    Usage,
)
from bernstein_agent.observation import Observation
from bernstein_agent.place import Place
from bernstein_agent.processes import Supervisor
from bernstein_agent.redaction import Redactor
from bernstein_agent.runner import Attempt
from bernstein_agent.watch import Watch
from tests.integration.agent.bench import Bench, changed, envelope, repository, script
from tests.integration.agent.gitserver import Remote
from tests.support.endpoint import Answer, Endpoint, Rule, endpoint

BRANCH = "bernstein/demo/build"
RESCUE = "bernstein/demo/build.rescue-1"
NOW = 1000.0
COMMIT = ("write src/parser.py: print('parsed')", "commit Add the parser")


@dataclass
class Stage:
    """A place to run attempts in, and the operator that they report to."""

    bench: Bench
    operator: Endpoint
    token: Path
    log: str = ""

    def run(self, order: Envelope, *, heard: bool = True, **env: str) -> Result:
        """Carry out an envelope; nobody listens to it unless it is ``heard``."""
        reporting = Reporting(url=self.operator.url, token_file=str(self.token), interval_seconds=1)
        ended = self.bench.run(changed(order, reporting=reporting if heard else None), env=env)
        self.log = ended.log
        return ended.result

    @property
    def workspace(self) -> Path:
        """The workspace of the last attempt."""
        return self.bench.root / str(self.bench.runs) / "workspace"

    @property
    def announced(self) -> list[str]:
        """The sessions that were to be gone on with, each once."""
        told = (report.continues for report in self.operator.reports)
        return list(dict.fromkeys(session for session in told if session is not None))


def answering(word: Continuation) -> Rule:
    """Return what answers each announcement with ``word``."""
    return lambda report: Instruction(continuation=None if report.continues is None else word)


@pytest.fixture
def stage(bench: Bench, tmp_path: Path) -> Iterator[Stage]:
    """Return a place to run attempts in, whose operator allows a continuation."""
    token = tmp_path / "token"
    token.write_text("secret-of-the-pod")
    with endpoint() as operator:
        operator.rule = answering(Continuation.ALLOWED)
        yield Stage(bench, operator, token)


def order(remote: Remote, *lines: str, **changes: object) -> Envelope:
    """Return an envelope for a scripted agent that may be told once."""
    return changed(envelope(script(*lines), repo=repository(remote.url)), **{"may_continue": True, **changes})


def command(remote: Remote, *args: str, resume: Sequence[str], session: str | None = None) -> Envelope:
    """Return one for a program."""
    told = Command(args=args, resume_args=tuple(resume), session_id_path=session)
    return changed(envelope(args=args, repo=repository(remote.url)), may_continue=True, command=told)


def outcome(result: Result) -> tuple[ResultClass, str]:
    return result.result_class, result.reason


def test_a_lazy_agent_that_is_told_commits(stage: Stage, remote: Remote) -> None:
    result = stage.run(order(remote, "say Nothing yet.", "lazy", *COMMIT, "say It is there."))
    assert outcome(result) == (ResultClass.SUCCESS, Reason.COMPLETED)
    assert remote.show(BRANCH, "src/parser.py") == "print('parsed')"
    assert (stage.announced, result.continued) == ([result.continued], stage.announced[0])
    assert (result.summary, result.exit_code, result.steps) == ("It is there.", 0, 2)


def test_the_agent_is_told_in_the_words_of_the_rule_and_after_a_blank_line(
    stage: Stage, remote: Remote
) -> None:
    stage.run(order(remote, "lazy", *COMMIT))
    assert (stage.workspace / "prompt.md").read_text().endswith(f"\n\n{NUDGE}\n")


def test_what_both_turns_spent_is_added_up(stage: Stage, remote: Remote) -> None:
    spending = ("spend input=100 usd=0.10", "steps 2", "call Bash 3 times", "lazy", "spend input=10 usd=0.05")
    result = stage.run(order(remote, *spending, "call Edit", *COMMIT))
    assert result.usage == Usage(input_tokens=110, cost_micros=150_000)
    assert (result.steps, result.tool_calls) == (4, 4)


@pytest.mark.parametrize("allowed", [True, False], ids=["where a reason will do", "where it will not"])
def test_an_agent_that_is_told_may_say_why_it_left_no_commit(
    stage: Stage, remote: Remote, allowed: bool
) -> None:
    lazy = order(remote, "lazy", "explain The parser was there before.", allow_no_change=allowed)
    result = stage.run(lazy)
    assert outcome(result) == (
        (ResultClass.SUCCESS, Reason.NO_CHANGE_NEEDED)
        if allowed
        else (ResultClass.BUSINESS, Reason.NO_COMMIT)
    )
    assert (result.branch, result.head_after) == (None, result.head_before)
    assert set(remote.branches()) == {"main"}


def test_an_agent_that_says_nothing_again_is_told_no_second_time(stage: Stage, remote: Remote) -> None:
    result = stage.run(order(remote, "lazy", "lazy", *COMMIT))
    assert outcome(result) == (ResultClass.BUSINESS, Reason.NO_COMMIT)
    assert len(stage.announced) == 1
    assert BRANCH not in remote.branches()


def test_what_is_left_uncommitted_is_saved_and_no_reason_helps(stage: Stage, remote: Remote) -> None:
    lazy = order(remote, "write a.txt: a", "lazy", "explain None needed.", allow_no_change=True)
    result = stage.run(lazy)
    assert outcome(result) == (ResultClass.BUSINESS, Reason.NO_COMMIT)
    assert result.message == "the agent ended well and left its work uncommitted"
    assert (result.rescue_branch, remote.show(RESCUE, "a.txt")) == (RESCUE, "a")


def test_a_failure_of_the_second_turn_is_the_attempts(stage: Stage, remote: Remote) -> None:
    result = stage.run(order(remote, "lazy", *COMMIT, "fail 3"))
    assert outcome(result) == (ResultClass.AGENT, Reason.NON_ZERO_EXIT)
    assert (result.exit_code, result.rescue_branch) == (3, RESCUE)
    assert result.continued


def test_the_second_turn_has_what_is_left_of_the_time(stage: Stage, remote: Remote) -> None:
    result = stage.run(order(remote, "lazy", "hang", timeout_seconds=6))
    assert outcome(result) == (ResultClass.DEADLINE, Reason.DEADLINE_EXCEEDED)
    assert result.continued


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        (("fail 3",), "non_zero_exit"),
        (("write .git/HEAD: nonsense",), "head_unknown"),
        (COMMIT, "committed"),
    ],
    ids=["it failed", "its clone can't be read", "it committed"],
)
def test_an_agent_is_not_told_where_there_is_nothing_to_tell(
    stage: Stage, remote: Remote, lines: tuple[str, ...], found: str
) -> None:
    result = stage.run(order(remote, *lines, "lazy", "print never"))
    assert (stage.announced, result.continued) == ([], None)
    assert f"the check of the agent's commits found: {found}\n" in stage.log


def test_a_task_that_was_told_before_is_not_told_again(stage: Stage, remote: Remote) -> None:
    result = stage.run(order(remote, "lazy", *COMMIT, may_continue=False))
    assert (outcome(result), result.continued) == ((ResultClass.BUSINESS, Reason.NO_COMMIT), None)
    assert stage.announced == []
    assert "found: retry_cap_reached\n" in stage.log


@pytest.mark.parametrize(
    ("word", "heard", "seconds"),
    [
        (Continuation.REFUSED, True, 60),
        (Continuation.PENDING, True, 5),
        (Continuation.ALLOWED, False, 60),
    ],
    ids=["a refusal", "no record until the time is over", "nobody who listens"],
)
def test_without_a_record_nothing_is_continued(
    stage: Stage, remote: Remote, word: Continuation, heard: bool, seconds: int
) -> None:
    stage.operator.rule = answering(word)
    lines = ("say It was so.", "lazy", *COMMIT)
    lazy = order(remote, *lines, allow_no_change=True, timeout_seconds=seconds)
    result = stage.run(lazy, heard=heard)
    assert (outcome(result), result.continued) == ((ResultClass.SUCCESS, Reason.NO_CHANGE_NEEDED), None)
    assert bool(stage.announced) is heard
    assert BRANCH not in remote.branches()


def test_an_agent_waits_for_the_record(stage: Stage, remote: Remote) -> None:
    def recorded_at_the_third(report: Report) -> Answer:
        before = sum(one.continues is not None for one in stage.operator.reports)
        return answering(Continuation.PENDING if before < 2 else Continuation.ALLOWED)(report)

    stage.operator.rule = recorded_at_the_third
    result = stage.run(order(remote, "lazy", *COMMIT))
    assert (outcome(result), result.continued) == (
        (ResultClass.SUCCESS, Reason.COMPLETED),
        stage.announced[0],
    )


def test_an_attempt_without_a_repository_is_not_checked(stage: Stage) -> None:
    alone = changed(envelope(script("lazy")), may_continue=True)
    assert outcome(stage.run(alone)) == (ResultClass.SUCCESS, Reason.COMPLETED)
    assert (stage.announced, "check of" in stage.log) == ([], False)


@pytest.mark.parametrize(
    ("lines", "head_is_pushed"),
    [(("lazy",), False), (("write .git/HEAD: nonsense",), False), (COMMIT, True)],
    ids=["nothing", "a clone that can't be read", "a commit all the same"],
)
def test_where_nothing_is_kept_no_commit_is_missed(
    stage: Stage, remote: Remote, lines: tuple[str, ...], head_is_pushed: bool
) -> None:
    result = stage.run(order(remote, *lines, commit_optional=True))
    assert outcome(result) == (ResultClass.SUCCESS, Reason.COMPLETED)
    assert (stage.announced, "check of" in stage.log) == ([], False)
    assert (BRANCH in remote.branches()) is head_is_pushed


@dataclass
class Record:
    """Refuses each continuation, and keeps until when it might have been put on record."""

    sessions: list[str] = field(default_factory=list)
    patience: list[float] = field(default_factory=list)

    def announce(self, session: str, *, until: Clock) -> bool:
        """Refuse it."""
        self.sessions.append(session)
        self.patience.append(until())
        return False


@pytest.mark.parametrize(("left", "patience"), [(61, 60), (60, 60), (59, 59)])
def test_the_record_may_take_a_minute_and_no_longer_than_the_work(
    remote: Remote, tmp_path: Path, left: float, patience: float
) -> None:
    environ = {
        "PATH": "/usr/local/bin:/usr/bin:/bin",
        "PYTHONPATH": str(Path(bernstein_agent.__file__).parents[1]),
    }
    place = Place(workspace=tmp_path, home=tmp_path / "home", environ=environ, git_seconds=60)
    supervisor, seen, record = Supervisor(now=lambda: NOW), Observation(None), Record()
    attempt = Attempt(
        order(remote, "lazy"),
        place,
        supervisor=supervisor,
        allowance=Allowance(
            now=supervisor.now, began=0.0, ends=NOW + left, stop=supervisor.stop, step_seconds=60
        ),
        console=Console(io.BytesIO(), Redactor(environ)),
        seen=seen,
        watch=Watch(Budget(), tally=lambda: seen.tally, now=supervisor.now),
        reporter=record,
    )
    attempt.run(digest="")
    assert record.patience == [NOW + patience]


REMEMBERING = """\
import json, pathlib, subprocess, sys
print(json.dumps({"type": "begin", "session": {"id": "s-1"}}))
pathlib.Path.home().joinpath("remembered").write_text("the parser")
"""
GOING_ON = """\
import pathlib, subprocess, sys
remembered = pathlib.Path.home().joinpath("remembered").read_text()
pathlib.Path("told.txt").write_text(sys.stdin.read())
subprocess.run(["git", "add", "told.txt"], check=True)
subprocess.run(["git", "commit", "-q", "-m", f"{sys.argv[1]}: {remembered}"], check=True)
"""


def test_a_program_goes_on_with_its_session_and_gets_the_prompt_as_before(
    stage: Stage, remote: Remote
) -> None:
    python = ("python3", "-c")
    told = command(
        remote, *python, REMEMBERING, resume=(*python, GOING_ON, "{session_id}"), session="session.id"
    )
    result = stage.run(told)
    assert outcome(result) == (ResultClass.SUCCESS, Reason.COMPLETED)
    assert (stage.announced, result.continued) == (["s-1"], "s-1")
    assert remote.log(BRANCH)[0] == "s-1: the parser"
    assert remote.show(BRANCH, "told.txt").endswith(NUDGE)


def test_a_program_whose_sessions_have_no_name_goes_on_too(stage: Stage, remote: Remote) -> None:
    steps = "echo x > x && git add x && git commit -q -m x"
    result = stage.run(command(remote, "true", resume=("sh", "-c", steps)))
    assert outcome(result) == (ResultClass.SUCCESS, Reason.COMPLETED)
    assert (stage.announced, result.continued) == ([""], "")


def test_a_secret_in_a_sessions_name_stays_in_the_container(stage: Stage, remote: Remote) -> None:
    told = """printf '{"id": "%s"}' "$DEMO_TOKEN\""""
    steps = 'echo "$0" > x && git add x && git commit -q -m x'
    lazy = command(remote, "sh", "-c", told, resume=("sh", "-c", steps, "{session_id}"), session="id")
    result = stage.run(lazy, DEMO_TOKEN="correct-horse")
    assert (outcome(result)[0], result.continued, stage.announced) == (ResultClass.SUCCESS, "***", ["***"])
    assert remote.show(BRANCH, "x") == "correct-horse"


@pytest.mark.parametrize(
    ("resume", "session"),
    [((), None), (("sh", "-c", "exit 9", "{session_id}"), "session.id")],
    ids=["one that can't go on", "one that never told its session"],
)
def test_a_program_that_cannot_be_told_is_judged_as_it_ended(
    stage: Stage, remote: Remote, resume: tuple[str, ...], session: str | None
) -> None:
    result = stage.run(command(remote, "true", resume=resume, session=session))
    assert outcome(result) == (ResultClass.BUSINESS, Reason.NO_COMMIT)
    assert stage.announced == []
    assert "found: adapter_unsupported\n" in stage.log


def test_a_scripted_agent_remembers_what_comes_next(stage: Stage, remote: Remote) -> None:
    result = stage.run(order(remote, "print first", "lazy", "print second", "lazy", "print third"))
    (kept,) = (stage.workspace / "home" / ".script-agent").glob("*.json")
    assert (kept.stem, json.loads(kept.read_text())["next"]) == (result.continued, 4)
    log = stage.log
    assert [log.count(f"\n{word}\n") for word in ("first", "second", "third")] == [1, 1, 0]
