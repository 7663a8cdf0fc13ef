"""A client of a few lines for the harness's own requests.

The harness must run before the project's dependencies are installed, and all it asks is "are you ready",
"take this object", "show me that one": the standard library answers that.
"""

import json
import ssl
import time
from collections.abc import Callable
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPException, HTTPSConnection
from typing import Any

from e2e.cluster.errors import ClusterError
from e2e.cluster.pki import Pki

Json = dict[str, Any]


@dataclass(frozen=True)
class Api:
    """An API server that listens on `address:port`, reached with the admin certificate of `pki`."""

    address: str
    port: int
    pki: Pki

    @property
    def url(self) -> str:
        """The base URL."""
        return f"https://{self.address}:{self.port}"

    def ready(self) -> bool:
        """Whether /readyz answers ok."""
        try:
            return self._send("GET", "/readyz")[0] == HTTPStatus.OK
        except (OSError, HTTPException):
            return False

    def get(self, path: str) -> Json | None:
        """An object or list, or None when there is no such thing; raises ClusterError for other refusals."""
        status, body = self._send("GET", path)
        if status == HTTPStatus.NOT_FOUND:
            return None
        return _accepted("GET", path, status=status, body=body)

    def create(self, path: str, obj: Json) -> None:
        """Create an object in the collection `path`; one of that name that exists is left as it is."""
        status, body = self._send("POST", path, obj)
        if status != HTTPStatus.CONFLICT:
            _accepted("POST", path, status=status, body=body)

    def apply(self, path: str, obj: Json) -> None:
        """Server-side apply of an object to its own path, taking the fields from whoever had them."""
        query = "?fieldManager=bernstein-e2e&force=true"
        status, body = self._send("PATCH", path + query, obj, content_type="application/apply-patch+yaml")
        _accepted("PATCH", path, status=status, body=body)

    def _send(
        self, method: str, path: str, obj: Json | None = None, *, content_type: str = "application/json"
    ) -> tuple[int, bytes]:
        connection = HTTPSConnection(self.address, self.port, timeout=10, context=self._context())
        try:
            body = None if obj is None else json.dumps(obj)
            connection.request(method, path, body=body, headers={"Content-Type": content_type})
            response = connection.getresponse()
            return response.status, response.read()
        finally:
            connection.close()

    def _context(self) -> ssl.SSLContext:
        admin = self.pki.pair("admin")
        context = ssl.create_default_context(cafile=str(self.pki.authority))
        context.load_cert_chain(str(admin.certificate), str(admin.key))
        return context


def _accepted(method: str, path: str, *, status: int, body: bytes) -> Json:
    if status >= HTTPStatus.BAD_REQUEST:
        raise ClusterError(f"{method} {path}: {status} {body.decode(errors='replace')[:500]}")
    answer: Json = json.loads(body)
    return answer


def wait_until(
    condition: Callable[[], bool],
    *,
    what: str,
    seconds: float,
    alive: Callable[[], None] = lambda: None,
    every: float = 0.1,
) -> None:
    """Poll until `condition` holds; `alive` may raise early; after `seconds` a ClusterError names `what`.

    A condition that can't be asked yet (nobody listens, the server refuses) doesn't hold; the last such
    reason is part of the error.
    """
    end = time.monotonic() + seconds
    reason = ""
    while True:
        try:
            if condition():
                return
        except (OSError, HTTPException, ClusterError) as error:
            reason = f": {error}"
        alive()
        if time.monotonic() > end:
            raise ClusterError(f"{what} was not there within {seconds:.0f} s{reason}")
        time.sleep(every)
