"""Which cluster the environment names, and what a cluster says it lacks."""

from pathlib import Path

import pytest

from e2e.cluster.errors import ClusterError
from e2e.cluster.found import Capabilities
from e2e.cluster.lookup import IMAGES_VARIABLE, KUBECONFIG_VARIABLE, named_cluster


@pytest.fixture
def kubeconfig(tmp_path: Path) -> Path:
    """A file that could be a kubeconfig."""
    path = tmp_path / "kubeconfig"
    path.touch()
    return path


@pytest.mark.parametrize("prefix", ["registry.test/project", "registry.test/project/"])
def test_a_kubeconfig_and_a_prefix_name_a_cluster(kubeconfig: Path, prefix: str) -> None:
    environment = {KUBECONFIG_VARIABLE: str(kubeconfig), IMAGES_VARIABLE: prefix}
    assert named_cluster(environment) == (kubeconfig, "registry.test/project")


def test_plain_kubeconfig_names_nothing(kubeconfig: Path) -> None:
    assert named_cluster({"KUBECONFIG": str(kubeconfig), IMAGES_VARIABLE: "registry.test/project"}) is None


@pytest.mark.parametrize(
    "images",
    [pytest.param({}, id="not set"), pytest.param({IMAGES_VARIABLE: ""}, id="empty")],
)
def test_a_kubeconfig_without_a_prefix_is_refused(kubeconfig: Path, images: dict[str, str]) -> None:
    with pytest.raises(ClusterError, match=f"set {IMAGES_VARIABLE} as well"):
        named_cluster({KUBECONFIG_VARIABLE: str(kubeconfig), **images})


def test_a_kubeconfig_that_is_no_file_is_refused(tmp_path: Path) -> None:
    environment = {KUBECONFIG_VARIABLE: str(tmp_path / "gone"), IMAGES_VARIABLE: "registry.test/project"}
    with pytest.raises(ClusterError, match="which is no file"):
        named_cluster(environment)


@pytest.mark.parametrize(
    ("capabilities", "text"),
    [
        pytest.param(Capabilities(real_node=True, metrics=True, kwok=True), "", id="nothing"),
        pytest.param(
            Capabilities(real_node=True, metrics=False, kwok=True),
            "this cluster has no metrics API",
            id="metrics",
        ),
        pytest.param(
            Capabilities(real_node=False, metrics=True, kwok=False),
            "this cluster has no real node and no kwok nodes",
            id="nodes of either kind",
        ),
    ],
)
def test_a_cluster_says_what_it_lacks(capabilities: Capabilities, text: str) -> None:
    assert capabilities.lacks() == text
