"""Agents that ask a person something by the verb: the attempt ends, and the question arrives."""

import subprocess
from pathlib import Path

import pytest

from bernstein_agent.contract import Exchange, Reason, ResultClass
from tests.integration.agent.bench import PLAIN_PYTHON, Bench, Ended, changed, envelope, repository, script
from tests.integration.agent.gitserver import Remote

BRANCH = "bernstein/demo/build"
RESCUE = "bernstein/demo/build.rescue-1"


def asked(ended: Ended) -> str | None:
    """Return what the agent asked, once everything else about the end is as it must be."""
    result = ended.result
    assert (result.result_class, result.reason) == (ResultClass.ASKED, Reason.ASKED)
    assert (ended.exit_code, result.branch, result.abandonment) == (1, None, None)
    return result.question


def test_a_scripted_agent_asks_and_its_work_is_saved(bench: Bench, remote: Remote) -> None:
    lines = ("write a.txt: half", "ask Which of the two databases?", "write b.txt: never")
    ended = bench.run(envelope(script(*lines), repo=repository(remote.url)))
    assert asked(ended) == "Which of the two databases?"
    assert ended.result.message == "it asks: Which of the two databases?"
    assert (ended.result.rescue_branch, remote.files(RESCUE)) == (RESCUE, {"README.md", "a.txt"})
    assert BRANCH not in remote.branches()


QUESTIONS = {
    "one argument": ("ask 'which  one?'", "which  one?"),
    "several arguments": ("ask which one?", "which one?"),
    "space around": ("ask '  which one? '", "which one?"),
    "two lines": ("ask 'one\ntwo'", "one\ntwo"),
    "before giving up": ("ask which? && bernstein-agent abandon other", "which?"),
}


@pytest.mark.parametrize(("words", "question"), QUESTIONS.values(), ids=QUESTIONS)
def test_an_agent_asks_by_a_plain_name(bench: Bench, words: str, question: str) -> None:
    ended = bench.run(envelope(args=("sh", "-c", f"bernstein-agent {words}; exit 3")))
    assert (asked(ended), ended.result.exit_code) == (question, 3)


def test_an_agent_that_asked_and_goes_on_is_stopped(bench: Bench) -> None:
    ended = bench.run(envelope(args=("sh", "-c", "bernstein-agent ask which?; sleep 600")))
    assert asked(ended) == "which?"
    assert "stopping the agent (it asked something)" in ended.log


def test_a_secret_in_a_question_is_masked(bench: Bench) -> None:
    order = envelope(args=("sh", "-c", 'bernstein-agent ask "is $DEMO_TOKEN right?"'))
    ended = bench.run(order, env={"DEMO_TOKEN": "correct-horse-battery"})
    assert asked(ended) == "is *** right?"
    assert "correct-horse" not in ended.message


def test_a_question_and_its_answer_are_in_the_next_prompt(bench: Bench) -> None:
    exchange = Exchange(question="Which database?", answer="The old one.")
    order = changed(envelope(args=("sh", "-c", "cat")), exchange=exchange)
    assert "You asked:\n> Which database?\nThe answer is:\n> The old one.\n" in bench.run(order).log


NO_RUNNER = {
    "no variable": (
        {},
        ("which?",),
        "bernstein-agent: no runner to tell: BERNSTEIN_LETTER_FILE is not set\n",
    ),
    "no question": (
        {"BERNSTEIN_LETTER_FILE": "/nowhere/letter.json"},
        (" ",),
        "bernstein-agent: a question is needed\n",
    ),
}


@pytest.mark.parametrize(("env", "words", "told"), NO_RUNNER.values(), ids=NO_RUNNER)
def test_what_cannot_be_asked_is_said(
    zipapp: Path, env: dict[str, str], words: tuple[str, ...], told: str
) -> None:
    command = (str(PLAIN_PYTHON), "-I", str(zipapp), "ask", *words)
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, told)
