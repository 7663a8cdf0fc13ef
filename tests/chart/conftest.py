"""The chart as Helm renders it, for tests that need no cluster."""

from collections.abc import Callable
from typing import TypeAlias

import pytest

from tests.support.chart import CHART, Manifest, helm, rendered

__all__ = ["CHART", "Manifest", "Render", "helm"]

Render: TypeAlias = Callable[..., list[Manifest]]


@pytest.fixture(scope="session")
def render() -> Render:
    """Return a function that renders the chart: ``render("maxAgents=3", values=FILE)``."""
    return rendered
