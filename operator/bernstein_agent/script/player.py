"""The scripted agent itself: a program that reads its prompt and does what the script in it says.

It is started by the runner as any agent is, knows nothing of the runner, and reports on its standard output.
Like real ones it can be started again to go on with a session.
"""

import contextlib
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final, TextIO

from bernstein_agent.contract import Usage, dollars_text
from bernstein_agent.environment import ATTEMPT, EFFORT, MODEL, PROMPT_FILE
from bernstein_agent.mailbox import PROGRAM
from bernstein_agent.script.directives import (
    Abandon,
    Ask,
    Call,
    Commit,
    Directive,
    Eat,
    End,
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
from bernstein_agent.script.guards import Circumstances
from bernstein_agent.script.lines import FAILURE, RATE_LIMIT, SESSION, SUMMARY, USAGE, WORK, report
from bernstein_agent.script.parser import parse_script
from bernstein_agent.script.session import Session

_MEBIBYTE: Final = 1024 * 1024
_REPORTS_PER_SECOND: Final = 2
_FOREVER: Final = 3600.0
_NO_SCRIPT: Final = 2


class Player:
    """Plays the steps of one script in one directory."""

    def __init__(self, directory: Path, out: TextIO, *, sleep: Callable[[float], None] = time.sleep) -> None:
        self._directory = directory
        self._out = out
        self._sleep = sleep
        self._usage = Usage()
        self._steps = 1
        self._calls = 0
        self._eaten: list[bytes] = []

    def open(self, session: str) -> None:
        """Tell the name under which this can be gone on with, and that nothing is spent yet."""
        self._emit(report(SESSION, id=session))
        self._report_usage()

    def play(self, directive: Directive) -> int | None:
        """Do what a directive says; return the exit code if the program ends with it."""
        match directive:
            case Write() | Commit() | Expect():
                return self._touch(directive)
            case Print(text):
                self._emit(text)
            case Say(text):
                self._emit(report(SUMMARY, text=text))
            case Sleep(seconds):
                self._sleep(seconds)
            case Spend():
                self._spend(directive)
            case Steps() | Call():
                self._work(directive)
            case Eat(mebibytes):
                # Written, not only reserved: memory that nobody touched isn't there.
                self._eaten.extend(b"x" * _MEBIBYTE for _ in range(mebibytes))
            case Hang(stubborn):
                self._hang(stubborn=stubborn)
            case Lazy() | Explain() | Ask() | Fail() | Abandon() | RateLimit():
                return self._end(directive)
        return None

    def _touch(self, directive: Write | Commit | Expect) -> int | None:
        match directive:
            case Write(path, text, append):
                file = self._directory / path
                file.parent.mkdir(parents=True, exist_ok=True)
                with file.open("a" if append else "w", encoding="utf-8") as stream:
                    stream.write(text)
            case Commit(message):
                return self._run("git", "add", "--all") or self._run("git", "commit", "-q", "-m", message)
            case Expect(path, text):
                return self._expect(path, text)
        return None

    def _end(self, directive: End) -> int:
        match directive:
            case Lazy():
                return 0
            case Explain(text):
                self._emit(text)
                return 0
            case Ask(question):
                return self._run(PROGRAM, "ask", question) or 0
            case Fail(code, told):
                if told:
                    self._emit(_failure(told))
                return code
            case Abandon(reason, detail):
                return self._run(PROGRAM, "abandon", reason, detail) or 0
            case RateLimit(seconds):
                self._emit(report(RATE_LIMIT, retryAfterSeconds=seconds))
                return 1

    def _expect(self, path: str, text: str | None) -> int | None:
        file = self._directory / path
        if not file.is_file():
            self._emit(f"expected {path} to be there")
            return 1
        if text is not None and file.read_text(encoding="utf-8", errors="replace") != text:
            self._emit(f"expected {path} to hold {text.strip()!r}")
            return 1
        return None

    def _spend(self, spend: Spend) -> None:
        parts = max(1, round(spend.seconds * _REPORTS_PER_SECOND))
        before = self._usage
        for part in range(1, parts + 1):
            self._sleep(spend.seconds / parts)
            self._usage = _grown(before, spend, part, parts)
            self._report_usage()

    def _work(self, directive: Steps | Call) -> None:
        match directive:
            case Steps(count):
                self._steps += count
            case Call(_, times):
                self._calls += times
        self._emit(report(WORK, steps=self._steps, toolCalls=self._calls))

    def _report_usage(self) -> None:
        usage = self._usage
        self._emit(
            report(
                USAGE,
                inputTokens=usage.input_tokens,
                outputTokens=usage.output_tokens,
                cachedTokens=usage.cached_tokens,
                costUsd=None if usage.cost_unknown else dollars_text(usage.cost_micros),
            )
        )

    def _hang(self, *, stubborn: bool) -> None:
        if stubborn:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        self._emit("hanging")
        while True:
            self._sleep(_FOREVER)

    def _run(self, *command: str) -> int | None:
        done = subprocess.run(
            command, cwd=self._directory, check=False, stdin=subprocess.DEVNULL, stdout=sys.stderr
        )
        return done.returncode or None

    def _emit(self, line: str) -> None:
        self._out.write(f"{line}\n")
        self._out.flush()


def _failure(told: Told) -> str:
    return report(
        FAILURE,
        **{"class": told.result_class},
        reason=told.reason,
        message=told.message,
        retryAfterSeconds=told.retry_after_seconds,
    )


def _grown(before: Usage, spend: Spend, part: int, parts: int) -> Usage:
    return Usage(
        input_tokens=before.input_tokens + spend.input_tokens * part // parts,
        output_tokens=before.output_tokens + spend.output_tokens * part // parts,
        cached_tokens=before.cached_tokens + spend.cached_tokens * part // parts,
        cost_micros=before.cost_micros + (spend.cost_micros or 0) * part // parts,
        cost_unknown=before.cost_unknown or spend.cost_micros is None,
    )


def main(environ: Mapping[str, str], *, resumed: str | None) -> int:
    """Play the script of the prompt that the environment names, or the rest of a session's.

    Returns the exit code.
    """
    try:
        session, first = _session(environ, resumed)
        steps = parse_script(session.prompt)
    except (KeyError, OSError, ValueError) as error:
        sys.stderr.write(f"script-agent: no script to play: {error}\n")
        return _NO_SCRIPT
    here = Circumstances(
        attempt=int(environ.get(ATTEMPT, "1")),
        model=environ.get(MODEL, ""),
        effort=environ.get(EFFORT, ""),
    )
    player = Player(Path.cwd(), sys.stdout)
    with contextlib.suppress(BrokenPipeError):
        player.open(session.name)
        for index, step in enumerate(steps[first:], start=first + 1):
            session.note(index)
            code = player.play(step.directive) if step.acts_in(here) else None
            if code is not None:
                return code
    return 0


def _session(environ: Mapping[str, str], resumed: str | None) -> tuple[Session, int]:
    prompt_file = Path(environ[PROMPT_FILE])
    home = Path(environ["HOME"])
    if resumed:
        return Session.found(home, resumed)
    return Session.begun(home, prompt_file.read_text(encoding="utf-8")), 0
