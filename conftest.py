"""In which order all tests run, and which of them stay together where several workers share them.

Tests of the operator mostly wait, so more workers than cores run them (``pytest -n auto``), each with a
control plane of its own: nothing that a test does to its cluster is seen by another worker's. Only the full
cluster of ``e2e`` is there once a machine, so all of its tests go to one worker.

What is quick to tell comes first, then whatever takes long, so that nothing long is waited for at the end.
"""

import os
from enum import IntEnum, auto

import pytest
from hypothesis import HealthCheck, settings
from xdist.remote import Producer
from xdist.scheduler import LoadScopeScheduling

# How fast examples are made and tried says more of the machine and its other workers than of the code.
settings.register_profile("shared-machine", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("shared-machine")

_MOST_WORKERS = 8
"""Each takes about a gigabyte."""
_QUICK = ("tests/unit/", "tests/chart/")
_WHOLE_FILES = (*_QUICK, "tests/integration/crds/", "tests/integration/test_policies.py")
"""Their tests take moments, and many share what a fixture of their module made."""
_ONE_CLUSTER = "e2e/"


class _Turn(IntEnum):
    """The order in which tests are begun."""

    QUICK = auto()
    ONE_CLUSTER = auto()
    SLOW = auto()
    OTHER = auto()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Put the tests in the order of their turns, and leave them in their files' order otherwise."""
    items.sort(key=_turn)


def _turn(item: pytest.Item) -> _Turn:
    if item.nodeid.startswith(_QUICK):
        return _Turn.QUICK
    if item.nodeid.startswith(_ONE_CLUSTER):
        return _Turn.ONE_CLUSTER
    return _Turn.SLOW if item.get_closest_marker("slow") else _Turn.OTHER


def pytest_xdist_auto_num_workers() -> int:
    """Return how many workers keep this machine busy, and leave it some air: three for two cores."""
    return min(3 * len(os.sched_getaffinity(0)) // 2, _MOST_WORKERS)


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> "_Shares":
    """Share the tests out in our own way, whatever ``--dist`` says."""
    return _Shares(config, log)


class _Shares(LoadScopeScheduling):  # type: ignore[misc]  # xdist has no types
    """Hands out single tests, except where some are to stay together."""

    def _split_scope(self, nodeid: str) -> str:
        """Return what is the same for tests that one worker runs one after the other."""
        if nodeid.startswith(_ONE_CLUSTER):
            return _ONE_CLUSTER
        return nodeid.partition("::")[0] if nodeid.startswith(_WHOLE_FILES) else nodeid
