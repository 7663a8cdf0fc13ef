"""Completion on the command line, for the program by its own name and as kubectl's plugin.

Shells ask a program that has put a script of its own into them; kubectl asks ``kubectl_complete-bernstein``
on the PATH. Both get click's answers.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import click
from click.shell_completion import ShellComplete, get_completion_class

VARIABLE: Final = "_KUBECTL_BERNSTEIN_COMPLETE"
"""Set by a shell's script when it asks."""
SHELLS: Final = ("bash", "zsh", "fish")
_PROGRAM: Final = "kubectl-bernstein"
_NO_FILES: Final = ":4"
"""What kubectl takes for: no file names besides."""


def script(cli: click.Command, shell: str) -> str:
    """Return the script of ``shell`` that completes the program."""
    found = get_completion_class(shell)
    return found(cli, {}, _PROGRAM, VARIABLE).source() if found else ""


def answer_kubectl(cli: click.Command, words: Sequence[str]) -> Iterator[str]:
    """Yield the lines that kubectl expects; the last of ``words`` is the one to complete."""
    *before, incomplete = words or ("",)
    for item in ShellComplete(cli, {}, _PROGRAM, VARIABLE).get_completions(before, incomplete):
        yield f"{item.value}\t{item.help}" if item.help else str(item.value)
    yield _NO_FILES
