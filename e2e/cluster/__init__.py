"""Real Kubernetes for tests and the demo: finds a cluster, or builds one from source.

`ControlPlane` is for tests at the level of the API; `up` and `find` are for those that need real nodes.
"""

from e2e.cluster.control_plane import ControlPlane
from e2e.cluster.errors import ClusterError
from e2e.cluster.found import Capabilities, Cluster, Kind
from e2e.cluster.lookup import down, find, up

__all__ = ["Capabilities", "Cluster", "ClusterError", "ControlPlane", "Kind", "down", "find", "up"]
