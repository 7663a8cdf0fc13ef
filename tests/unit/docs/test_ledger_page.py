"""The page about the ledger says what rows and segments are in the code."""

from dataclasses import fields

from bernstein_operator.api.names import ledger_name
from bernstein_operator.api.task_status import MAX_DETAIL
from bernstein_operator.decisions.abandoning import cut
from bernstein_operator.decisions.ledger import SEGMENT_LIMIT, Row
from tests.support.documents import ROOT, rows

PAGE = (ROOT / "docs" / "reference" / "ledger.md").read_text(encoding="utf-8")
KEYS = {one.name for one in fields(Row)} - {"task_uid"}


def test_every_key_of_a_row_is_described_and_no_other() -> None:
    described = [row[0].strip("`") for row in rows(PAGE) if row[1] in ("number", "string")]
    assert set(described) == KEYS


def test_the_limits_are_those_of_the_code() -> None:
    assert f"more than {SEGMENT_LIMIT // 1024} KiB" in PAGE
    assert f"exceeds {MAX_DETAIL // 1024} KiB" in PAGE
    assert f"`{cut('x' * (MAX_DETAIL + 1)).lstrip('x')}`" in PAGE


def test_a_segments_name_is_put_together_as_described() -> None:
    name = ledger_name(run="r" * 253, run_uid="u", number=2)
    assert f"at most {name.count('r')} characters" in PAGE
    assert name.endswith("-abandonments-2")
