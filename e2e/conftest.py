"""Scenarios on a cluster with a real node: containers run, and the operator is installed as users install it.

In: what `e2e.cluster` finds or brings up, both images, the Helm chart. Out: ``release`` (the installed
operator), ``git_server`` (a git server inside the cluster), ``readings`` (the operator's metrics) and of
``tests.support.fixtures`` all that doesn't need an operator of its own. The recorder watches every test here
as well.
"""

from collections.abc import Iterator

import pytest

from e2e.cluster import up
from e2e.cluster.catalogue import kubectl as kubectl_binary
from e2e.images import build
from e2e.release import Release
from e2e.scenarios.git_server import GitServer
from e2e.scenarios.readings import Readings
from tests.support.fixtures import (
    Cluster,
    audit,
    cluster_kube,
    kube,
    kubectl,
    namespace,
    pytest_runtest_makereport,
    recorder,
)
from tests.support.kube import Kube
from tests.support.recorder import PodRecorder

__all__ = [
    "audit",
    "cluster_kube",
    "kube",
    "kubectl",
    "namespace",
    "pytest_runtest_makereport",
    "recorder",
]


@pytest.fixture(scope="session")
def release() -> Release:
    """The operator, installed; it stays, as the cluster does."""
    cluster = up()
    if not cluster.capabilities.real_node:
        pytest.skip(cluster.capabilities.lacks())
    images = build(prefix=cluster.image_prefix)
    images.load_into(cluster)
    release = Release(cluster, images)
    release.install()
    return release


@pytest.fixture(scope="session")
def cluster(release: Release) -> Cluster:
    """The cluster, once it serves the three kinds."""
    found = release.cluster
    return Cluster(found.kubeconfig, kubectl_binary(), found.audit_log)


@pytest.fixture(scope="session")
def git_server(release: Release, cluster_kube: Kube) -> Iterator[GitServer]:
    """A git server with one repository, for all tests; they keep apart by the names of their runs."""
    server = GitServer(release, cluster_kube)
    server.start()
    yield server
    server.stop()


@pytest.fixture
def readings(cluster_kube: Kube) -> Readings:
    """What the operator's /metrics shows."""
    return Readings(cluster_kube)


@pytest.fixture(autouse=True)
def _operator_at_work(recorder: PodRecorder) -> None:
    recorder.operator_up()
