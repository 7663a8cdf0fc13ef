"""Name service and metrics, as processes of the host behind Services without a selector.

Both are part of what a cluster is expected to have; neither needs to be a Pod, and as processes they need
no image.
"""

from e2e.cluster.api import Api, Json
from e2e.cluster.catalogue import binary
from e2e.cluster.fake_nodes import TYPE, TYPE_LABEL
from e2e.cluster.machine import Machine

_NAMESPACE = "kube-system"
METRICS_API = "/apis/apiregistration.k8s.io/v1/apiservices/v1beta1.metrics.k8s.io"


def corefile(machine: Machine) -> str:
    """CoreDNS's configuration: the cluster's names; any other name doesn't exist, and is never asked for."""
    listen = f"bind {machine.gateway}\n  errors"
    return f"""\
cluster.local:{machine.dns_port} in-addr.arpa:{machine.dns_port} {{
  {listen}
  kubernetes cluster.local in-addr.arpa {{
    kubeconfig {machine.layout.kubeconfig}
    ttl 5
  }}
}}
.:{machine.dns_port} {{
  {listen}
  template ANY ANY . {{
    rcode NXDOMAIN
  }}
}}
"""


def coredns(machine: Machine) -> list[str]:
    """CoreDNS's command line."""
    return [str(binary("coredns")), "-conf", str(machine.state / "Corefile")]


def metrics_server(machine: Machine) -> list[str]:
    """metrics-server's command line; the request timeout must be shorter than the resolution."""
    kubeconfig = machine.layout.kubeconfig
    return [
        str(binary("metrics-server")),
        f"--kubeconfig={kubeconfig}",
        f"--authentication-kubeconfig={kubeconfig}",
        f"--authorization-kubeconfig={kubeconfig}",
        f"--bind-address={machine.gateway}",
        f"--secure-port={machine.metrics_port}",
        f"--cert-dir={machine.state / 'metrics-server'}",
        "--kubelet-insecure-tls",
        "--kubelet-preferred-address-types=InternalIP",
        "--kubelet-use-node-status-port",
        "--metric-resolution=10s",
        "--kubelet-request-timeout=5s",
        f"--node-selector={TYPE_LABEL}!={TYPE}",
    ]


def install(api: Api, machine: Machine) -> None:
    """Create or correct the Services, their endpoints and the metrics API's registration."""
    dns = [("dns", "UDP", 53, machine.dns_port), ("dns-tcp", "TCP", 53, machine.dns_port)]
    _expose(api, machine, name="kube-dns", ports=dns, cluster_ip=machine.dns_address)
    _expose(api, machine, name="metrics-server", ports=[("https", "TCP", 443, machine.metrics_port)])
    api.apply(METRICS_API, _metrics_registration())


def _metrics_registration() -> Json:
    return {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": "v1beta1.metrics.k8s.io"},
        "spec": {
            "group": "metrics.k8s.io",
            "version": "v1beta1",
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
            "insecureSkipTLSVerify": True,
            "service": {"name": "metrics-server", "namespace": _NAMESPACE},
        },
    }


def _expose(
    api: Api, machine: Machine, *, name: str, ports: list[tuple[str, str, int, int]], cluster_ip: str = ""
) -> None:
    services = [{"name": port, "protocol": protocol, "port": own} for port, protocol, own, _ in ports]
    spec: Json = {"ports": services, **({"clusterIP": cluster_ip} if cluster_ip else {})}
    metadata = {"name": name, "namespace": _NAMESPACE}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": spec}
    api.apply(f"/api/v1/namespaces/{_NAMESPACE}/services/{name}", service)
    endpoints = {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {**metadata, "labels": {"kubernetes.io/service-name": name}},
        "addressType": "IPv4",
        "endpoints": [{"addresses": [machine.gateway], "conditions": {"ready": True}}],
        "ports": [
            {"name": port, "protocol": protocol, "port": target} for port, protocol, _, target in ports
        ],
    }
    path = f"/apis/discovery.k8s.io/v1/namespaces/{_NAMESPACE}/endpointslices/{name}"
    api.apply(path, endpoints)
