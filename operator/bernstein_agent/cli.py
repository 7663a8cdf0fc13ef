"""The command line: run an attempt, give its task up, ask, copy this program, be a scripted agent.

``run`` always leaves a result, also where the envelope can't be read, because a Pod that ends without a word
makes people guess. Its exit code says the same in short: 0 success, 64 to 78 (sysexits) that no retry can
help, 1 everything else. ``abandon`` and ``ask`` are for the agent's program that a
runner started.
"""

import argparse
import os
import re
import shutil
import socket
import sys
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import bernstein_agent
from bernstein_agent.allowance import FAREWELL_SECONDS
from bernstein_agent.build import build_zipapp
from bernstein_agent.console import Console
from bernstein_agent.contract import (
    Abandonment,
    AbandonReason,
    ContractError,
    Envelope,
    Reason,
    Result,
    ResultClass,
    ResultSubject,
    digest_of,
    parse_envelope,
)
from bernstein_agent.execution import run_envelope
from bernstein_agent.failure import EX_NOINPUT, AttemptError, Verdict, contract_error
from bernstein_agent.mailbox import LETTER_FILE, NOTICES_FILE, Letter, Question, leave
from bernstein_agent.place import Place
from bernstein_agent.processes import Supervisor
from bernstein_agent.redaction import Redactor
from bernstein_agent.script import player
from bernstein_agent.zipped import ARCHIVE_NAME, archive

POD_NAME: Final = "BERNSTEIN_POD_NAME"
"""Variable that holds the Pod's name; an envelope that was meant for another Pod is refused."""

_NO_RUNNER: Final = 2
_ATTEMPT_OF_POD: Final = re.compile(r"-a([1-9][0-9]{0,5})$")


def main(arguments: Sequence[str]) -> int:
    """Run a verb and return the exit code."""
    options = _parser().parse_args(arguments)
    match options.verb:
        case "run":
            return _run(options, os.environ)
        case "abandon" | "ask" | "notices":
            return _talk(options, os.environ)
        case "copy":
            return _copy(options.destination)
        case "script-agent":
            return player.main(os.environ, resumed=options.resume)
        case _:
            sys.stdout.write(f"bernstein-agent {bernstein_agent.__version__}\n")
            return 0


