"""Nodes whose load a test says, and a metrics API that tells of it, without metrics-server or a kubelet.

The metrics API is a CRD of its group: what the API server serves then looks to its callers as what it
aggregates otherwise. A thread writes each sample anew again and again, as a metrics server does, since what
counts is how old a sample is. Nodes are kwok's, of a pool that only the test's own profile asks for.
"""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from e2e.cluster.fake_nodes import TYPE, TYPE_LABEL, fake_node
from tests.support import clock
from tests.support.builders import make_profile
from tests.support.kube import ApiError, Kube, Manifest, condition, eventually
from tests.support.pods import stamp

POOL: Final = "bernstein.test/pool"
WINDOW_SECONDS: Final = 3
_CORES: Final = 1000
_EVERY_SECONDS: Final = 1.0
_PATH: Final = "/apis/metrics.k8s.io/v1beta1/nodes"
_CRD: Final[Manifest] = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {
        "name": "nodes.metrics.k8s.io",
        "annotations": {"api-approved.kubernetes.io": "unapproved, it stands in for metrics-server in tests"},
    },
    "spec": {
        "group": "metrics.k8s.io",
        "scope": "Cluster",
        "names": {
            "plural": "nodes",
            "singular": "nodemetrics",
            "kind": "NodeMetrics",
            "listKind": "NodeMetricsList",
        },
        "versions": [
            {
                "name": "v1beta1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
                },
            }
        ],
    },
}
NOWHERE: Final[Manifest] = {
    "apiVersion": "apiregistration.k8s.io/v1",
    "kind": "APIService",
    "metadata": {"name": "v1beta1.metrics.k8s.io"},
    "spec": {
        "group": "metrics.k8s.io",
        "version": "v1beta1",
        "groupPriorityMinimum": 100,
        "versionPriority": 100,
        "insecureSkipTLSVerify": True,
        "service": {"name": "nobody", "namespace": "default"},
    },
}
"""A metrics API behind which there is nothing: each request is answered with 503."""


def pool_profile(pool: str, name: str = "default") -> Manifest:
    """Return a profile whose Pods run on the nodes of a pool."""
    tolerated = [{"key": TYPE_LABEL, "operator": "Equal", "value": TYPE, "effect": "NoSchedule"}]
    return make_profile(name, pod={"nodeSelector": {POOL: pool}, "tolerations": tolerated})


@contextmanager
def pool_nodes(kube: Kube, pool: str, count: int) -> Iterator[list[str]]:
    """Serve so many nodes of a pool, Ready."""
    nodes = [_node(pool, number) for number in range(count)]
    names = [str(node["metadata"]["name"]) for node in nodes]
    for node in nodes:
        kube.create(node)
    for name in names:
        kube.wait_for("nodes", name, lambda node: is_ready(node) and _taints(node) == [TYPE_LABEL])
    yield names
    for name in names:
        kube.delete("nodes", name)


def is_ready(node: Manifest) -> bool:
    """Whether a node is Ready."""
    return condition(node, "Ready").get("status") == "True"


def forsake(kube: Kube, name: str) -> None:
    """Let a node be of kwok's no more, and not Ready any more."""
    kube.patch("nodes", name, {"metadata": {"labels": {TYPE_LABEL: None}}})
    lost = {
        "type": "Ready",
        "status": "False",
        "reason": "Lost",
        "message": "",
        "lastTransitionTime": stamp(),
    }
    kube.patch_status("nodes", name, {"conditions": [lost]})


def _node(pool: str, number: int) -> Manifest:
    node = fake_node(number)
    labels = {**node["metadata"]["labels"], POOL: pool}
    return {**node, "metadata": {"name": f"{pool}-{number}", "labels": labels}}


def _taints(node: Manifest) -> list[str]:
    return [taint["key"] for taint in node["spec"].get("taints", [])]


@dataclass
class MetricsServer:
    """Writes samples; ``percent`` says how busy each node is, ``frozen`` which ones are ten minutes old."""

    kube: Kube
    percent: Mapping[str, float] = field(default_factory=dict)
    frozen: frozenset[str] = frozenset()
    _written: set[str] = field(default_factory=set)
    _over: threading.Event = field(default_factory=threading.Event)

    def write(self) -> None:
        """Write all samples, and remove those of nodes that are not measured any more."""
        wanted = dict(self.percent)
        for name, percent in wanted.items():
            self._put(name, percent)
        for name in self._written - wanted.keys():
            self.kube.request("DELETE", f"{_PATH}/{name}")
        self._written = set(wanted)

    def run(self) -> None:
        """Write them again and again."""
        while not self._over.wait(_EVERY_SECONDS):
            self.write()

    def stop(self) -> None:
        """End ``run``."""
        self._over.set()

    def _put(self, name: str, percent: float) -> None:
        taken = clock.now() - (600 if name in self.frozen else 0)
        body: dict[str, Any] = {
            "apiVersion": "metrics.k8s.io/v1beta1",
            "kind": "NodeMetrics",
            "metadata": {"name": name},
            "timestamp": stamp(taken),
            "window": f"{WINDOW_SECONDS}s",
            "usage": {"cpu": f"{int(percent * _CORES / 100 * 10**9)}n", "memory": "1Gi"},
        }
        query = {"fieldManager": "metrics", "force": "true"}
        self.kube.request(
            "PATCH", f"{_PATH}/{name}", body=body, query=query, content_type="application/apply-patch+yaml"
        )


@contextmanager
def metrics_api(kube: Kube) -> Iterator[MetricsServer]:
    """Serve the metrics API, with no sample so far."""
    kube.create(_CRD)
    own = kube.within(kube.namespace)
    server = MetricsServer(own)
    eventually(lambda: _is_served(kube), what="the metrics API")
    writer = threading.Thread(target=server.run)
    writer.start()
    try:
        yield server
    finally:
        server.stop()
        writer.join()
        own.close()
        kube.delete("customresourcedefinitions", _CRD["metadata"]["name"])
        kube.wait_gone("customresourcedefinitions", _CRD["metadata"]["name"])


def _is_served(kube: Kube) -> bool:
    try:
        kube.request("GET", _PATH)
    except ApiError:
        return False
    return True
