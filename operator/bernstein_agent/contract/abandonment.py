"""Giving a task up: why, in one word of a closed set, and what there is to say about it.

The word comes from programs and from people, as free text. What isn't one of the words counts as ``other``
and is kept at the head of the detail, so that nothing that somebody meant to say is lost.
"""

from dataclasses import dataclass
from typing import Self

from bernstein_agent.contract.reader import Reader
from bernstein_agent.contract.vocabulary import AbandonReason


@dataclass(frozen=True, slots=True, kw_only=True)
class Abandonment:
    """Why a task was given up; ``detail`` is free text and may have many lines."""

    reason: AbandonReason
    detail: str = ""

    @classmethod
    def told(cls, reason: str, detail: str = "") -> Self:
        """Return what was meant by two free texts; an unknown reason becomes the head of the detail."""
        known, detail = abandon_reason(reason), detail.strip()
        if known:
            return cls(reason=known, detail=detail)
        said = ": ".join(part for part in (reason.strip(), detail) if part)
        return cls(reason=AbandonReason.OTHER, detail=said)

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Return the abandonment that ``reader`` holds.

        Raises:
            ContractError: there is no reason, or one that isn't in the vocabulary.
        """
        detail = "" if reader.get("detail") is None else reader.text("detail", empty=True)
        return cls(reason=reader.word("reason", AbandonReason), detail=detail)


def abandon_reason(text: str) -> AbandonReason | None:
    """Return the reason that ``text`` is, in any case and with space around it; None where it is none."""
    word = text.strip().lower()
    return next((reason for reason in AbandonReason if reason == word), None)
