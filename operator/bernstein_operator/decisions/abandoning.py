"""Giving a task up: in which words that can be asked for, and what is put on record.

Reasons are a closed list, so that ledgers of many teams can be counted. What isn't on it counts as ``other``
and stays readable at the head of the detail: somebody meant something by it.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Final

from bernstein_agent.contract import AbandonReason, abandon_reason
from bernstein_operator.api.task_status import MAX_DETAIL, Abandonment

CUT_MARK: Final = "… [cut]"


@dataclass(frozen=True, slots=True)
class Wish:
    """Why a person wants a task given up; ``known`` tells whether the reason was one of the twelve."""

    reason: AbandonReason
    detail: str
    known: bool = True


def read_wish(text: str) -> Wish:
    """Return what an annotation's value asks for: ``reason``, ``reason: detail``, or nothing at all."""
    head, _, tail = text.partition(":")
    if not text.strip():
        return Wish(AbandonReason.OPERATOR_OVERRIDE, "")
    reason = abandon_reason(head)
    return Wish(reason, tail.strip()) if reason else Wish(AbandonReason.OTHER, text.strip(), known=False)


def abandonment(reason: AbandonReason, detail: str, *, actor: str, now: datetime) -> Abandonment:
    """Return the record, its detail no longer than a row of the ledger takes."""
    return Abandonment(reason=reason, detail=cut(detail), actor=actor, time=now)


def cut(detail: str) -> str:
    """Return ``detail``, or as much of its head as fits into 32 KiB of UTF-8 with a mark that says so."""
    encoded = detail.encode()
    if len(encoded) <= MAX_DETAIL:
        return detail
    return encoded[: MAX_DETAIL - len(CUT_MARK.encode())].decode(errors="ignore") + CUT_MARK
