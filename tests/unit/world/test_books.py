"""What is known of the ledger follows from its ConfigMaps, and what people did to them is noticed."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from bernstein_operator.api.snapshot import Dependency
from bernstein_operator.api.vocabulary import TaskPhase
from bernstein_operator.decisions.ledger import Segment
from bernstein_operator.world.books import BookKey, Books, Leaf, adapter_of, read
from bernstein_operator.world.world import World
from tests.unit.objects import RUN_UID, T0, Raw, attempt, raw_profile, run, snapshot, stamp, status, task
from tests.unit.world.marks import Marked

KEY = BookKey("ns", "r", RUN_UID)
NAME = "r-beb401-abandonments"
LABELS = {"app.kubernetes.io/managed-by": "bernstein-operator", "bernstein.run/ledger": "r"}
MARKS = {"bernstein.run/run-name": "r", "bernstein.run/run-uid": RUN_UID}


def line(reason: str = "other", **more: Any) -> str:
    return json.dumps({"reason": reason, **more})


def config_map(
    name: str = NAME,
    data: Mapping[str, str] | None = None,
    *,
    version: int = 1,
    labels: Raw = LABELS,
    marks: Raw = MARKS,
    **more: Any,
) -> bytes:
    meta = {
        "name": name,
        "namespace": "ns",
        "uid": f"{name}-uid",
        "resourceVersion": str(version),
        "labels": labels,
        "annotations": marks,
    }
    return json.dumps({"metadata": meta, "data": dict(data or {}), **more}).encode()


def leaf(name: str = NAME, data: Mapping[str, str] | None = None, **options: Any) -> Leaf:
    found = read(config_map(name, data, **options))[1]
    assert found
    return found


def books(*leaves: Leaf) -> tuple[Books, list[str]]:
    """Return books that hold these segments, and a list that grows whenever rows are lost."""
    lost: list[str] = []
    made = Books(lambda: lost.append("lost"))
    for one in leaves:
        made.put(one)
    return made, lost


@pytest.mark.parametrize(
    ("options", "segment"),
    [
        pytest.param({"data": {"u": "äb"}}, Segment(NAME, 4), id="sizes are bytes of keys and values"),
        pytest.param(
            {"immutable": True, "marks": {**MARKS, "bernstein.run/next-segment": "n"}},
            Segment(NAME, 0, sealed=True, successor="n"),
            id="sealed",
        ),
        pytest.param({"name": f"{NAME}-2"}, Segment(f"{NAME}-2"), id="the second"),
        pytest.param({"labels": {}}, None, id="without labels"),
        pytest.param({"labels": {"bernstein.run/ledger": "r"}}, None, id="managed by somebody else"),
        pytest.param({"marks": {}}, None, id="of no run"),
        pytest.param({"name": "mine"}, None, id="not named after its run"),
        pytest.param({"name": f"{NAME}-02"}, None, id="no number that we write"),
    ],
)
def test_a_segment_is_known_by_labels_and_name(options: Raw, segment: Segment | None) -> None:
    found = read(config_map(**options))[1]
    assert (found.segment if found else None) == segment


def test_rows_are_counted_by_reason_and_found_by_task() -> None:
    first = leaf(data={"u1": line("env_broken"), "u2": line()})
    second = leaf(f"{NAME}-2", {"u3": line(), "u4": "not ours", "u5": line("no_such_reason")})
    made, _ = books(second, first)
    made.known = True
    state = made.state(run(), {})
    assert (state.known, state.first) == (True, NAME)
    assert state.reasons == (("env_broken", 1), ("other", 4)), "what can't be read is there all the same"
    assert [made.has(uid) for uid in ("u1", "u3", "u4", "u9")] == [True, True, True, False]
    assert [one.name for one in made.book(KEY).segments] == [NAME, f"{NAME}-2"]


@pytest.mark.parametrize(
    ("taken", "names"),
    [
        pytest.param([], [f"{NAME}-2", f"{NAME}-3"], id="nobody has one"),
        pytest.param([f"{NAME}-2"], [f"{NAME}-3", f"{NAME}-4"], id="somebody has the second"),
    ],
)
def test_a_further_segments_name_is_one_that_nobody_has(taken: list[str], names: list[str]) -> None:
    made, _ = books(leaf())
    book = made.book(KEY)
    book.taken.update(taken)
    further = book.names()
    assert [next(further), next(further)] == names


def test_an_older_state_of_a_segment_changes_nothing() -> None:
    made, lost = books(leaf(data={"u1": line(), "u2": line()}, version=5))
    made.put(leaf(data={"u1": line()}, version=4))
    assert made.has("u2")
    assert not lost


def test_a_row_that_is_taken_out_is_missed() -> None:
    made, lost = books(leaf(data={"u1": line(), "u2": line()}))
    made.put(leaf(data={"u1": line()}, version=2))
    assert (made.has("u1"), made.has("u2"), lost) == (True, False, ["lost"])
    made.drop(("ns", NAME))
    assert (made.has("u1"), lost) == (False, ["lost", "lost"])
    assert made.state(run(), {}).first == ""


def test_a_changed_row_is_told_once_and_until_it_is_put_right() -> None:
    right, wrong = line("env_broken", detail="so"), line("other", detail="not so")
    made, _ = books(leaf(data={"u1": right, "u2": right}))
    assert made.put(leaf(data={"u1": wrong, "u2": right}, version=2)) == {"u1"}
    assert made.put(leaf(data={"u1": wrong, "u2": right, "u3": right}, version=3)) == frozenset()
    state = made.state(run(), {})
    assert (state.edited, state.reasons) == (("u1",), (("env_broken", 3),)), "it counts as what was written"
    made.put(leaf(data={"u1": right, "u2": right, "u3": right}, version=4))
    assert made.state(run(), {}).edited == ()


def test_a_row_is_tried_once_it_is_there_or_was_refused() -> None:
    made, _ = books(leaf(data={"u1": line()}))
    assert (made.tried("u1"), made.tried("t-uid")) == (True, False)
    made.refused(KEY, "t-uid", "no room")
    assert (made.tried("t-uid"), made.has("t-uid")) == (True, False)
    assert made.state(run(), {"t-uid": task()}).failure == "no room"
    made.put(leaf(data={"u1": line(), "t-uid": line()}, version=2))
    assert (made.has("t-uid"), made.state(run(), {"t-uid": task()}).failure) == (True, "")


def test_nothing_is_owed_for_a_task_that_is_gone() -> None:
    made, _ = books()
    made.refused(KEY, "t-uid", "no room")
    assert made.state(run(), {}).failure == ""
    assert not made.tried("t-uid")


@pytest.mark.parametrize(
    ("rows", "failure"),
    [
        pytest.param({}, "no room", id="its row is still missing"),
        pytest.param({"t-uid": line()}, "", id="its row is there"),
    ],
)
def test_what_was_told_before_a_restart_stands_until_it_is_over(rows: dict[str, str], failure: str) -> None:
    said = {
        "type": "LedgerWritable",
        "status": "False",
        "reason": "LedgerWriteFailed",
        "message": "no room",
        "lastTransitionTime": stamp(0),
    }
    made, _ = books(leaf(data=rows))
    given = task(status=status(phase="Abandoned"))
    assert made.state(run(status={"conditions": [said]}), {"t-uid": given}).failure == failure


@pytest.mark.parametrize(
    ("run_phase", "rows", "owed"),
    [
        pytest.param("Failed", {}, True, id="the run has ended, its row is missing"),
        pytest.param("Failed", {"t-uid": line()}, False, id="the run has ended, its row is there"),
        pytest.param("Running", {}, False, id="the run goes on"),
    ],
)
def test_an_ended_run_owes_the_rows_that_are_missing(
    run_phase: str, rows: dict[str, str], owed: bool
) -> None:
    made, _ = books(leaf(data=rows))
    given = task(status=status(phase="Abandoned"))
    assert made.state(run(status={"phase": run_phase}), {"t-uid": given}).owed == owed


@pytest.mark.parametrize(
    ("phase", "uid", "unrecorded"),
    [
        pytest.param(TaskPhase.ABANDONED, "new", True, id="abandoned, and not tried"),
        pytest.param(TaskPhase.ABANDONED, "u1", False, id="abandoned, and in the ledger"),
        pytest.param(TaskPhase.FAILED, "new", False, id="failed"),
    ],
)
def test_a_snapshot_says_which_rows_are_still_to_be_tried(
    phase: TaskPhase, uid: str, unrecorded: bool
) -> None:
    made, _ = books(leaf(data={"u1": line()}))
    found = made.complete(snapshot(dependencies=(Dependency("a", uid=uid, phase=phase),)))
    assert (found.row_missing, found.row_tried) == (True, False)
    assert [one.unrecorded for one in found.dependencies] == [unrecorded]


@pytest.mark.parametrize(
    ("attempts", "adapter"),
    [
        pytest.param([], "none", id="no attempt"),
        pytest.param(
            [attempt(1, profile="default"), attempt(2, profile="gone")], "none", id="its profile is gone"
        ),
        pytest.param(
            [attempt(1, profile="gone"), attempt(2, profile="default")], "script", id="the last one's"
        ),
        pytest.param([attempt(1)], "none", id="it isn't on record"),
    ],
)
def test_a_tasks_adapter_is_its_last_attempts(attempts: list[Any], adapter: str) -> None:
    world = World(Marked(), clock=lambda: T0)
    world.put_profile(raw_profile())
    assert adapter_of(task(status=status(*attempts)), world) == adapter
