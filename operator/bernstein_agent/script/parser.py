"""The grammar of scripts: one directive a line, in a block fenced as ``script``.

A script is part of a prompt, so it has to be easy to write inside YAML and to find inside prose. Every
mistake names its line: a script that is quietly misread would make a test pass for the wrong reason.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Final

from bernstein_agent.contract import (
    MAX_RETRY_AFTER_SECONDS,
    PROVIDER_FAULTS,
    Reason,
    ResultClass,
    parse_dollars,
)
from bernstein_agent.contract.result import REASON_PATTERN
from bernstein_agent.script.directives import (
    FAILURES,
    Abandon,
    Ask,
    Call,
    Commit,
    Directive,
    Eat,
    Expect,
    Explain,
    Fail,
    Hang,
    Lazy,
    Print,
    RateLimit,
    Say,
    Sleep,
    Spend,
    Steps,
    Told,
    Write,
)
from bernstein_agent.script.guards import Circumstances, Condition, parse_attempts, parse_conditions

_BLOCK: Final = re.compile(r"^```script[ \t]*\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
_LIMITED: Final = re.compile(r"on attempts? (?P<attempts>[0-9,+-]+): *(?P<rest>.+)")
_CONDITIONAL: Final = re.compile(r"when +(?P<conditions>\S*[^\s:]( +\S*[^\s:])*): +(?P<rest>.+)")
_CALLED: Final = re.compile(r"(?P<tool>\S+)( +(?P<times>[1-9][0-9]{0,4}) +times)?")
_GIVEN_UP: Final = re.compile(r"(?P<reason>[^\s:]+)(\s*:)?\s*(?P<detail>.*)")
_MAX_EXIT_CODE: Final = 255
_MAX_WAIT: Final = 86_400
_MAX_MEBIBYTES: Final = 1_048_576
_MAX_TOKENS: Final = 2**53
_UNTOLD: Final = "unknown"
_MAX_COUNT: Final = 100_000


class ScriptError(ValueError):
    """A script that can't be played; the text names the line."""


@dataclass(frozen=True, slots=True)
class Step:
    """A directive, its line in the prompt (from 1), and what has to hold for it to act."""

    line: int
    directive: Directive
    conditions: tuple[Condition, ...] = ()

    def acts_in(self, here: Circumstances) -> bool:
        """Return whether it is played in that attempt."""
        return all(condition.holds(here) for condition in self.conditions)


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
        if limited := _LIMITED.fullmatch(text):
            return Step(number, _directive(limited["rest"]), (parse_attempts(limited["attempts"]),))
        if guarded := _CONDITIONAL.fullmatch(text):
            return Step(number, _directive(guarded["rest"]), parse_conditions(guarded["conditions"]))
        return Step(number, _directive(text))
    except ValueError as error:
        raise ScriptError(f"line {number} of the prompt, {text[:80]!r}: {error}") from None


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


def _call(rest: str) -> Call:
    found = _CALLED.fullmatch(rest)
    if not found:
        raise ValueError("write the tool's name, and maybe how often it is called: call Bash 3 times")
    return Call(found["tool"], int(found["times"] or 1))


def _abandon(rest: str) -> Abandon:
    found = _GIVEN_UP.fullmatch(rest)
    if not found:
        raise ValueError("a reason is needed")
    return Abandon(found["reason"], found["detail"])


def _spend(rest: str) -> Spend:
    pairs = dict(_pair(word) for word in rest.split())
    unknown = set(pairs) - {"input", "output", "cached", "usd", "over"}
    if unknown or not pairs:
        raise ValueError("write some of input=N output=N cached=N usd=N over=SECONDS")
    return Spend(
        input_tokens=_whole(pairs.get("input", "0"), _MAX_TOKENS),
        output_tokens=_whole(pairs.get("output", "0"), _MAX_TOKENS),
        cached_tokens=_whole(pairs.get("cached", "0"), _MAX_TOKENS),
        cost_micros=None if pairs.get("usd") == _UNTOLD else parse_dollars(pairs.get("usd", "0")),
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
    settings, _, message = rest.partition("message=")
    words = settings.split()
    code = _exit_code(words.pop(0)) if words and "=" not in words[0] else 1
    told = dict(_pair(word) for word in words)
    if message:
        told["message"] = message
    return Fail(code, _told(told) if told else None)


def _exit_code(text: str) -> int:
    code = _whole(text, _MAX_EXIT_CODE)
    if code == 0:
        raise ValueError("a failure has an exit code from 1; to end well, write lazy")
    return code


def _told(settings: Mapping[str, str]) -> Told:
    if set(settings) - {"class", "reason", "retry-after", "message"}:
        raise ValueError("after the exit code, write some of class=C reason=R retry-after=N message=TEXT")
    reason = settings.get("reason", Reason.NON_ZERO_EXIT)
    if not re.fullmatch(REASON_PATTERN, reason):
        raise ValueError(f"{reason!r} is no reason: write one CamelCase word")
    usual = next((fault for word, fault in PROVIDER_FAULTS.items() if word == reason), ResultClass.AGENT)
    wait = settings.get("retry-after")
    return Told(
        result_class=_failure_class(settings.get("class", usual)),
        reason=str(reason),
        message=settings.get("message", f"the script failed: {reason}"),
        retry_after_seconds=None if wait is None else _whole(wait, MAX_RETRY_AFTER_SECONDS),
    )


def _failure_class(text: str) -> ResultClass:
    for result_class in FAILURES:
        if result_class == text:
            return result_class
    raise ValueError(f"{text!r} is no class of failure; there are {', '.join(sorted(FAILURES))}")


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
        "explain": lambda rest: Explain(_some(rest)),
        "ask": lambda rest: Ask(_some(rest)),
        "abandon": _abandon,
        "spend": _spend,
        "steps": lambda rest: Steps(_whole(rest, _MAX_COUNT)),
        "call": _call,
        "rate-limit": lambda rest: RateLimit(_whole(rest, MAX_RETRY_AFTER_SECONDS) if rest else None),
        "eat": lambda rest: Eat(_whole(rest, _MAX_MEBIBYTES)),
    }
)

VERBS: Final = frozenset(_VERBS)
"""The first word of every directive."""
