"""Running git on a clone that an agent may have changed in any way.

Nothing here may ever wait for a human, run code that came with the repository, or depend on what an agent
wrote into its home directory. And git says why it failed only in prose, so its prose is read here, once.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from bernstein_agent.allowance import Clock
from bernstein_agent.contract import GitIdentity, Reason
from bernstein_agent.failure import AttemptError, contract_error, transient_error
from bernstein_agent.processes import Completed, Supervisor
from bernstein_agent.redaction import Redactor

_CONFIG: Final = {
    "core.hooksPath": os.devnull,
    "core.fsmonitor": "false",
    "commit.gpgSign": "false",
    "gc.auto": "0",
    "advice.detachedHead": "false",
}

_REPOSITORY_VARIABLES: Final = (
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_PREFIX",
)
"""Set by a surrounding git; they would point every command at another repository."""

_TOLD: Final = 1000
_NOISE: Final = re.compile(
    r"hint:|warning:|To |Cloning into|Please make sure you have|and the repository exists\."
)

_ACCESS_DENIED: Final = (
    r"authentication failed|could not read (username|password)|terminal prompts disabled"
    r"|permission denied \(|host key verification failed|returned error: 40[13]|invalid credentials"
)
_NOT_FOUND: Final = (
    r"repository '?[^\n]*'? ?not found|repository not exported|does not appear to be a git repository"
    r"|returned error: 404|repository '[^\n]*' does not exist|no such repository"
    r"|unable to find remote helper|'remote-\S+' is not a git command|transport '[^']*' not allowed"
)
_IN_THE_WAY: Final = r"' exists; cannot create|\(directory file conflict\)"

_CAUSES: Final = (
    (Reason.ACCESS_DENIED, _ACCESS_DENIED),
    (Reason.REPOSITORY_NOT_FOUND, _NOT_FOUND),
    (Reason.BRANCH_IMPOSSIBLE, _IN_THE_WAY),
)
"""Deterministic causes, by what git or its server prints; everything else may be over the next time."""


class GitError(Exception):
    """A git command that failed.

    Attributes:
        said: what it printed, without secrets.
    """

    def __init__(self, said: str) -> None:
        super().__init__(said)
        self.said = said


class Git:
    """git in one directory, under one identity."""

    def __init__(
        self,
        supervisor: Supervisor,
        directory: Path,
        *,
        environ: Mapping[str, str],
        identity: GitIdentity,
        redact: Redactor,
    ) -> None:
        self._supervisor = supervisor
        self.directory = directory
        self._env = git_environment(environ, identity)
        self._redact = redact

    def __call__(self, *args: str, until: Clock, env: Mapping[str, str] | None = None) -> str:
        """Run a git command in the directory and return what it printed, stripped.

        Raises:
            GitError: it failed.
            StepTimeoutError: it hadn't ended by ``until()``.
        """
        done = self.attempt(*args, until=until, env=env)
        if done.exit_code:
            raise GitError(self._redact(_told(done)))
        return done.stdout.strip()

    def attempt(self, *args: str, until: Clock, env: Mapping[str, str] | None = None) -> Completed:
        """Run a git command whose failure is an answer too.

        Raises:
            StepTimeoutError: it hadn't ended by ``until()``.
        """
        settings = [part for name, value in _CONFIG.items() for part in ("-c", f"{name}={value}")]
        argv = ["git", "-C", str(self.directory), *settings, *args]
        # The directory itself may be gone by now; git then says so instead of the runner falling over it.
        return self._supervisor.run(argv, cwd=Path("/"), env={**self._env, **(env or {})}, until=until)


def git_environment(environ: Mapping[str, str], identity: GitIdentity) -> dict[str, str]:
    """Return the environment of the runner's own git commands, made from the container's."""
    kept = {name: value for name, value in environ.items() if name not in _REPOSITORY_VARIABLES}
    return {
        "GIT_SSH_COMMAND": "ssh -o BatchMode=yes",
        **kept,
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_AUTHOR_NAME": identity.author_name,
        "GIT_AUTHOR_EMAIL": identity.author_email,
        "GIT_COMMITTER_NAME": identity.author_name,
        "GIT_COMMITTER_EMAIL": identity.author_email,
        "LC_ALL": "C",
    }


def explain(error: GitError, *, doing: str) -> AttemptError:
    """Return what a failure to talk to the git server means for the attempt."""
    for reason, pattern in _CAUSES:
        if re.search(pattern, error.said, re.IGNORECASE):
            return contract_error(reason, f"{doing}: {error.said}")
    return transient_error(Reason.GIT_UNAVAILABLE, f"{doing}: {error.said}")


def _told(done: Completed) -> str:
    """Return what git said went wrong, on one line, at most 1000 characters."""
    lines = [line.strip() for line in (done.stderr or done.stdout).splitlines()]
    telling = [line for line in lines if line and not _NOISE.match(line)]
    return " ".join(telling)[:_TOLD] or f"git ended with exit code {done.exit_code}"
