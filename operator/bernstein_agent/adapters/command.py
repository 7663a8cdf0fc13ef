"""Adapter ``command``: any program.

It gets the prompt on its standard input and in the file that BERNSTEIN_PROMPT_FILE names; for programs that
want the file among their arguments, ``{prompt_file}`` in an argument becomes its path. No shell is in
between. What it prints is text, and its exit code says whether it did the work. A program that keeps its
conversation can be told something more after its end, with ``resumeArgs``; where it needs the conversation's
name for that, it tells it in a line of JSON, and ``sessionIdPath`` says where.
"""

import json
from typing import Final

from bernstein_agent.adapters.base import Job, Session, Signal, session
from bernstein_agent.contract import Command, Reason
from bernstein_agent.failure import contract_error

PROMPT_FILE_PLACEHOLDER: Final = "{prompt_file}"
SESSION_PLACEHOLDER: Final = "{session_id}"


class CommandAdapter:
    """Starts ``command.args``, and ``command.resumeArgs`` to go on."""

    def __init__(self, command: Command) -> None:
        self._command = command
        self._told: Session | None = None

    def launch(self, job: Job) -> tuple[str, ...]:
        """Return ``command.args`` with the placeholder filled in."""
        args = self._command.args
        if not args or not args[0]:
            raise contract_error(Reason.COMMAND_NOT_FOUND, "adapter command needs command.args")
        return _filled(args, job, session_name="")

    def resume(self, job: Job, session: str | None) -> tuple[str, ...] | None:
        """Return ``command.resumeArgs`` with the placeholders filled in."""
        args = self._command.resume_args
        if not args or (session is None and any(SESSION_PLACEHOLDER in arg for arg in args)):
            return None
        return _filled(args, job, session_name=session or "")

    def read(self, line: str) -> Signal | None:
        """Return the session's name where a line tells it for the first time; every other line is text."""
        path = self._command.session_id_path
        found = session(_at(line, path)) if path and line.startswith("{") else None
        if found is None or found == self._told:
            return None
        self._told = found
        return found


def _filled(args: tuple[str, ...], job: Job, *, session_name: str) -> tuple[str, ...]:
    filled = (arg.replace(PROMPT_FILE_PLACEHOLDER, str(job.prompt_file)) for arg in args)
    return tuple(arg.replace(SESSION_PLACEHOLDER, session_name) for arg in filled)


def _at(line: str, path: str) -> object:
    """Return what a line of JSON has at a path as ``result.session_id``, None where it has nothing there."""
    try:
        value: object = json.loads(line)
    except (ValueError, RecursionError):
        return None
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value
