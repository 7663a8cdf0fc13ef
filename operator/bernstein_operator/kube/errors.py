"""What a request to the API server can come to, as far as callers act differently on it.

::

    ApiError
    ├── NotFoundError            404: it isn't there (any more)
    ├── ConflictError            409: somebody else wrote, or it exists already
    │   └── AlreadyExistsError
    ├── GoneError                410: the list or watch must begin anew
    ├── RefusedError             a definite no that the same request would meet again: 400, 403, 405, 422 …,
    │                            and 500 where an admission webhook is down: nothing is stored then
    ├── ThrottledError           429: not now
    ├── UnavailableError         5xx, time-out, lost connection: nobody knows whether it happened
    └── NotLeaderError           never sent: this process holds no lease, or not for certain any more
"""

from typing import Any, Final

_NOT_FOUND: Final = 404
_CONFLICT: Final = 409
_GONE: Final = 410
_THROTTLED: Final = 429
_SERVER_SIDE: Final = 500
_WEBHOOK_DOWN: Final = "failed calling webhook"


class ApiError(Exception):
    """A request that the API server didn't carry out.

    Attributes:
        status: the HTTP status, 0 where there was no answer.
        reason: the API's machine-readable reason (``AlreadyExists``, ``Forbidden`` …), may be empty.
        message: the API server's own words.
    """

    def __init__(self, *, status: int, reason: str, message: str) -> None:
        super().__init__(f"{status} {reason}: {message}" if status else message)
        self.status = status
        self.reason = reason
        self.message = message


class NotFoundError(ApiError):
    """It isn't there."""


class ConflictError(ApiError):
    """Somebody else was faster."""


class AlreadyExistsError(ConflictError):
    """An object of that name is there already."""


class GoneError(ApiError):
    """The version asked for is no longer kept."""


class RefusedError(ApiError):
    """The same request would be refused again."""


class ThrottledError(ApiError):
    """The API server asks for less."""


class UnavailableError(ApiError):
    """No definite answer: what was asked may have happened or not."""


class NotLeaderError(ApiError):
    """A write that was not sent: only the leader writes."""


def error_for(status: int, body: dict[str, Any]) -> ApiError:
    """Return the error for an answer that isn't a success; ``body`` is its Status object, or empty."""
    reason, message = str(body.get("reason") or ""), str(body.get("message") or "")
    return _kind(status, reason, message)(status=status, reason=reason, message=message)


def _kind(status: int, reason: str, message: str) -> type[ApiError]:
    if status == _CONFLICT:
        return AlreadyExistsError if reason == "AlreadyExists" else ConflictError
    if status >= _SERVER_SIDE:
        return RefusedError if _WEBHOOK_DOWN in message else UnavailableError
    return _KINDS.get(status, RefusedError)


_KINDS: Final[dict[int, type[ApiError]]] = {
    _NOT_FOUND: NotFoundError,
    _GONE: GoneError,
    _THROTTLED: ThrottledError,
}
