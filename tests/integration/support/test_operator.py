"""The operator as a process: it is started, frozen, killed and asked to end, and the recorder hears of it."""

import os
from pathlib import Path

import pytest

from tests.support.clock import now
from tests.support.kube import eventually
from tests.support.nursery import Launch, forked, freshly_started
from tests.support.operator import OperatorProcess
from tests.support.proxy import FaultProxy
from tests.support.recorder import PodRecorder


def test_a_started_operator_answers_and_goes_through_the_proxy(
    operator: OperatorProcess, proxy: FaultProxy, namespace: str
) -> None:
    assert operator.http("/readyz") == (200, "ok")
    assert "bernstein_build_info" in operator.http("/metrics")[1]
    listed = {(record.kind, record.namespace) for record in proxy.records if record.verb == "list"}
    known = ("agentprofiles", "agenttasks", "bernsteinruns", "configmaps", "pods")
    # Events that are there are asked for once it is ready.
    assert listed - {("events", namespace)} == {(kind, namespace) for kind in known}


def test_a_frozen_operator_says_nothing_until_it_is_thawed(
    operator: OperatorProcess, recorder: PodRecorder
) -> None:
    frozen_at = now()
    operator.freeze()
    with pytest.raises(TimeoutError):
        operator.http("/healthz")
    assert operator.is_running
    thawed_at = now()
    operator.thaw()
    eventually(lambda: operator.http("/healthz")[0] == 200, what="life")
    assert recorder.outages.uptime(frozen_at, thawed_at) < 1


def test_a_killed_operator_is_gone_and_comes_back(operator: OperatorProcess, recorder: PodRecorder) -> None:
    first = operator.pid
    killed_at = now()
    operator.restart(kill=True)
    assert operator.is_running
    assert operator.pid != first
    assert [down for down, _ in recorder.outages.intervals(until=now())][1] >= killed_at


def test_an_operator_that_is_asked_to_end_ends_well(operator: OperatorProcess) -> None:
    assert operator.stop() == 0
    assert not operator.is_running


def test_an_operator_that_ends_at_its_start_shows_its_log(operator: OperatorProcess) -> None:
    twin = OperatorProcess(
        kubeconfig=operator.log.parent / "missing.kubeconfig", log=operator.log.parent / "twin.log"
    )
    with pytest.raises(AssertionError, match=r"the operator ended with .* at its start:\n.*missing"):
        twin.start()


def test_its_command_starts_it_as_well(
    operator: OperatorProcess, proxy: FaultProxy, namespace: str, tmp_path: Path
) -> None:
    operator.stop()
    fresh = OperatorProcess(
        kubeconfig=proxy.kubeconfig,
        log=tmp_path / "fresh.log",
        environment={"BERNSTEIN_WATCH_NAMESPACES": namespace, "BERNSTEIN_LEASE_NAMESPACE": namespace},
        launch=freshly_started,
    )
    fresh.start()
    assert fresh.http("/readyz") == (200, "ok")
    assert fresh.stop() == 0


@pytest.mark.parametrize("launch", [forked, freshly_started])
def test_a_process_has_its_own_log_and_tells_how_it_ended(launch: Launch, tmp_path: Path) -> None:
    environment = {"PATH": os.environ["PATH"], "KUBECONFIG": str(tmp_path / "missing.kubeconfig")}
    refused = launch(environment, tmp_path / "log")
    assert refused.wait(timeout=60) == 1
    assert "missing.kubeconfig" in (tmp_path / "log").read_text()
    assert refused.poll() == 1
