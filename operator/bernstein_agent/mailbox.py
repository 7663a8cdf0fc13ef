"""How an agent's program tells its runner that it gives the task up, or what it has to ask a person.

The program calls ``bernstein-agent abandon`` or ``ask`` by its plain name, from whatever shell or tool it
has. The image may hold no such program and its file system may be read-only, so the runner puts one on the
program's PATH, in a directory of its own on the workspace's volume; and the word comes back as a file beside
it. The file is linked into place whole: it is never read half written, and the first one counts.
"""

import contextlib
import json
import os
import shlex
import tempfile
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, TypeAlias

from bernstein_agent.contract import Abandonment, AbandonReason, ContractError
from bernstein_agent.contract.encoding import encode
from bernstein_agent.contract.reader import Reader

LETTER_FILE: Final = "BERNSTEIN_LETTER_FILE"
"""Variable that tells the verbs where their word goes."""
NOTICES_FILE: Final = "BERNSTEIN_NOTICES_FILE"
"""Variable that tells where the runner's notices are."""

PROGRAM: Final = "bernstein-agent"
MAX_DETAIL: Final = 8192
"""Characters of a detail that are taken: more than fit into a result, which thus ends in no cut secret."""
MAX_QUESTION: Final = 8192
"""Characters of a question that are taken."""

_MAX_BYTES: Final = 65_536
_LAUNCHER: Final = '#!/bin/sh\nexec {command} "$@"\n'


@dataclass(frozen=True, slots=True)
class Question:
    """What the agent asks a person, without whose answer it can't go on."""

    question: str


Letter: TypeAlias = Abandonment | Question


@dataclass(frozen=True, slots=True)
class Mailbox:
    """A directory of the runner's own that the agent's program can write to."""

    directory: Path

    @property
    def letter(self) -> Path:
        """The file that a word arrives as."""
        return self.directory / "letter.json"

    @property
    def notices(self) -> Path:
        """The file that holds what the program should know at this moment."""
        return self.directory / "notices.txt"

    @property
    def programs(self) -> Path:
        """The directory to put on the program's PATH."""
        return self.directory / "bin"

    def open(self, command: tuple[str, ...]) -> None:
        """Make it, with a program ``bernstein-agent`` that starts ``command``.

        Raises:
            OSError: the place can't be written to.
        """
        self.programs.mkdir(parents=True, exist_ok=True)
        launcher = self.programs / PROGRAM
        launcher.write_text(_LAUNCHER.format(command=shlex.join(command)))
        launcher.chmod(0o755)

    def show(self, text: str) -> None:
        """Put up what the program should know, in place of what it should before; a full disk hides it."""
        with contextlib.suppress(OSError):
            scratch = self.notices.with_suffix(".new")
            scratch.write_text(text, encoding="utf-8")
            scratch.replace(self.notices)

    def read(self) -> Letter | None:
        """Return what arrived, None as long as nothing did.

        A letter that can't be understood is an abandonment all the same: somebody went out of their way.
        """
        try:
            with self.letter.open("rb") as stream:
                text = stream.read(_MAX_BYTES).decode("utf-8", "replace")
        except OSError:
            return None
        try:
            return _letter(Reader.of(text))
        except ContractError as error:
            return Abandonment(reason=AbandonReason.OTHER, detail=f"its word can't be read: {error}")


def _letter(reader: Reader) -> Letter:
    question = reader.optional("question", reader.text)
    return Question(question) if question else Abandonment.read(reader)


def leave(letter: Path, word: Letter) -> bool:
    """Leave the word as ``letter``; return False if there is one already.

    Raises:
        OSError: the place can't be written to, or isn't there.
    """
    with tempfile.NamedTemporaryFile("w", dir=letter.parent, encoding="utf-8") as scratch:
        json.dump(encode(_cut(word)), scratch, ensure_ascii=False)
        scratch.flush()
        try:
            os.link(scratch.name, letter)
        except FileExistsError:
            return False
    return True


def _cut(word: Letter) -> Letter:
    if isinstance(word, Question):
        return Question(word.question[:MAX_QUESTION])
    return replace(word, detail=word.detail[:MAX_DETAIL])
