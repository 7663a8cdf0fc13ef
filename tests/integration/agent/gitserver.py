"""A git server of the test's own: ``git daemon`` on a free loopback port, over bare repositories.

Everything an attempt does on the wire is real: clone, fetch, push with a lease, refusals. The tests look at
the bare repositories directly, so they never trust the runner's own word for what was pushed.
"""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

IDENTITY = {
    "GIT_AUTHOR_NAME": "Somebody",
    "GIT_AUTHOR_EMAIL": "somebody@example.com",
    "GIT_COMMITTER_NAME": "Somebody",
    "GIT_COMMITTER_EMAIL": "somebody@example.com",
    "GIT_AUTHOR_DATE": "2026-01-02T03:04:05+00:00",
    "GIT_COMMITTER_DATE": "2026-01-02T03:04:05+00:00",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "PATH": os.environ["PATH"],
}


def git(directory: Path, *args: str) -> str:
    """Run git as Somebody and return what it printed, stripped."""
    command = ("git", "-C", str(directory), *args)
    done = subprocess.run(command, env=IDENTITY, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@dataclass(frozen=True)
class Remote:
    """A repository on the server."""

    url: str
    bare: Path
    scratch: Path

    def commit(self, files: Mapping[str, str], *, branch: str = "main", onto: str = "main") -> str:
        """Put a commit with ``files`` on ``branch``, on top of ``onto``; return it."""
        git(self.scratch, "fetch", "--quiet", "origin")
        git(self.scratch, "checkout", "--quiet", "-B", branch, f"origin/{onto}")
        for path, text in files.items():
            (self.scratch / path).parent.mkdir(parents=True, exist_ok=True)
            (self.scratch / path).write_text(text)
        git(self.scratch, "add", "--all")
        git(self.scratch, "commit", "--quiet", "--message", f"Change {', '.join(files)}")
        git(self.scratch, "push", "--quiet", "--force", "origin", branch)
        return git(self.scratch, "rev-parse", "HEAD")

    def orphan(self, files: Mapping[str, str], *, branch: str) -> str:
        """Put a commit without ancestors on ``branch``; return it."""
        git(self.scratch, "checkout", "--quiet", "--orphan", branch)
        git(self.scratch, "rm", "--quiet", "-r", "--force", ".")
        git(self.scratch, "commit", "--quiet", "--allow-empty", "--message", "Begin elsewhere")
        git(self.scratch, "push", "--quiet", "origin", branch)
        return self.commit(files, branch=branch, onto=branch)

    def point(self, ref: str, commit: str) -> None:
        """Make a ref of the server's lead to a commit."""
        git(self.bare, "update-ref", ref, commit)

    def delete(self, branch: str) -> None:
        """Delete a branch; its commits stay, reachable from nothing."""
        git(self.bare, "update-ref", "-d", f"refs/heads/{branch}")

    def hook(self, name: str, script: str) -> None:
        """Make the server run a shell script at its hook ``name``."""
        hook = self.bare / "hooks" / name
        hook.write_text(f"#!/bin/sh\n{script}\n")
        hook.chmod(0o755)

    def branches(self) -> dict[str, str]:
        """Return the commit of every branch."""
        lines = git(self.bare, "for-each-ref", "--format=%(refname:lstrip=2) %(objectname)", "refs/heads")
        return dict(line.split() for line in lines.splitlines())

    def show(self, revision: str, path: str) -> str:
        """Return a file's text as of a revision."""
        return git(self.bare, "show", f"{revision}:{path}")

    def files(self, revision: str) -> set[str]:
        """Return the paths of a revision."""
        return set(git(self.bare, "ls-tree", "-r", "--name-only", revision).splitlines())

    def log(self, revision: str, form: str = "%s") -> list[str]:
        """Return one line for each commit of a revision, the newest first."""
        return git(self.bare, "log", f"--format={form}", revision).splitlines()

    def contains(self, revision: str, commit: str) -> bool:
        """Return whether ``commit`` is in the history of ``revision``."""
        return commit in git(self.bare, "rev-list", revision).split()


@dataclass(frozen=True)
class GitServer:
    """The daemon's base URL and the directory it serves."""

    url: str
    root: Path

    def create(self, name: str) -> Remote:
        """Make a repository whose branch main has one commit."""
        bare, scratch = self.root / f"{name}.git", self.root / f"{name}.scratch"
        git(self.root, "init", "--quiet", "--bare", "--initial-branch=main", str(bare))
        git(self.root, "clone", "--quiet", str(bare), str(scratch))
        (scratch / "README.md").write_text("A repository.\n")
        git(scratch, "checkout", "--quiet", "-B", "main")
        git(scratch, "add", "--all")
        git(scratch, "commit", "--quiet", "--message", "Begin")
        git(scratch, "push", "--quiet", "origin", "main")
        return Remote(f"{self.url}/{name}.git", bare, scratch)


@contextmanager
def serving(root: Path, *, port: int = 0) -> Iterator[GitServer]:
    """Serve the repositories under ``root`` for reading and pushing; port 0 is any free one."""
    port = port or free_port()
    command = ["git", "daemon", "--listen=127.0.0.1", f"--port={port}", f"--base-path={root}"]
    command += ["--export-all", "--enable=receive-pack", "--reuseaddr", str(root)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True) as daemon:
        try:
            wait_for_port(port)
            yield GitServer(f"git://127.0.0.1:{port}", root)
        finally:
            os.killpg(daemon.pid, signal.SIGKILL)


def free_port() -> int:
    """Return a loopback port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def wait_for_port(port: int) -> None:
    """Return once somebody listens on a loopback port."""
    for _ in range(500):
        with socket.socket() as probe:
            probe.settimeout(0.1)
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.02)
    raise TimeoutError(f"nobody listens on port {port}")
