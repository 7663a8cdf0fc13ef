"""Which object a word on the command line means, and that a doubt is never decided by a guess."""

import pytest

from kubectl_bernstein.errors import CommandError
from kubectl_bernstein.naming import find_run, find_target, find_task, pod_of, reference
from tests.unit.objects import run, task
from tests.unit.plugin.scenes import begun, scene

SCENE = scene(
    task("r-write", name="write"),
    task("hello", name="say"),
    task("other-check", run="other", name="check"),
    task("r-check", name="check"),
    task("write-old", name="twice", status={"phase": "Failed"}),
    task("write-new", name="twice"),
    runs=[run("r"), run("other"), run("hello")],
)


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        pytest.param("r", "bernsteinrun/r", id="a run"),
        pytest.param("run/hello", "bernsteinrun/hello", id="a run of a task's name, by its kind"),
        pytest.param("bsrun/hello", "bernsteinrun/hello", id="by its short name"),
        pytest.param("bernsteinruns.bernstein.run/hello", "bernsteinrun/hello", id="as kubectl prints it"),
        pytest.param("task/hello", "agenttask/hello", id="a task of a run's name"),
        pytest.param("r-write", "agenttask/r-write", id="a task by its object"),
        pytest.param("write", "agenttask/r-write", id="a task by what dependsOn calls it"),
        pytest.param("agenttask/write", "agenttask/r-write", id="that, by its kind"),
        pytest.param("r-check", "agenttask/r-check", id="one of two of a name, by its object"),
        pytest.param("twice", "agenttask/write-new", id="who has the name now"),
    ],
)
def test_what_a_word_means(word: str, meant: str) -> None:
    assert reference(find_target(SCENE, word)) == meant


@pytest.mark.parametrize(
    ("word", "words"),
    [
        pytest.param("nobody", "no BernsteinRun or AgentTask 'nobody'", id="nothing"),
        pytest.param("run/write", "no BernsteinRun 'write'", id="no run"),
        pytest.param("task/r", "no AgentTask 'task/r'", id="no task"),
        pytest.param("hello", "bernsteinrun/hello or agenttask/hello", id="a run and a task"),
        pytest.param("check", "agenttask/other-check or agenttask/r-check", id="tasks of two runs"),
    ],
)
def test_a_word_that_names_nothing_or_several_is_refused(word: str, words: str) -> None:
    with pytest.raises(CommandError, match=words):
        find_target(SCENE, word)


def test_a_run_and_a_task_are_found_where_only_one_of_them_is_asked_for() -> None:
    assert reference(find_run(SCENE, "hello")) == "bernsteinrun/hello"
    assert reference(find_task(SCENE, "hello")) == "agenttask/hello"


@pytest.mark.parametrize(
    ("attempt", "pod"), [(None, "pod-4"), (3, "pod-3")], ids=["the latest", "one by its number"]
)
def test_an_attempts_pod(attempt: int | None, pod: str) -> None:
    assert pod_of(task(status={"attempt": 4, "attempts": [begun(3), begun(4)]}), attempt) == pod


@pytest.mark.parametrize(
    ("kept", "attempt", "words"),
    [([], None, "agenttask/t has had no attempt yet"), ([3, 4], 2, "the attempts 3 to 4, not 2")],
    ids=["there was none", "it isn't kept any more"],
)
def test_an_attempt_without_a_pod_is_refused(kept: list[int], attempt: int | None, words: str) -> None:
    with pytest.raises(CommandError, match=words):
        pod_of(task(status={"attempts": [begun(number) for number in kept]}), attempt)
