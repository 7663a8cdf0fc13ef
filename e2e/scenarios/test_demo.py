"""`make demo`, as a person runs it."""

import subprocess
import sys

from e2e.demo import MERGED, NAMESPACE, PARTS, RUN
from e2e.images import ROOT
from tests.support.kube import Kube
from tests.support.tasks import result_classes


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
    tasks = {task["spec"]["name"]: result_classes(task) for task in kube.items("agenttasks")}
    kube.close()
    assert len(tasks) >= 8
    assert tasks["parser"] == ["agent", "success"]
    assert tasks["evaluator"] == ["deadline", "success"]
    assert [classes for name, classes in tasks.items() if name not in PARTS] == [["success"]] * (
        len(tasks) - 2
    )
