"""What git and its servers print, in their own words, and what that means for an attempt."""

import pytest

from bernstein_agent.contract import Reason, ResultClass
from bernstein_agent.git import GitError, explain

SAID = {
    "git daemon, no such repository": (
        "fatal: remote error: access denied or repository not exported: /x.git",
        Reason.REPOSITORY_NOT_FOUND,
    ),
    "http, no such repository": (
        "remote: Not Found fatal: repository 'http://git.example.com/x.git/' not found",
        Reason.REPOSITORY_NOT_FOUND,
    ),
    "ssh, no such repository": (
        "ERROR: Repository not found. fatal: Could not read from remote repository.",
        Reason.REPOSITORY_NOT_FOUND,
    ),
    "a path that is none": (
        "fatal: '/srv/x' does not appear to be a git repository",
        Reason.REPOSITORY_NOT_FOUND,
    ),
    "http, credentials refused": (
        "fatal: Authentication failed for 'https://git.example.com/x.git/'",
        Reason.ACCESS_DENIED,
    ),
    "http, credentials missing": (
        "fatal: could not read Username for 'https://git.example.com': terminal prompts disabled",
        Reason.ACCESS_DENIED,
    ),
    "http, forbidden": (
        "fatal: unable to access 'https://git.example.com/x/': The requested URL returned error: 403",
        Reason.ACCESS_DENIED,
    ),
    "ssh, key refused": (
        "git@git.example.com: Permission denied (publickey). fatal: Could not read from remote repository.",
        Reason.ACCESS_DENIED,
    ),
    "ssh, unknown host key": (
        "Host key verification failed. fatal: Could not read from remote repository.",
        Reason.ACCESS_DENIED,
    ),
    "a branch in the way": (
        "! [remote rejected] HEAD -> a/b (cannot lock ref 'a/b': 'refs/heads/a' exists; cannot create 'a/b')",
        Reason.BRANCH_IMPOSSIBLE,
    ),
    "http, rate limit": (
        "fatal: unable to access 'https://git.example.com/x/': The requested URL returned error: 429",
        Reason.GIT_UNAVAILABLE,
    ),
    "http, server error": (
        "fatal: unable to access 'https://git.example.com/x/': The requested URL returned error: 503",
        Reason.GIT_UNAVAILABLE,
    ),
    "no such host": (
        "fatal: unable to access 'https://git.example.com/x/': Could not resolve host: git.example.com",
        Reason.GIT_UNAVAILABLE,
    ),
    "connection refused": (
        "fatal: unable to connect to 127.0.0.1: 127.0.0.1[0: 127.0.0.1]: errno=Connection refused",
        Reason.GIT_UNAVAILABLE,
    ),
    "connection lost": ("fatal: the remote end hung up unexpectedly", Reason.GIT_UNAVAILABLE),
    "disk full": ("fatal: cannot create directory at 'src': No space left on device", Reason.GIT_UNAVAILABLE),
}


@pytest.mark.parametrize(("said", "reason"), SAID.values(), ids=SAID)
def test_a_failure_of_git_has_a_cause(said: str, reason: Reason) -> None:
    verdict = explain(GitError(said), doing="cloning x").verdict
    transient = reason is Reason.GIT_UNAVAILABLE
    assert verdict.result_class is (ResultClass.TRANSIENT if transient else ResultClass.CONTRACT)
    assert (verdict.reason, verdict.message) == (reason, f"cloning x: {said}")
