"""The program as a file: copied, asked for its version, started by the wrong Python, run from its source."""

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import bernstein_agent
from bernstein_agent.zipped import ARCHIVE_NAME
from tests.integration.agent.bench import PLAIN_PYTHON, Bench, envelope, script

PRETENDED = """\
import runpy, sys
sys.version_info = (3, {minor}, 0, "final", 0)
sys.argv[0] = sys.argv.pop(1)
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def ask(python: str | Path, *args: str | Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        (str(python), *map(str, args)), capture_output=True, text=True, check=False, cwd="/"
    )


def test_the_init_container_copies_the_program_into_a_volume(zipapp: Path, tmp_path: Path) -> None:
    assert ask(PLAIN_PYTHON, "-I", zipapp, "copy", tmp_path).returncode == 0
    copied = tmp_path / ARCHIVE_NAME
    assert copied.read_bytes() == zipapp.read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == [ARCHIVE_NAME]
    assert (
        ask(PLAIN_PYTHON, "-I", copied, "version").stdout
        == f"bernstein-agent {bernstein_agent.__version__}\n"
    )


def test_a_copy_may_be_given_a_name_and_be_repeated(zipapp: Path, tmp_path: Path) -> None:
    for _ in range(2):
        assert ask(PLAIN_PYTHON, "-I", zipapp, "copy", tmp_path / "agent").returncode == 0
    assert (tmp_path / "agent").stat().st_mode & 0o111 == 0o111


def test_the_source_copies_itself_as_the_same_program(zipapp: Path, tmp_path: Path) -> None:
    assert ask(sys.executable, "-m", "bernstein_agent", "copy", tmp_path / "agent").returncode == 0
    assert (tmp_path / "agent").read_bytes() == zipapp.read_bytes()


def test_the_builder_writes_what_it_is_asked_for(zipapp: Path, tmp_path: Path) -> None:
    assert ask(sys.executable, "-m", "bernstein_agent.build", "--output", tmp_path / "x").returncode == 0
    assert (tmp_path / "x").read_bytes() == zipapp.read_bytes()


def test_a_scripted_agent_runs_from_the_file_that_the_runner_runs_from(bench: Bench, tmp_path: Path) -> None:
    moved = tmp_path / "elsewhere.pyz"
    shutil.copyfile(bench.zipapp, moved)
    ended = Bench(moved, tmp_path).run(envelope(script("say It runs.")), env={"PYTHONHOME": "/nowhere"})
    assert ended.result.summary == "It runs."


def test_a_scripted_agent_without_its_prompt_says_so(zipapp: Path) -> None:
    done = ask(PLAIN_PYTHON, "-I", zipapp, "script-agent")
    assert (done.returncode, done.stderr) == (2, "script-agent: no script to play: 'BERNSTEIN_PROMPT_FILE'\n")


@pytest.mark.parametrize("minor", [6, 10], ids=lambda minor: f"3.{minor}")
def test_a_python_that_is_too_old_is_told_so(zipapp: Path, minor: int) -> None:
    done = ask(PLAIN_PYTHON, "-c", PRETENDED.format(minor=minor), zipapp, "run")
    text = f"bernstein-agent needs Python 3.11 or later; this image has Python 3.{minor}.\n"
    assert (done.returncode, done.stderr) == (69, text)


@pytest.mark.parametrize("name", ["__init__.py", "__main__.py"])
def test_what_an_old_python_reads_is_written_for_it(name: str) -> None:
    source = (Path(bernstein_agent.__file__).parent / name).read_text()
    ast.parse(source, feature_version=(3, 5))
    with pytest.raises(SyntaxError):
        ast.parse("match x:\n    case _: pass", feature_version=(3, 5))
