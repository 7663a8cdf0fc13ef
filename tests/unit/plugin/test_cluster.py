"""How the plugin reaches a cluster: contexts and namespaces as kubectl's, pages put together, errors told."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import SimpleQueue
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from bernstein_operator.api.names import shorten
from kubectl_bernstein.cluster import Cluster
from kubectl_bernstein.errors import CommandError
from tests.unit.objects import raw_run


@dataclass
class Server:
    """An API server that says what was prepared, in order; ``asked`` are path and query of each request.

    What is put into ``log`` is sent at once to whoever reads a log; nothing (``b""``) ends it.
    """

    url: str = ""
    answers: list[tuple[int, str]] = field(default_factory=list)
    asked: list[tuple[str, dict[str, list[str]]]] = field(default_factory=list)
    log: "SimpleQueue[bytes]" = field(default_factory=SimpleQueue)

    def say(self, body: Any, status: int = 200) -> None:
        """Prepare an answer: text as it is, all else as JSON."""
        self.answers.append((status, body if isinstance(body, str) else json.dumps(body)))


@pytest.fixture
def server() -> Iterator[Server]:
    """A server on a port of its own."""
    state = Server()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            state.asked.append((parts.path, parse_qs(parts.query)))
            if parts.path.endswith("/log"):
                self.stream()
                return
            status, body = state.answers.pop(0)
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

        def stream(self) -> None:
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            piece = b"-"
            while piece:
                piece = state.log.get()
                self.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        state.url = f"http://127.0.0.1:{listening.server_port}"
        thread = Thread(target=listening.serve_forever)
        thread.start()
        yield state
        listening.shutdown()
        thread.join()


@pytest.fixture
def kubeconfig(server: Server, tmp_path: Path) -> str:
    """A kubeconfig with two contexts; the current one is ``here``, the other one has a namespace."""
    path = tmp_path / "kubeconfig"
    contexts = {"here": {}, "there": {"namespace": "team"}}
    config = {
        "current-context": "here",
        "clusters": [{"name": "c", "cluster": {"server": server.url}}],
        "users": [{"name": "u", "user": {}}],
        "contexts": [
            {"name": name, "context": {"cluster": "c", "user": "u", **more}}
            for name, more in contexts.items()
        ],
    }
    path.write_text(json.dumps(config))
    return str(path)


@pytest.mark.parametrize(
    ("context", "namespace", "expected"),
    [
        pytest.param(None, None, "default", id="none given"),
        pytest.param("there", None, "team", id="the context's own"),
        pytest.param("there", "mine", "mine", id="one given"),
    ],
)
def test_which_namespace_is_meant(
    server: Server, kubeconfig: str, context: str | None, namespace: str | None, expected: str
) -> None:
    server.say({"items": [], "metadata": {}})
    cluster = Cluster(kubeconfig=kubeconfig, context=context, namespace=namespace)
    assert cluster.runs() == []
    [(path, _)] = server.asked
    assert path == f"/apis/bernstein.run/v1alpha1/namespaces/{expected}/bernsteinruns"


def test_a_long_list_is_read_page_by_page(server: Server, kubeconfig: str) -> None:
    server.say({"items": [raw_run("a")], "metadata": {"continue": "next"}})
    server.say({"items": [raw_run("b")], "metadata": {}})
    found = Cluster(kubeconfig=kubeconfig, context=None, namespace=None).runs(everywhere=True)
    assert [run.meta.name for run in found] == ["a", "b"]
    assert [path for path, _ in server.asked] == ["/apis/bernstein.run/v1alpha1/bernsteinruns"] * 2
    assert [query.get("continue") for _, query in server.asked] == [None, ["next"]]


@pytest.mark.parametrize(
    ("wanted", "path", "selector"),
    [
        pytest.param(
            {}, "/api/v1/namespaces/default/configmaps", "bernstein.run/ledger", id="in one namespace"
        ),
        pytest.param({"everywhere": True}, "/api/v1/configmaps", "bernstein.run/ledger", id="everywhere"),
        pytest.param(
            {"everywhere": True, "run": "r"}, "/api/v1/configmaps", "bernstein.run/ledger=r", id="of a run"
        ),
        pytest.param(
            {"everywhere": True, "run": "r" * 64},
            "/api/v1/configmaps",
            f"bernstein.run/ledger={shorten('r' * 64)}",
            id="of one with a name too long for a label",
        ),
    ],
)
def test_the_ledger_is_read_in_small_pages(
    server: Server, kubeconfig: str, wanted: dict[str, Any], path: str, selector: str
) -> None:
    server.say({"items": [{"a": 1}], "metadata": {"continue": "next"}})
    server.say({"items": [{"b": 2}], "metadata": {}})
    cluster = Cluster(kubeconfig=kubeconfig, context=None, namespace=None)
    assert list(cluster.ledger(**wanted)) == [{"a": 1}, {"b": 2}]
    first = {"labelSelector": [selector], "limit": ["10"]}
    assert server.asked == [(path, first), (path, {**first, "continue": ["next"]})]


def test_a_log_is_passed_on_while_it_is_written(server: Server, kubeconfig: str) -> None:
    cluster = Cluster(kubeconfig=kubeconfig, context="there", namespace=None)
    pieces = cluster.log("p", container="agent", follow=True)
    for piece in (b"first\n", b"second\n"):
        server.log.put(piece)
        assert next(pieces) == piece
    server.log.put(b"")
    assert list(pieces) == []
    assert server.asked == [
        ("/api/v1/namespaces/team/pods/p/log", {"container": ["agent"], "follow": ["true"]})
    ]


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        pytest.param(404, "404 page not found\n", "are the CRDs installed?", id="the kinds aren't served"),
        pytest.param(403, {"message": "runs is\nforbidden"}, "^runs is forbidden$", id="in its own words"),
        pytest.param(503, "", "^503 Service Unavailable$", id="where it has none"),
    ],
)
def test_what_the_api_server_refuses_is_one_line(
    server: Server, kubeconfig: str, status: int, body: Any, words: str
) -> None:
    server.say(body, status)
    with pytest.raises(CommandError, match=words):
        Cluster(kubeconfig=kubeconfig, context=None, namespace=None).runs()
    assert len(server.asked) == 1


def test_an_api_server_that_is_not_there_is_one_line(kubeconfig: str, tmp_path: Path) -> None:
    away = tmp_path / "away"
    away.write_text(Path(kubeconfig).read_text().replace("http://127.0.0.1:", "http://127.0.0.1:1/#"))
    with pytest.raises(CommandError, match="can't be reached"):
        Cluster(kubeconfig=str(away), context=None, namespace=None).runs()


@pytest.mark.parametrize(
    ("text", "context"),
    [("{", None), ("{}", None), (None, "absent")],
    ids=["broken", "empty", "no such context"],
)
def test_a_kubeconfig_that_cannot_be_used_is_one_line(
    kubeconfig: str, tmp_path: Path, text: str | None, context: str | None
) -> None:
    path = tmp_path / "other"
    path.write_text(Path(kubeconfig).read_text() if text is None else text)
    with pytest.raises(CommandError, match="kubeconfig can't be used"):
        Cluster(kubeconfig=str(path), context=context, namespace=None)
