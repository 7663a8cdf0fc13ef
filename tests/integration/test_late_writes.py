"""What a killed operator leaves half done: a request still on its way, a step without the next one."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta

from tests.support.builders import hand_profile, inline_task, make_run, make_task
from tests.support.faults import Drop, Hold, Rule, refuse
from tests.support.kube import Kube, eventually
from tests.support.operator import OperatorProcess
from tests.support.pods import end_pod, make_result, pods_of, set_pod_running, succeed, wait_pod
from tests.support.proxy import FaultProxy
from tests.support.recorder import PodRecorder
from tests.support.tasks import attempts, result_classes, wait_phase, wait_run, wait_waiting
from tests.support.timeline import Kind
from tests.support.wire import Target

START, TIMEOUT, GATED = 300, 900, 3600
QUOTA = "pods is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1"


@contextmanager
def killed_while_asking(proxy: FaultProxy, operator: OperatorProcess, rule: Rule) -> Iterator[None]:
    """Kill the operator at a request that arrives only after the block."""
    proxy.add(rule)
    eventually(lambda: rule.hits, what="the request that is held back")
    operator.kill()
    yield
    proxy.remove(rule)


def test_a_pod_that_arrives_after_its_task_was_cancelled_is_removed(
    kube: Kube, proxy: FaultProxy, recorder: PodRecorder, operator: OperatorProcess
) -> None:
    kube.create(hand_profile())
    kube.create(make_run())
    kube.create(make_task())
    with killed_while_asking(proxy, operator, Rule(action=Hold(), verbs="create", resource="pods", count=1)):
        kube.annotate("agenttasks", "t", cancel="true")
        operator.start()
        assert result_classes(wait_phase(kube, "t", "Cancelled")) == ["cancelled"]
    eventually(lambda: _pods_ever(recorder), what="that the Pod arrives")
    eventually(lambda: not kube.items("pods"), what="that it is removed")
    assert _pods_ever(recorder) == 1
    wait_run(kube, "r", "Failed")


def test_a_task_that_arrives_after_its_run_was_cancelled_starts_nothing(
    kube: Kube, proxy: FaultProxy, recorder: PodRecorder, operator: OperatorProcess
) -> None:
    def of_second(target: Target, _: bytes) -> bool:
        return target.name == "r-second"

    late = Rule(action=Hold(), verbs="create", resource="agenttasks", where=of_second, count=1)
    kube.create(hand_profile())
    kube.create(make_run(suspend=True, tasks=[inline_task("first"), inline_task("second")]))
    with killed_while_asking(proxy, operator, late):
        kube.annotate("bernsteinruns", "r", cancel="true")
        operator.start()
        wait_run(kube, "r", "Cancelled")
    wait_phase(kube, "r-second", "Cancelled")
    assert _pods_ever(recorder) == 0


def test_a_run_whose_agents_ended_while_nobody_looked_has_started(
    kube: Kube, proxy: FaultProxy, operator: OperatorProcess
) -> None:
    proxy.add(rule := Rule(action=Drop(), verbs="patch", resource="bernsteinruns/status"))
    kube.create(hand_profile())
    kube.create(make_run())
    kube.create(make_task())
    pod = set_pod_running(kube, wait_pod(kube, "t"))
    operator.kill()
    proxy.remove(rule)
    succeed(kube, pod)
    operator.start()
    ended = wait_run(kube, "r", "Succeeded")["status"]
    [attempt] = attempts(kube.get("agenttasks", "t"))
    assert ended["startTime"] <= attempt["startTime"]
    eventually(lambda: len(kube.events_of("r")) == 2, what="both events of the run")
    assert {told.partition(":")[0] for told in kube.events_of("r")} == {"RunStarted", "RunFinished"}


def test_a_large_envelope_that_was_left_by_a_refused_pod_is_replaced(
    kube: Kube, proxy: FaultProxy, operator: OperatorProcess
) -> None:
    full = refuse(403, reason="Forbidden", message=QUOTA)
    rule = proxy.add(Rule(action=full, verbs="create", resource="pods"))
    kube.create(hand_profile())
    kube.create(make_run())
    kube.create(
        make_task(
            "t",
            prompt="x" * 40_000,
            startTimeoutSeconds=START,
            timeoutSeconds=TIMEOUT,
            inputTimeoutSeconds=GATED,
        )
    )
    wait_waiting(kube, "t", "QuotaExceeded")
    proxy.remove(rule)
    pod = set_pod_running(kube, wait_pod(kube, "t"))
    config_map = kube.get("configmaps", pod["metadata"]["name"])
    envelope = json.loads(config_map["data"]["envelope.json"])
    [attempt] = attempts(wait_phase(kube, "t", "Running"))
    allowed = datetime.fromisoformat(envelope["deadline"]) - datetime.fromisoformat(attempt["intentTime"])
    assert abs(allowed - timedelta(seconds=GATED + 2 * START + TIMEOUT)) < timedelta(seconds=1)
    end_pod(kube, pod, result=make_result(pod))
    wait_run(kube, "r", "Succeeded")
    assert len(pods_of(kube, "t")) == 1


def _pods_ever(recorder: PodRecorder) -> int:
    recorder.catch_up()
    return len({seen.uid for seen in recorder.observations if seen.kind is Kind.POD})
