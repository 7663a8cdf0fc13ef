"""An operator's endpoint for reports, as a real HTTP server: keeps what was posted, answers as it is told."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from bernstein_agent.contract import Instruction, Report

Answer = Instruction | int
"""What a report is answered with: a document, or a status and no document."""
Rule = Callable[[Report], Answer]


class Endpoint:
    """What arrived at the server, and what it answers.

    Attributes:
        rule: makes the answer to a report.
        reports: all that arrived, whatever the answer was.
        tokens: what each of them showed.
        paths: where each of them was posted to.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.rule: Rule = lambda _report: Instruction()
        self.reports: list[Report] = []
        self.tokens: list[str] = []
        self.paths: list[str] = []
        self._arrived = threading.Condition()

    def take(self, report: Report, *, path: str, token: str) -> Answer:
        """Keep a report and return the answer to it."""
        answer = self.rule(report)
        with self._arrived:
            self.reports.append(report)
            self.tokens.append(token)
            self.paths.append(path)
            self._arrived.notify_all()
        return answer

    def wait(self, found: Callable[["Endpoint"], bool], *, seconds: float = 30.0) -> None:
        """Return once ``found`` holds.

        Raises:
            AssertionError: it never did.
        """
        ends = time.monotonic() + seconds
        with self._arrived:
            while not found(self):
                left = ends - time.monotonic()
                assert left > 0, f"not within {seconds:g} s; last: {self.reports[-1:]}"
                self._arrived.wait(left)


@contextmanager
def endpoint() -> Iterator[Endpoint]:
    """Serve one until the end."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            token = self.headers.get("Authorization", "")
            answer = kept.take(Report.parse(body), path=self.path, token=token)
            if isinstance(answer, int):
                self._say(answer, json.dumps({"error": "no"}))
            else:
                self._say(200, answer.to_json())

        def _say(self, status: int, text: str) -> None:
            body = text.encode()
            self.send_response(status)
            if 300 <= status < 400:
                self.send_header("Location", f"{kept.url}/elsewhere")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        kept = Endpoint(f"http://127.0.0.1:{server.server_port}")
        thread = threading.Thread(target=lambda: server.serve_forever(poll_interval=0.02))
        thread.start()
        try:
            yield kept
        finally:
            server.shutdown()
            thread.join()
