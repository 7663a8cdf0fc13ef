"""VALD-1: names as long as Kubernetes allows, and names that are equal for long."""

import pytest

from tests.support.builders import inline_task, kwok_profile, make_run, make_task
from tests.support.kube import Kube, Manifest
from tests.support.operator import OperatorProcess
from tests.support.pods import pods_of
from tests.support.tasks import wait_run

LONG_LABEL = "r" * 63
LONG_NAME = ("r" * 63 + ".") * 3 + "r" * 61


@pytest.fixture(autouse=True)
def profile(kube: Kube) -> Manifest:
    """Pods that succeed after a second."""
    return kube.create(kwok_profile())


@pytest.mark.parametrize(
    "run",
    [pytest.param(LONG_LABEL, id="63 characters"), pytest.param(LONG_NAME, id="253 characters with dots")],
)
def test_vald_1_a_run_of_the_longest_name_works(kube: Kube, operator: OperatorProcess, run: str) -> None:
    assert len(run) in {63, 253}
    kube.create(make_run(run, tasks=[inline_task("a"), inline_task("b", dependsOn=["a"])]))
    wait_run(kube, run, "Succeeded")
    pods = kube.items("pods")
    assert len(pods) == 2
    assert all(len(value) <= 63 for pod in pods for value in pod["metadata"]["labels"].values())


def test_vald_1_long_tasks_that_are_equal_for_long_do_not_collide(
    kube: Kube, operator: OperatorProcess
) -> None:
    names = ["t" * 200, "t" * 199 + "u", "s" * 60 + "1", "s" * 60 + "2"]
    kube.create(make_run(max_agents=4))
    for index, name in enumerate(names):
        kube.create(make_task(name, name=f"n{index}"))
    wait_run(kube, "r", "Succeeded")
    pods = [pods_of(kube, name) for name in names]
    assert [len(owned) for owned in pods] == [1] * 4
    assert len({owned[0]["metadata"]["labels"]["bernstein.run/task"] for owned in pods}) == 4
