"""RSTR-3: nothing is decided from a half-filled view; and the main job goes on through five kills."""

from functools import partial

from tests.support.attribution import TaskKey
from tests.support.audit import AuditLog, assert_same_counts
from tests.support.builders import hand_profile, kwok_profile, make_run, make_task
from tests.support.clock import now
from tests.support.faults import Delay, Rule
from tests.support.kube import Kube, eventually
from tests.support.operator import OperatorProcess
from tests.support.pods import live_pods, set_pod_running, succeed
from tests.support.proxy import FaultProxy
from tests.support.recorder import PodRecorder
from tests.support.tasks import attempts, wait_run
from tests.support.timeline import Kind, phase
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


def test_rstr_3_sixty_tasks_at_ceiling_five(
    kube: Kube,
    proxy: FaultProxy,
    recorder: PodRecorder,
    operator: OperatorProcess,
    audit: AuditLog,
) -> None:
    # A third of the tasks take ten seconds, the others one: what is measured is how slots are refilled,
    # not how long this machine takes for it beside tasks that are over at once.
    kube.create(kwok_profile())
    run = kube.create(make_run(max_agents=5))["metadata"]
    for index in range(60):
        kube.create(make_task(f"t{index}", role="kwok-slow" if index % 3 == 0 else "kwok-quick"))
    begun = now()
    for kill in range(1, KILLS + 1):
        eventually(partial(_have_succeeded, kube, kill * 9), timeout=60, what="progress")
        operator.restart(kill=True)
    wait_run(kube, "r", "Succeeded", timeout=120)
    recorder.catch_up()
    operator.stop()
    tasks = kube.items("agenttasks")
    assert [len(attempts(task)) for task in tasks] == [1] * 60
    pods = {seen.uid for seen in recorder.observations if seen.kind is Kind.POD}
    assert len(pods) == 60, "every task was done exactly once"
    usage = recorder.slot_usage(f"{run['namespace']}/{run['name']}", begun, now())
    counts = proxy.writes_by_task()
    costs = sorted(counts.total(TaskKey(kube.namespace, f"t{index}")) for index in range(60))
    print(f"slots used: {usage.share:.1%}; writes a task: {costs}; others: {dict(counts.other)}")  # noqa: T201
    assert usage.share >= 0.95
    assert costs[len(costs) // 2] == 4
    assert_same_counts(proxy, audit=audit)


def _have_succeeded(kube: Kube, count: int) -> bool:
    return sum(phase(task) == "Succeeded" for task in kube.items("agenttasks")) >= count
