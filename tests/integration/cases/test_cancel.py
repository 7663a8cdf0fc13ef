"""ANNO-1 and ANNO-3: cancel acts in every state and order, whatever is left of the children."""

from collections.abc import Callable

import pytest

from tests.support.builders import hand_profile, inline_task, kwok_profile, make_run, make_task
from tests.support.kube import Kube
from tests.support.operator import OperatorProcess
from tests.support.pods import live_pods, remove_pod, set_pod_running, succeed, wait_pod
from tests.support.tasks import holds_for, wait_phase, wait_run

PAUSE = {"spec": {"suspend": True}}
CANCEL = {"metadata": {"annotations": {"bernstein.run/cancel": "true"}}}


def pause(kube: Kube) -> None:
    kube.patch("bernsteinruns", "r", PAUSE)


def cancel(kube: Kube) -> None:
    kube.patch("bernsteinruns", "r", CANCEL)


def pause_then_cancel(kube: Kube) -> None:
    pause(kube)
    wait_run(kube, "r", "Paused")
    cancel(kube)


def cancel_then_pause(kube: Kube) -> None:
    cancel(kube)
    pause(kube)


def both_in_one_patch(kube: Kube) -> None:
    kube.patch("bernsteinruns", "r", {**PAUSE, **CANCEL})


@pytest.mark.parametrize("how", [pause_then_cancel, cancel_then_pause, both_in_one_patch])
def test_anno_1_cancel_outranks_pause(
    kube: Kube, operator: OperatorProcess, how: Callable[[Kube], None]
) -> None:
    kube.create(kwok_profile())
    kube.create(make_run(max_agents=1))
    kube.create(make_task("running", role="kwok-hang", priority=1))
    kube.create(make_task("queued", priority=2))
    wait_phase(kube, "running", "Running")
    how(kube)
    for name in ("running", "queued"):
        wait_phase(kube, name, "Cancelled")
    wait_run(kube, "r", "Cancelled")
    assert not live_pods(kube)
    assert len(kube.items("pods")) == 1, "the queued one never had a Pod"


def test_anno_1_a_run_created_paused_is_cancelled_without_a_pod(
    kube: Kube, operator: OperatorProcess
) -> None:
    kube.create(kwok_profile())
    kube.create(make_run(suspend=True, tasks=[inline_task("a"), inline_task("b", dependsOn=["a"])]))
    wait_run(kube, "r", "Paused")
    holds_for(2, lambda: not kube.items("pods"), what="no Pod while paused")
    cancel(kube)
    wait_run(kube, "r", "Cancelled")
    for name in ("r-a", "r-b"):
        wait_phase(kube, name, "Cancelled")
    assert not kube.items("pods")


def test_anno_1_only_exactly_true_cancels(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(hand_profile())
    kube.create(make_run())
    kube.create(make_task())
    kube.annotate("agenttasks", "t", cancel="yes")
    succeed(kube, set_pod_running(kube, wait_pod(kube, "t")))
    wait_run(kube, "r", "Succeeded")


def test_anno_3_cancel_copes_with_finished_and_missing_children(
    kube: Kube, operator: OperatorProcess
) -> None:
    kube.create(hand_profile())
    kube.create(make_run())
    for name in ("done", "podless", "deleted"):
        kube.create(make_task(name))
    pods = {name: set_pod_running(kube, wait_pod(kube, name)) for name in ("done", "podless", "deleted")}
    succeed(kube, pods["done"])
    wait_phase(kube, "done", "Succeeded")
    kube.delete("agenttasks", "deleted")
    remove_pod(kube, pods["podless"]["metadata"]["name"])
    cancel(kube)
    wait_run(kube, "r", "Cancelled")
    assert kube.get("agenttasks", "done")["status"]["phase"] == "Succeeded"
    assert kube.get("agenttasks", "podless")["status"]["phase"] == "Cancelled"
    assert kube.find("agenttasks", "deleted") is None


def test_anno_3_cancel_of_a_finished_run_changes_no_outcome(kube: Kube, operator: OperatorProcess) -> None:
    kube.create(kwok_profile())
    kube.create(make_run(tasks=[inline_task("a")]))
    done = wait_run(kube, "r", "Succeeded")
    cancel(kube)
    holds_for(
        3,
        lambda: kube.get("bernsteinruns", "r")["status"]["phase"] == "Succeeded",
        what="the outcome of a finished run",
    )
    assert kube.get("agenttasks", "r-a")["status"]["phase"] == "Succeeded"
    after = kube.get("bernsteinruns", "r")["status"]
    assert after["completionTime"] == done["status"]["completionTime"]
