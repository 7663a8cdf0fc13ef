"""Adapter ``script``: an agent that does what a small script in its prompt says.

Tests and demos need agents that fail, hang or spend on demand, through the same paths as real ones. So it is
a program of its own, started like any other, that reports in JSON lines like a real one.
"""

import json
from typing import Final

from bernstein_agent.adapters.base import GaveUp, Job, RateLimited, Said, Signal, Spent
from bernstein_agent.contract import ContractError, Reason, parse_usage
from bernstein_agent.failure import contract_error
from bernstein_agent.script import lines
from bernstein_agent.script.parser import ScriptError, parse_script
from bernstein_agent.zipped import own_command

_LARGEST_WAIT: Final = 86_400


class ScriptAdapter:
    """Starts this very program as a scripted agent."""

    def launch(self, job: Job) -> tuple[str, ...]:
        """Return the command of the scripted agent, once the script is known to be one."""
        try:
            parse_script(job.payload.prompt)
        except ScriptError as error:
            raise contract_error(Reason.INVALID_SCRIPT, str(error)) from None
        return (*own_command(), "script-agent")

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
        case {"type": lines.ABANDON, "reason": str(reason), "detail": str(detail)}:
            return GaveUp(reason, detail)
        case {"type": lines.SUMMARY, "text": str(text)}:
            return Said(text)
        case {"type": lines.RATE_LIMIT}:
            return RateLimited(_seconds(fields.get("retryAfterSeconds")))
        case _:
            return None


def _seconds(value: object) -> int | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= _LARGEST_WAIT:
        raise ContractError("retryAfterSeconds", f"{value!r} is no number of seconds up to {_LARGEST_WAIT}")
    return value
