"""What tests read out of the documents: tables, links, and code blocks."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]

_BLOCK: Final = re.compile(r"^```(?P<language>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
_CODE: Final = re.compile(r"`[^`\n]+`")
_LINK: Final = re.compile(r"\]\((?P<target>[^)\s]+)\)")
_HEADING: Final = re.compile(r"^#+ (?P<title>.+)$", re.MULTILINE)


def documents() -> list[Path]:
    """Return every document for users: the README and all pages under docs/."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def rows(text: str) -> list[list[str]]:
    """Return the cells of every table row but the heads."""
    lines = text.splitlines()
    rulers = {number for number, line in enumerate(lines) if line.startswith("|---")}
    heads = {number - 1 for number in rulers}
    body = (
        line for number, line in enumerate(lines) if line.startswith("|") and number not in rulers | heads
    )
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in body]


def blocks(text: str, language: str) -> list[str]:
    """Return the code blocks of a language."""
    return [found["text"] for found in _BLOCK.finditer(text) if found["language"] == language]


def links(text: str) -> Iterator[tuple[str, str]]:
    """Yield path and fragment of every link to a file of the repository."""
    for found in _LINK.finditer(_CODE.sub("", _BLOCK.sub("", text))):
        if "://" not in found["target"]:
            path, _, fragment = found["target"].partition("#")
            yield path, fragment


def anchors(text: str) -> set[str]:
    """Return the fragments that a document's headings have on a code host."""
    titles = (found["title"].lower() for found in _HEADING.finditer(_BLOCK.sub("", text)))
    return {re.sub(r"[^\w\- ]", "", title).replace(" ", "-") for title in titles}
