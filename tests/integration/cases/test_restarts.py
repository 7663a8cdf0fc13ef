"""RSTR-3: nothing is decided from a half-filled view."""

from tests.support.builders import hand_profile, make_run, make_task
from tests.support.clock import now
from tests.support.faults import Delay, Rule
from tests.support.kube import Kube, eventually
from tests.support.operator import OperatorProcess
from tests.support.pods import live_pods, set_pod_running, succeed
from tests.support.proxy import FaultProxy
from tests.support.recorder import PodRecorder
from tests.support.wire import RequestRecord

KILLS = 5
LIST_DELAY = 4.0
LISTED_FIRST = frozenset({"pods", "agenttasks", "bernsteinruns"})


def test_rstr_3_no_start_before_everything_is_listed(
    kube: Kube, proxy: FaultProxy, recorder: PodRecorder, operator: OperatorProcess
) -> None:
    kube.create(hand_profile())
    kube.create(make_run(max_agents=3))
    for index in range(23):
        kube.create(make_task(f"t{index}"))
    eventually(lambda: len(live_pods(kube)) == 3, what="three live Pods")
    for pod in live_pods(kube):
        set_pod_running(kube, pod)
    proxy.add(Rule(action=Delay(seconds=LIST_DELAY), verbs="list", resource="pods"))
    for _ in range(KILLS):
        operator.kill()
        before = {pod["metadata"]["uid"] for pod in live_pods(kube)}
        ended = live_pods(kube)[0]
        succeed(kube, ended)
        restarted = now()
        operator.start()
        eventually(lambda: len(live_pods(kube)) == 3, what="that the free slot is filled")
        kept = {pod["metadata"]["uid"] for pod in live_pods(kube)}
        assert before - kept == {ended["metadata"]["uid"]}, "no running task was restarted"
        assert _early_starts([record for record in proxy.records if record.time >= restarted]) == []
        for pod in live_pods(kube):
            if pod["status"]["phase"] == "Pending":
                set_pod_running(kube, pod)
    created = [record for record in proxy.records if record.is_write and record.kind == "pods"]
    assert len([record for record in created if record.verb == "create"]) == 3 + KILLS


def _early_starts(records: list[RequestRecord]) -> list[RequestRecord]:
    """Return the Pods that were created before the first list of each kind was answered."""
    lists = [r for r in records if r.verb == "list" and r.finished and r.status == 200]
    first = {kind: min(r.finished or 0 for r in lists if r.kind == kind) for kind in LISTED_FIRST}
    starts = [record for record in records if (record.verb, record.kind) == ("create", "pods")]
    return [record for record in starts if record.time < max(first.values())]
