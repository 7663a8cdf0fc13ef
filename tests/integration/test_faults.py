"""The API server at its worst: answers that lie, come late or never, watches that break."""

import pytest

from tests.support.builders import hand_profile, kwok_profile, make_run, make_task
from tests.support.clock import now
from tests.support.faults import (
    Action,
    BlackHole,
    Delay,
    Drop,
    Rule,
    refuse,
    too_many_requests,
)
from tests.support.kube import Kube, eventually
from tests.support.operator import OperatorProcess
from tests.support.pods import bind, end_pod, pods_of, remove_pod, set_pod_running, succeed, wait_pod
from tests.support.proxy import FaultProxy
from tests.support.recorder import PodRecorder
from tests.support.tasks import result_classes, wait_phase, wait_run
from tests.support.timeline import Kind
from tests.support.wire import Target

STATUS = ("patch", "agenttasks/status")
LIST_DELAY = 10.0
RETRY_AFTER = 7
NAMES = ("a", "b", "c")


def pods_ever(recorder: PodRecorder) -> int:
    """Return how many Pods there ever were."""
    recorder.catch_up()
    return len({seen.uid for seen in recorder.observations if seen.kind is Kind.POD})


@pytest.mark.parametrize(
    "lie",
    [
        pytest.param((refuse(504, reason="Timeout"), "create", "pods"), id="504 instead of a Pod"),
        pytest.param((Drop(forward=True), "create", "pods"), id="a Pod whose answer is lost"),
        pytest.param((refuse(409, reason="Conflict"), *STATUS), id="409 for the first intent"),
        pytest.param((Drop(forward=True), *STATUS), id="an intent whose answer is lost"),
        pytest.param((refuse(500, reason="InternalError"), *STATUS), id="500 for an intent"),
    ],
)
def test_an_answer_that_lies_makes_no_second_pod(
    kube: Kube,
    proxy: FaultProxy,
    recorder: PodRecorder,
    operator: OperatorProcess,
    lie: tuple[Action, str, str],
) -> None:
    action, verbs, resource = lie
    rule = proxy.add(Rule(action=action, verbs=verbs, resource=resource, count=1))
    kube.create(kwok_profile())
    kube.create(make_run())
    kube.create(make_task())
    wait_run(kube, "r", "Succeeded")
    assert rule.hits == 1
    assert pods_ever(recorder) == 1
    assert result_classes(kube.get("agenttasks", "t")) == ["success"]


def test_every_status_write_may_be_lost_once(
    kube: Kube, proxy: FaultProxy, recorder: PodRecorder, operator: OperatorProcess
) -> None:
    """Of every two status writes the first one's answer is lost: each is found in what the watch tells."""
    count = iter(range(1000))
    proxy.add(
        Rule(
            action=Drop(forward=True),
            verbs="patch",
            where=lambda target, _: target.subresource == "status" and next(count) % 2 == 0,
        )
    )
    kube.create(kwok_profile())
    kube.create(make_run(max_agents=2))
    for name in NAMES:
        kube.create(make_task(name))
    wait_run(kube, "r", "Succeeded")
    assert pods_ever(recorder) == len(NAMES)


@pytest.mark.parametrize("how", ["cut", "expire"])
def test_a_broken_watch_loses_nothing(
    kube: Kube, proxy: FaultProxy, recorder: PodRecorder, operator: OperatorProcess, how: str
) -> None:
    kube.create(kwok_profile())
    kube.create(make_run(max_agents=2))
    for name in NAMES:
        kube.create(make_task(name))
        (proxy.cut_watches if how == "cut" else proxy.expire_watches)()
    wait_run(kube, "r", "Succeeded")
    assert pods_ever(recorder) == len(NAMES)


def test_a_pod_deleted_while_no_watch_stood_is_missed(
    kube: Kube, proxy: FaultProxy, operator: OperatorProcess
) -> None:
    kube.create(hand_profile())
    kube.create(make_run())
    kube.create(make_task(retry={"limit": 0, "backoffSeconds": 1}))
    pod = set_pod_running(kube, wait_pod(kube, "t"))
    wait_phase(kube, "t", "Running")
    with proxy.fault(refuse(410, reason="Expired"), verbs="watch", resource="pods") as rule:
        proxy.cut_watches("pods")
        eventually(lambda: rule.hits, what="that the watch is asked for again")
        remove_pod(kube, pod["metadata"]["name"])
    succeed(kube, set_pod_running(kube, wait_pod(kube, "t", attempt=2)))
    assert result_classes(wait_phase(kube, "t", "Succeeded")) == ["disruption", "success"]


