"""The examples hold what the demo promises, and name the versions that this checkout makes."""

import re
import tomllib

import pytest
import yaml

from bernstein_agent.script.directives import Commit, Lazy
from bernstein_agent.script.parser import parse_script
from bernstein_operator.api.profile import AgentProfileSpec
from bernstein_operator.api.run import BernsteinRunSpec
from e2e.demo import BEHIND, EXAMPLE_IMAGE, EXAMPLES, GIVEN_UP, LATE, LAZY, LIMITS, MERGED, PARTS, RUN
from e2e.images import ROOT
from tests.chart.conftest import CHART


def load(example: str) -> tuple[AgentProfileSpec, BernsteinRunSpec]:
    profile, run = yaml.safe_load_all((EXAMPLES / f"{example}.yaml").read_text())
    return AgentProfileSpec.model_validate(profile["spec"]), BernsteinRunSpec.model_validate(run["spec"])


@pytest.fixture(scope="module")
def run() -> BernsteinRunSpec:
    """Return the quickstart's run."""
    return load(RUN)[1]


def test_the_quickstart_has_more_tasks_than_slots(run: BernsteinRunSpec) -> None:
    assert run.concurrency.max_agents == 3
    assert len(run.tasks) >= 8


@pytest.mark.parametrize("example", [RUN, LIMITS])
def test_every_prompt_can_be_played(example: str) -> None:
    profile, run = load(example)
    assert profile.adapter == "script"
    assert all(parse_script(task.prompt) for task in run.tasks)


def test_the_limits_are_met_by_the_tasks_that_the_demo_looks_at() -> None:
    profile, run = load(LIMITS)
    tasks = {task.name: task for task in run.tasks}
    assert set(tasks) == {GIVEN_UP, *BEHIND, LATE, LAZY}
    assert tasks[BEHIND[0]].depends_on == (GIVEN_UP,)
    assert tasks[BEHIND[1]].depends_on == (BEHIND[0],)
    assert f"when model!={profile.models[-1].name}: hang" in tasks[LATE].prompt
    turns = [step.directive for step in parse_script(tasks[LAZY].prompt)]
    assert [isinstance(one, Commit) for one in turns[turns.index(Lazy()) :]].count(True) == 1
    assert not any(isinstance(one, Commit) for one in turns[: turns.index(Lazy())])


def test_the_merged_task_checks_that_both_parts_are_there(run: BernsteinRunSpec) -> None:
    [merged] = [task for task in run.tasks if task.name == MERGED]
    assert set(merged.depends_on) == set(PARTS)
    assert all(f"expect calculator/{part}.py" in merged.prompt for part in PARTS)


def test_one_version_is_named_everywhere() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    images = set(re.findall(r"bernstein-agent:\S+", (EXAMPLES / "git-server.yaml").read_text()))
    assert chart["appVersion"] == chart["version"] == project["version"]
    assert images == {EXAMPLE_IMAGE} == {f"bernstein-agent:{project['version']}"}
