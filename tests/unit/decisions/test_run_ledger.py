"""What a run tells of its abandonment ledger."""

from typing import Any

import pytest

from bernstein_operator.api.snapshot import LedgerState
from bernstein_operator.api.vocabulary import TaskPhase
from bernstein_operator.decisions.run import decide_run
from tests.unit.objects import at, reasons, run, run_snapshot, stamp

WRITTEN = LedgerState(known=True, first="r-1", reasons=(("env_broken", 1), ("other", 2)))
COUNTED = {
    "total": 3,
    "byReason": [{"reason": "env_broken", "count": 1}, {"reason": "other", "count": 2}],
    "ledger": "r-1",
}
EARLIER = {"total": 1, "byReason": [{"reason": "other", "count": 1}], "ledger": "r-1"}


def told(status: str) -> list[dict[str, Any]]:
    reason = "LedgerWritten" if status == "True" else "LedgerWriteFailed"
    return [
        {
            "type": "LedgerWritable",
            "status": status,
            "reason": reason,
            "message": "no room",
            "lastTransitionTime": stamp(0),
        }
    ]


@pytest.mark.parametrize(
    ("ledger", "before", "after"),
    [
        pytest.param(WRITTEN, None, COUNTED, id="rows were written"),
        pytest.param(LedgerState(known=True), EARLIER, None, id="all segments were deleted"),
        pytest.param(LedgerState(), EARLIER, EARLIER, id="it can't be read"),
        pytest.param(LedgerState(known=True), None, None, id="nothing was abandoned"),
    ],
)
def test_a_run_counts_the_rows_of_its_ledger(ledger: LedgerState, before: Any, after: Any) -> None:
    of = run(status={"abandonments": before} if before else {})
    found = decide_run(run_snapshot(of, ledger=ledger, phases={TaskPhase.ABANDONED: 1}), now=at(9))
    assert found.status.manifest().get("abandonments") == after


@pytest.mark.parametrize(
    ("ledger", "before", "after"),
    [
        pytest.param(WRITTEN, [], None, id="never in trouble"),
        pytest.param(
            LedgerState(failure="no room"), [], ("False", "LedgerWriteFailed"), id="a row can't be written"
        ),
        pytest.param(WRITTEN, told("False"), ("True", "LedgerWritten"), id="all could be written again"),
        pytest.param(WRITTEN, told("True"), ("True", "LedgerWritten"), id="and it stays said"),
        pytest.param(
            LedgerState(known=True, first="r-1", edited=("u-1",)),
            [],
            ("True", "LedgerWritten"),
            id="a row was changed by somebody else",
        ),
    ],
)
def test_a_run_says_whether_its_ledger_can_be_written(
    ledger: LedgerState, before: Any, after: tuple[str, str] | None
) -> None:
    of = run(status={"conditions": before})
    found = decide_run(run_snapshot(of, ledger=ledger, phases={TaskPhase.ABANDONED: 1}), now=at(9))
    assert reasons(found.status.conditions).get("LedgerWritable") == after


@pytest.mark.parametrize(
    ("owed", "clear"),
    [pytest.param(False, True, id="all rows are there"), pytest.param(True, False, id="a row is missing")],
)
def test_no_task_is_tidied_away_before_its_row_is_there(owed: bool, clear: bool) -> None:
    of = run(status={"phase": "Failed", "completionTime": stamp(0)}, ttl={"failedSeconds": 5})
    facts = {"phases": {TaskPhase.ABANDONED: 1}, "present": 1, "ledger": LedgerState(known=True, owed=owed)}
    assert decide_run(run_snapshot(of, **facts), now=at(9)).clear == clear


def test_a_changed_row_is_named() -> None:
    ledger = LedgerState(known=True, first="r-1", edited=("u-1", "u-2"))
    found = decide_run(run_snapshot(ledger=ledger), now=at(9))
    [said] = [one.message for one in found.status.conditions if one.type == "LedgerWritable"]
    assert said == "Changed by somebody else, and left so: the rows of the tasks with UID u-1, u-2."
