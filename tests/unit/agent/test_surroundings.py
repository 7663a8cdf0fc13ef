"""The small parts around an attempt: secrets, the child's environment, clocks, memory, the archive."""

import os
import zipfile
from importlib import metadata
from pathlib import Path

import pytest

import bernstein_agent
from bernstein_agent.allowance import Allowance, StopRequest
from bernstein_agent.build import build_zipapp
from bernstein_agent.contract import Effort, Payload
from bernstein_agent.environment import child_environment
from bernstein_agent.git import git_environment
from bernstein_agent.mailbox import Mailbox
from bernstein_agent.memory import oom_kills
from bernstein_agent.redaction import Redactor
from tests.unit.agent.examples import payload


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("https://bot:hunter2@git.example.com/x", "https://***@git.example.com/x"),
        ("https://token@git.example.com/x", "https://***@git.example.com/x"),
        ("https://git.example.com/a@b", "https://git.example.com/a@b"),
        ("git@git.example.com:x", "git@git.example.com:x"),
        ("key sk-12345678!", "key ***!"),
        ("longer sk-12345678-and-more", "longer ***"),
        ("region europe-west", "region europe-west"),
        ("short abc", "short abc"),
    ],
    ids=[
        "password in a URL",
        "token in a URL",
        "at sign in a path",
        "user of an ssh address",
        "value of a key",
        "value that holds another",
        "value of no secret",
        "value too short to tell",
    ],
)
def test_secrets_are_masked(text: str, shown: str) -> None:
    environ = {
        "PROVIDER_API_KEY": "sk-12345678",
        "gh_token": "sk-12345678-and-more",
        "REGION": "europe-west",
        "SECRET_X": "abc",
    }
    assert Redactor(environ)(text) == shown


def seen_by_child(environ: dict[str, str], *, payload: Payload) -> dict[str, str]:
    places = {"home": Path("/h"), "prompt_file": Path("/p")}
    return child_environment(environ, payload=payload, mailbox=Mailbox(Path("/m")), **places)


BETA = "task-budgets-2026-03-13"
BETAS: dict[str, tuple[str | None, str | None, str | None]] = {
    "nobody asked": (None, None, None),
    "nobody asked, and there is another": (None, "other-1", "other-1"),
    "1": ("1", None, BETA),
    "true": ("true", None, BETA),
    "YES": ("YES", None, BETA),
    "On, with space around": (" On ", None, BETA),
    "0": ("0", None, None),
    "false": ("false", None, None),
    "empty": ("", None, None),
    "something else": ("2", None, None),
    "beside another": ("true", "other-1", f"other-1,{BETA}"),
    "beside several": ("true", "other-1, other-2", f"other-1, other-2,{BETA}"),
    "it is there": ("true", f"{BETA},other-1", f"{BETA},other-1"),
    "it is there behind a space": ("true", f"other-1, {BETA}", f"other-1, {BETA}"),
    "one that only begins with it": ("true", f"{BETA}-x", f"{BETA}-x,{BETA}"),
    "one that is empty": ("true", "", BETA),
}


@pytest.mark.parametrize("name", ["ANTHROPIC_BETA", "ANTHROPIC_BETAS"])
@pytest.mark.parametrize(("asked", "given", "seen"), BETAS.values(), ids=BETAS)
def test_the_providers_countdown_is_opted_in_to_once(
    name: str, asked: str | None, given: str | None, seen: str | None
) -> None:
    environ = {"BERNSTEIN_ANTHROPIC_TASK_BUDGETS": asked, name: given}
    child = seen_by_child({key: text for key, text in environ.items() if text is not None}, payload=payload())
    assert child.get(name) == seen
    assert "BERNSTEIN_ANTHROPIC_TASK_BUDGETS" not in child


def test_each_of_the_two_variables_keeps_what_it_had() -> None:
    environ = {"BERNSTEIN_ANTHROPIC_TASK_BUDGETS": "true", "ANTHROPIC_BETA": "a", "ANTHROPIC_BETAS": "b"}
    child = seen_by_child(environ, payload=payload())
    assert (child["ANTHROPIC_BETA"], child["ANTHROPIC_BETAS"]) == (f"a,{BETA}", f"b,{BETA}")


