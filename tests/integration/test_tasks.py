"""A task's life from its creation to its end, on a real API server with fake nodes."""

from tests.support.builders import kwok_profile, make_run
from tests.support.kube import Kube, condition
from tests.support.operator import OperatorProcess
from tests.support.proxy import FaultProxy


def test_a_plain_task_runs_to_its_end(kube: Kube, operator: OperatorProcess, proxy: FaultProxy) -> None:
    kube.apply(kwok_profile())
    kube.apply(make_run("one", tasks=[{"name": "only", "prompt": "Do it."}]))

    run = kube.wait_for("bernsteinruns", "one", lambda one: one["status"]["phase"] == "Succeeded")

    task = kube.get("agenttasks", "one-only")
    assert task["status"]["phase"] == "Succeeded"
    assert condition(task, "Complete")["status"] == "True"
    assert run["status"]["tasks"]["succeeded"] == 1
