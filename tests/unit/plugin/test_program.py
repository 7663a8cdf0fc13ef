"""The program as it is started: what it says of itself, of mistakes, to shells and to kubectl."""

import os
import subprocess
import sys
from typing import Any

import pytest

from bernstein_agent.contract import AbandonReason
from bernstein_operator import __version__
from kubectl_bernstein.cli import cli
from kubectl_bernstein.completion import SHELLS, VARIABLE, answer_kubectl

WITHOUT = (
    "import sys; sys.modules['rich'] = None; from kubectl_bernstein.__main__ import main; sys.exit(main())"
)


def started(*arguments: str, python: str = "", **environment: str) -> "subprocess.CompletedProcess[str]":
    command = ["-c", python] if python else ["-m", "kubectl_bernstein", *arguments]
    return subprocess.run(
        [sys.executable, *command],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("arguments", "words"),
    [((), "Usage: kubectl bernstein"), (("--help",), "Commands:"), (("--version",), __version__)],
    ids=["nothing", "help", "version"],
)
def test_what_it_says_of_itself(arguments: tuple[str, ...], words: str) -> None:
    done = started(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    assert words in done.stdout


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (("staus",), "error: No such command 'staus'."),
        (("why",), "error: Missing argument 'TASK'."),
        (("status", "--output", "yaml"), "error: Invalid value for '-o' / '--output': 'yaml' is not 'json'."),
    ],
    ids=["an unknown command", "a missing argument", "an unknown format"],
)
def test_a_mistake_is_one_line_and_exit_code_1(arguments: tuple[str, ...], line: str) -> None:
    done = started(*arguments)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(line)
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("reason", ["bored", "out-of-scope", "out of scope", ""])
def test_an_unknown_reason_is_refused_with_all_that_are_known(reason: str) -> None:
    done = started("abandon", "t", reason, "--kubeconfig", "/absent")
    assert (done.returncode, done.stdout) == (1, "")
    [line] = done.stderr.splitlines()
    assert all(f"'{known}'" in line for known in AbandonReason)
    assert "kubeconfig" not in line, "nothing was asked of a cluster"


def test_without_its_libraries_it_says_what_to_install() -> None:
    done = started(python=WITHOUT)
    assert done.returncode == 1
    assert done.stderr == "error: rich is not installed: pip install 'bernstein-operator[plugin]'\n"


@pytest.mark.parametrize("shell", SHELLS)
def test_a_shells_script_asks_the_program(shell: str) -> None:
    done = started("completion", shell)
    assert done.returncode == 0
    assert f"{VARIABLE}={shell}_complete" in done.stdout
    assert "kubectl-bernstein" in done.stdout


def test_bash_takes_the_script() -> None:
    script = started("completion", "bash").stdout
    done = subprocess.run(
        ["bash", "--norc", "-c", f"{script}\ncomplete -p kubectl-bernstein"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "_kubectl_bernstein_completion kubectl-bernstein" in done.stdout


def test_the_program_answers_a_shell() -> None:
    asked = {VARIABLE: "bash_complete", "COMP_WORDS": "kubectl-bernstein can", "COMP_CWORD": "1"}
    assert started(**asked).stdout.split() == ["plain,cancel"]


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        pytest.param([], [*sorted(cli.commands)], id="nothing so far"),
        pytest.param(["t"], ["tasks", "tree"], id="the beginning of a command"),
        pytest.param(["completion", ""], list(SHELLS), id="an argument"),
        pytest.param(["abandon", "t", "u"], ["unsafe_change"], id="a reason"),
        pytest.param(["abandon", "t", ""], [*map(str, AbandonReason)], id="all twelve of them"),
        pytest.param(["abandonments", ""], ["list", "stats"], id="a command of a group"),
        pytest.param(["status", "--all"], ["--all-namespaces"], id="an option"),
    ],
)
def test_kubectl_gets_names_with_their_help(words: list[str], offered: list[Any]) -> None:
    *lines, directive = answer_kubectl(cli, words)
    assert sorted(line.partition("\t")[0] for line in lines) == sorted(offered)
    assert directive == ":4"