def test_a_program_without_any_environment_gets_the_defaults() -> None:
    env = seen_by_child({}, payload=payload(repository=None))
    assert {name: env[name] for name in ("HOME", "TMPDIR", "LANG")} == {
        "HOME": "/h",
        "TMPDIR": "/tmp",
        "LANG": "C.UTF-8",
    }
    assert env["PATH"] == f"/m/bin:{os.defpath}"
    assert not {"BERNSTEIN_BRANCH", "BERNSTEIN_MODEL", "BERNSTEIN_EFFORT"} & set(env)


def test_the_profile_may_set_what_is_not_fixed() -> None:
    profile = {"LANG": "de_DE.UTF-8", "TMPDIR": "/scratch", "PATH": "/opt/bin", "HOME": "/elsewhere"}
    env = seen_by_child(profile, payload=payload())
    assert {name: env[name] for name in profile} == {**profile, "HOME": "/h", "PATH": "/m/bin:/opt/bin"}
    assert env["BERNSTEIN_BRANCH"] == "bernstein/demo/build"


def test_a_program_is_told_its_model_and_its_effort() -> None:
    env = seen_by_child({}, payload=payload(model="large-2", effort=Effort.HIGH))
    assert (env["BERNSTEIN_MODEL"], env["BERNSTEIN_EFFORT"]) == ("large-2", "high")


def test_git_of_the_runner_belongs_to_no_surrounding_repository_and_never_asks() -> None:
    env = git_environment({"GIT_DIR": "/x", "GIT_INDEX_FILE": "/y", "HTTPS_PROXY": "p"}, payload().git)
    assert not {"GIT_DIR", "GIT_INDEX_FILE"} & set(env)
    assert (env["GIT_TERMINAL_PROMPT"], env["GIT_CONFIG_GLOBAL"]) == ("0", "/dev/null")
    assert env["HTTPS_PROXY"] == "p"


def allowance(now: float, *, stop: float | None = None) -> Allowance:
    return Allowance(now=lambda: now, began=0, ends=100, stop=StopRequest(stop), step_seconds=30)


@pytest.mark.parametrize(
    ("now", "stop", "expected"),
    [
        (10, None, {"work": 100, "step": 40, "mercy": 15, "saving": 40}),
        (90, None, {"work": 100, "step": 100, "mercy": 95, "saving": 120}),
        (100, None, {"work": 100, "step": 100, "mercy": 105, "saving": 130}),
        (10, 10, {"work": 10, "step": 10, "mercy": 13, "saving": 19}),
        (102, 101, {"work": 100, "step": 100, "mercy": 104, "saving": 110}),
    ],
    ids=["in the middle", "near the end", "timeout over", "asked to stop", "asked to stop after the timeout"],
)
def test_how_long_each_step_may_take(now: float, stop: float | None, expected: dict[str, float]) -> None:
    limits = allowance(now, stop=stop)
    limit = {
        "work": limits.work(),
        "step": limits.step()(),
        "mercy": limits.mercy()(),
        "saving": limits.saving()(),
    }
    assert limit == expected


def test_a_stop_shortens_what_has_already_begun() -> None:
    limits = allowance(10)
    saving, mercy, step = limits.saving(), limits.mercy(), limits.step()
    limits.stop.at = 11
    assert (saving(), mercy(), step()) == (20, 14, 11)


@pytest.mark.parametrize(
    ("files", "kills"),
    [
        ({"memory.events": "low 0\noom 3\noom_kill 2\noom_group_kill 0\n"}, 2),
        ({"memory/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 4\n"}, 4),
        ({"memory.events": "nonsense"}, 0),
        ({}, 0),
    ],
    ids=["cgroup v2", "cgroup v1", "unreadable", "absent"],
)
def test_the_kernels_count_of_kills_for_memory(tmp_path: Path, files: dict[str, str], kills: int) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    assert oom_kills(tmp_path) == kills


def test_two_builds_of_the_same_source_are_the_same(tmp_path: Path) -> None:
    for name in ("one.pyz", "two.pyz"):
        build_zipapp(tmp_path / name)
    assert (tmp_path / "one.pyz").read_bytes() == (tmp_path / "two.pyz").read_bytes()
    assert (tmp_path / "one.pyz").stat().st_mode & 0o777 == 0o755
    names = zipfile.ZipFile(tmp_path / "one.pyz").namelist()
    assert {"__main__.py", "bernstein_agent/__main__.py", "bernstein_agent/schemas/result-1.2.json"} <= set(
        names
    )
    assert not any("__pycache__" in name for name in names)


def test_the_agent_has_the_version_of_the_product() -> None:
    assert bernstein_agent.__version__ == metadata.version("bernstein-operator")
