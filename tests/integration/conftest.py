"""Integration tests: the real API server, etcd, controllers and scheduler, and fake nodes; no container runs.

In: the binaries that `make tools` builds. Out: ``cluster`` (one control plane for the session, serving the
committed CRDs) and everything of ``tests.support.fixtures``. Nothing is mocked: the operator is a process of
its own, and what a kubelet would say is said by kwok's stages or, on the `hand` profile, by the test.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from e2e.cluster.catalogue import binary
from e2e.cluster.control_plane import ControlPlane
from tests.support.access import ClusterAccess
from tests.support.fixtures import (
    Cluster,
    audit,
    cluster_kube,
    kube,
    kubectl,
    namespace,
    operator,
    proxy,
    pytest_runtest_makereport,
    recorder,
    start_operator,
)
from tests.support.kube import ApiError, Kube, condition, eventually

__all__ = [
    "audit",
    "cluster_kube",
    "kube",
    "kubectl",
    "namespace",
    "operator",
    "proxy",
    "pytest_runtest_makereport",
    "recorder",
    "start_operator",
]

CRDS = Path(__file__).parents[2] / "crds"


@pytest.fixture(scope="session")
def control_plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A control plane of our own that serves the three kinds, gone with the session."""
    with ControlPlane(tmp_path_factory.mktemp("control-plane"), install=install_crds) as plane:
        yield plane


@pytest.fixture(scope="session")
def cluster(control_plane: ControlPlane) -> Cluster:
    """The control plane, as a client sees it."""
    return Cluster(control_plane.kubeconfig, binary("kubectl"), control_plane.audit_log)


def install_crds(kubeconfig: Path) -> None:
    """Apply the committed CRDs and wait until they are served."""
    kube = Kube(ClusterAccess.from_kubeconfig(kubeconfig))
    for path in sorted(CRDS.glob("*.yaml")):
        for crd in kube.apply(path):
            kube.wait_for(
                "customresourcedefinitions",
                crd["metadata"]["name"],
                lambda found: condition(found, "Established").get("status") == "True",
                what="Established",
            )
            eventually(partial(_is_served, kube, crd["spec"]["names"]["plural"]), what="its storage")
    kube.close()


def _is_served(kube: Kube, plural: str) -> bool:
    """Established comes a moment before the storage: until then every request is answered with 429."""
    try:
        kube.items(plural)
    except (ApiError, KeyError):
        return False
    return True
