"""RSTR-1: two operators, ceiling 2, ten tasks; the leader dies, freezes, is cut off or is asked to go.

Whatever happens to it, the recorder's invariants hold, the other one takes over, and whoever lost the lease
writes nothing more. Each operator has a proxy of its own, which tells whose request was whose.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from bernstein_operator.kube.lease import LEASE_SECONDS
from tests.support.builders import inline_task, kwok_profile, make_run
from tests.support.clock import now
from tests.support.faults import Drop, Rule
from tests.support.fixtures import Cluster, StartOperator
from tests.support.kube import Kube, eventually
from tests.support.operator import OperatorProcess
from tests.support.pods import live_pods
from tests.support.proxy import FaultProxy
from tests.support.recorder import PodRecorder
from tests.support.tasks import result_classes, wait_run
from tests.support.timeline import Kind, phase
from tests.support.wire import READ_VERBS, RequestRecord

CEILING, TASKS = 2, 10
TAKEN_SECONDS = LEASE_SECONDS + 5.0
"""The lease, the look at it, and the lists."""
RELEASED_SECONDS = 5.0
LISTED = frozenset({"pods", "agenttasks", "bernsteinruns", "agentprofiles", "configmaps", "events"})
"""Everything that a leader has to know: ConfigMaps hold the ledger."""


@dataclass(frozen=True)
class Seat:
    """An operator and what it asks of the API server."""

    operator: OperatorProcess
    proxy: FaultProxy

    def changes(self, *, since: float = 0.0) -> list[RequestRecord]:
        """Return the requests that were to change something, carried out or not, the lease's apart."""
        return [
            record
            for record in self.proxy.records
            if record.time >= since and record.verb not in READ_VERBS and record.resource != "leases"
        ]

    def leases(self, *, since: float = 0.0) -> list[RequestRecord]:
        """Return the changes of the lease that were carried out."""
        return [
            record
            for record in self.proxy.records
            if record.time >= since and record.is_write and record.resource == "leases"
        ]


@pytest.fixture
def other_proxy(cluster: Cluster, tmp_path: Path) -> Iterator[FaultProxy]:
    """The second operator's own way to the API server."""
    directory = tmp_path / "other"
    directory.mkdir()
    with FaultProxy(cluster.access, directory=directory) as proxy:
        yield proxy


@pytest.fixture
def start_operator(other_proxy: FaultProxy, start_operator: StartOperator) -> StartOperator:
    """Start operators, which end before either proxy does."""
    return start_operator


@pytest.fixture
def first(start_operator: StartOperator, proxy: FaultProxy) -> Seat:
    """The one that leads."""
    return Seat(start_operator(), proxy)


@pytest.fixture
def second(first: Seat, start_operator: StartOperator, other_proxy: FaultProxy) -> Seat:
    """The one that stands by."""
    operator = start_operator(wait=False, through=other_proxy)
    operator.wait_ready()
    assert not operator.leads
    return Seat(operator, other_proxy)


@pytest.fixture
def work(kube: Kube, first: Seat, second: Seat) -> None:
    """Ten tasks, of which two are at work; the others are left for whoever leads next."""
    kube.create(kwok_profile())
    tasks = [inline_task(f"t{index}", role="kwok-quick") for index in range(TASKS)]
    kube.create(make_run(max_agents=CEILING, tasks=tasks))
    eventually(lambda: len(live_pods(kube)) == CEILING, what="two live Pods")


def all_done_once(kube: Kube, recorder: PodRecorder) -> None:
    """Wait for the run's end; every task was done, and by one Pod."""
    wait_run(kube, "r", "Succeeded", timeout=120)
    recorder.catch_up()
    assert [result_classes(task) for task in kube.items("agenttasks")] == [["success"]] * TASKS
    assert len({seen.uid for seen in recorder.observations if seen.kind is Kind.POD}) == TASKS


def succeeded(kube: Kube) -> int:
    """Return how many tasks have succeeded."""
    return sum(phase(task) == "Succeeded" for task in kube.items("agenttasks"))