def test_nothing_starts_before_the_list_of_pods_is_there(
    kube: Kube, proxy: FaultProxy, operator: OperatorProcess
) -> None:
    kube.create(kwok_profile())
    kube.create(make_run(max_agents=1))
    kube.create(make_task("live", role="kwok-slow"))
    wait_phase(kube, "live", "Running")
    operator.kill()
    kube.create(make_task("next"))
    restarted = now()
    proxy.add(Rule(action=Delay(seconds=LIST_DELAY), verbs="list", resource="pods", count=1))
    operator.start()
    wait_run(kube, "r", "Succeeded")
    records = [record for record in proxy.records if record.time >= restarted]
    listed = [one.finished for one in records if (one.verb, one.kind) == ("list", "pods") and one.finished]
    started = [one.time for one in records if (one.verb, one.kind) == ("create", "pods")]
    assert min(listed) - restarted >= LIST_DELAY
    assert len(started) == 1
    assert started[0] >= min(listed)


def test_a_429_is_obeyed_by_the_whole_process(
    kube: Kube, proxy: FaultProxy, operator: OperatorProcess
) -> None:
    kube.create(kwok_profile())
    kube.create(make_run())
    slow_down = too_many_requests(retry_after=RETRY_AFTER)
    rule = proxy.add(Rule(action=slow_down, verbs="create", resource="pods", count=1))
    for name in NAMES:
        kube.create(make_task(name))
    wait_run(kube, "r", "Succeeded")
    assert rule.hits == 1
    [refused] = [record for record in proxy.records if record.status == 429]
    told = refused.finished or refused.time
    # Requests that were on their way before the answer came can't have known; kopf's watches go on, and
    # whoever let its lease run out would be obeying to death.
    early = [
        (record.verb, record.kind, record.time - told)
        for record in proxy.records
        if 0.25 < record.time - told < RETRY_AFTER - 0.25
        and record.verb != "watch"
        and record.resource != "leases"
    ]
    assert early == []
    assert [result_classes(task) for task in kube.items("agenttasks")] == [["success"]] * len(NAMES)


def test_a_start_that_hangs_holds_up_nobody_else(
    kube: Kube, proxy: FaultProxy, operator: OperatorProcess
) -> None:
    kube.create(kwok_profile())
    kube.create(make_run(max_agents=2))

    def of_stuck(target: Target, _: bytes) -> bool:
        return target.name.startswith("stuck-")

    hole = proxy.add(Rule(action=BlackHole(), verbs="create", resource="pods", where=of_stuck))
    kube.create(make_task("stuck", priority=1))
    eventually(lambda: hole.hits, what="that its Pod is asked for")
    for name in NAMES:
        kube.create(make_task(name))
    for name in NAMES:
        wait_phase(kube, name, "Succeeded")
    assert not pods_of(kube, "stuck")
    proxy.remove(hole)
    wait_run(kube, "r", "Succeeded")
    assert result_classes(kube.get("agenttasks", "stuck")) == ["success"]


def test_a_cancel_gets_through_while_every_start_hangs(
    kube: Kube, proxy: FaultProxy, operator: OperatorProcess
) -> None:
    kube.create(hand_profile())
    kube.create(make_run(max_agents=60))
    kube.create(make_task("victim"))
    pod = wait_pod(kube, "victim")
    bind(kube, pod["metadata"]["name"])
    set_pod_running(kube, pod)
    wait_phase(kube, "victim", "Running")
    hole = proxy.add(Rule(action=BlackHole(), verbs="create", resource="pods"))
    for index in range(50):
        kube.create(make_task(f"hangs{index}"))
    eventually(lambda: hole.hits >= 30, what="that starts hang in every lane they have")
    kube.annotate("agenttasks", "victim", cancel="true")
    wait_phase(kube, "victim", "Cancelled")
    kube.wait_for(
        "pods",
        pod["metadata"]["name"],
        lambda found: "bernstein.run/stop" in found["metadata"]["annotations"],
        what="that the agent is told to stop",
    )
    end_pod(kube, pod, "Failed", 143, "Error")
    kube.annotate("bernsteinruns", "r", cancel="true")
    proxy.remove(hole)
    wait_run(kube, "r", "Cancelled")


def test_forbidden_events_hold_nothing_up(kube: Kube, proxy: FaultProxy, operator: OperatorProcess) -> None:
    forbidden = refuse(403, reason="Forbidden", message="events is forbidden")
    rule = proxy.add(Rule(action=forbidden, resource="events"))
    kube.create(kwok_profile())
    kube.create(make_run())
    for name in NAMES:
        kube.create(make_task(name))
    wait_run(kube, "r", "Succeeded")
    assert rule.hits
    told = [one for one in operator.log_entries() if one.get("message") == "event refused"]
    assert len(told) == 1, "said once, not for every event"
