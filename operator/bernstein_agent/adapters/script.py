"""Adapter ``script``: an agent that does what a small script in its prompt says.

Tests and demos need agents that fail, hang or spend on demand, through the same paths as real ones. So it is
a program of its own, started like any other, that reports in JSON lines like a real one.
"""

import json

from bernstein_agent.adapters.base import Failed, Job, Said, Signal, Spent
from bernstein_agent.contract import Reason, ResultClass, parse_usage
from bernstein_agent.contract.reader import Reader
from bernstein_agent.contract.result import REASON_PATTERN, retry_after
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
        """Return None: the scripted agent keeps no session."""
        return None

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
    match fields:
        case {"type": lines.USAGE, **rest}:
            return Spent(parse_usage(rest))
        case {"type": lines.SUMMARY, "text": str(text)}:
            return Said(text)
        case {"type": lines.RATE_LIMIT}:
            return Failed(_limited(Reader(fields)))
        case {"type": lines.FAILURE}:
            return Failed(_failure(Reader(fields)))
        case _:
            return None


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
