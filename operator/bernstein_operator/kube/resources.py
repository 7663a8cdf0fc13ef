"""Where each kind of object lives in the API."""

from dataclasses import dataclass
from typing import Final

from bernstein_operator.api.names import API_VERSION


@dataclass(frozen=True, slots=True)
class Resource:
    """A kind's place: ``api_version`` as in manifests, ``plural`` as in URLs."""

    api_version: str
    kind: str
    plural: str

    def url(self, namespace: str, name: str = "", subresource: str = "") -> str:
        """Return the path of an object, or of all; an empty namespace means all of them."""
        root = f"/apis/{self.api_version}" if "/" in self.api_version else f"/api/{self.api_version}"
        parts = [root, *(("namespaces", namespace) if namespace else ()), self.plural, name, subresource]
        return "/".join(part for part in parts if part)


RUNS: Final = Resource(API_VERSION, "BernsteinRun", "bernsteinruns")
TASKS: Final = Resource(API_VERSION, "AgentTask", "agenttasks")
PROFILES: Final = Resource(API_VERSION, "AgentProfile", "agentprofiles")
PODS: Final = Resource("v1", "Pod", "pods")
NODES: Final = Resource("v1", "Node", "nodes")
CONFIG_MAPS: Final = Resource("v1", "ConfigMap", "configmaps")
EVENTS: Final = Resource("events.k8s.io/v1", "Event", "events")
TOKEN_REVIEWS: Final = Resource("authentication.k8s.io/v1", "TokenReview", "tokenreviews")
LEASES: Final = Resource("coordination.k8s.io/v1", "Lease", "leases")
NODE_METRICS: Final = Resource("metrics.k8s.io/v1beta1", "NodeMetrics", "nodes")
