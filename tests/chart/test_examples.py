"""The examples hold what the demo promises, and name the versions that this checkout makes."""

import re
import tomllib

import pytest
import yaml

from bernstein_agent.script.parser import parse_script
from bernstein_operator.api.profile import AgentProfileSpec
from bernstein_operator.api.run import BernsteinRunSpec
from e2e.demo import EXAMPLE_IMAGE, EXAMPLES, MERGED, PARTS
from e2e.images import ROOT
from tests.chart.conftest import CHART


@pytest.fixture(scope="module")
def run() -> BernsteinRunSpec:
    """Return the quickstart's run."""
    profile, run = yaml.safe_load_all((EXAMPLES / "quickstart.yaml").read_text())
    assert AgentProfileSpec.model_validate(profile["spec"]).adapter == "script"
    return BernsteinRunSpec.model_validate(run["spec"])


def test_the_quickstart_has_more_tasks_than_slots(run: BernsteinRunSpec) -> None:
    assert run.concurrency.max_agents == 3
    assert len(run.tasks) >= 8


def test_every_prompt_of_the_quickstart_can_be_played(run: BernsteinRunSpec) -> None:
    assert all(parse_script(task.prompt) for task in run.tasks)


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
