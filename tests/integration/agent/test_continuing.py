"""An agent that ends well and leaves no commit is told so once, where that is on record first.

The programs, their sessions and the git server are real. What the operator says is given, as these attempts
run inside the test.
"""

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest

import bernstein_agent
from bernstein_agent.allowance import Clock
from bernstein_agent.completion import NUDGE
from bernstein_agent.console import Console
from bernstein_agent.contract import Command, Envelope, Reason, Result, ResultClass, Usage
from bernstein_agent.place import Place
from bernstein_agent.processes import Supervisor
from bernstein_agent.redaction import Redactor
from bernstein_agent.runner import run_envelope
from tests.integration.agent.bench import changed, envelope, repository, script
from tests.integration.agent.gitserver import Remote

BRANCH = "bernstein/demo/build"
RESCUE = "bernstein/demo/build.rescue-1"
NOW = datetime(2026, 12, 1, tzinfo=UTC)
COMMIT = ("write src/parser.py: print('parsed')", "commit Add the parser")


@dataclass
class Record:
    """Stands for the operator: puts a continuation on record, or doesn't."""

    allows: bool = True
    announced: list[str] = field(default_factory=list)
    patience: list[float] = field(default_factory=list)

    def announce(self, session: str, *, until: Clock) -> bool:
        """Note the announcement and how long it may take, and answer."""
        self.announced.append(session)
        self.patience.append(until())
        return self.allows


@dataclass
class Stage:
    """A place to run attempts in, inside this process."""

    root: Path
    log: io.BytesIO = field(default_factory=io.BytesIO)

    @property
    def home(self) -> Path:
        """The agent's home directory."""
        return self.root / "home"

    def run(self, order: Envelope, record: Record | None) -> Result:
        """Carry out an envelope."""
        environ = {
            "PATH": "/usr/local/bin:/usr/bin:/bin",
            "PYTHONPATH": str(Path(bernstein_agent.__file__).parents[1]),
        }
        place = Place(workspace=self.root, home=self.home, environ=environ, git_seconds=60)
        console = Console(self.log, Redactor(environ))
        return run_envelope(
            order.to_json(), order, place, supervisor=Supervisor(), console=console, now=NOW, reporter=record
        )


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    """Return a place to run attempts in."""
    return Stage(tmp_path / "workspace")


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
    record = Record()
    result = stage.run(order(remote, "say Nothing yet.", "lazy", *COMMIT, "say It is there."), record)
    assert outcome(result) == (ResultClass.SUCCESS, Reason.COMPLETED)
    assert remote.show(BRANCH, "src/parser.py") == "print('parsed')"
    assert (record.announced, result.continued) == ([result.continued], record.announced[0])
    assert (result.summary, result.exit_code, result.steps) == ("It is there.", 0, 2)


def test_the_agent_is_told_in_the_words_of_the_rule_and_after_a_blank_line(
    stage: Stage, remote: Remote
) -> None:
    stage.run(order(remote, "lazy", *COMMIT), Record())
    assert (stage.root / "prompt.md").read_text().endswith(f"\n\n{NUDGE}\n")


def test_what_both_turns_spent_is_added_up(stage: Stage, remote: Remote) -> None:
    spending = ("spend input=100 usd=0.10", "steps 2", "call Bash 3 times", "lazy", "spend input=10 usd=0.05")
    result = stage.run(order(remote, *spending, "call Edit", *COMMIT), Record())
    assert result.usage == Usage(input_tokens=110, cost_micros=150_000)
    assert (result.steps, result.tool_calls) == (4, 4)


@pytest.mark.parametrize("allowed", [True, False], ids=["where a reason will do", "where it will not"])
def test_an_agent_that_is_told_may_say_why_it_left_no_commit(
    stage: Stage, remote: Remote, allowed: bool
) -> None:
    lazy = order(remote, "lazy", "explain The parser was there before.", allow_no_change=allowed)
    result = stage.run(lazy, Record())
    assert outcome(result) == (
        (ResultClass.SUCCESS, Reason.NO_CHANGE_NEEDED)
        if allowed
        else (ResultClass.BUSINESS, Reason.NO_COMMIT)
    )
    assert (result.branch, result.head_after) == (None, result.head_before)
    assert set(remote.branches()) == {"main"}


def test_an_agent_that_says_nothing_again_is_told_no_second_time(stage: Stage, remote: Remote) -> None:
    record = Record()
    result = stage.run(order(remote, "lazy", "lazy", *COMMIT), record)
    assert outcome(result) == (ResultClass.BUSINESS, Reason.NO_COMMIT)
    assert len(record.announced) == 1
    assert BRANCH not in remote.branches()


def test_what_is_left_uncommitted_is_saved_and_no_reason_helps(stage: Stage, remote: Remote) -> None:
    lazy = order(remote, "write a.txt: a", "lazy", "explain None needed.", allow_no_change=True)
    result = stage.run(lazy, Record())
    assert outcome(result) == (ResultClass.BUSINESS, Reason.NO_COMMIT)
    assert result.message == "the agent ended well and left its work uncommitted"
    assert (result.rescue_branch, remote.show(RESCUE, "a.txt")) == (RESCUE, "a")


