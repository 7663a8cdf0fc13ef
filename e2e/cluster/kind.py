"""A kind cluster, where Docker works: what most users have already.

Its kubeconfig goes to the project's cache and never into the user's own. kind's node image comes from a
registry; where that can't be had, the reason is said and the local cluster takes over.
"""

import shutil
from pathlib import Path

from e2e.cluster.cache import cache_folder, exclusive
from e2e.cluster.errors import ClusterError
from e2e.cluster.found import Capabilities, Cluster, Kind
from e2e.cluster.process import run, succeeds
from e2e.cluster.progress import say

NAME = "bernstein-e2e"


def docker_works() -> bool:
    """Whether a Docker daemon answers; a docker program alone is no Docker."""
    return shutil.which("docker") is not None and succeeds("docker", "info")


def up() -> Cluster | None:
    """Our kind cluster, created when it isn't there; None, with the reason said, when it can't be."""
    if shutil.which("kind") is None:
        say("Docker works, but kind is not installed (https://kind.sigs.k8s.io): going on without it")
        return None
    with exclusive(_folder() / "lock", purpose="the kind cluster"):
        try:
            _create_or_export()
        except ClusterError as error:
            say(f"no kind cluster, going on without it: {error}")
            return None
    return _cluster()


def find() -> Cluster | None:
    """Our kind cluster, if it runs."""
    return _cluster() if _exists() and _kubeconfig().exists() else None


def down() -> None:
    """Delete our kind cluster, if there is one."""
    if _exists():
        run("kind", "delete", "cluster", "--name", NAME, "--kubeconfig", _kubeconfig())
    _kubeconfig().unlink(missing_ok=True)


def _create_or_export() -> None:
    if _exists():
        run("kind", "export", "kubeconfig", "--name", NAME, "--kubeconfig", _kubeconfig())
        return
    say("creating a kind cluster")
    run("kind", "create", "cluster", "--name", NAME, "--kubeconfig", _kubeconfig(), "--wait", "180s")


def _exists() -> bool:
    if shutil.which("kind") is None or not docker_works():
        return False
    return NAME in run("kind", "get", "clusters").split()


def _load(archive: Path, ref: str) -> None:
    say(f"loading {ref} into kind")
    run("kind", "load", "image-archive", archive, "--name", NAME)


def _cluster() -> Cluster:
    return Cluster(
        kubeconfig=_kubeconfig(),
        kind=Kind.KIND,
        image_prefix="localhost",
        capabilities=Capabilities(real_node=True, metrics=False, kwok=False),
        loader=_load,
    )


def _kubeconfig() -> Path:
    return _folder() / "kubeconfig"


def _folder() -> Path:
    return cache_folder() / "kind"
