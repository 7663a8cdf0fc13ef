"""What the operator's /metrics shows, read as `curl` would: over HTTP, from the replica that leads.

The installed release has no port on this machine, so the request goes through the API server's proxy to the
Pod, as ``kubectl get --raw`` sends it.
"""

from dataclasses import dataclass

from prometheus_client.parser import text_string_to_metric_families

from bernstein_operator.api.names import LABEL_LEADER
from e2e.release import NAME, NAMESPACE
from tests.support.kube import Kube, eventually

_PORT = 8080


@dataclass(frozen=True)
class Readings:
    """The metrics of the release that is installed; ``kube`` is a client of its cluster."""

    kube: Kube

    def value(self, name: str, **labels: str) -> float | None:
        """Return the value of the series with exactly these labels, None where there is none."""
        samples = (
            sample for family in text_string_to_metric_families(self.text()) for sample in family.samples
        )
        found = (sample.value for sample in samples if sample.name == name and sample.labels == labels)
        return next(found, None)

    def count(self, name: str, **labels: str) -> float:
        """Return the value of a counter, which begins to exist with its first event."""
        return self.value(name, **labels) or 0.0

    def text(self) -> str:
        """Return all of it."""
        path = f"/api/v1/namespaces/{NAMESPACE}/pods/{self._leader()}:{_PORT}/proxy/metrics"
        return self.kube.request("GET", path, accept="text/plain").decode()

    def _leader(self) -> str:
        """Return the name of the leader's Pod; there may be none for a moment."""
        kube = self.kube.within(NAMESPACE)
        try:
            labels = f"{LABEL_LEADER}={NAME}"
            [pod] = eventually(lambda: kube.items("pods", labels=labels), what="a replica that leads")
        finally:
            kube.close()
        return str(pod["metadata"]["name"])
