"""Agents that give their task up by the verb: never a success, always a reason, and their work is saved."""

import subprocess
from pathlib import Path

import pytest

from bernstein_agent.contract import Abandonment, AbandonReason, Reason, ResultClass
from tests.integration.agent.bench import PLAIN_PYTHON, Bench, Ended, envelope, repository, script
from tests.integration.agent.gitserver import Remote

BRANCH = "bernstein/demo/build"
RESCUE = "bernstein/demo/build.rescue-1"
GIVE_UP = "bernstein-agent abandon out_of_scope needs a product decision"
OUT_OF_SCOPE = Abandonment(reason=AbandonReason.OUT_OF_SCOPE, detail="needs a product decision")


def shell(bench: Bench, steps: str, remote: Remote | None = None, timeout_seconds: int = 60) -> Ended:
    """Run a shell script as the agent's program."""
    repo = repository(remote.url) if remote else None
    return bench.run(envelope(args=("sh", "-c", steps), repo=repo, timeout_seconds=timeout_seconds))


def gave_up(ended: Ended) -> Abandonment | None:
    """Return what the agent said, once everything else about the end is as it must be."""
    result = ended.result
    assert (result.result_class, result.reason) == (ResultClass.ABANDONED, Reason.ABANDONED)
    assert (ended.exit_code, result.branch) == (1, None)
    return result.abandonment


WORDS = {
    "a reason alone": ("abandon env_broken", AbandonReason.ENV_BROKEN, ""),
    "a detail of one argument": ("abandon env_broken 'no  make'", AbandonReason.ENV_BROKEN, "no  make"),
    "a detail of several": ("abandon env_broken no make", AbandonReason.ENV_BROKEN, "no make"),
    "another case, space around": ("abandon ' ENV_Broken '", AbandonReason.ENV_BROKEN, ""),
    "an unknown reason": ("abandon 'too hard' for me", AbandonReason.OTHER, "too hard: for me"),
    "two lines": ("abandon other 'one\ntwo'", AbandonReason.OTHER, "one\ntwo"),
}


@pytest.mark.parametrize(("words", "reason", "detail"), WORDS.values(), ids=WORDS)
def test_an_agent_gives_up_by_a_plain_name(
    bench: Bench, words: str, reason: AbandonReason, detail: str
) -> None:
    ended = shell(bench, f"bernstein-agent {words}; exit 3")
    assert gave_up(ended) == Abandonment(reason=reason, detail=detail)
    assert ended.result.exit_code == 3
    head = detail.partition("\n")[0]
    assert ended.result.message == (f"{reason}: {head}" if head else reason)


def test_an_agent_that_commits_and_exits_well_is_no_success_once_it_gave_up(
    bench: Bench, remote: Remote
) -> None:
    steps = f"echo 1 > a.py; git add -A; git commit -qm A; echo 2 > b.py; {GIVE_UP}; exit 0"
    ended = shell(bench, steps, remote)
    assert gave_up(ended) == OUT_OF_SCOPE
    assert ended.result.exit_code == 0
    assert BRANCH not in remote.branches()
    assert ended.result.rescue_branch == RESCUE
    assert {"a.py", "b.py"} <= remote.files(RESCUE)
    assert ended.result.head_after == remote.log(RESCUE, "%H")[1]


@pytest.mark.parametrize("trap", ["", "trap '' TERM; "], ids=["ends on SIGTERM", "ignores SIGTERM"])
def test_an_agent_that_gave_up_and_goes_on_is_stopped_and_its_work_saved(
    bench: Bench, remote: Remote, trap: str
) -> None:
    steps = f"{trap}echo 1 > a.py; {GIVE_UP}; echo 2 > b.py; while :; do sleep 1; done"
    ended = shell(bench, steps, remote, timeout_seconds=3600)
    assert gave_up(ended) == OUT_OF_SCOPE
    assert "stopping the agent (it gave up)" in ended.log
    assert {"a.py", "b.py"} <= remote.files(RESCUE)


def test_an_agent_that_gave_up_may_still_end_by_itself(bench: Bench, remote: Remote) -> None:
    ended = shell(bench, f"{GIVE_UP}; sleep 1.5; echo 1 > a.py; exit 7", remote)
    assert gave_up(ended) == OUT_OF_SCOPE
    assert ended.result.exit_code == 7
    assert "a.py" in remote.files(RESCUE)
    assert "stopping the agent" not in ended.log


