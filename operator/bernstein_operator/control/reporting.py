"""Taking reports: who may tell what about which attempt, and what is answered.

Agents run code that nobody has read. So a report counts only for the very attempt whose Pod the token was
made for, only while that attempt is open, and only upwards; whatever else one says is refused and changes
nothing. Standing by, this process would know of spend that the leader never hears of: it takes none.
"""

import logging
from collections.abc import Awaitable, Callable
from datetime import datetime
from enum import StrEnum
from typing import Final

from bernstein_agent.contract import ContractError, Instruction, Report
from bernstein_operator.api.objects import TaskObject
from bernstein_operator.api.task_status import Attempt
from bernstein_operator.decisions.attempt import open_attempt
from bernstein_operator.decisions.instructing import instruct
from bernstein_operator.kube.errors import ApiError
from bernstein_operator.kube.tokens import PodIdentity, TokenError, Tokens
from bernstein_operator.telemetry import metrics
from bernstein_operator.world.world import World

log = logging.getLogger(__name__)

_SCHEME: Final = "bearer"


class ReportOutcome(StrEnum):
    """What became of a report."""

    ACCEPTED = "accepted"
    """It says something new."""
    REPEATED = "repeated"
    """It says nothing new: a repeat, or one that was overtaken."""
    MALFORMED = "malformed"
    """It can't be read (400)."""
    UNAUTHENTICATED = "unauthenticated"
    """It has no token, or none that counts (401)."""
    FOREIGN = "foreign"
    """It is about another Pod than its token (403)."""
    UNKNOWN = "unknown"
    """No attempt is known that its Pod is of (404)."""
    ENDED = "ended"
    """Its attempt is closed (409)."""
    TOO_LARGE = "too_large"
    """It has more than a MiB, or takes too long to arrive (413)."""
    NOT_NOW = "not_now"
    """This process doesn't lead, or can't check the token (503)."""


STATUS: Final[dict[ReportOutcome, int]] = {
    ReportOutcome.ACCEPTED: 200,
    ReportOutcome.REPEATED: 200,
    ReportOutcome.MALFORMED: 400,
    ReportOutcome.UNAUTHENTICATED: 401,
    ReportOutcome.FOREIGN: 403,
    ReportOutcome.UNKNOWN: 404,
    ReportOutcome.ENDED: 409,
    ReportOutcome.TOO_LARGE: 413,
    ReportOutcome.NOT_NOW: 503,
}
"""What each is answered with."""


class ReportRefusedError(Exception):
    """A report that isn't taken; the text says why."""

    def __init__(self, outcome: ReportOutcome, why: str) -> None:
        super().__init__(why)
        self.outcome = outcome


class Reports:
    """Takes reports while ``leads`` says so; ``clock`` gives the present moment."""

    def __init__(
        self, world: World, tokens: Tokens, *, leads: Callable[[], bool], clock: Callable[[], datetime]
    ) -> None:
        self._world = world
        self._tokens = tokens
        self._leads = leads
        self._clock = clock

    async def take(
        self, pod: str, authorization: str, read: Callable[[], Awaitable[bytes]]
    ) -> tuple[ReportOutcome, Instruction]:
        """Take the report of the Pod called ``pod``, whose body ``read`` returns; returns what is answered.

        Raises:
            ReportRefusedError: it isn't taken; nothing has changed.
        """
        self._must_lead()
        sender = await self._sender(authorization)
        if sender.name != pod:
            raise ReportRefusedError(ReportOutcome.FOREIGN, "the token is another Pod's")
        report = _parsed(await read())
        # Much may have happened while that took its time.
        self._must_lead()
        task, attempt = self._open_attempt(sender)
        _must_be_about(attempt, report)
        news = self._world.meter.take(task, attempt, report)
        snapshot = self._world.task_snapshot(task.meta.key, refusal=None)
        answer = instruct(snapshot, now=self._clock()) if snapshot else Instruction()
        return (ReportOutcome.ACCEPTED if news else ReportOutcome.REPEATED), answer

    def _must_lead(self) -> None:
        if not self._leads():
            raise ReportRefusedError(ReportOutcome.NOT_NOW, "this replica doesn't lead")

    async def _sender(self, authorization: str) -> PodIdentity:
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() != _SCHEME or not token.strip():
            raise ReportRefusedError(ReportOutcome.UNAUTHENTICATED, "a bearer token is expected")
        try:
            return await self._tokens.identify(token.strip())
        except TokenError as error:
            raise ReportRefusedError(ReportOutcome.UNAUTHENTICATED, str(error)) from None
        except ApiError as error:
            log.warning("token of a report not checked", extra={"error": str(error)})
            raise ReportRefusedError(ReportOutcome.NOT_NOW, "the token can't be checked now") from None

    def _open_attempt(self, sender: PodIdentity) -> tuple[TaskObject, Attempt]:
        task = self._world.meter.owner_of(sender.uid)
        known = task.status.attempts if task and task.meta.namespace == sender.namespace else ()
        attempt = next((one for one in known if one.pod_name == sender.name), None)
        if not (task and attempt):
            raise ReportRefusedError(ReportOutcome.UNKNOWN, "no attempt is known that this Pod is of")
        if attempt is not open_attempt(task.status):
            raise ReportRefusedError(ReportOutcome.ENDED, "the attempt has ended")
        return task, attempt


def count(outcome: ReportOutcome) -> None:
    """Count a report by what became of it."""
    metrics.USAGE_REPORTS.labels(outcome).inc()


def _parsed(body: bytes) -> Report:
    try:
        return Report.parse(body.decode())
    except (ContractError, UnicodeDecodeError) as error:
        raise ReportRefusedError(ReportOutcome.MALFORMED, str(error)) from None


def _must_be_about(attempt: Attempt, report: Report) -> None:
    told = [report.subject, *([report.result.subject] if report.result else ())]
    if any((one.id, one.attempt) != (attempt.pod_name, attempt.number) for one in told):
        raise ReportRefusedError(ReportOutcome.FOREIGN, "it is about another attempt")
