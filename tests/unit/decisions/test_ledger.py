"""What a row of the ledger says, into which segment it goes, and when it is its turn."""

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from typing import Any

import pytest

from bernstein_operator.api.names import ledger_name
from bernstein_operator.api.task_status import MAX_DETAIL
from bernstein_operator.decisions.abandoning import cut
from bernstein_operator.decisions.ledger import (
    SEGMENT_LIMIT,
    Append,
    Open,
    Row,
    Seal,
    Segment,
    Step,
    line,
    plan,
    row_of,
    weight,
)
from bernstein_operator.decisions.plan import RecordAbandonment, StopPod
from bernstein_operator.decisions.task import decide
from tests.unit.objects import at, attempt, pod, run, running, snapshot, status, task

MARK = "… [cut]"
ROOM = MAX_DETAIL - len(MARK.encode())
GIVEN_UP = {"reason": "env_broken", "detail": "no disk", "actor": "jo", "time": at(5.9)}

ROW = Row(
    task_uid="t-uid",
    timestamp=1767268805,
    task_id="t",
    role="qa",
    reason="env_broken",
    adapter="script",
    attempts=2,
    detail="no disk",
    run="r",
    run_uid="run-uid",
    namespace="ns",
    actor="jo",
    cost_to_date_usd="0.25",
)


