"""Fixtures: the zipapp built once, one git daemon, and for each test its own repository and place to run.

``remote`` is a repository whose branch main has one commit; ``bench`` runs envelopes; ``silent_server`` and
``refusing_server`` stand for git servers in trouble. Nothing here needs a cluster.
"""

import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from bernstein_agent.build import build_zipapp
from tests.integration.agent.bench import Bench
from tests.integration.agent.gitserver import GitServer, Remote, serving


@pytest.fixture(autouse=True)
def recorder() -> None:
    """Stand in for the tree's own recorder: no Pod is made that it could watch."""


@pytest.fixture(scope="session")
def zipapp(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the program, packed."""
    target = tmp_path_factory.mktemp("zipapp") / "bernstein-agent.pyz"
    build_zipapp(target)
    return target


@pytest.fixture(scope="session")
def git_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GitServer]:
    """Return a running git server."""
    with serving(tmp_path_factory.mktemp("git")) as server:
        yield server


@pytest.fixture
def remote(git_server: GitServer, tmp_path: Path) -> Remote:
    """Return a repository of the test's own."""
    return git_server.create(tmp_path.name)


@pytest.fixture
def bench(zipapp: Path, tmp_path: Path) -> Bench:
    """Return a place to run attempts in."""
    return Bench(zipapp, tmp_path)


@pytest.fixture
def silent_server() -> Iterator[str]:
    """Return the URL of a server that accepts connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"git://127.0.0.1:{listener.getsockname()[1]}/silent.git"


@pytest.fixture(scope="session")
def refusing_server() -> Iterator[dict[int, str]]:
    """Return URLs of repositories on an HTTP server that answers each request with 401 or 403."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Refusing) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        base = f"http://127.0.0.1:{server.server_port}"
        yield {answer: f"{base}/{answer}/x.git" for answer in (401, 403)}
        server.shutdown()
        thread.join()


class _Refusing(BaseHTTPRequestHandler):
    """Refuses; the status is the first part of the path."""

    def do_GET(self) -> None:
        self.send_response(int(self.path.split("/")[1]))
        self.send_header("WWW-Authenticate", 'Basic realm="git"')
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Say nothing."""
