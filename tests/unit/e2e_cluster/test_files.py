"""The files that the harness writes, read back by those who have to understand them."""

import json
import socket
import ssl
import tarfile
import threading
from base64 import b64decode
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
import yaml

from e2e.cluster.components import kwok_files
from e2e.cluster.containerd import archive_digest
from e2e.cluster.errors import ClusterError
from e2e.cluster.kubeconfig import redirect, write_certificate_kubeconfig, write_token_kubeconfig
from e2e.cluster.machine import Machine
from e2e.cluster.network import cni_config, fence
from e2e.cluster.oci import Image, add_file, architecture, write_image
from e2e.cluster.pki import Pki, create_pki


@pytest.fixture(scope="module")
def pki(tmp_path_factory: pytest.TempPathFactory) -> Pki:
    """A cluster's certificates, with a real node's."""
    folder = tmp_path_factory.mktemp("pki")
    return create_pki(folder, addresses=["127.0.0.1"], node="node-1", node_address="10.0.0.1")


@pytest.mark.parametrize(
    ("client", "subject"),
    [
        pytest.param("admin", {"organizationName": "system:masters"}, id="administrator"),
        pytest.param("kubelet", {"commonName": "system:node:node-1"}, id="node"),
        pytest.param("front-proxy", {"commonName": "front-proxy"}, id="front proxy"),
    ],
)
@pytest.mark.parametrize("host", ["localhost", "kubernetes.default.svc", "127.0.0.1"])
def test_client_and_api_server_trust_each_other(
    pki: Pki, host: str, client: str, subject: dict[str, str]
) -> None:
    seen = _handshake(pki, host=host, client=client)
    assert subject.items() <= seen.items()


def test_the_api_server_is_refused_under_a_foreign_name(pki: Pki) -> None:
    with pytest.raises(ssl.SSLCertVerificationError, match="foreign"):
        _handshake(pki, host="foreign.test", client="admin")


@pytest.mark.parametrize("key", ["ca.crt", "admin.key", "service-account.key"])
def test_nobody_else_reads_the_keys(pki: Pki, key: str) -> None:
    assert (pki.folder / key).exists()
    assert pki.folder.stat().st_mode & 0o077 == 0


def test_a_certificate_kubeconfig_stands_alone(pki: Pki, tmp_path: Path) -> None:
    path = write_certificate_kubeconfig(
        tmp_path / "config", server="https://one.test", authority=pki.authority, pair=pki.pair("admin")
    )
    cluster, user = _current(path)
    assert cluster["server"] == "https://one.test"
    assert b64decode(cluster["certificate-authority-data"]) == pki.authority.read_bytes()
    assert b64decode(user["client-key-data"]) == pki.pair("admin").key.read_bytes()
    assert path.stat().st_mode & 0o077 == 0


def test_a_token_kubeconfig_aims_at_any_url(tmp_path: Path) -> None:
    path = write_token_kubeconfig(tmp_path / "config", server="http://proxy.test", token="secret")
    assert _current(path) == ({"server": "http://proxy.test"}, {"token": "secret"})


def test_a_redirected_kubeconfig_keeps_its_credentials(tmp_path: Path) -> None:
    source = write_token_kubeconfig(
        tmp_path / "source", server="https://one.test", token="secret", authority=b"ca"
    )
    path = redirect(tmp_path / "copy", source=source, server="http://proxy.test")
    assert _current(path) == ({"server": "http://proxy.test"}, {"token": "secret"})


def test_an_image_archive_is_consistent(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("content")
    image = Image("localhost/some:v1", tmp_path / "image.tar")
    write_image(image, lambda tar: add_file(tar, program, "program"), config={"Entrypoint": ["/program"]})
    with tarfile.open(image.archive) as tar:
        blobs = {name: _read(tar, name) for name in tar.getnames()}
    index = json.loads(blobs.pop("index.json"))
    assert all(
        name in {f"blobs/sha256/{sha256(data).hexdigest()}", "oci-layout"} for name, data in blobs.items()
    )
    [entry] = index["manifests"]
    assert entry["digest"] == archive_digest(image.archive)
    assert set(entry["annotations"].values()) == {"localhost/some:v1"}
    manifest = json.loads(blobs[f"blobs/sha256/{entry['digest'].removeprefix('sha256:')}"])
    assert all(_blob(item) in blobs for item in (manifest["config"], *manifest["layers"]))


def test_the_same_content_gives_the_same_image(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text("content")
    images = [Image("localhost/some:v1", tmp_path / name) for name in ("one.tar", "two.tar")]
    for image in images:
        write_image(image, lambda tar: add_file(tar, program, "program"), config={})
    assert archive_digest(images[0].archive) == archive_digest(images[1].archive)


def test_an_unknown_machine_type_is_refused() -> None:
    with pytest.raises(ClusterError, match="machine type vax"):
        architecture("vax")


def test_pods_leave_neither_through_the_bridge_nor_by_masquerading() -> None:
    machine = Machine()
    rules = fence(machine)
    assert f'iifname "{machine.bridge}" oifname != "{machine.bridge}" drop' in rules
    [bridge] = json.loads(cni_config(machine))["plugins"]
    assert bridge["ipMasq"] is False


def test_no_port_of_the_cluster_is_used_twice() -> None:
    ports = [port for _, port in Machine().listeners]
    assert len(ports) == len(set(ports))


def test_every_stage_of_kwok_has_a_name_of_its_own() -> None:
    documents = [document for file in kwok_files() for document in yaml.safe_load_all(file.read_text())]
    names = [item["metadata"]["name"] for item in documents if item["kind"] == "Stage"]
    assert len(names) == len(set(names)) > 0


def _handshake(pki: Pki, *, host: str, client: str) -> dict[str, str]:
    """A mutual TLS handshake over a socket pair; what the server read from the client's certificate."""
    serving, own = pki.pair("apiserver"), pki.pair(client)
    server_context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(pki.authority))
    server_context.load_cert_chain(str(serving.certificate), str(serving.key))
    server_context.verify_mode = ssl.CERT_REQUIRED
    client_context = ssl.create_default_context(cafile=str(pki.authority))
    client_context.load_cert_chain(str(own.certificate), str(own.key))
    seen: dict[str, str] = {}
    left, right = socket.socketpair()
    thread = threading.Thread(target=_serve, args=(server_context, left, seen))
    thread.start()
    try:
        with client_context.wrap_socket(right, server_hostname=host) as connection:
            connection.sendall(b"hello")
    finally:
        right.close()
        thread.join()
    return seen


def _serve(context: ssl.SSLContext, end: socket.socket, seen: dict[str, str]) -> None:
    try:
        with context.wrap_socket(end, server_side=True) as connection:
            connection.recv(5)
            certificate: Any = connection.getpeercert()
            seen.update({key: value for part in certificate["subject"] for key, value in part})
    except (ssl.SSLError, OSError):
        end.close()


def _current(path: Path) -> tuple[dict[str, str], dict[str, str]]:
    config = yaml.safe_load(path.read_text())
    [cluster], [user] = config["clusters"], config["users"]
    return cluster["cluster"], user["user"]


def _blob(descriptor: dict[str, str]) -> str:
    return f"blobs/sha256/{descriptor['digest'].removeprefix('sha256:')}"


def _read(tar: tarfile.TarFile, name: str) -> bytes:
    member = tar.extractfile(name)
    assert member is not None
    return member.read()
