"""Adapter ``command``: any program.

It gets the prompt on its standard input and in the file that BERNSTEIN_PROMPT_FILE names; for programs that
want the file among their arguments, ``{prompt_file}`` in an argument becomes its path. No shell is in
between. What it prints is text, and its exit code says whether it did the work.
"""

from typing import Final

from bernstein_agent.adapters.base import Job, Signal
from bernstein_agent.contract import Reason
from bernstein_agent.failure import contract_error

PROMPT_FILE_PLACEHOLDER: Final = "{prompt_file}"


class CommandAdapter:
    """Starts ``command.args``."""

    def launch(self, job: Job) -> tuple[str, ...]:
        """Return ``command.args`` with the placeholder filled in."""
        args = job.payload.command.args
        if not args or not args[0]:
            raise contract_error(Reason.COMMAND_NOT_FOUND, "adapter command needs command.args")
        return tuple(arg.replace(PROMPT_FILE_PLACEHOLDER, str(job.prompt_file)) for arg in args)

    def resume(self, job: Job, session: str | None) -> tuple[str, ...] | None:  # noqa: ARG002
        """Return None: nothing is known of such a program's sessions."""
        return None

    def read(self, line: str) -> Signal | None:  # noqa: ARG002 - the interface is the adapters'
        """Return None: every line is text."""
        return None