def _talk(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    """Carry a word between an agent's program and its runner."""
    match options.verb:
        case "abandon":
            given_up = Abandonment.told(options.reason, " ".join(options.detail))
            return _leave(given_up, f"the task is given up ({given_up.reason})", environ)
        case "ask":
            return _ask(" ".join(options.question).strip(), environ)
        case _:
            return _notices(environ)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bernstein-agent", description="Runs one attempt at a task.")
    verbs = parser.add_subparsers(dest="verb", required=True)
    run = verbs.add_parser("run", help="carry out an envelope")
    run.add_argument("--envelope", type=Path, default=Path("/bernstein/envelope/envelope.json"))
    run.add_argument("--workspace", type=Path, default=Path("/workspace"))
    run.add_argument("--home", type=Path, help="default: home in the workspace")
    run.add_argument("--termination-log", type=Path, default=Path("/dev/termination-log"))
    run.add_argument(
        "--git-timeout-seconds", type=float, default=600.0, help="for one exchange with the server"
    )
    abandon = verbs.add_parser("abandon", help="give the task up, as the agent's program inside a runner")
    abandon.add_argument("reason", help=f"one of {', '.join(AbandonReason)}")
    abandon.add_argument("detail", nargs="*", help="what there is to say about it")
    ask = verbs.add_parser("ask", help="ask a person something, as the agent's program inside a runner")
    ask.add_argument("question", nargs="+", help="what has to be known to go on")
    verbs.add_parser("notices", help="print what is left of the budget, as the agent's program")
    copy = verbs.add_parser("copy", help="copy this program")
    copy.add_argument("destination", type=Path, help=f"a file, or a directory to put {ARCHIVE_NAME} into")
    scripted = verbs.add_parser("script-agent", help="do what the script in the prompt says")
    scripted.add_argument("--resume", metavar="SESSION", help="go on with a session that has ended")
    verbs.add_parser("version", help="print the version")
    return parser


def _run(options: argparse.Namespace, environ: Mapping[str, str]) -> int:
    supervisor = Supervisor()
    supervisor.install()
    console = Console(sys.stdout.buffer, Redactor(environ))
    text = _read(options.envelope)
    try:
        envelope = _accepted(text, environ)
    except (AttemptError, ContractError) as error:
        return _refused(error, text, options=options, console=console, environ=environ)
    console.note(f"accepted {envelope.idempotency_key} ({envelope.payload.run}/{envelope.payload.task})")
    workspace = options.workspace.resolve()
    place = Place(
        workspace=workspace,
        home=options.home.resolve() if options.home else workspace / "home",
        environ=environ,
        git_seconds=options.git_timeout_seconds,
    )
    now = datetime.now(UTC)  # noqa: TID251 - read once; everything else is measured on the monotonic clock
    result = run_envelope(
        text or "",
        envelope,
        place,
        supervisor=supervisor,
        console=console,
        now=now,
        leave=lambda result: _write(result, options.termination_log, console),
    )
    return Verdict(result.result_class, result.reason, result.message).exit_code


def _read(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return None


def _accepted(text: str | None, environ: Mapping[str, str]) -> Envelope:
    """Return the envelope, if it can be read, is meant for this Pod, and git is there to act on it."""
    if text is None:
        raise ContractError("", "there is no readable envelope")
    envelope = parse_envelope(text)
    pod = environ.get(POD_NAME, envelope.subject.id)
    if envelope.subject.id != pod:
        raise ContractError("subject.id", f"{envelope.subject.id!r} is not this Pod, {pod!r}")
    if envelope.payload.repository and not shutil.which("git"):
        raise contract_error(Reason.GIT_MISSING, "the agent's image has no git")
    return envelope


def _refused(
    error: AttemptError | ContractError,
    text: str | None,
    *,
    options: argparse.Namespace,
    console: Console,
    environ: Mapping[str, str],
) -> int:
    """Leave a result that says why nothing was begun; return the exit code."""
    invalid = Verdict(ResultClass.CONTRACT, Reason.INVALID_ENVELOPE, f"the envelope is refused: {error}")
    verdict = error.verdict if isinstance(error, AttemptError) else invalid
    console.note(verdict.message)
    result = Result(
        subject=_own_subject(environ),
        result_class=verdict.result_class,
        reason=verdict.reason,
        message=console.redact(verdict.message),
        digest=digest_of(text) if text is not None else "",
    )
    _write(result, options.termination_log, console)
    return verdict.exit_code if text is not None else EX_NOINPUT


def _own_subject(environ: Mapping[str, str]) -> ResultSubject:
    """Say who this is without an envelope: Pod names end in the attempt's number."""
    pod = environ.get(POD_NAME) or socket.gethostname()
    found = _ATTEMPT_OF_POD.search(pod)
    return ResultSubject(id=pod, attempt=int(found[1]) if found else 1)


def _write(result: Result, path: Path, console: Console) -> None:
    try:
        path.write_text(result.to_termination_message(), encoding="utf-8")
    except OSError as error:
        console.note(f"the result can't be written: {error}")


def _ask(question: str, environ: Mapping[str, str]) -> int:
    """Tell the runner what is asked; return 2 where nothing is."""
    if not question:
        sys.stderr.write("bernstein-agent: a question is needed\n")
        return _NO_RUNNER
    return _leave(Question(question), "the question is on its way", environ)


def _leave(word: Letter, told: str, environ: Mapping[str, str]) -> int:
    """Tell the runner; return 2 where there is none."""
    letter = environ.get(LETTER_FILE)
    if not letter:
        sys.stderr.write(f"bernstein-agent: no runner to tell: {LETTER_FILE} is not set\n")
        return _NO_RUNNER
    try:
        first = leave(Path(letter), word)
    except OSError as error:
        sys.stderr.write(f"bernstein-agent: the runner can't be told: {error}\n")
        return _NO_RUNNER
    news = told if first else "a word was left before, and the first one counts"
    sys.stdout.write(f"bernstein-agent: {news}; end now, or be stopped in {FAREWELL_SECONDS:g} s\n")
    return 0


def _notices(environ: Mapping[str, str]) -> int:
    """Print what the runner has put up; return 2 where there is none."""
    text = _read(Path(environ.get(NOTICES_FILE, "")))
    if text is None:
        sys.stderr.write(f"bernstein-agent: no runner to hear: {NOTICES_FILE} names no file\n")
        return _NO_RUNNER
    sys.stdout.write(text)
    return 0


def _copy(destination: Path) -> int:
    target = destination / ARCHIVE_NAME if destination.is_dir() else destination
    found = archive()
    if not found:
        build_zipapp(target)
        return 0
    scratch = target.with_name(f".{target.name}.new")
    shutil.copyfile(found, scratch)
    scratch.chmod(0o755)
    scratch.replace(target)
    return 0
