"""How an attempt can fail, as one error that carries what the result will say.

Cloning, merging, starting and pushing each have their own ways to go wrong. They all end in one place: the
result's class, reason and message. So every step raises this, and only the runner catches it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from bernstein_agent.contract import Abandonment, Reason, ResultClass

EX_DATAERR: Final = 65
EX_NOINPUT: Final = 66
EX_UNAVAILABLE: Final = 69
EX_NOPERM: Final = 77
EX_CONFIG: Final = 78


@dataclass(frozen=True, slots=True)
class Verdict:
    """What an attempt's end counts as.

    Attributes:
        reason: one of ``Reason``, or an adapter's own.
        abandonment: why the agent gave the task up, if it did.
        retry_after_seconds: how long a provider asks to wait, if one does.
        question: what the agent asked a person, if it did.
    """

    result_class: ResultClass
    reason: str
    message: str
    abandonment: Abandonment | None = None
    retry_after_seconds: int | None = None
    question: str | None = None

    @property
    def succeeded(self) -> bool:
        """Whether the attempt did what it was asked."""
        return self.result_class is ResultClass.SUCCESS

    @property
    def exit_code(self) -> int:
        """The runner's own exit code: 0 for success, sysexits(3) for contract errors, else 1."""
        if self.succeeded:
            return 0
        if self.result_class is not ResultClass.CONTRACT:
            return 1
        return _SYSEXITS.get(self.reason, EX_CONFIG)


_SYSEXITS: Final[Mapping[str, int]] = {
    Reason.INVALID_ENVELOPE: EX_DATAERR,
    Reason.GIT_MISSING: EX_UNAVAILABLE,
    Reason.ACCESS_DENIED: EX_NOPERM,
}


class AttemptError(Exception):
    """The attempt can't go on."""

    def __init__(self, result_class: ResultClass, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.verdict = Verdict(result_class, reason, message)


class StepTimeoutError(Exception):
    """A step took longer than it may; whether that ends the attempt is for the caller to say."""


def contract_error(reason: Reason, message: str) -> AttemptError:
    """Return the error for what no retry can heal."""
    return AttemptError(ResultClass.CONTRACT, reason, message)


def transient_error(reason: Reason, message: str) -> AttemptError:
    """Return the error for what may be over by the next attempt."""
    return AttemptError(ResultClass.TRANSIENT, reason, message)
