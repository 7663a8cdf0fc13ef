"""The chart as Helm renders it, for tests that need no cluster."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest
import yaml

from e2e.cluster.catalogue import binary

CHART = Path(__file__).parents[2] / "charts" / "bernstein-operator"
Manifest: TypeAlias = dict[str, Any]
Render: TypeAlias = Callable[..., list[Manifest]]


def helm(*arguments: str | Path) -> "subprocess.CompletedProcess[str]":
    """Run helm, whatever it says."""
    command = [str(binary("helm")), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.fixture(scope="session")
def render() -> Render:
    """Return a function that renders the chart: ``render("maxAgents=3", values=FILE)``."""

    def rendered(*settings: str, values: Path | None = None) -> list[Manifest]:
        options = [f"--set={setting}" for setting in settings] + ([f"--values={values}"] if values else [])
        done = helm("template", "release", CHART, "--namespace=system", *options)
        assert done.returncode == 0, done.stderr
        return [document for document in yaml.safe_load_all(done.stdout) if document]

    return rendered
