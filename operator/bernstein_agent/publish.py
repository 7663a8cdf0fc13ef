"""Bringing an agent's work to the server: to its branch when it is done, to a rescue branch when it isn't.

What an agent has done costs money, so it is never thrown away: whatever isn't pushed as the result is pushed
beside it. The task's branch is moved only from where it was known to be, so a commit that somebody else put
there meanwhile survives.
"""

import re
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from bernstein_agent.allowance import Allowance, Clock
from bernstein_agent.contract import Reason, Repository, ResultClass
from bernstein_agent.failure import AttemptError, transient_error
from bernstein_agent.git import Git, GitError, explain
from bernstein_agent.workspace import Start

_PUSH_PAUSES: Final = (1.0, 4.0)
"""Between tries to push: the work is done and paid for, a hiccup of the network shouldn't cost it."""

_LOST_RACE: Final = re.compile(
    r"stale info|fetch first|non-fast-forward|is at \S+ but expected", re.IGNORECASE
)
_REFUSED: Final = re.compile(
    r"pre-receive hook declined|hook declined|protected branch|\[remote rejected\]", re.IGNORECASE
)


def own_head(git: Git, start: Start, until: Clock) -> str:
    """Return HEAD if it holds commits that the agent made, else an empty text.

    Raises:
        GitError: HEAD can't be read.
    """
    head = git("rev-parse", "--verify", "HEAD^{commit}", until=until)
    return head if git("rev-list", "--max-count=1", f"{start.head}..{head}", until=until) else ""


def leftovers(git: Git, until: Clock) -> int:
    """Return how many files were left changed or new and uncommitted."""
    return len(git("status", "--porcelain", until=until).splitlines())


def push(
    git: Git,
    repository: Repository,
    *,
    commit: str,
    start: Start,
    allowance: Allowance,
    sleep: Callable[[float], None],
) -> None:
    """Move the task's branch to ``commit``; what may be over in a moment is tried again in a moment.

    Raises:
        AttemptError: the branch isn't where it was any more, or the server refuses or can't be reached.
        StepTimeoutError: the server didn't answer in time.
    """
    target = f"refs/heads/{repository.branch}"
    lease = f"--force-with-lease={target}:{start.branch_head}"
    command = ("push", "--quiet", lease, "--", repository.url, f"{commit}:{target}")
    for pause in (*_PUSH_PAUSES, None):
        failure = _pushed(git, command, repository.branch, allowance.saving())
        if failure is None:
            return
        hopeless = failure.verdict.reason is not Reason.GIT_UNAVAILABLE or allowance.stop.at is not None
        if pause is None or hopeless:
            raise failure
        sleep(pause)


def _pushed(git: Git, command: tuple[str, ...], branch: str, until: Clock) -> AttemptError | None:
    try:
        git(*command, until=until)
    except GitError as error:
        return _refusal(error, branch)
    return None


def rescue(
    git: Git, repository: Repository, *, start: Start, message: str, allowance: Allowance
) -> str | None:
    """Push whatever isn't on the server yet to the rescue branch; return the commit, None if there is none.

    The tree is committed on top of HEAD without touching HEAD or the index: the agent may have been killed in
    the middle of a git command, whose lock then still lies there.

    Raises:
        GitError: the clone is beyond reading, or the server refuses or can't be reached.
        StepTimeoutError: the time for it is over.
    """
    until = allowance.saving()
    head = git("rev-parse", "--verify", "HEAD^{commit}", until=until)
    tree = _tree(git, until)
    commit = head
    if tree != git("rev-parse", f"{head}^{{tree}}", until=until):
        commit = git("commit-tree", "--no-gpg-sign", "-p", head, "-m", message, tree, until=until)
    if not git("rev-list", "--max-count=1", f"{start.head}..{commit}", until=until):
        return None
    target = f"{commit}:refs/heads/{repository.rescue_branch}"
    git("push", "--quiet", "--force", "--", repository.url, target, until=until)
    return commit


def _tree(git: Git, until: Clock) -> str:
    """Return the tree of everything in the work tree that .gitignore doesn't exclude."""
    with tempfile.TemporaryDirectory() as scratch:
        index = Path(scratch, "index")
        env = {"GIT_INDEX_FILE": str(index)}
        # The agent's own index knows which files are unchanged; without it each would be read again.
        try:
            shutil.copyfile(git.directory / ".git" / "index", index)
        except OSError:
            git("read-tree", "HEAD", until=until, env=env)
        git.attempt("add", "--all", "--ignore-errors", until=until, env=env)
        return git("write-tree", until=until, env=env)


def _refusal(error: GitError, branch: str) -> AttemptError:
    if _LOST_RACE.search(error.said):
        text = f"branch {branch} was moved by somebody else while the agent worked"
        return transient_error(Reason.PUSH_CONFLICT, text)
    explained = explain(error, doing=f"pushing {branch}")
    if explained.verdict.result_class is ResultClass.TRANSIENT and _REFUSED.search(error.said):
        text = f"the server refused the commits for {branch}: {error.said}"
        return AttemptError(ResultClass.BUSINESS, Reason.PUSH_REJECTED, text)
    return explained
