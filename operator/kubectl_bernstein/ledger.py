"""Rows of the ledger of abandonments, as the operator has written them into ConfigMaps.

One row is one line of JSON under the UID of its task. Whatever can't be read was put there by somebody else,
or by a later version: it is told and passed over, since one bad row must not hide the others.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

import msgspec


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One abandonment; names are those of the ledger, ``timestamp`` is in seconds since 1970."""

    actor: str = "unknown"
    adapter: str
    attempts: int
    cost_to_date_usd: str | int | float = "0"
    detail: str = ""
    namespace: str = ""
    reason: str
    role: str
    run: str = ""
    run_uid: str = ""
    task_id: str
    timestamp: int | float

    @property
    def time(self) -> datetime:
        """When the task was given up; ValueError or OverflowError where that is no moment."""
        return datetime.fromtimestamp(self.timestamp, UTC)


def read(segments: Iterable[Mapping[str, Any]], complain: Callable[[str], None]) -> tuple[Row, ...]:
    """Return the rows of ConfigMaps, newest first; each that can't be read is told to ``complain``.

    A task has one row in its namespace, however many segments hold it.
    """
    found: dict[tuple[str, str], Row] = {}
    for segment in segments:
        meta = segment["metadata"]
        for uid, line in (segment.get("data") or {}).items():
            try:
                found[meta["namespace"], uid] = _row(line)
            except (ValueError, OverflowError, OSError) as error:
                complain(f"row {uid} of configmap/{meta['name']} can't be read: {error}")
    return tuple(sorted(found.values(), key=_newest_first))


def of_run(rows: Iterable[Row], run: str) -> Iterator[Row]:
    """Yield the rows of the runs that had a name; the label of a long one may stand for others too."""
    return (row for row in rows if row.run == run)


def _row(line: str) -> Row:
    row = msgspec.json.decode(line, type=Row)
    _ = row.time
    return row


def _newest_first(row: Row) -> tuple[float, str, str, str]:
    return -row.timestamp, row.namespace, row.run, row.task_id
