"""What live attempts have reported: only upwards, only of the open attempt, and gone with it."""

from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from bernstein_agent.contract import (
    Abandonment,
    AbandonReason,
    Report,
    ResultClass,
    ResultSubject,
)
from bernstein_agent.contract import Result as Posted
from bernstein_agent.contract import Usage as Reported
from bernstein_operator.api.money import Money
from bernstein_operator.api.snapshot import Reading
from bernstein_operator.api.task_status import Usage
from bernstein_operator.world.world import World
from tests.unit.objects import at, attempt, name_of_pod, pod, raw_run, raw_task, status
from tests.unit.world.marks import Marked

SUBJECT = ResultSubject(id=name_of_pod(), attempt=1)
FIVE, SEVEN = Usage(input_tokens=5), Usage(input_tokens=7)


class Scene:
    """A world with one task, whose first attempt is open, and a clock."""

    def __init__(self) -> None:
        self.now = at(0)
        self.marked = Marked()
        self.world = World(self.marked, clock=self.clock)
        self.world.put_run(raw_run())
        self.put(1, attempt())
        self.world.seen(pod(phase="Running", uid="pod-uid"))
        self.marked.forget()

    def clock(self) -> datetime:
        return self.now

    def put(self, version: int, *attempts: Any) -> None:
        self.world.put_task(raw_task(version=version, status=status(*attempts)))

    def report(self, tokens: int = 0, *, unknown: bool = False, **said: Any) -> bool:
        task = self.world.task(("ns", "t"))
        assert task
        usage = Reported(input_tokens=tokens, cost_unknown=unknown)
        report = Report(subject=SUBJECT, usage=usage, **said)
        return self.world.meter.take(task, task.status.attempts[-1], report)

    @property
    def reading(self) -> Reading | None:
        snapshot = self.world.task_snapshot(("ns", "t"), refusal=None)
        assert snapshot
        return snapshot.reading


def test_a_report_is_seen_by_whoever_decides_on_the_task_and_its_run() -> None:
    scene = Scene()
    assert scene.reading is None
    assert scene.report(5)
    assert scene.reading == Reading(usage=FIVE, written=at(0))
    assert (scene.marked.tasks, scene.marked.runs) == ({"t"}, {"r"})
    assert scene.world.meter.reported("t-uid", 1) == FIVE
    assert scene.world.meter.reported("t-uid", 2) is None


@pytest.mark.parametrize("tokens", [5, 4, 0], ids=["a repeat", "one that was overtaken", "one that lowers"])
def test_a_report_that_says_nothing_new_wakes_nobody(tokens: int) -> None:
    scene = Scene()
    scene.report(5)
    scene.marked.forget()
    assert not scene.report(tokens)
    assert scene.marked.tasks == scene.marked.runs == set()
    assert scene.world.meter.reported("t-uid", 1) == FIVE


def test_what_a_report_leaves_out_was_said_before() -> None:
    scene = Scene()
    scene.report(5, continues="s-1")
    scene.report(7)
    assert scene.reading == Reading(usage=SEVEN, written=at(0), continues="s-1")


@pytest.mark.parametrize(
    ("reports", "unknown"),
    [
        pytest.param([(5, True)], True, id="said"),
        pytest.param([(5, True), (7, False)], False, id="taken back"),
        pytest.param([(5, False), (7, True)], True, id="said later"),
        pytest.param([(7, False), (5, True)], False, id="said by one that was overtaken"),
    ],
)
def test_the_latest_report_says_whether_costs_are_unknown(
    reports: list[tuple[int, bool]], unknown: bool
) -> None:
    scene = Scene()
    for tokens, said in reports:
        scene.report(tokens, unknown=said)
    assert scene.reading
    assert scene.reading.cost_unknown is unknown


def test_after_a_restart_what_is_stored_is_the_floor() -> None:
    scene = Scene()
    scene.put(2, attempt(usage=SEVEN))
    assert scene.world.meter.reported("t-uid", 1) == SEVEN
    assert not scene.report(5), "nothing new"
    assert scene.world.meter.reported("t-uid", 1) == SEVEN
    assert scene.report(8)
    assert scene.world.meter.reported("t-uid", 1) == Usage(input_tokens=8)


def test_a_minute_counts_from_what_was_stored_last() -> None:
    scene = Scene()
    scene.report(5)
    scene.now = at(30)
    scene.put(2, attempt(start_time=at(1)))
    assert scene.reading == Reading(usage=FIVE, written=at(0)), "another write, without usage"
    scene.put(3, attempt(start_time=at(1), usage=FIVE))
    assert scene.reading == Reading(usage=FIVE, written=at(30))
    scene.now = at(40)
    scene.put(4, attempt(start_time=at(2), usage=FIVE))
    assert scene.reading == Reading(usage=FIVE, written=at(30)), "the same usage again"


@pytest.mark.parametrize(
    "later",
    [
        pytest.param((attempt(end_time=at(5)),), id="it ended"),
        pytest.param((attempt(end_time=at(5)), attempt(2)), id="another one began"),
    ],
)
def test_a_reading_goes_with_its_attempt(later: tuple[Any, ...]) -> None:
    scene = Scene()
    scene.report(5)
    scene.put(2, *later)
    assert scene.reading is None


def test_a_reading_goes_with_its_task() -> None:
    scene = Scene()
    scene.report(5)
    task = scene.world.task(("ns", "t"))
    assert task
    scene.world.drop_task(replace_version(task.meta, "2"))
    assert scene.world.meter.reported("t-uid", 1) is None


def replace_version(meta: Any, version: str) -> Any:
    return type(meta)(name=meta.name, namespace=meta.namespace, uid=meta.uid, resource_version=version)


@pytest.mark.parametrize(
    ("uid", "found"),
    [pytest.param("pod-uid", True, id="its Pod"), pytest.param("another", False, id="an unknown one")],
)
def test_a_pod_leads_to_its_task_by_its_uid(uid: str, found: bool) -> None:
    assert bool(Scene().world.meter.owner_of(uid)) is found


def test_a_pod_that_is_gone_leads_nowhere() -> None:
    scene = Scene()
    scene.world.gone(pod(phase="Running", uid="pod-uid", version=2))
    assert scene.world.meter.owner_of("pod-uid") is None


def test_costs_are_exact() -> None:
    scene = Scene()
    task = scene.world.task(("ns", "t"))
    assert task
    for dimes in range(1, 9):
        usage = replace(Reported(), cost_micros=dimes * 100_000)
        scene.world.meter.take(task, task.status.attempts[-1], Report(subject=SUBJECT, usage=usage))
    assert scene.world.meter.reported("t-uid", 1) == Usage(cost_usd=Money.parse("0.8"))


MIB = "é" * 2**20


@pytest.mark.parametrize(
    "texts",
    [
        pytest.param({"summary": MIB}, id="a summary"),
        pytest.param({"message": MIB}, id="a message"),
        pytest.param({"question": MIB}, id="a question"),
        pytest.param({"abandonment": Abandonment(reason=AbandonReason.OTHER, detail=MIB)}, id="a detail"),
        pytest.param({"summary": "short", "question": "Which?"}, id="what is short stays"),
    ],
)
def test_of_a_posted_result_no_more_is_kept_than_is_read(texts: dict[str, Any]) -> None:
    posted = Posted(subject=SUBJECT, result_class=ResultClass.SUCCESS, reason="Completed", **texts)
    scene = Scene()
    scene.report(result=posted)
    assert scene.reading
    kept = scene.reading.result
    assert kept
    assert len(kept.to_json().encode()) < 2**17
    assert kept.to_termination_message() == posted.to_termination_message()