def test_the_first_word_counts(bench: Bench) -> None:
    ended = shell(bench, f"{GIVE_UP} && bernstein-agent abandon other && echo second")
    assert gave_up(ended) == OUT_OF_SCOPE
    assert "a word was left before, and the first one counts" in ended.log
    assert ended.result.summary.endswith("second")


def test_giving_up_counts_also_where_the_deadline_comes_first(bench: Bench) -> None:
    ended = shell(bench, f"{GIVE_UP}; while :; do sleep 1; done", timeout_seconds=4)
    assert gave_up(ended) == OUT_OF_SCOPE


def test_giving_up_when_already_stopped_on_the_deadline_comes_too_late(bench: Bench) -> None:
    steps = f"trap '{GIVE_UP}; exit 0' TERM; while :; do sleep 0.1; done"
    ended = shell(bench, steps, timeout_seconds=1)
    assert "the task is given up (out_of_scope)" in ended.log
    assert (ended.result.result_class, ended.result.abandonment) == (ResultClass.DEADLINE, None)


def test_a_pod_that_is_stopped_after_its_agent_gave_up_says_that_it_did(bench: Bench) -> None:
    order = envelope(args=("sh", "-c", f"{GIVE_UP}; while :; do sleep 1; done"))
    with bench.running(order) as attempt:
        attempt.saw("the task is given up")
        assert gave_up(attempt.stopped_by_kubelet()) == OUT_OF_SCOPE


def test_a_scripted_agent_gives_up_by_the_same_verb(bench: Bench, remote: Remote) -> None:
    steps = (
        "write a.py: 1",
        "say It needs a decision.",
        "abandon out_of_scope needs a product decision",
        "fail",
    )
    ended = bench.run(envelope(script(*steps), repo=repository(remote.url)))
    assert gave_up(ended) == OUT_OF_SCOPE
    assert ended.result.summary == "It needs a decision."
    assert "a.py" in remote.files(RESCUE)


SECRET = "sk-12345678"


def test_a_detail_of_any_length_fits(bench: Bench) -> None:
    steps = "bernstein-agent abandon env_broken \"$(head -c 9000 /dev/zero | tr '\\0' y)\""
    ended = shell(bench, steps)
    told = gave_up(ended)
    assert told
    assert told.detail.endswith("yyy…")
    assert len(ended.message.encode()) == 4096


@pytest.mark.parametrize("before", [0, 195], ids=["at the beginning", "where the message is cut"])
@pytest.mark.parametrize(
    "ending",
    ['bernstein-agent abandon env_broken "$WORDS"', 'echo "$WORDS"; exit 1'],
    ids=["gives up", "fails"],
)
def test_no_secret_leaves_with_what_an_agent_says_at_its_end(
    bench: Bench, remote: Remote, ending: str, before: int
) -> None:
    order = envelope(args=("sh", "-c", f"echo 1 > a.py; {ending}"), repo=repository(remote.url))
    ended = bench.run(order, env={"KEY_TOKEN": SECRET, "WORDS": f"{'y' * before}{SECRET} is refused"})
    saved = "\n".join(remote.log(RESCUE, "%B"))
    assert "***" in ended.message
    assert SECRET[:4] not in ended.message + ended.log + saved


def test_the_verb_works_from_any_directory_and_through_any_python_environment(bench: Bench) -> None:
    steps = f"cd / && PYTHONHOME=/nowhere PYTHONPATH=/nowhere {GIVE_UP}"
    assert gave_up(shell(bench, steps)) == OUT_OF_SCOPE


OUTSIDE = {
    "no variable": ({}, "bernstein-agent: no runner to tell: BERNSTEIN_LETTER_FILE is not set\n"),
    "no such place": (
        {"BERNSTEIN_LETTER_FILE": "/nowhere/letter.json"},
        "bernstein-agent: the runner can't be told: ",
    ),
}


@pytest.mark.parametrize(("env", "said"), OUTSIDE.values(), ids=OUTSIDE)
def test_outside_of_a_runner_the_verb_is_an_error(zipapp: Path, env: dict[str, str], said: str) -> None:
    command = (str(PLAIN_PYTHON), "-I", str(zipapp), "abandon", "other")
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(said)


def test_the_verb_needs_a_reason(bench: Bench) -> None:
    ended = shell(bench, "bernstein-agent abandon")
    assert (ended.result.result_class, ended.result.exit_code) == (ResultClass.AGENT, 2)
