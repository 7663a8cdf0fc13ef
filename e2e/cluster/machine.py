"""Where the full cluster lives on its machine: folders, addresses, ports.

Bridge, address ranges and ports exist once a machine, so there is one full cluster a machine, whichever
checkout started it. Every number here is unusual on purpose: a cluster of somebody else's (kubeadm, k3s,
kind) on the same machine must neither be met nor mistaken for ours.
"""

from dataclasses import dataclass
from pathlib import Path

from e2e.cluster.components import Endpoints, Layout

DAEMONS = (
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "containerd",
    "kubelet",
    "kube-proxy",
    "coredns",
    "metrics-server",
    "kwok",
)


@dataclass(frozen=True)
class Machine:
    """The fixed places of the full cluster."""

    state: Path = Path("/var/lib/bernstein-e2e")
    run: Path = Path("/run/bernstein-e2e")
    lock: Path = Path("/run/lock/bernstein-e2e.lock")
    bridge: str = "bernstein0"
    network: str = "bernstein-e2e"
    gateway: str = "10.177.0.1"
    pod_range: str = "10.177.0.0/24"
    all_pods: str = "10.177.0.0/16"
    dns_address: str = "10.196.0.10"
    node: str = "bernstein-node"
    cgroup: str = "bernstein-e2e"
    api_port: int = 16443
    etcd_port: int = 16379
    etcd_peer_port: int = 16380
    kubelet_port: int = 16250
    kubelet_health_port: int = 16248
    proxy_health_port: int = 16256
    proxy_metrics_port: int = 16249
    dns_port: int = 16053
    metrics_port: int = 16444

    @property
    def layout(self) -> Layout:
        """The control plane's folder."""
        return Layout(self.state)

    @property
    def endpoints(self) -> Endpoints:
        """The API server listens on the bridge alone: this machine and its Pods reach it, nobody else."""
        return Endpoints(
            bind=self.gateway,
            address=self.gateway,
            advertise=self.gateway,
            api=self.api_port,
            etcd=self.etcd_port,
            etcd_peer=self.etcd_peer_port,
            addresses_for_pods=True,
        )

    @property
    def socket(self) -> Path:
        """containerd's socket."""
        return self.run / "containerd.sock"

    @property
    def listeners(self) -> tuple[tuple[str, int], ...]:
        """Every address and port that must be free before the cluster starts."""
        loopback = (
            self.etcd_port,
            self.etcd_peer_port,
            self.kubelet_health_port,
            self.proxy_health_port,
            self.proxy_metrics_port,
        )
        bridge = (self.api_port, self.kubelet_port, self.dns_port, self.metrics_port)
        return (*(("127.0.0.1", port) for port in loopback), *((self.gateway, port) for port in bridge))
