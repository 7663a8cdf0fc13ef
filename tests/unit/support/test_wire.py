"""A request's path is read as the API server reads it."""

import pytest

from tests.support.wire import Target, parse_target

TASKS = "/apis/bernstein.run/v1alpha1/namespaces/n/agenttasks"


@pytest.mark.parametrize(
    ("method", "path", "query", "expected"),
    [
        pytest.param("GET", "/readyz", {}, Target("get"), id="no resource"),
        pytest.param("GET", "/api/v1", {}, Target("get"), id="discovery"),
        pytest.param("GET", "/api/v1/pods", {}, Target("list", "", "pods"), id="all namespaces"),
        pytest.param(
            "GET",
            "/api/v1/pods",
            {"watch": "true"},
            Target("watch", "", "pods"),
            id="watch",
        ),
        pytest.param(
            "POST", TASKS, {}, Target("create", "bernstein.run", "agenttasks", "", "n"), id="create"
        ),
        pytest.param(
            "PATCH",
            f"{TASKS}/t/status",
            {},
            Target("patch", "bernstein.run", "agenttasks", "status", "n", "t"),
            id="subresource",
        ),
        pytest.param(
            "DELETE", TASKS, {}, Target("deletecollection", "bernstein.run", "agenttasks", "", "n"), id="all"
        ),
        pytest.param(
            "GET",
            "/api/v1/namespaces/n/pods",
            {"fieldSelector": "metadata.name=p"},
            Target("list", "", "pods", "", "n", "p"),
            id="a list of one name",
        ),
        pytest.param(
            "GET", "/api/v1/namespaces/n", {}, Target("get", "", "namespaces", "", "n", "n"), id="a namespace"
        ),
        pytest.param(
            "PUT",
            "/api/v1/namespaces/n/finalize",
            {},
            Target("update", "", "namespaces", "finalize", "n", "n"),
            id="a namespace's subresource",
        ),
    ],
)
def test_target(method: str, path: str, query: dict[str, str], expected: Target) -> None:
    assert parse_target(method=method, path=path, query=query) == expected
