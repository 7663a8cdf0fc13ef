"""The tools of a local cluster, in the order in which tests need them.

Their versions are written once, in the Go modules below `tools/`; everything else (cache paths, version
stamps) is read from there, so that an update is a change of one go.mod.
"""

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from e2e.cluster.cache import cache_folder
from e2e.cluster.errors import ClusterError

MODULES = Path(__file__).parent / "tools"
_REQUIREMENT = re.compile(r"^\s*(?:require\s+)?(?P<module>[\w./~-]+)\s+(?P<version>v[\w.+-]+)", re.MULTILINE)


@dataclass(frozen=True)
class Tool:
    """A program built from a pinned Go module.

    `folder` names the module below `tools/`, `package` the Go package; `disk_mb` is the space that its
    build and its dependencies' sources take at most (measured, cold). `own_version` is for a program of
    this project, which no go.mod pins.
    """

    name: str
    folder: str
    package: str
    disk_mb: int
    own_version: str = ""

    @property
    def module(self) -> Path:
        """The folder with go.mod and go.sum."""
        return MODULES / self.folder

    @property
    def version(self) -> str:
        """The pinned version, such as `v3.7.0`; raises ClusterError when go.mod doesn't name the module."""
        if self.own_version:
            return self.own_version
        return pinned_version((self.module / "go.mod").read_text(), package=self.package)

    @property
    def path(self) -> Path:
        """Where the built binary is kept."""
        return cache_folder() / self.name / self.version / self.name


def pinned_version(go_mod: str, *, package: str) -> str:
    """The version of the required module that holds a package (the longest one that is its prefix)."""
    required = {
        match["module"]: match["version"] for match in _REQUIREMENT.finditer(_without_replaces(go_mod))
    }
    owners = [module for module in required if package == module or package.startswith(f"{module}/")]
    if not owners:
        raise ClusterError(f"no required module holds the package {package}")
    return required[max(owners, key=len)]


def _without_replaces(go_mod: str) -> str:
    return re.sub(r"^replace\s*(?:\(.*?^\)|[^\n]*)", "", go_mod, flags=re.MULTILINE | re.DOTALL)


def _kubernetes(name: str, *, disk_mb: int) -> Tool:
    return Tool(name, "kubernetes", f"k8s.io/kubernetes/cmd/{name}", disk_mb)


TOOLS = (
    Tool("etcd", "etcd", "go.etcd.io/etcd/server/v3", 1200),
    _kubernetes("kube-apiserver", disk_mb=3000),
    _kubernetes("kube-controller-manager", disk_mb=1000),
    _kubernetes("kube-scheduler", disk_mb=300),
    _kubernetes("kubectl", disk_mb=500),
    Tool("kwok", "kwok", "sigs.k8s.io/kwok/cmd/kwok", 1200),
    _kubernetes("kubelet", disk_mb=700),
    _kubernetes("kube-proxy", disk_mb=300),
    Tool("pause", "pause", ".", 200, own_version="v1"),
    Tool("coredns", "coredns", "github.com/coredns/coredns", 2000),
    Tool("helm", "helm", "helm.sh/helm/v4/cmd/helm", 1500),
    Tool("metrics-server", "metrics-server", "sigs.k8s.io/metrics-server/cmd/metrics-server", 1500),
)
CONTROL_PLANE = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler", "kwok")
_BY_NAME = {tool.name: tool for tool in TOOLS}


def tool(name: str) -> Tool:
    """A tool by its name; raises ClusterError with the known names."""
    if name not in _BY_NAME:
        raise ClusterError(f"unknown tool {name!r}; known: {', '.join(_BY_NAME)}")
    return _BY_NAME[name]


def binary(name: str) -> Path:
    """The built binary of a tool; raises ClusterError naming the command that builds it."""
    path = tool(name).path
    if not path.exists():
        raise ClusterError(
            f"{name} is not built yet; run `make tools` (or `python -m e2e.cluster build {name}`)"
        )
    return path


def kubectl() -> Path:
    """kubectl as built here, else the one on the PATH; ClusterError when there is neither."""
    built, installed = tool("kubectl").path, shutil.which("kubectl")
    if built.exists() or installed is None:
        return binary("kubectl")
    return Path(installed)
