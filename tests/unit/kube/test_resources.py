"""Where objects live in the API."""

import pytest

from bernstein_operator.kube.resources import LEASES, PODS, TASKS, Resource

GROUP = "/apis/bernstein.run/v1alpha1"


@pytest.mark.parametrize(
    ("resource", "place", "url"),
    [
        (PODS, ("ns", "p"), "/api/v1/namespaces/ns/pods/p"),
        (PODS, ("ns",), "/api/v1/namespaces/ns/pods"),
        (PODS, ("",), "/api/v1/pods"),
        (TASKS, ("ns", "t", "status"), f"{GROUP}/namespaces/ns/agenttasks/t/status"),
        (LEASES, ("ns", "l"), "/apis/coordination.k8s.io/v1/namespaces/ns/leases/l"),
        (TASKS, ("",), f"{GROUP}/agenttasks"),
    ],
)
def test_the_path_of_an_object(resource: Resource, place: tuple[str, ...], url: str) -> None:
    assert resource.url(*place) == url
