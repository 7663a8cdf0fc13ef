"""Adapter ``script``: an agent that does what a small script in its prompt says.

Tests and demos need agents that fail, hang or spend on demand, through the same paths as real ones. So it is
a program of its own, started like any other, that reports in JSON lines like a real one.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final

from bernstein_agent.adapters.base import Failed, Job, Said, Signal, Spent, Worked, session
from bernstein_agent.contract import Reason, ResultClass, parse_usage
from bernstein_agent.contract.reader import Reader
from bernstein_agent.contract.result import REASON_PATTERN, counted, retry_after
from bernstein_agent.failure import Verdict, contract_error
from bernstein_agent.script import lines
from bernstein_agent.script.directives import FAILURES
from bernstein_agent.script.parser import ScriptError, parse_script
from bernstein_agent.zipped import own_command


class ScriptAdapter:
    """Starts this very program as a scripted agent."""

    def launch(self, job: Job) -> tuple[str, ...]:
        """Return the command of the scripted agent, once the script is known to be one."""
        try:
            parse_script(job.payload.prompt)
        except ScriptError as error:
            raise contract_error(Reason.INVALID_SCRIPT, str(error)) from None
        return (*own_command(), "script-agent")

    def resume(self, job: Job, session: str | None) -> tuple[str, ...] | None:  # noqa: ARG002
        """Return the command that goes on with the script of a session."""
        return (*own_command(), "script-agent", "--resume", session) if session else None

    def read(self, line: str) -> Signal | None:
        """Return the signal in a JSON line."""
        if not line.startswith('{"type":'):
            return None
        try:
            fields = json.loads(line)
        except ValueError:
            return None
        return _signal(fields)


def _signal(fields: dict[str, object]) -> Signal | None:
    kind = fields.get("type")
    read = _READERS.get(kind) if isinstance(kind, str) else None
    return read(fields) if read else None


def _said(fields: dict[str, object]) -> Said | None:
    text = fields.get("text")
    return Said(text) if isinstance(text, str) else None


def _spent(fields: dict[str, object]) -> Spent:
    usage = parse_usage(fields)
    return Spent(usage if "costUsd" in fields else replace(usage, cost_unknown=True))


def _worked(report: Reader) -> Worked:
    return Worked(steps=counted(report, "steps"), tool_calls=counted(report, "toolCalls"))


def _limited(report: Reader) -> Verdict:
    after = _wait(report)
    wait = "" if after is None else f"; it asks to wait {after} s"
    text = f"a provider's rate limit ended the agent{wait}"
    return Verdict(ResultClass.CAPACITY, Reason.RATE_LIMITED, text, retry_after_seconds=after)


def _failure(report: Reader) -> Verdict:
    result_class = report.word("class", ResultClass)
    if result_class not in FAILURES:
        raise report.fail("class", f"{result_class} is no failure that a program can report")
    reason = report.text("reason", pattern=REASON_PATTERN)
    return Verdict(result_class, reason, report.text("message"), retry_after_seconds=_wait(report))


def _wait(report: Reader) -> int | None:
    return report.optional("retryAfterSeconds", lambda name: retry_after(report, name))


_READERS: Final[Mapping[str, Callable[[dict[str, object]], Signal | None]]] = MappingProxyType(
    {
        lines.USAGE: _spent,
        lines.WORK: lambda fields: _worked(Reader(fields)),
        lines.SESSION: lambda fields: session(fields.get("id")),
        lines.SUMMARY: _said,
        lines.RATE_LIMIT: lambda fields: Failed(_limited(Reader(fields))),
        lines.FAILURE: lambda fields: Failed(_failure(Reader(fields))),
    }
)
