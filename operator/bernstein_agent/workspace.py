"""Making the tree that an agent starts from: the base, merged with what its dependencies made.

A task that builds on two others has to see the code of both. They are merged by commit, in the order in
which the task names them, because their branches may have moved on; and the same base with the same
dependencies gives the same commits, whichever attempt makes them.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bernstein_agent.allowance import Allowance, Clock
from bernstein_agent.contract import DependencyRef, GitIdentity, Reason, Repository, ResultClass
from bernstein_agent.failure import AttemptError, contract_error
from bernstein_agent.git import Git, GitError, explain

_LISTED_FILES: Final = 10


@dataclass(frozen=True, slots=True)
class Start:
    """What an agent starts from.

    Attributes:
        base: the commit of the repository that everything is built on.
        head: HEAD as the agent finds it: ``base``, or the last merge of a dependency.
        branch_head: where the task's branch is on the server; empty where it doesn't exist.
    """

    base: str
    head: str
    branch_head: str


def write_identity(home: Path, identity: GitIdentity) -> None:
    """Give every git command of the agent its author, in whatever repository it is run."""
    home.mkdir(parents=True, exist_ok=True)
    lines = (
        "[user]",
        f"\tname = {_quoted(identity.author_name)}",
        f"\temail = {_quoted(identity.author_email)}",
    )
    (home / ".gitconfig").write_text("\n".join((*lines, "")))


def prepare(
    git: Git, repository: Repository, dependencies: tuple[DependencyRef, ...], allowance: Allowance
) -> Start:
    """Clone, check out the task's branch, merge the dependencies; return what the agent starts from.

    Raises:
        AttemptError: the server, the repository, the ref or a merge is in the way.
        StepTimeoutError: the attempt's time is over.
    """
    _clone(git, repository, allowance)
    base = _resolve(git, repository, allowance)
    git("checkout", "--quiet", "-B", repository.branch, base, until=allowance.work)
    for dependency in dependencies:
        _merge(git, dependency, allowance)
    return Start(
        base=base,
        head=git("rev-parse", "HEAD", until=allowance.work),
        branch_head=repository.expected_branch_head or _branch_head(git, repository.branch, allowance.work),
    )


def _clone(git: Git, repository: Repository, allowance: Allowance) -> None:
    git.directory.mkdir(parents=True, exist_ok=True)
    try:
        git("clone", "--quiet", "--no-checkout", "--", repository.url, ".", until=allowance.step())
    except GitError as error:
        raise explain(error, doing=f"cloning {repository.url}") from None


def _resolve(git: Git, repository: Repository, allowance: Allowance) -> str:
    """Return the commit that the attempt is based on."""
    if repository.base_commit:
        return _commit(git, repository.base_commit, allowance, Reason.REF_NOT_FOUND, "the base commit")
    ref = repository.ref
    for name in (
        f"refs/remotes/origin/{ref.removeprefix('refs/heads/')}",
        f"refs/tags/{ref.removeprefix('refs/tags/')}",
        ref,
    ):
        found = _local(git, name, allowance.work)
        if found:
            return found
    return _fetch(git, ref, allowance, Reason.REF_NOT_FOUND, f"ref {ref}")


def _commit(git: Git, commit: str, allowance: Allowance, reason: Reason, what: str) -> str:
    return _local(git, commit, allowance.work) or _fetch(git, commit, allowance, reason, f"{what} {commit}")


def _local(git: Git, name: str, until: Clock) -> str:
    """Return the commit that ``name`` means in the clone, empty where it means none."""
    found = git.attempt("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}", until=until)
    return found.stdout.strip() if found.exit_code == 0 else ""


def _fetch(git: Git, name: str, allowance: Allowance, reason: Reason, what: str) -> str:
    """Ask the server for what no branch or tag of it leads to."""
    try:
        git("fetch", "--quiet", "origin", name, until=allowance.step())
    except GitError as error:
        if "couldn't find remote ref" in error.said or "not our ref" in error.said:
            raise contract_error(reason, f"{what} is not in the repository") from None
        raise explain(error, doing=f"fetching {what}") from None
    return git("rev-parse", "--verify", "FETCH_HEAD^{commit}", until=allowance.work)


def _merge(git: Git, dependency: DependencyRef, allowance: Allowance) -> None:
    what = f"the commit of dependency {dependency.name}"
    commit = _commit(git, dependency.commit, allowance, Reason.DEPENDENCY_NOT_FOUND, what)
    date = git("show", "--no-patch", "--format=%cI", commit, until=allowance.work)
    dates = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date}
    try:
        message = f"Merge {dependency.name} ({dependency.branch})"
        git("merge", "--quiet", "--no-ff", "-m", message, commit, until=allowance.work, env=dates)
    except GitError as error:
        raise _conflict(git, dependency, error, allowance) from None


def _conflict(git: Git, dependency: DependencyRef, error: GitError, allowance: Allowance) -> AttemptError:
    unmerged = git("diff", "--name-only", "--diff-filter=U", until=allowance.work).splitlines()
    more = f" and {len(unmerged) - _LISTED_FILES} more" if len(unmerged) > _LISTED_FILES else ""
    where = ", ".join(unmerged[:_LISTED_FILES]) + more if unmerged else error.said
    text = f"dependency {dependency.name} ({dependency.commit[:12]}) does not merge: {where}"
    return AttemptError(ResultClass.BUSINESS, Reason.MERGE_CONFLICT, text)


def _branch_head(git: Git, branch: str, until: Clock) -> str:
    return _local(git, f"refs/remotes/origin/{branch}", until)


def _quoted(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
