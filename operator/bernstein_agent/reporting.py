"""Telling the operator what an attempt has come to, and hearing what is wanted of it.

Reports go out in a thread of their own: no work ever waits for a server that doesn't answer. They hold totals,
so that one that fails is made up for by the next. The answers of a server are only obeyed; where none comes
for long, the runner's own limits are all that is left, and whoever watches them can ask when the last report
was accepted.
"""

import http.client
import threading
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Final

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

FAREWELL_SECONDS: Final = 5.0
"""How long the last report may take: by then the result is in the termination message already."""

_EXCHANGE_SECONDS: Final = 5.0
_URGENT_SECONDS: Final = 1.0
_MAX_SUMMARY: Final = 65_536
_SHOWN: Final = 200


class NotAcceptedError(Exception):
    """A report was not accepted; ``final`` where the server would say the same of a repeat."""

    def __init__(self, message: str, *, final: bool = False) -> None:
        super().__init__(message)
        self.final = final


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follow none: a token must not go where its reader didn't send it."""

    def redirect_request(
        self,
        req: urllib.request.Request,  # noqa: ARG002 - the interface is the library's
        fp: IO[bytes],  # noqa: ARG002
        code: int,  # noqa: ARG002
        msg: str,  # noqa: ARG002
        headers: http.client.HTTPMessage,  # noqa: ARG002
        newurl: str,  # noqa: ARG002
    ) -> None:
        """Return None, which makes an error of the redirect."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where one attempt's reports go; no proxy of the agent's environment comes in between.

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
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}), _NoRedirects())
        try:
            with opener.open(self._request(report), timeout=seconds) as answer:
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
            while self._answer in (None, Continuation.PENDING) and until() > self._now():
                self._changed.wait(min(_URGENT_SECONDS, max(until() - self._now(), 0.0)))
            self._continues = None
            return self._answer is Continuation.ALLOWED

    def close(self, result: Result, *, until: Clock) -> bool:
        """Report how the attempt ended, and nothing more; return whether that was accepted before ``until()``."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        report = self._report(replace(result, summary=result.summary[:_MAX_SUMMARY]))
        while (left := until() - self._now()) > 0:
            try:
                self._endpoint.post(report, seconds=min(left, _EXCHANGE_SECONDS))
                return True
            except NotAcceptedError as error:
                self._tell(str(error))
                if error.final:
                    return False
            with self._changed:
                self._changed.wait(min(_URGENT_SECONDS, max(until() - self._now(), 0.0)))
        return False

    def _go_on(self) -> None:
        while not self._closed:
            self._exchange()
            with self._changed:
                if not self._closed:
                    self._changed.wait(self._pause())

    def _pause(self) -> float:
        return self._interval if self._continues is None else min(self._interval, _URGENT_SECONDS)

    def _exchange(self) -> None:
        report = self._report()
        try:
            instruction = self._endpoint.post(report, seconds=_EXCHANGE_SECONDS)
        except NotAcceptedError as error:
            self._tell(str(error))
            return
        self._tell(None)
        self.accepted_at = self._now()
        self._take(instruction)
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


def _refused(error: urllib.error.HTTPError) -> NotAcceptedError:
    said = error.read(_SHOWN).decode("utf-8", "replace").strip()
    text = f"{error.code} {error.reason}: {said}" if said else f"{error.code} {error.reason}"
    lasting = http.HTTPStatus.BAD_REQUEST <= error.code < http.HTTPStatus.INTERNAL_SERVER_ERROR
    return NotAcceptedError(text, final=lasting)
