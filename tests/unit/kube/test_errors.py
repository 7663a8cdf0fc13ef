"""What an answer means for whoever asked."""

from typing import Any

import pytest

from bernstein_operator.kube.errors import (
    AlreadyExistsError,
    ApiError,
    ConflictError,
    GoneError,
    NotFoundError,
    RefusedError,
    ThrottledError,
    UnavailableError,
    error_for,
)


@pytest.mark.parametrize(
    ("status", "reason", "kind"),
    [
        (400, "BadRequest", RefusedError),
        (401, "Unauthorized", RefusedError),
        (403, "Forbidden", RefusedError),
        (404, "NotFound", NotFoundError),
        (405, "MethodNotAllowed", RefusedError),
        (409, "Conflict", ConflictError),
        (409, "AlreadyExists", AlreadyExistsError),
        (410, "Expired", GoneError),
        (422, "Invalid", RefusedError),
        (429, "TooManyRequests", ThrottledError),
        (500, "InternalError", UnavailableError),
        (503, "ServiceUnavailable", UnavailableError),
        (504, "Timeout", UnavailableError),
    ],
)
def test_each_answer_has_its_error(status: int, reason: str, kind: type[ApiError]) -> None:
    error = error_for(status, {"reason": reason, "message": "why"})
    assert type(error) is kind
    assert (error.status, error.reason, error.message) == (status, reason, "why")


@pytest.mark.parametrize("body", [{}, {"reason": None, "message": None}], ids=["nothing", "nulls"])
def test_an_answer_without_a_status_object_is_borne(body: dict[str, Any]) -> None:
    error = error_for(503, body)
    assert (error.reason, error.message) == ("", "")


def test_a_webhook_that_is_down_is_a_definite_no() -> None:
    said = 'Internal error occurred: failed calling webhook "w.example": failed to call webhook: refused'
    assert type(error_for(500, {"reason": "InternalError", "message": said})) is RefusedError
