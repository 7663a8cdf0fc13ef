"""Telling the operator what an attempt has come to, and hearing what is wanted of it.

Reports go out in a thread of their own: no work ever waits for a server that doesn't answer. They hold
totals, so that one that fails is made up for by the next. Where none is accepted for long, nobody keeps the
run's limits; whoever watches over the attempt asks here when the last one was.
"""

import http
import http.client
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

import bernstein_agent
from bernstein_agent.allowance import Clock
from bernstein_agent.contract import (
    MAX_REPORT_BYTES,
    REPORT_PATH,
    Continuation,
    ContractError,
    Instruction,
    Report,
    Reporting,
    Result,
    ResultSubject,
)
from bernstein_agent.tally import Tally

_EXCHANGE_SECONDS: Final = 5.0
_URGENT_SECONDS: Final = 1.0
_MAX_SUMMARY: Final = 65_536
_SHOWN: Final = 200


class NotAcceptedError(Exception):
    """A report was not accepted; ``final`` where the server would say the same of a repeat."""

    def __init__(self, message: str, *, final: bool = False) -> None:
        super().__init__(message)
        self.final = final


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where one attempt's reports go, with no proxy of the agent's environment in between.

    Attributes:
        token_file: holds the bearer token; it is renewed, so it is read each time.
    """

    url: str
    token_file: Path

    def post(self, report: Report, *, seconds: float) -> Instruction:
        """Post a report and return the answer; no step of it may take longer than ``seconds``.

        Raises:
            NotAcceptedError: the server couldn't be reached, refused it, or gave no answer that can be read.
        """
        try:
            with _opener().open(self._request(report), timeout=seconds) as answer:
                return Instruction.parse(answer.read(MAX_REPORT_BYTES).decode())
        except urllib.error.HTTPError as error:
            with error:
                raise _refused(error) from None
        except (OSError, http.client.HTTPException, ContractError, ValueError) as error:
            raise NotAcceptedError(str(error) or type(error).__name__) from None

    def _request(self, report: Report) -> urllib.request.Request:
        headers = {
            "Authorization": f"Bearer {self.token_file.read_text().strip()}",
            "Content-Type": "application/json",
            "User-Agent": f"bernstein-agent/{bernstein_agent.__version__}",
        }
        body = report.to_json().encode()
        return urllib.request.Request(self.url, data=body, headers=headers, method="POST")  # noqa: S310


class Reporter:
    """Reports on one attempt until it ends."""

    def __init__(
        self,
        reporting: Reporting,
        subject: ResultSubject,
        *,
        tally: Callable[[], Tally],
        take: Callable[[Instruction], None],
        now: Clock,
        note: Callable[[str], None],
    ) -> None:
        """Take over where and on what to report.

        ``tally`` tells what the attempt has come to, ``take`` gets each answer, ``note`` what goes wrong.
        """
        path = REPORT_PATH.format(pod=subject.id)
        self._endpoint = Endpoint(f"{reporting.url.rstrip('/')}{path}", Path(reporting.token_file))
        self._interval = float(reporting.interval_seconds)
        self._subject = subject
        self._tally = tally
        self._take = take
        self._now = now
        self._note = note
        self._changed = threading.Condition()
        self._continues: str | None = None
        self._answer: Continuation | None = None
        self._closed = False
        self._trouble: str | None = None
        self.accepted_at = now()
        """When the last report was accepted; before the first, when reporting began."""

    def start(self) -> None:
        """Begin to report, every interval."""
        threading.Thread(target=self._go_on, name="reports", daemon=True).start()

    def announce(self, session: str, *, until: Clock) -> bool:
        """Ask for leave to go on with a session; return whether it was given before ``until()``."""
        with self._changed:
            self._continues, self._answer = session, None
            self._changed.notify_all()
            while self._undecided() and until() > self._now():
                self._changed.wait(min(_URGENT_SECONDS, max(until() - self._now(), 0.0)))
            self._continues = None
            return self._answer is Continuation.ALLOWED

    def close(self, result: Result, *, until: Clock) -> bool:
        """Report how the attempt ended, and nothing more; return whether that was accepted in time."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        report = self._report(replace(result, summary=result.summary[:_MAX_SUMMARY]))
        while (left := until() - self._now()) > 0:
            trouble = self._post(report, seconds=min(left, _EXCHANGE_SECONDS))
            if trouble is None or trouble.final:
                return trouble is None
            with self._changed:
                self._changed.wait(min(_URGENT_SECONDS, max(until() - self._now(), 0.0)))
        return False

    def _go_on(self) -> None:
        while not self._closed:
            self._post(self._report(), seconds=_EXCHANGE_SECONDS)
            with self._changed:
                if not self._closed:
                    self._changed.wait(self._pause())

    def _pause(self) -> float:
        return self._interval if self._continues is None else min(self._interval, _URGENT_SECONDS)

    def _undecided(self) -> bool:
        return self._answer in {None, Continuation.PENDING}

    def _post(self, report: Report, *, seconds: float) -> NotAcceptedError | None:
        """Post a report and act on the answer; return why it was not accepted, None where it was."""
        try:
            instruction = self._endpoint.post(report, seconds=seconds)
        except NotAcceptedError as error:
            self._tell(str(error))
            return error
        self._tell(None)
        self.accepted_at = self._now()
        self._take(instruction)
        self._hear(report, instruction)
        return None

    def _hear(self, report: Report, instruction: Instruction) -> None:
        """Take the answer to what was announced, unless it is to an earlier report."""
        with self._changed:
            if report.continues is not None and report.continues == self._continues:
                self._answer = instruction.continuation
                self._changed.notify_all()

    def _report(self, result: Result | None = None) -> Report:
        tally = self._tally()
        return Report(
            subject=self._subject,
            usage=tally.usage,
            steps=tally.steps,
            tool_calls=tally.tool_calls,
            continues=None if result else self._continues,
            result=result,
        )

    def _tell(self, trouble: str | None) -> None:
        """Note what is wrong once, and once that it is over, not every few seconds."""
        if trouble != self._trouble:
            self._note("reports are accepted again" if trouble is None else f"a report failed: {trouble}")
        self._trouble = trouble


def _opener() -> urllib.request.OpenerDirector:
    """Return one without proxies and redirects: a token goes where its reader sends it, and nowhere else."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
    ):
        opener.add_handler(handler)
    return opener


def _refused(error: urllib.error.HTTPError) -> NotAcceptedError:
    said = error.read(_SHOWN).decode("utf-8", "replace").strip()
    text = f"{error.code} {error.reason}: {said}" if said else f"{error.code} {error.reason}"
    client = http.HTTPStatus.BAD_REQUEST <= error.code < http.HTTPStatus.INTERNAL_SERVER_ERROR
    return NotAcceptedError(text, final=client and error.code != http.HTTPStatus.TOO_MANY_REQUESTS)
