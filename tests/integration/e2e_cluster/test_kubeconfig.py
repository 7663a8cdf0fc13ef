"""Kubeconfigs for other identities and other ways to the API server, used by the real kubectl."""

from pathlib import Path

from e2e.cluster.control_plane import ControlPlane
from e2e.cluster.kubeconfig import redirect, service_account_token, write_token_kubeconfig
from e2e.cluster.process import run
from tests.support.fixtures import Cluster


def who(cluster: Cluster, kubeconfig: Path) -> str:
    """The user that the API server sees behind a kubeconfig."""
    query = ("auth", "whoami", "--output=jsonpath={.status.userInfo.username}")
    return run(cluster.kubectl, f"--kubeconfig={kubeconfig}", *query)


def test_a_service_account_logs_in_with_its_token(
    cluster: Cluster, control_plane: ControlPlane, namespace: str, tmp_path: Path
) -> None:
    token = service_account_token(cluster.kubeconfig, namespace=namespace, name="default")
    path = write_token_kubeconfig(
        tmp_path / "config", server=control_plane.server, token=token, authority=control_plane.authority
    )
    assert who(cluster, path) == f"system:serviceaccount:{namespace}:default"


def test_the_administrator_comes_by_another_name_of_the_server(
    cluster: Cluster, control_plane: ControlPlane, tmp_path: Path
) -> None:
    server = control_plane.server.replace("127.0.0.1", "localhost")
    path = redirect(
        tmp_path / "config", source=cluster.kubeconfig, server=server, authority=control_plane.authority
    )
    assert who(cluster, path) == "bernstein-e2e-admin"
