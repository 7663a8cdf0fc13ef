"""The grammar of scripts: one directive a line, in a block fenced as ``script``.

A script is part of a prompt, so it has to be easy to write inside YAML and to find inside prose. Every
mistake names its line: a script that is quietly misread would make a test pass for the wrong reason.
"""

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Final

from bernstein_agent.contract import parse_dollars
from bernstein_agent.script.directives import (
    Abandon,
    Commit,
    Directive,
    Eat,
    Expect,
    Fail,
    Hang,
    Lazy,
    Print,
    RateLimit,
    Say,
    Sleep,
    Spend,
    Write,
)

_BLOCK: Final = re.compile(r"^```script[ \t]*\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
_LIMITED: Final = re.compile(r"on attempts? (?P<attempts>[0-9,+-]+): *(?P<rest>.+)")
_RANGE: Final = re.compile(r"(?P<first>[1-9][0-9]{0,5})(?P<open>\+)?(-(?P<last>[1-9][0-9]{0,5}))?")
_MAX_EXIT_CODE: Final = 255
_MAX_WAIT: Final = 86_400
_MAX_MEBIBYTES: Final = 1_048_576
_MAX_TOKENS: Final = 2**53


class ScriptError(ValueError):
    """A script that can't be played; the text names the line."""


@dataclass(frozen=True, slots=True)
class Step:
    """A directive, its line in the prompt (from 1), and the ranges of attempts that it acts in."""

    line: int
    directive: Directive
    attempts: tuple[tuple[int, float], ...] = ()

    def acts_in(self, attempt: int) -> bool:
        """Return whether it is played in that attempt."""
        return not self.attempts or any(first <= attempt <= last for first, last in self.attempts)


def parse_script(prompt: str) -> tuple[Step, ...]:
    """Return the steps of all script blocks of a prompt.

    Raises:
        ScriptError: there is no block, no directive in it, or one that can't be understood.
    """
    steps = tuple(_steps(prompt))
    if not steps:
        raise ScriptError("the prompt has no block fenced as ```script with a directive in it")
    return steps


def _steps(prompt: str) -> Iterator[Step]:
    for block in _BLOCK.finditer(prompt):
        first_line = prompt.count("\n", 0, block.start(1)) + 1
        for number, line in enumerate(block.group(1).splitlines(), start=first_line):
            text = line.strip()
            if text and not text.startswith("#"):
                yield _step(number, text)


def _step(number: int, text: str) -> Step:
    try:
        limited = _LIMITED.fullmatch(text)
        if limited:
            return Step(number, _directive(limited["rest"]), _attempts(limited["attempts"]))
        return Step(number, _directive(text))
    except ValueError as error:
        raise ScriptError(f"line {number} of the prompt, {text[:80]!r}: {error}") from None


def _attempts(text: str) -> tuple[tuple[int, float], ...]:
    return tuple(_range(part) for part in text.split(","))


def _range(text: str) -> tuple[int, float]:
    found = _RANGE.fullmatch(text)
    if not found or (found["open"] and found["last"]):
        raise ValueError(f"{text!r} is no attempt: write 2, 1-3 or 2+")
    first = int(found["first"])
    return first, math.inf if found["open"] else int(found["last"] or first)


def _directive(text: str) -> Directive:
    verb, _, rest = text.partition(" ")
    if verb not in _VERBS:
        raise ValueError(f"no such directive; there are {', '.join(sorted(_VERBS))}")
    return _VERBS[verb](rest.strip())


def _write(rest: str) -> Write:
    path, text = _path_and_text(rest)
    return Write(path, _ended(text))


def _append(rest: str) -> Write:
    path, text = _path_and_text(rest)
    return Write(path, _ended(text), append=True)


def _expect(rest: str) -> Expect:
    path, text = _path_and_text(rest)
    return Expect(path, None if text is None else _ended(text))


def _path_and_text(rest: str) -> tuple[str, str | None]:
    path, colon, text = rest.partition(":")
    path = path.strip()
    if not path or PurePosixPath(path).is_absolute() or ".." in PurePosixPath(path).parts:
        raise ValueError("a path inside the current directory is needed")
    return path, text.strip().replace("\\n", "\n").replace("\\t", "\t") if colon else None


def _ended(text: str | None) -> str:
    return f"{text}\n" if text else ""


def _some(rest: str) -> str:
    if not rest:
        raise ValueError("a text is needed")
    return rest


def _hang(rest: str) -> Hang:
    if rest not in ("", "ignoring SIGTERM"):
        raise ValueError("only 'ignoring SIGTERM' may follow")
    return Hang(stubborn=bool(rest))


def _lazy(rest: str) -> Lazy:
    if rest:
        raise ValueError("nothing may follow")
    return Lazy()


def _abandon(rest: str) -> Abandon:
    reason, _, detail = rest.partition(":")
    return Abandon(_some(reason.strip()), detail.strip())


def _spend(rest: str) -> Spend:
    pairs = dict(_pair(word) for word in rest.split())
    unknown = set(pairs) - {"input", "output", "cached", "usd", "over"}
    if unknown or not pairs:
        raise ValueError("write some of input=N output=N cached=N usd=N over=SECONDS")
    return Spend(
        input_tokens=_whole(pairs.get("input", "0"), _MAX_TOKENS),
        output_tokens=_whole(pairs.get("output", "0"), _MAX_TOKENS),
        cached_tokens=_whole(pairs.get("cached", "0"), _MAX_TOKENS),
        cost_micros=parse_dollars(pairs.get("usd", "0")),
        seconds=_wait(pairs.get("over", "0")),
    )


def _pair(word: str) -> tuple[str, str]:
    name, _, value = word.partition("=")
    return name, value


def _wait(text: str) -> float:
    if not re.fullmatch(r"[0-9]{1,5}(\.[0-9]{1,3})?", text) or float(text) > _MAX_WAIT:
        raise ValueError(f"{text!r} is no number of seconds up to {_MAX_WAIT}")
    return float(text)


def _whole(text: str, most: int) -> int:
    if not re.fullmatch(r"[0-9]{1,16}", text) or int(text) > most:
        raise ValueError(f"{text!r} is no whole number up to {most}")
    return int(text)


def _fail(rest: str) -> Fail:
    code = _whole(rest or "1", _MAX_EXIT_CODE)
    if code == 0:
        raise ValueError("a failure has an exit code from 1; to end well, write lazy")
    return Fail(code)


_VERBS: Final[Mapping[str, Callable[[str], Directive]]] = MappingProxyType(
    {
        "write": _write,
        "append": _append,
        "commit": lambda rest: Commit(_some(rest)),
        "expect": _expect,
        "print": Print,
        "say": lambda rest: Say(_some(rest)),
        "sleep": lambda rest: Sleep(_wait(rest)),
        "hang": _hang,
        "fail": _fail,
        "lazy": _lazy,
        "abandon": _abandon,
        "spend": _spend,
        "rate-limit": lambda rest: RateLimit(_whole(rest, _MAX_WAIT) if rest else None),
        "eat": lambda rest: Eat(_whole(rest, _MAX_MEBIBYTES)),
    }
)

VERBS: Final = frozenset(_VERBS)
"""The first word of every directive."""
