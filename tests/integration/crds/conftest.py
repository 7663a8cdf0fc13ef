"""In: the session's API server with the committed CRDs. Out: ``served``, a client in a namespace of its own.

Nothing is faked: the API server's own validation is what these tests are about. No operator runs here and
no Pod is made, so there is nothing for the recorder to see.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.fixtures import Cluster
from tests.support.kube import Kube, Kubectl

_NAMESPACE = "crds"
_KINDS = ("bernsteinruns", "agenttasks", "agentprofiles")


@pytest.fixture(autouse=True)
def recorder() -> None:
    """Stand in for the tree's own recorder, which starts a watch for each test."""


@pytest.fixture(scope="session")
def _namespace(cluster_kube: Kube) -> Iterator[Kube]:
    cluster_kube.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": _NAMESPACE}})
    yield cluster_kube.within(_NAMESPACE)
    cluster_kube.delete("namespaces", _NAMESPACE)


@pytest.fixture(scope="module")
def served(_namespace: Kube) -> Iterator[Kube]:
    """A client in a namespace that no operator watches; a module's objects are gone after it."""
    yield _namespace
    for resource in _KINDS:
        _namespace.delete_all(resource)


@pytest.fixture
def shell(cluster: Cluster, served: Kube, tmp_path: Path) -> Kubectl:
    """The real kubectl in the same namespace."""
    return Kubectl(cluster.kubectl, cluster.kubeconfig, namespace=served.namespace, home=tmp_path)
