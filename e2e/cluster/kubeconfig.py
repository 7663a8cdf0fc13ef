"""Kubeconfig files that stand alone: credentials embedded, so that one path is all a test passes around."""

from base64 import b64encode
from pathlib import Path
from typing import Any

import yaml

from e2e.cluster.catalogue import kubectl
from e2e.cluster.pki import KeyPair
from e2e.cluster.process import run


def write_certificate_kubeconfig(path: Path, *, server: str, authority: Path, pair: KeyPair) -> Path:
    """A kubeconfig that logs in with a client certificate."""
    user = {
        "client-certificate-data": _embedded(pair.certificate.read_bytes()),
        "client-key-data": _embedded(pair.key.read_bytes()),
    }
    return _write(path, server=server, authority=authority.read_bytes(), user=user)


def write_token_kubeconfig(
    path: Path, *, server: str, token: str, authority: bytes = b"", namespace: str = "default"
) -> Path:
    """A kubeconfig that logs in with a bearer token.

    `server` may be any URL in front of the API server, such as a fault proxy's; `authority` is the PEM of the
    CA that signed that URL's certificate (empty for plain http).
    """
    return _write(path, server=server, authority=authority, user={"token": token}, namespace=namespace)


def redirect(path: Path, *, source: Path, server: str, authority: bytes = b"") -> Path:
    """A copy of `source` with its credentials, aimed at another URL (plain http needs no authority)."""
    config = yaml.safe_load(source.read_text())
    for entry in config["clusters"]:
        entry["cluster"] = _cluster(server, authority)
    return _store(path, config)


def service_account_token(
    kubeconfig: Path, *, namespace: str, name: str, duration_seconds: int = 3600
) -> str:
    """A fresh token of a service account, asked of the TokenRequest API; at least 600 seconds."""
    options = (f"--kubeconfig={kubeconfig}", f"--namespace={namespace}", f"--duration={duration_seconds}s")
    return run(kubectl(), *options, "create", "token", name).strip()


def _write(
    path: Path, *, server: str, authority: bytes, user: dict[str, str], namespace: str = "default"
) -> Path:
    name = "bernstein-e2e"
    context = {"cluster": name, "user": name, "namespace": namespace}
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": _cluster(server, authority)}],
        "users": [{"name": name, "user": user}],
        "contexts": [{"name": name, "context": context}],
        "current-context": name,
    }
    return _store(path, config)


def _cluster(server: str, authority: bytes) -> dict[str, str]:
    if not authority:
        return {"server": server}
    return {"server": server, "certificate-authority-data": _embedded(authority)}


def _store(path: Path, config: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch(mode=0o600)
    path.write_text(yaml.safe_dump(config, sort_keys=False))
    return path


def _embedded(data: bytes) -> str:
    return b64encode(data).decode("ascii")
