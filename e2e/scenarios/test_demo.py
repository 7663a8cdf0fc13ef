"""`make demo`, as a person runs it. Whatever else kept the node busy would pause its runs, so it is alone."""

import subprocess
import sys

import pytest

from e2e.demo import BEHIND, GIVEN_UP, LATE, LAZY, LIMITS, MERGED, NAMESPACE, PARTS, RUN
from e2e.images import ROOT
from tests.support.kube import Kube, Manifest
from tests.support.tasks import result_classes


@pytest.mark.alone
def test_the_demo_succeeds_and_shows_it(cluster_kube: Kube) -> None:
    demo = subprocess.run(
        [sys.executable, "-m", "e2e.demo"], cwd=ROOT, capture_output=True, text=True, check=False, timeout=300
    )
    assert demo.returncode == 0, demo.stdout + demo.stderr
    prefix = f"bernstein/{RUN}"
    for part in PARTS:
        assert f"{prefix}/{MERGED} holds " in demo.stdout
        assert f"of {prefix}/{part}" in demo.stdout
    kube = cluster_kube.within(NAMESPACE)
    found = {run: _tasks(kube, run) for run in (RUN, LIMITS)}
    kube.close()
    tasks = {name: result_classes(task) for name, task in found[RUN].items()}
    assert len(tasks) >= 8
    assert tasks["parser"] == ["agent", "success"]
    assert tasks["evaluator"] == ["deadline", "success"]
    assert [classes for name, classes in tasks.items() if name not in PARTS] == [["success"]] * (
        len(tasks) - 2
    )
    limited = found[LIMITS]
    assert {limited[name]["status"]["phase"] for name in BEHIND} == {"BlockedByAbandon"}
    assert limited[GIVEN_UP]["status"]["abandonment"]["reason"] == "insufficient_context"
    assert result_classes(limited[LATE]) == ["deadline", "success"]
    assert [one["model"] for one in limited[LATE]["status"]["attempts"]] == ["small", "large"]
    assert result_classes(limited[LAZY]) == ["success"]
    assert limited[LAZY]["status"]["continuation"]["attempt"] == 1
    assert f"how {LAZY} got its commit" in demo.stdout
    assert '"reason":"insufficient_context"' in demo.stdout.replace(" ", "")


def _tasks(kube: Kube, run: str) -> dict[str, Manifest]:
    found = kube.items("agenttasks", labels=f"bernstein.run/run={run}")
    return {task["spec"]["name"]: task for task in found}
