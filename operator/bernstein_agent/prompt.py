"""The prompt that an agent's program gets: the frame it works in, then the goal, its role, its task.

A program that knows nothing of the frame pushes by itself, waits for answers that never come, leaves its work
uncommitted, or pretends that it was done. And a retry that isn't told how the last attempt ended repeats it.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

from bernstein_agent.contract import (
    ABANDON_CATEGORIES,
    AbandonCategory,
    Exchange,
    Payload,
    PreviousAttempt,
    Repository,
    ResultClass,
)

_ALONE = """\
You work alone in a container. Nobody reads along: decide by yourself, and end the program when the work is
done or can't be done. Whatever is left in the container is lost at the end."""

_REPOSITORY = """\
The current directory is a git clone with branch {branch} checked out. Commit your work there with git:
only commits count, and {without}. Don't push; your commits are pushed for you."""

_NO_COMMIT = "without one the task has failed"
_NO_MATTER = "none is expected of you"
_NO_CHANGE = "if none is needed, say why in plain prose as your last words"

_EMPTY = "The current directory is empty and yours. There is no repository; nothing is pushed anywhere."

_GIVING_UP = """\
If the task can't be done, or shouldn't, don't leave it half done and don't pretend: run the command

    bernstein-agent abandon REASON "what there is to say about it"

and end the program. The task then counts as given up, never as done. REASON is the most precise of these:

{reasons}"""

_BUDGET = """\
The line [budget] at the head of a message says what is left for this attempt; a limit of 0 is none. Run

    bernstein-agent notices

now and then: it prints the line as it is at that moment, and whatever else you should know by then."""

_ASKING = """\
If only a person can decide something that you need to know, don't guess: run the command

    bernstein-agent ask "the question, and what has to be known to answer it"

and end the program. Somebody answers later, maybe days later, and a new attempt starts with the answer."""

_ASKED = "The previous attempt ended with a question to a person."
_QUESTION = "You asked:"
_ANSWER = "The answer is:"
_DEADLINE = "The previous attempt was stopped on its deadline, not for an error in its code."
_FAILED = "The previous attempt failed ({result_class})."
_HOW_IT_ENDED: Final[Mapping[ResultClass, str]] = MappingProxyType(
    {ResultClass.DEADLINE: _DEADLINE, ResultClass.ASKED: _ASKED}
)
_MESSAGE = "This was found:"
_BRANCH = "What it committed is on branch origin/{branch}."
_RESCUE = "What it left unfinished was saved on branch origin/{branch}; take from it what is of use."


def compile_prompt(payload: Payload) -> str:
    """Return the whole text; sections that have nothing to say are left out."""
    sections = [
        ("How you work here", "\n\n".join(_frame(payload))),
        ("Goal of the run", payload.goal),
        ("Your role", payload.role),
        ("The previous attempt", "\n".join(_previous(payload.previous_attempt))),
        ("Your question", "\n".join(_exchange(payload.exchange))),
        (f"Your task: {payload.title}", payload.prompt),
    ]
    return "\n\n".join(f"# {title}\n\n{text.strip()}" for title, text in sections if text.strip()) + "\n"


def _frame(payload: Payload) -> Iterator[str]:
    yield _ALONE
    yield _workspace(payload.repository, without=_without_commit(payload))
    minutes, seconds = divmod(payload.timeout_seconds, 60)
    length = f"{minutes} min {seconds} s" if minutes else f"{seconds} s"
    yield f"This is attempt {payload.attempt}. It is stopped after {length}."
    yield _BUDGET
    if payload.dependencies:
        names = ", ".join(dependency.name for dependency in payload.dependencies)
        yield f"The work of these tasks is merged into the clone: {names}."
    yield _GIVING_UP.format(reasons="\n".join(_reasons()))
    yield _ASKING


def _reasons() -> Iterator[str]:
    for category in AbandonCategory:
        words = [reason for reason, of in ABANDON_CATEGORIES.items() if of is category]
        yield f"- {category}: {', '.join(words)}"


def _without_commit(payload: Payload) -> str:
    if payload.commit_optional:
        return _NO_MATTER
    return _NO_CHANGE if payload.allow_no_change else _NO_COMMIT


def _workspace(repository: Repository | None, *, without: str) -> str:
    return _REPOSITORY.format(branch=repository.branch, without=without) if repository else _EMPTY


def _previous(previous: PreviousAttempt | None) -> Iterator[str]:
    if previous is None:
        return
    yield _HOW_IT_ENDED.get(previous.result_class, _FAILED.format(result_class=previous.result_class))
    if previous.message:
        yield _MESSAGE
        yield from _quoted(previous.message)
    if previous.branch:
        yield _BRANCH.format(branch=previous.branch)
    if previous.rescue_branch:
        yield _RESCUE.format(branch=previous.rescue_branch)


def _exchange(exchange: Exchange | None) -> Iterator[str]:
    if exchange is None:
        return
    yield _QUESTION
    yield from _quoted(exchange.question)
    yield _ANSWER
    yield from _quoted(exchange.answer)


def _quoted(text: str) -> Iterator[str]:
    return (f"> {line}" for line in text.splitlines())