@pytest.mark.parametrize(
    ("detail", "kept"),
    [
        pytest.param("x" * MAX_DETAIL, "x" * MAX_DETAIL, id="exactly 32 KiB"),
        pytest.param("x" * (MAX_DETAIL + 1), "x" * ROOM + MARK, id="one byte more"),
        pytest.param("ä" * (MAX_DETAIL // 2), "ä" * (MAX_DETAIL // 2), id="exactly 32 KiB of two bytes each"),
        pytest.param(
            "x" + "ä" * MAX_DETAIL, "x" + "ä" * ((ROOM - 1) // 2) + MARK, id="the cut is between two"
        ),
        pytest.param("ä" * MAX_DETAIL, "ä" * (ROOM // 2) + MARK, id="the cut is in the middle of one"),
        pytest.param("😀" * MAX_DETAIL, "😀" * (ROOM // 4) + MARK, id="of four bytes each"),
    ],
)
def test_a_detail_is_cut_between_two_characters(detail: str, kept: str) -> None:
    assert cut(detail) == kept
    assert len(cut(detail).encode()) <= MAX_DETAIL
    assert json.loads(line(replace(ROW, detail=detail)))["detail"] == kept


def test_a_row_is_one_line_of_json_with_its_keys_in_order() -> None:
    assert line(replace(ROW, detail='two\nlines, "ä"')) == (
        '{"actor":"jo","adapter":"script","attempts":2,"cost_to_date_usd":"0.25",'
        '"detail":"two\\nlines, \\"ä\\"","namespace":"ns","reason":"env_broken","role":"qa","run":"r",'
        '"run_uid":"run-uid","task_id":"t","timestamp":1767268805}'
    )


@pytest.mark.parametrize(
    ("fields", "differs"),
    [
        pytest.param({"abandonment": GIVEN_UP}, {}, id="by a person"),
        pytest.param({"abandonment": GIVEN_UP, "usage": None}, {"cost_to_date_usd": "0"}, id="nothing spent"),
        pytest.param(
            {"completion_time": at(7)},
            {"reason": "other", "detail": "", "actor": "unknown", "timestamp": ROW.timestamp + 2},
            id="a status of an older version",
        ),
    ],
)
def test_a_row_is_made_of_what_is_stored(fields: dict[str, Any], differs: dict[str, Any]) -> None:
    given = status(attempt(2), phase="Abandoned", **{"usage": {"costUsd": "0.25"}, **fields})
    assert row_of(task(status=given), run(), role="qa", adapter="script") == replace(ROW, **differs)


@pytest.mark.parametrize(
    ("owner", "uid"),
    [pytest.param("", "", id="no run"), pytest.param("old-uid", "old-uid", id="a former run")],
)
def test_a_row_without_a_run_names_the_one_that_made_the_task(owner: str, uid: str) -> None:
    given = task(owner=owner, status=status(phase="Abandoned", abandonment=GIVEN_UP))
    row = row_of(given, None, role="qa", adapter="none")
    assert (row.run, row.run_uid, row.attempts, row.adapter) == ("r", uid, 0, "none")


@pytest.mark.parametrize(
    ("run_name", "number", "name"),
    [
        pytest.param("r", 1, "r-8ccfeb-abandonments", id="the first"),
        pytest.param("r", 2, "r-8ccfeb-abandonments-2", id="the second"),
        pytest.param("r" * 253, 1, f"{'r' * 200}-8ccfeb-abandonments", id="of a long name"),
        pytest.param(f"{'r' * 199}.x", 1, f"{'r' * 199}-8ccfeb-abandonments", id="no name ends in a dot"),
    ],
)
def test_a_segments_name_follows_from_its_run(run_name: str, number: int, name: str) -> None:
    assert ledger_name(run=run_name, run_uid="u-1", number=number) == name
    assert len(name) <= 253


def sized(uid: str, size: int) -> Row:
    """Return a row that takes exactly ``size`` bytes of a segment."""
    empty = replace(ROW, task_uid=uid, detail="")
    row = replace(empty, detail="x" * (size - weight(uid, line(empty))))
    assert weight(uid, line(row)) == size
    return row


BIG = [sized(f"big-{number}", 30_000) for number in range(40)]
ONE, OTHER = sized("one", 1000), sized("other", 1000)
FULL = Segment("a", SEGMENT_LIMIT)


@pytest.mark.parametrize(
    ("segments", "rows", "steps"),
    [
        pytest.param([], [], [], id="nothing to write"),
        pytest.param([], [ONE, OTHER], [Open("s1", (ONE, OTHER))], id="the first rows of a run"),
        pytest.param([Segment("a", 500)], [ONE, OTHER], [Append("a", (ONE, OTHER))], id="both fit"),
        pytest.param(
            [Segment("a", SEGMENT_LIMIT - 1000)], [ONE], [Append("a", (ONE,))], id="up to exactly 900 KiB"
        ),
        pytest.param(
            [Segment("a", SEGMENT_LIMIT - 999)],
            [ONE],
            [Open("s1", (ONE,)), Seal("a", "s1")],
            id="one byte more than 900 KiB",
        ),
        pytest.param(
            [Segment("a", SEGMENT_LIMIT - 1000)],
            [ONE, OTHER],
            [Append("a", (ONE,)), Open("s1", (OTHER,)), Seal("a", "s1")],
            id="the first still fits, the second doesn't",
        ),
        pytest.param(
            [Segment("a", 1_048_000)],
            [ONE],
            [Open("s1", (ONE,)), Seal("a", "s1")],
            id="past it by other hands",
        ),
        pytest.param(
            [],
            BIG,
            [Open("s1", tuple(BIG[:30])), Open("s2", tuple(BIG[30:])), Seal("s1", "s2")],
            id="more at once than a segment takes",
        ),
        pytest.param(
            [Segment("a", 10, sealed=True, successor="b"), Segment("b", 10)],
            [ONE],
            [Append("b", (ONE,))],
            id="the last one is filled, however small those before it are",
        ),
        pytest.param(
            [FULL, Segment("b", 10)],
            [ONE],
            [Append("b", (ONE,)), Seal("a", "b")],
            id="a crash came before the seal",
        ),
        pytest.param(
            [FULL, Segment("b", 10)], [], [Seal("a", "b")], id="a crash came before the seal, and no new row"
        ),
        pytest.param(
            [Segment("a", 10, sealed=True)],
            [ONE],
            [Open("s1", (ONE,)), Seal("a", "s1")],
            id="sealed by hand, without a successor",
        ),
        pytest.param(
            [Segment("a", 10, sealed=True, successor="b"), Segment("c", 10)],
            [],
            [Seal("a", "c")],
            id="the one between was deleted",
        ),
    ],
)
def test_rows_fill_segments_and_full_ones_are_sealed(
    segments: Sequence[Segment], rows: Sequence[Row], steps: Sequence[Step]
) -> None:
    names = (f"s{number}" for number in count(1))
    assert plan(segments, rows, names=names) == tuple(steps)


ABANDONED = status(phase="Abandoned", completion_time=at(5), abandonment=GIVEN_UP)
STILL_UP = pod(agent=running(), phase="Running")
WITH_POD = status(
    attempt(1, pod_uid=STILL_UP.metadata.uid, start_time=at(1)),
    phase="Abandoned",
    completion_time=at(5),
    abandonment=GIVEN_UP,
)


@pytest.mark.parametrize(
    ("facts", "actions"),
    [
        pytest.param({"row_missing": True}, (RecordAbandonment(),), id="no row yet"),
        pytest.param(
            {"row_missing": True, "row_tried": True}, (RecordAbandonment(),), id="it was tried in vain"
        ),
        pytest.param({"row_missing": False, "row_tried": True}, (), id="it is there"),
    ],
)
def test_a_row_is_asked_for_until_it_is_there(facts: dict[str, Any], actions: tuple[object, ...]) -> None:
    assert decide(snapshot(task(status=ABANDONED), **facts), now=at(9)).actions == actions


@pytest.mark.parametrize("phase", ["Pending", "Running", "Succeeded", "Failed", "Cancelled", "Quarantined"])
def test_no_other_phase_has_a_row(phase: str) -> None:
    found = decide(snapshot(task(status=status(phase=phase)), row_missing=True), now=at(9))
    assert RecordAbandonment() not in found.actions


def test_a_task_that_is_being_deleted_still_gets_its_row() -> None:
    going = task(status=ABANDONED, metadata={"deletionTimestamp": "2026-01-01T12:00:08Z"})
    assert decide(snapshot(going, row_missing=True), now=at(9)).actions == (RecordAbandonment(),)


def test_the_status_is_stored_before_the_row_is_asked_for() -> None:
    asked = task(metadata={"annotations": {"bernstein.run/abandon": "env_broken"}})
    found = decide(snapshot(asked, row_missing=True), now=at(9))
    assert (found.status.phase, found.actions) == ("Abandoned", ())


@pytest.mark.parametrize(
    ("facts", "stops"),
    [
        pytest.param({"row_missing": True}, False, id="before its row was tried"),
        pytest.param({"row_missing": True, "row_tried": True}, True, id="after it was tried in vain"),
        pytest.param({"row_missing": False, "row_tried": True}, True, id="once it is there"),
    ],
)
def test_the_pod_is_stopped_after_the_row_was_tried(facts: dict[str, Any], stops: bool) -> None:
    found = decide(snapshot(task(status=WITH_POD), STILL_UP, **facts), now=at(9))
    assert any(isinstance(one, StopPod) for one in found.actions) == stops
    assert (RecordAbandonment() in found.actions) == (not stops), (
        "it doesn't wait for a row in the same breath"
    )
