"""A Kubernetes control plane without a real node, for tests at the level of the API.

etcd, API server, controller-manager, scheduler and kwok as child processes on free loopback ports: up in
seconds, no root, several side by side, gone with the test run even when that is killed. Pods on its fake
nodes live by the stages in `kwok/`, which play an agent's life without a container.
"""

import random
import shutil
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from e2e.cluster import components
from e2e.cluster.api import Api, wait_until
from e2e.cluster.components import Endpoints, Layout
from e2e.cluster.fake_nodes import create_fake_nodes, fake_nodes_ready
from e2e.cluster.kubeconfig import write_certificate_kubeconfig
from e2e.cluster.pki import create_pki
from e2e.cluster.ports import HeldPorts
from e2e.cluster.process import Children

_START_SECONDS = 120
# Never contacted: the API server wants some address that isn't a loopback one (RFC 5737).
_UNUSED_ADDRESS = "203.0.113.1"


def _nothing(_: Path) -> None:
    """Install nothing."""


class ControlPlane:
    """One control plane in `directory`; a context manager, or `start()` and `stop()`.

    Start it from a thread that lives as long as the control plane (a fixture's main thread does): its
    processes die with the thread that started them. `install` is called with the kubeconfig as soon as the
    API server answers: kinds that it installs are known to the controllers from their start, which otherwise
    look for new ones every half minute. Raises ClusterError when a tool isn't built or a component ends.
    """

    def __init__(
        self, directory: Path, *, fake_nodes: int = 3, install: Callable[[Path], None] = _nothing
    ) -> None:
        self._layout = Layout(directory)
        self._fake_nodes = fake_nodes
        self._install = install
        self._children = Children(self._layout.logs)
        self._ports = HeldPorts(3, rng=random.SystemRandom())
        self._endpoints = _endpoints(*self._ports.numbers)

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig (credentials embedded)."""
        return self._layout.kubeconfig

    @property
    def audit_log(self) -> Path:
        """The API server's audit log: one JSON event a line, level Metadata."""
        return self._layout.audit_log

    @property
    def server(self) -> str:
        """The API server's URL."""
        return self._endpoints.url

    @property
    def authority(self) -> bytes:
        """The CA certificate that signed the API server's, PEM."""
        return self._layout.pki.authority.read_bytes()

    @property
    def service_account_key(self) -> bytes:
        """The private key that signs service-account tokens, PEM: for tokens that nobody would issue."""
        return self._layout.pki.service_account_key.read_bytes()

    def start(self) -> Self:
        """Start every component and wait until Pods can be created and scheduled."""
        self._prepare()
        try:
            self._start_components()
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Kill every component and release the ports; files (logs, audit log) stay for whoever reads them."""
        self._children.kill_all()
        self._ports.release()

    def restart_api_server(self) -> None:
        """Kill the API server and start it again on the same port with the same data."""
        self._children.kill("kube-apiserver")
        self._start_api_server()

    def pid(self, component: str) -> int:
        """The process id of a component, such as `kube-apiserver`, for measurements."""
        return self._children.pid(component)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def _prepare(self) -> None:
        layout = self._layout
        shutil.rmtree(layout.etcd_data, ignore_errors=True)
        layout.folder.mkdir(parents=True, exist_ok=True)
        layout.audit_log.unlink(missing_ok=True)
        layout.audit_policy.write_text(components.AUDIT_POLICY)
        pki = create_pki(layout.pki.folder, addresses=["127.0.0.1", components.SERVICE_ADDRESS])
        write_certificate_kubeconfig(
            layout.kubeconfig, server=self.server, authority=pki.authority, pair=pki.pair("admin")
        )

    def _start_components(self) -> None:
        layout = self._layout
        self._children.start("etcd", components.etcd(layout, self._endpoints))
        self._start_api_server()
        self._install(layout.kubeconfig)
        self._children.start("kube-controller-manager", components.controller_manager(layout))
        self._children.start("kube-scheduler", components.scheduler(layout))
        self._children.start("kwok", components.kwok(layout))
        create_fake_nodes(self._api, self._fake_nodes)
        self._wait("the default service account", self._service_account_exists)
        self._wait("fake nodes", lambda: fake_nodes_ready(self._api, self._fake_nodes))

    def _start_api_server(self) -> None:
        command = components.api_server(self._layout, self._endpoints)
        self._children.start("kube-apiserver", command)
        self._wait("the API server", self._api.ready)

    @property
    def _api(self) -> Api:
        return Api(self._endpoints.address, self._endpoints.api, self._layout.pki)

    def _service_account_exists(self) -> bool:
        return self._api.get("/api/v1/namespaces/default/serviceaccounts/default") is not None

    def _wait(self, what: str, condition: Callable[[], bool]) -> None:
        wait_until(condition, what=what, seconds=_START_SECONDS, alive=self._children.check)


def _endpoints(api: int, etcd: int, etcd_peer: int) -> Endpoints:
    return Endpoints(
        bind="127.0.0.1",
        address="127.0.0.1",
        advertise=_UNUSED_ADDRESS,
        api=api,
        etcd=etcd,
        etcd_peer=etcd_peer,
    )
