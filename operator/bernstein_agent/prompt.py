"""The prompt that an agent's program gets: the frame it works in, then the goal, its role, its task.

A program that knows nothing of the frame pushes by itself, waits for answers that never come, leaves its work
uncommitted, or pretends that it was done. And a retry that isn't told how the last attempt ended repeats it.
"""

from collections.abc import Iterator

from bernstein_agent.contract import (
    ABANDON_CATEGORIES,
    AbandonCategory,
    Payload,
    PreviousAttempt,
    Repository,
    ResultClass,
)

_ALONE = """\
You work alone in a container. Nobody reads along and nobody answers questions: decide by yourself, and end
the program when the work is done or can't be done. Whatever is left in the container is lost at the end."""

_REPOSITORY = """\
The current directory is a git clone with branch {branch} checked out. Commit your work there with git:
only commits count, and without one the task has failed. Don't push; your commits are pushed for you."""

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

_DEADLINE = "The previous attempt was stopped on its deadline, not for an error in its code."
_FAILED = "The previous attempt failed ({result_class})."
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
        (f"Your task: {payload.title}", payload.prompt),
    ]
    return "\n\n".join(f"# {title}\n\n{text.strip()}" for title, text in sections if text.strip()) + "\n"


def _frame(payload: Payload) -> Iterator[str]:
    yield _ALONE
    yield _workspace(payload.repository)
    minutes, seconds = divmod(payload.timeout_seconds, 60)
    length = f"{minutes} min {seconds} s" if minutes else f"{seconds} s"
    yield f"This is attempt {payload.attempt}. It is stopped after {length}."
    yield _BUDGET
    if payload.dependencies:
        names = ", ".join(dependency.name for dependency in payload.dependencies)
        yield f"The work of these tasks is merged into the clone: {names}."
    yield _GIVING_UP.format(reasons="\n".join(_reasons()))


def _reasons() -> Iterator[str]:
    for category in AbandonCategory:
        words = [reason for reason, of in ABANDON_CATEGORIES.items() if of is category]
        yield f"- {category}: {', '.join(words)}"


def _workspace(repository: Repository | None) -> str:
    return _REPOSITORY.format(branch=repository.branch) if repository else _EMPTY


def _previous(previous: PreviousAttempt | None) -> Iterator[str]:
    if previous is None:
        return
    if previous.result_class is ResultClass.DEADLINE:
        yield _DEADLINE
    else:
        yield _FAILED.format(result_class=previous.result_class)
    if previous.message:
        yield _MESSAGE
        yield from (f"> {line}" for line in previous.message.splitlines())
    if previous.branch:
        yield _BRANCH.format(branch=previous.branch)
    if previous.rescue_branch:
        yield _RESCUE.format(branch=previous.rescue_branch)
