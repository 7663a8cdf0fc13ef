"""Command lines of the cluster's components, the same for the control plane alone and the full cluster.

Pure: they say what runs with which flags, and why; who starts and watches the processes is another matter.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from e2e.cluster.catalogue import binary
from e2e.cluster.pki import Pki

# Not the ranges that kubeadm, kind and k3s choose, so that a cluster of theirs on this machine is never met.
SERVICE_RANGE = "10.196.0.0/16"
SERVICE_ADDRESS = "10.196.0.1"
KWOK_FILES = Path(__file__).parent / "kwok"
# Enough for a run of the largest scenario, so that readers meet one file and no rotation.
_AUDIT_LOG_MB = 2000
# The built-in controllers' default of 20 requests a second would be what a comparison measures.
_UNTHROTTLED = ("--kube-api-qps=500", "--kube-api-burst=1000")
AUDIT_POLICY = """\
apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Metadata
"""


@dataclass(frozen=True)
class Endpoints:
    """Where the components listen; `address` is the API server's, etcd stays on the loopback."""

    bind: str
    address: str
    advertise: str
    api: int
    etcd: int
    etcd_peer: int
    addresses_for_pods: bool = False

    @property
    def url(self) -> str:
        """The API server's URL for clients on this machine."""
        return f"https://{self.address}:{self.api}"


@dataclass(frozen=True)
class Layout:
    """The folder of one control plane: certificates, data, logs."""

    folder: Path

    @property
    def pki(self) -> Pki:
        """Certificates and keys."""
        return Pki(self.folder / "pki")

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig."""
        return self.folder / "admin.kubeconfig"

    @property
    def audit_log(self) -> Path:
        """One JSON event a line, level Metadata, without the stage RequestReceived."""
        return self.folder / "audit.log"

    @property
    def audit_policy(self) -> Path:
        """The policy file the API server reads."""
        return self.folder / "audit-policy.yaml"

    @property
    def etcd_data(self) -> Path:
        """etcd's data folder."""
        return self.folder / "etcd"

    @property
    def logs(self) -> Path:
        """One log file a component."""
        return self.folder / "logs"


def etcd(layout: Layout, endpoints: Endpoints) -> list[str]:
    """etcd without fsync: its data dies with the cluster, and a syncing disk would set the pace of tests."""
    client = f"http://127.0.0.1:{endpoints.etcd}"
    peer = f"http://127.0.0.1:{endpoints.etcd_peer}"
    return [
        str(binary("etcd")),
        "--name=bernstein-e2e",
        f"--data-dir={layout.etcd_data}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=bernstein-e2e={peer}",
        "--unsafe-no-fsync",
        "--log-level=warn",
    ]


def api_server(layout: Layout, endpoints: Endpoints) -> list[str]:
    """The API server: RBAC and Node authorization, audit log, service-account tokens, aggregation."""
    pki = layout.pki
    serving, admin, proxy = pki.pair("apiserver"), pki.pair("admin"), pki.pair("front-proxy")
    # A loopback address is refused as an endpoint of the Service `kubernetes`: with no Pods nobody needs it.
    reconciler = "lease" if endpoints.addresses_for_pods else "none"
    return [
        str(binary("kube-apiserver")),
        f"--etcd-servers=http://127.0.0.1:{endpoints.etcd}",
        f"--bind-address={endpoints.bind}",
        f"--secure-port={endpoints.api}",
        f"--advertise-address={endpoints.advertise}",
        f"--endpoint-reconciler-type={reconciler}",
        f"--service-cluster-ip-range={SERVICE_RANGE}",
        f"--tls-cert-file={serving.certificate}",
        f"--tls-private-key-file={serving.key}",
        f"--client-ca-file={pki.authority}",
        "--authorization-mode=Node,RBAC",
        "--allow-privileged=true",
        f"--service-account-key-file={pki.service_account_public_key}",
        f"--service-account-signing-key-file={pki.service_account_key}",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--kubelet-client-certificate={admin.certificate}",
        f"--kubelet-client-key={admin.key}",
        f"--kubelet-certificate-authority={pki.authority}",
        # Logs and exec must not need a name service for node names.
        "--kubelet-preferred-address-types=InternalIP",
        # Front proxies share the clients' authority, so they are told apart by name.
        f"--requestheader-client-ca-file={pki.authority}",
        "--requestheader-allowed-names=front-proxy",
        "--requestheader-extra-headers-prefix=X-Remote-Extra-",
        "--requestheader-group-headers=X-Remote-Group",
        "--requestheader-username-headers=X-Remote-User",
        f"--proxy-client-cert-file={proxy.certificate}",
        f"--proxy-client-key-file={proxy.key}",
        "--enable-aggregator-routing=true",
        f"--audit-policy-file={layout.audit_policy}",
        f"--audit-log-path={layout.audit_log}",
        f"--audit-log-maxsize={_AUDIT_LOG_MB}",
        "--profiling=false",
    ]


def controller_manager(layout: Layout) -> list[str]:
    """All controllers of a plain cluster; no port, since their work shows in the API."""
    return [
        str(binary("kube-controller-manager")),
        f"--kubeconfig={layout.kubeconfig}",
        f"--service-account-private-key-file={layout.pki.service_account_key}",
        f"--root-ca-file={layout.pki.authority}",
        "--use-service-account-credentials=true",
        "--leader-elect=false",
        "--secure-port=0",
        "--profiling=false",
        *_UNTHROTTLED,
    ]


def scheduler(layout: Layout) -> list[str]:
    """The scheduler, without leader election and without a port."""
    return [
        str(binary("kube-scheduler")),
        f"--kubeconfig={layout.kubeconfig}",
        "--leader-elect=false",
        "--secure-port=0",
        "--profiling=false",
        *_UNTHROTTLED,
    ]


def kwok(layout: Layout) -> list[str]:
    """kwok with this project's stages, for nodes of type=kwok alone."""
    return [
        str(binary("kwok")),
        f"--kubeconfig={layout.kubeconfig}",
        *(f"--config={file}" for file in kwok_files()),
    ]


def kwok_files() -> Sequence[Path]:
    """The configuration and the stages, in a fixed order."""
    return sorted(KWOK_FILES.glob("*.yaml"))
