"""API-1 and API-3: what the API server refuses or puts off is no failure of a task."""

import pytest

from tests.support.builders import hand_profile, kwok_profile, make_run, make_task
from tests.support.faults import Rule, refuse, too_many_requests
from tests.support.kube import Kube, Manifest, condition, eventually
from tests.support.operator import OperatorProcess
from tests.support.pods import live_pods, set_pod_running, succeed
from tests.support.proxy import FaultProxy
from tests.support.tasks import attempts, result_classes, wait_run, wait_waiting, waits_for
from tests.support.wire import RequestRecord

RETRY_AFTER = 7
QUOTA: Manifest = {
    "apiVersion": "v1",
    "kind": "ResourceQuota",
    "metadata": {"name": "q"},
    "spec": {"hard": {"pods": "1"}},
}


def test_api_1_a_full_quota_holds_tasks_back_without_using_attempts(
    kube: Kube, operator: OperatorProcess
) -> None:
    kube.create(QUOTA)
    kube.wait_for("resourcequotas", "q", lambda quota: quota["status"].get("hard"), what="the quota's status")
    kube.create(hand_profile())
    kube.create(make_run())
    names = ["a", "b", "c"]
    for name in names:
        kube.create(make_task(name))
    eventually(lambda: len(live_pods(kube)) == 1, what="the one Pod that fits")
    eventually(lambda: _held_by_quota(kube) == 2, what="two tasks that wait for the quota")
    held = [task for task in kube.items("agenttasks") if waits_for(task) == "QuotaExceeded"]
    assert all("exceeded quota: q" in condition(task, "Admitted")["message"] for task in held)
    assert [attempts(task) for task in held] == [[], []]
    for _ in names:
        pods = eventually(lambda: live_pods(kube), timeout=90, what="the next Pod")
        succeed(kube, set_pod_running(kube, pods[0]))
    wait_run(kube, "r", "Succeeded")
    assert [result_classes(task) for task in kube.items("agenttasks")] == [["success"]] * 3


def _held_by_quota(kube: Kube) -> int:
    return sum(waits_for(task) == "QuotaExceeded" for task in kube.items("agenttasks"))


def test_api_1_a_busy_quota_is_asked_again_within_seconds(
    kube: Kube, proxy: FaultProxy, operator: OperatorProcess
) -> None:
    busy = refuse(
        409,
        reason="Conflict",
        message='Operation cannot be fulfilled on resourcequotas "q": the object has been modified',
    )
    rule = proxy.add(Rule(action=busy, verbs="create", resource="pods", count=3))
    kube.create(kwok_profile())
    kube.create(make_run())
    kube.create(make_task())
    wait_run(kube, "r", "Succeeded")
    assert rule.hits == 3
    assert result_classes(kube.get("agenttasks", "t")) == ["success"]


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        pytest.param(
            'pods "x" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1',
            "QuotaExceeded",
            id="quota",
        ),
        pytest.param(
            'pods is forbidden: User "system:serviceaccount:b:o" cannot create resource "pods"'
            ' in API group "" in the namespace "n"',
            "PermissionMissing",
            id="role",
        ),
        pytest.param(
            'pods "x" is forbidden: unable to create new content in namespace n'
            " because it is being terminated",
            "NamespaceTerminating",
            id="namespace going away",
        ),
        pytest.param(
            'pods "x" is forbidden: violates PodSecurity "restricted:latest": privileged',
            "PodForbidden",
            id="rules",
        ),
    ],
)
def test_api_1_the_four_kinds_of_forbidden_are_told_apart_and_heal(
    kube: Kube, proxy: FaultProxy, operator: OperatorProcess, message: str, reason: str
) -> None:
    forbidden = refuse(403, reason="Forbidden", message=message)
    with proxy.fault(forbidden, verbs="create", resource="pods"):
        kube.create(kwok_profile())
        kube.create(make_run())
        kube.create(make_task())
        waiting = wait_waiting(kube, "t", reason)
        assert message in condition(waiting, "Admitted")["message"]
        assert not attempts(waiting)
    wait_run(kube, "r", "Succeeded", timeout=120)
    assert result_classes(kube.get("agenttasks", "t")) == ["success"]


def test_api_3_retry_after_is_obeyed_and_nothing_fails(
    kube: Kube, proxy: FaultProxy, operator: OperatorProcess
) -> None:
    kube.create(kwok_profile())
    kube.create(make_run(max_agents=2))
    for index in range(6):
        kube.create(make_task(f"t{index}"))
    slow_down = too_many_requests(retry_after=RETRY_AFTER)
    verbs = frozenset({"get", "list", "watch", "patch"})
    with proxy.fault(slow_down, verbs=verbs) as rule:
        proxy.cut_watches()
        eventually(lambda: rule.hits >= 6, timeout=60, what="refused requests")
        assert operator.is_running
    wait_run(kube, "r", "Succeeded")
    assert [result_classes(task) for task in kube.items("agenttasks")] == [["success"]] * 6
    assert _impatient(proxy.records) == []
    operator.stop()


def _impatient(records: tuple[RequestRecord, ...]) -> list[tuple[RequestRecord, RequestRecord]]:
    """Return pairs of a 429 and a request to the same endpoint inside the time that it asked for.

    The lease apart: whoever waits so long with its renewal loses it.
    """
    refused = [
        record
        for record in records
        if record.status == 429 and not record.forwarded and record.resource != "leases"
    ]
    return [
        (no, again)
        for no in refused
        for again in records
        if (again.verb, again.kind) == (no.verb, no.kind)
        # Requests that were on their way before the answer came can't have known.
        and 0.25 < again.time - (no.finished or no.time) < RETRY_AFTER - 0.25
    ]
