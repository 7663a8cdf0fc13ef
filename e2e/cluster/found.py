"""What every kind of cluster looks like to its users: tests, scenarios and the demo."""

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path


class Kind(StrEnum):
    """How a cluster was come by."""

    FOUND = "found"
    KIND = "kind"
    LOCAL = "local"


@dataclass(frozen=True)
class Capabilities:
    """What a cluster has; a test that needs more skips itself with `lacks`."""

    real_node: bool
    metrics: bool
    kwok: bool

    def lacks(self) -> str:
        """A skip reason naming what is missing; empty when nothing is."""
        names = {"real node": self.real_node, "metrics API": self.metrics, "kwok nodes": self.kwok}
        missing = [name for name, there in names.items() if not there]
        return f"this cluster has no {' and no '.join(missing)}" if missing else ""


@dataclass(frozen=True)
class Cluster:
    """A running cluster.

    `image_prefix` goes before the names of the project's images; `audit_log` is the API server's log (JSON
    lines, level Metadata) where it can be read. `loader` makes an image of an OCI archive known to the nodes.
    """

    kubeconfig: Path
    kind: Kind
    image_prefix: str
    capabilities: Capabilities
    loader: Callable[[Path, str], None] = field(repr=False, compare=False)
    audit_log: Path | None = None

    def image(self, name: str) -> str:
        """The full name of an image of the project, such as `bernstein-operator:0.1.0`."""
        return f"{self.image_prefix}/{name}"

    def load_image(self, archive: Path, ref: str) -> None:
        """Make the image `ref` of an OCI archive usable by Pods; ClusterError when it can't be."""
        self.loader(archive, ref)
