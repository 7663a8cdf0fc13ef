"""The fixtures that integration and e2e tests share.

In: a session fixture ``cluster`` (a ``Cluster``) that each of the two trees provides in its own way.
Out, for each test: ``namespace`` (fresh, Pod Security "restricted"), ``kube`` (a client in it), ``kubectl``,
``recorder`` (always on: a test fails at its end if an invariant was broken), ``proxy``, ``start_operator``
and ``operator`` (running, watching the test's namespace, through the proxy). Nothing is mocked.
"""

import uuid
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import pytest

from tests.support.access import ClusterAccess
from tests.support.audit import AuditLog
from tests.support.kube import Kube, Kubectl
from tests.support.operator import OperatorProcess
from tests.support.proxy import FaultProxy
from tests.support.recorder import PodRecorder

LOG_TAIL_LINES = 200
StartOperator: TypeAlias = Callable[..., OperatorProcess]

_KINDS = ("bernsteinruns", "agenttasks", "agentprofiles")


@dataclass(frozen=True)
class Cluster:
    """A cluster that serves our kinds; ``audit_log`` is None where it can't be read."""

    kubeconfig: Path
    kubectl: Path
    audit_log: Path | None = None

    @property
    def access(self) -> ClusterAccess:
        """Address and credentials."""
        return ClusterAccess.from_kubeconfig(self.kubeconfig)


@pytest.fixture(scope="session")
def cluster_kube(cluster: Cluster) -> Iterator[Kube]:
    """A client of the cluster, in namespace default."""
    kube = Kube(cluster.access)
    yield kube
    kube.close()


@pytest.fixture(scope="session")
def audit(cluster: Cluster) -> AuditLog:
    """The API server's audit log."""
    if cluster.audit_log is None:
        pytest.skip("the audit log of this cluster's API server can't be read from here")
    return AuditLog(cluster.audit_log)


@pytest.fixture
def namespace(cluster_kube: Kube) -> Iterator[str]:
    """A fresh namespace that takes Pods; emptied, then deleted in the background."""
    with fresh_namespace(cluster_kube) as name:
        yield name


@contextmanager
def fresh_namespace(cluster_kube: Kube) -> Iterator[str]:
    """Make a namespace for the body of a with statement."""
    name = f"t-{uuid.uuid4().hex[:10]}"
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    cluster_kube.create(
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}}
    )
    kube = cluster_kube.within(name)
    # Until its default ServiceAccount is there, a namespace refuses Pods.
    kube.wait_for("serviceaccounts", "default", lambda _: True)
    yield name
    # The next test's recorder must find none of this one's objects.
    for resource in _KINDS:
        kube.delete_all(resource)
    kube.delete_all("pods", grace_seconds=0)
    kube.delete("namespaces", name)
    kube.close()


@pytest.fixture
def kube(cluster_kube: Kube, namespace: str) -> Iterator[Kube]:
    """A client whose default namespace is the test's."""
    kube = cluster_kube.within(namespace)
    yield kube
    kube.close()


@pytest.fixture
def kubectl(cluster: Cluster, namespace: str, tmp_path: Path) -> Kubectl:
    """The real kubectl in the test's namespace."""
    return Kubectl(cluster.kubectl, cluster.kubeconfig, namespace=namespace, home=tmp_path)


@pytest.fixture(autouse=True)
def recorder(cluster: Cluster, request: pytest.FixtureRequest) -> Iterator[PodRecorder]:
    """Records all Pods, tasks and runs; at the test's end no invariant may have been broken."""
    if "namespace" in request.fixturenames:
        # Judged before the namespace is emptied: a deleted task waits for nothing any more.
        request.getfixturevalue("namespace")
    with PodRecorder(cluster.access) as recorder:
        yield recorder
        recorder.assert_invariants()


@pytest.fixture
def proxy(cluster: Cluster, tmp_path: Path) -> Iterator[FaultProxy]:
    """The fault proxy, without a fault so far."""
    with FaultProxy(cluster.access, directory=tmp_path) as proxy:
        yield proxy


@pytest.fixture
def start_operator(
    proxy: FaultProxy, recorder: PodRecorder, namespace: str, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[StartOperator]:
    """Start operators: ``start_operator(wait=False, BERNSTEIN_MAX_AGENTS="2")``; killed at the test's end.

    All of a test stand for one lease, in the test's namespace; ``through`` is another proxy than the first.
    """
    started: list[OperatorProcess] = []

    def start(*, wait: bool = True, through: FaultProxy = proxy, **environment: str) -> OperatorProcess:
        own_ceiling = environment.get("BERNSTEIN_MAX_AGENTS", "")
        if own_ceiling.isdecimal():
            recorder.limits = replace(recorder.limits, operator_ceiling=int(own_ceiling))
        operator = OperatorProcess(
            kubeconfig=through.kubeconfig,
            log=tmp_path / f"operator-{len(started) + 1}.log",
            environment={
                "BERNSTEIN_WATCH_NAMESPACES": namespace,
                "BERNSTEIN_LEASE_NAMESPACE": namespace,
                **environment,
            },
            on_up=recorder.operator_up,
            on_down=recorder.operator_down,
        )
        started.append(operator)
        return operator.start(wait=wait)

    yield start
    for operator in started:
        operator.close()


@pytest.fixture
def operator(start_operator: StartOperator) -> OperatorProcess:
    """A running operator for the test's namespace."""
    return start_operator()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Show what the operators logged and what the recorder saw beside a failure."""
    report = yield
    if report.failed and isinstance(item, pytest.Function):
        report.sections.extend(_background(item.funcargs))
    return report


def _background(funcargs: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    folder, recorder = funcargs.get("tmp_path"), funcargs.get("recorder")
    for log in sorted(folder.glob("operator-*.log")) if isinstance(folder, Path) else ():
        yield log.name, "\n".join(log.read_text(errors="replace").splitlines()[-LOG_TAIL_LINES:])
    if isinstance(recorder, PodRecorder):
        yield "what the recorder saw", recorder.story()
