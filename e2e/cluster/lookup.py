"""Which cluster tests run on: one that the user names, else kind where Docker works, else the local one.

Only BERNSTEIN_E2E_KUBECONFIG names a cluster. Plain KUBECONFIG and the current context are never read: a
stray one would be somebody's production.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from e2e.cluster import kind, local
from e2e.cluster.catalogue import kubectl
from e2e.cluster.errors import ClusterError
from e2e.cluster.found import Capabilities, Cluster, Kind
from e2e.cluster.machine import Machine
from e2e.cluster.process import run
from e2e.cluster.progress import say

KUBECONFIG_VARIABLE = "BERNSTEIN_E2E_KUBECONFIG"
IMAGES_VARIABLE = "BERNSTEIN_E2E_IMAGES"


def up(*, fake_nodes: int = local.FAKE_NODES) -> Cluster:
    """The cluster to test on, started when none runs; ClusterError when that can't be."""
    if named := _named(os.environ):
        return named
    if kind.docker_works() and (cluster := kind.up()):
        return cluster
    return local.up(Machine(), fake_nodes=fake_nodes)


def find() -> Cluster:
    """The cluster to test on, if it runs; ClusterError naming the command that starts one."""
    if named := _named(os.environ):
        return named
    cluster = kind.find() or local.find(Machine())
    if cluster is None:
        raise ClusterError("no cluster runs; start one with `make cluster`")
    return cluster


def down() -> None:
    """Take away the clusters that this harness started; a named one is never touched."""
    kind.down()
    local.down(Machine())


def named_cluster(environment: Mapping[str, str]) -> tuple[Path, str] | None:
    """Kubeconfig and image prefix of the cluster that the environment names; ClusterError for half of it."""
    path = environment.get(KUBECONFIG_VARIABLE, "")
    if not path:
        return None
    if not Path(path).is_file():
        raise ClusterError(f"{KUBECONFIG_VARIABLE} names {path}, which is no file")
    prefix = environment.get(IMAGES_VARIABLE, "").rstrip("/")
    if not prefix:
        raise ClusterError(
            f"{KUBECONFIG_VARIABLE} is set, so set {IMAGES_VARIABLE} as well: the registry prefix "
            "(registry.example/project) from which that cluster pulls this project's images"
        )
    return Path(path), prefix


def _named(environment: Mapping[str, str]) -> Cluster | None:
    named = named_cluster(environment)
    if named is None:
        return None
    kubeconfig, prefix = named
    return Cluster(
        kubeconfig=kubeconfig,
        kind=Kind.FOUND,
        image_prefix=prefix,
        capabilities=_probe(kubeconfig),
        loader=_expect_pushed,
    )


def _expect_pushed(archive: Path, ref: str) -> None:
    # Pushing needs the registry's credentials, which are the user's business.
    say(f"this cluster pulls {ref}; push it there from {archive} if you haven't")


def _probe(kubeconfig: Path) -> Capabilities:
    def names(*query: str) -> str:
        return run(kubectl(), f"--kubeconfig={kubeconfig}", "get", *query, "--output=name")

    return Capabilities(
        real_node=bool(names("nodes", "--selector=type!=kwok")),
        metrics=bool(names("apiservices", "--field-selector=metadata.name=v1beta1.metrics.k8s.io")),
        kwok=bool(names("nodes", "--selector=type=kwok")),
    )
