"""What is built: which version, in which order, and whether it fits on the disk."""

from pathlib import Path

import pytest

from e2e.cluster.build import check_disk, in_order, link_flags
from e2e.cluster.catalogue import TOOLS, Tool, pinned_version, tool
from e2e.cluster.errors import ClusterError

GO_MOD = """\
module example.test/tools

go 1.26.0

tool example.test/server/v3

require example.test/alone v0.1.0

require (
	example.test/server v1.0.0 // indirect
	example.test/server/v3 v3.7.0 // indirect
	example.test/big v1.37.2-rc.1+x // indirect
)

replace (
	example.test/replaced v0.0.0 => example.test/replaced v0.37.2
)

replace example.test/single v0.0.1 => example.test/single v0.0.2
"""


@pytest.mark.parametrize(
    ("package", "version"),
    [
        pytest.param("example.test/server/v3", "v3.7.0", id="the module itself"),
        pytest.param("example.test/big/cmd/tool", "v1.37.2-rc.1+x", id="a package inside a module"),
        pytest.param("example.test/server/v3/cmd", "v3.7.0", id="the longest of two modules"),
        pytest.param("example.test/alone/cmd", "v0.1.0", id="a requirement on a line of its own"),
    ],
)
def test_the_version_is_the_one_that_go_mod_requires(package: str, version: str) -> None:
    assert pinned_version(GO_MOD, package=package) == version


@pytest.mark.parametrize(
    "package",
    [
        pytest.param("example.test/other/cmd", id="no module of that name"),
        pytest.param("example.test/bigger/cmd", id="a name that only begins alike"),
        pytest.param("example.test/replaced/cmd", id="a module in a block of replacements"),
        pytest.param("example.test/single/cmd", id="a module in a single replacement"),
    ],
)
def test_a_package_that_nothing_requires_is_refused(package: str) -> None:
    with pytest.raises(ClusterError, match=package):
        pinned_version(GO_MOD, package=package)


@pytest.mark.parametrize("item", TOOLS, ids=lambda item: item.name)
def test_every_tool_has_a_module_with_a_pinned_version(item: Tool) -> None:
    assert item.version.startswith("v")


@pytest.mark.parametrize(
    ("names", "order"),
    [
        pytest.param(["kwok", "etcd"], ["etcd", "kwok"], id="as needed, not as named"),
        pytest.param(["etcd", "etcd"], ["etcd"], id="each once"),
        pytest.param([], [item.name for item in TOOLS], id="all for no name"),
    ],
)
def test_tools_come_in_the_order_in_which_they_are_needed(names: list[str], order: list[str]) -> None:
    assert [item.name for item in in_order(names)] == order


def test_an_unknown_tool_is_refused_with_the_known_names() -> None:
    with pytest.raises(ClusterError, match=r"unknown tool 'minikube'; known: etcd, .*metrics-server"):
        in_order(["minikube"])


def test_a_disk_that_is_just_large_enough_is_accepted() -> None:
    tools = in_order(["etcd", "kwok"])
    check_disk(tools, free_mb=sum(item.disk_mb for item in tools), folder=Path("/cache"))


def test_too_small_a_disk_is_refused_naming_needed_and_free() -> None:
    needed = tool("etcd").disk_mb
    with pytest.raises(ClusterError, match=f"etcd needs {needed} MB below /cache, free are {needed - 1} MB"):
        check_disk(in_order(["etcd"]), free_mb=needed - 1, folder=Path("/cache"))


def test_kubernetes_knows_its_version() -> None:
    kubelet = tool("kubelet")
    major, minor, _ = kubelet.version.removeprefix("v").split(".")
    flags = link_flags(kubelet)
    assert f"version.gitVersion={kubelet.version}" in flags
    assert f"version.gitMajor={major}" in flags
    assert f"version.gitMinor={minor}" in flags


def test_other_tools_are_only_stripped() -> None:
    assert link_flags(tool("etcd")) == "-s -w"