def test_a_failure_of_the_second_turn_is_the_attempts(stage: Stage, remote: Remote) -> None:
    result = stage.run(order(remote, "lazy", *COMMIT, "fail 3"), Record())
    assert outcome(result) == (ResultClass.AGENT, Reason.NON_ZERO_EXIT)
    assert (result.exit_code, result.rescue_branch) == (3, RESCUE)
    assert result.continued


def test_the_second_turn_has_what_is_left_of_the_time(stage: Stage, remote: Remote) -> None:
    result = stage.run(order(remote, "lazy", "hang", timeout_seconds=6), Record())
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
    record = Record()
    result = stage.run(order(remote, *lines, "lazy", "print never"), record)
    assert (record.announced, result.continued) == ([], None)
    assert f"the check of the agent's commits found: {found}\n" in stage.log.getvalue().decode()


def test_a_task_that_was_told_before_is_not_told_again(stage: Stage, remote: Remote) -> None:
    record = Record()
    result = stage.run(order(remote, "lazy", *COMMIT, may_continue=False), record)
    assert (outcome(result), result.continued) == ((ResultClass.BUSINESS, Reason.NO_COMMIT), None)
    assert record.announced == []
    assert "found: retry_cap_reached\n" in stage.log.getvalue().decode()


@pytest.mark.parametrize("record", [Record(allows=False), None], ids=["a refusal", "nobody who listens"])
def test_without_a_record_nothing_is_continued(stage: Stage, remote: Remote, record: Record | None) -> None:
    lazy = order(remote, "say It was so.", "lazy", *COMMIT, allow_no_change=True)
    result = stage.run(lazy, record)
    assert (outcome(result), result.continued) == ((ResultClass.SUCCESS, Reason.NO_CHANGE_NEEDED), None)
    assert BRANCH not in remote.branches()


def test_an_attempt_without_a_repository_is_not_checked(stage: Stage) -> None:
    record = Record()
    alone = changed(envelope(script("lazy")), may_continue=True)
    assert outcome(stage.run(alone, record)) == (ResultClass.SUCCESS, Reason.COMPLETED)
    assert (record.announced, "check of" in stage.log.getvalue().decode()) == ([], False)


def test_the_record_may_take_a_minute_and_no_longer_than_the_work(stage: Stage, remote: Remote) -> None:
    long, short = Record(allows=False), Record(allows=False)
    before = Supervisor().now()
    stage.run(order(remote, "lazy", timeout_seconds=600), long)
    Stage(stage.root / "again").run(order(remote, "lazy", timeout_seconds=30), short)
    after = Supervisor().now()
    assert before + 60 <= long.patience[0] <= after + 60
    assert before + 30 <= short.patience[0] <= after + 30


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
    record = Record()
    python = ("python3", "-c")
    told = command(
        remote, *python, REMEMBERING, resume=(*python, GOING_ON, "{session_id}"), session="session.id"
    )
    result = stage.run(told, record)
    assert outcome(result) == (ResultClass.SUCCESS, Reason.COMPLETED)
    assert (record.announced, result.continued) == (["s-1"], "s-1")
    assert remote.log(BRANCH)[0] == "s-1: the parser"
    assert remote.show(BRANCH, "told.txt").endswith(NUDGE)


def test_a_program_whose_sessions_have_no_name_goes_on_too(stage: Stage, remote: Remote) -> None:
    record = Record()
    steps = "echo x > x && git add x && git commit -q -m x"
    result = stage.run(command(remote, "true", resume=("sh", "-c", steps)), record)
    assert outcome(result) == (ResultClass.SUCCESS, Reason.COMPLETED)
    assert (record.announced, result.continued) == ([""], "")


@pytest.mark.parametrize(
    ("resume", "session"),
    [((), None), (("sh", "-c", "exit 9", "{session_id}"), "session.id")],
    ids=["one that can't go on", "one that never told its session"],
)
def test_a_program_that_cannot_be_told_is_judged_as_it_ended(
    stage: Stage, remote: Remote, resume: tuple[str, ...], session: str | None
) -> None:
    record = Record()
    result = stage.run(command(remote, "true", resume=resume, session=session), record)
    assert outcome(result) == (ResultClass.BUSINESS, Reason.NO_COMMIT)
    assert record.announced == []
    assert "found: adapter_unsupported\n" in stage.log.getvalue().decode()


def test_a_scripted_agent_remembers_what_comes_next(stage: Stage, remote: Remote) -> None:
    result = stage.run(order(remote, "print first", "lazy", "print second", "lazy", "print third"), Record())
    (kept,) = stage.home.joinpath(".script-agent").glob("*.json")
    assert (kept.stem, json.loads(kept.read_text())["next"]) == (result.continued, 4)
    log = stage.log.getvalue().decode()
    assert [log.count(f"\n{word}\n") for word in ("first", "second", "third")] == [1, 1, 0]