def decided_on_fresh_lists(seat: Seat, *, since: float) -> None:
    """Nothing was changed before everything was listed anew under the lease."""
    taken = seat.leases(since=since)[0].finished or 0.0
    begun = min(record.time for record in seat.changes(since=since))
    listed = {
        record.kind
        for record in seat.proxy.records
        if record.verb == "list" and record.time >= taken and (record.finished or begun) < begun
    }
    assert listed == LISTED


@pytest.mark.usefixtures("work")
def test_rstr_1_a_killed_leader_is_replaced_when_its_lease_has_run_out(
    kube: Kube, recorder: PodRecorder, first: Seat, second: Seat
) -> None:
    first.operator.kill()
    killed = now()
    second.operator.wait_leading(timeout=TAKEN_SECONDS)
    all_done_once(kube, recorder)
    decided_on_fresh_lists(second, since=killed)
    assert second.leases()[0].time - first.leases()[-1].time >= LEASE_SECONDS
    assert second.changes()[0].time > killed


@pytest.mark.usefixtures("work")
def test_rstr_1_a_frozen_leader_writes_nothing_when_it_wakes_up_too_late(
    kube: Kube, recorder: PodRecorder, first: Seat, second: Seat
) -> None:
    first.operator.freeze()
    frozen = now()
    second.operator.wait_leading(timeout=TAKEN_SECONDS)
    done = succeeded(kube)
    # What the frozen one finds when it wakes up: ended Pods, free slots, tasks that wait.
    eventually(lambda: succeeded(kube) > done, what="progress under the second one")
    thawed = now()
    first.operator.thaw()
    assert first.operator.wait_end() == 1
    # One request may have been past its check in the very moment in which its process was frozen.
    assert [record.status for record in first.changes(since=thawed)] in ([], [409])
    assert first.leases(since=thawed) == []
    all_done_once(kube, recorder)
    decided_on_fresh_lists(second, since=frozen)


@pytest.mark.usefixtures("work")
def test_rstr_1_a_leader_that_is_cut_off_ends_itself_and_is_replaced(
    kube: Kube, recorder: PodRecorder, first: Seat, second: Seat
) -> None:
    recorder.operator_down()
    first.proxy.add(Rule(action=Drop()))
    first.proxy.cut_watches()
    assert first.operator.wait_end() == 1
    second.operator.wait_leading(timeout=TAKEN_SECONDS)
    all_done_once(kube, recorder)
    assert second.leases()[0].time - first.leases()[-1].time >= LEASE_SECONDS


@pytest.mark.usefixtures("work")
def test_rstr_1_a_leader_that_is_asked_to_end_gives_its_lease_back(
    kube: Kube, recorder: PodRecorder, first: Seat, second: Seat
) -> None:
    assert first.operator.stop() == 0
    second.operator.wait_leading(timeout=RELEASED_SECONDS)
    all_done_once(kube, recorder)


def test_rstr_1_of_two_that_start_together_one_leads_and_only_it_writes(
    kube: Kube,
    recorder: PodRecorder,
    start_operator: StartOperator,
    proxy: FaultProxy,
    other_proxy: FaultProxy,
) -> None:
    seats = [
        Seat(start_operator(wait=False), proxy),
        Seat(start_operator(wait=False, through=other_proxy), other_proxy),
    ]
    for seat in seats:
        seat.operator.wait_ready()
    [leader] = eventually(lambda: [seat for seat in seats if seat.operator.leads], what="a leader")
    kube.create(kwok_profile())
    kube.create(make_run(max_agents=CEILING, tasks=[inline_task(f"t{index}") for index in range(TASKS)]))
    all_done_once(kube, recorder)
    assert [bool(seat.changes()) for seat in seats] == [seat is leader for seat in seats]
    assert [seat.operator.http("/healthz") for seat in seats] == [(200, "ok")] * 2
    assert [seat.operator.leads for seat in seats] == [seat is leader for seat in seats]
