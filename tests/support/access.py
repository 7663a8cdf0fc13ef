"""How a test reaches an API server: address, TLS and credentials of one kubeconfig.

Three parts speak to the server with three HTTP stacks' worth of needs (a plain client, a recorder that
watches, a proxy that forwards); all of them take this one value, so that whatever a kubeconfig can hold
(files, inline data, exec plugins) is understood in one place, by the official client's loader.
"""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import kubernetes


@dataclass(frozen=True)
class ClusterAccess:
    """Address and credentials of an API server; ``tls`` is None for plain HTTP."""

    server: str
    kubeconfig: Path
    tls: ssl.SSLContext | None
    headers: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_kubeconfig(cls, path: Path, *, bearer_token: str | None = None) -> "ClusterAccess":
        """Read the current context of the kubeconfig at ``path``.

        With ``bearer_token`` the kubeconfig's own user is left out and the token is sent instead.
        """
        loaded = kubernetes.client.Configuration()
        kubernetes.config.load_kube_config(config_file=str(path), client_configuration=loaded)
        own_token = loaded.get_api_key_with_prefix("authorization")
        authorization = f"Bearer {bearer_token}" if bearer_token else own_token
        return cls(
            server=loaded.host.rstrip("/"),
            kubeconfig=path,
            tls=_tls(loaded, with_client_certificate=bearer_token is None),
            headers={"Authorization": authorization} if authorization else {},
        )

    def impersonating(self, user: str) -> "ClusterAccess":
        """Return the access of somebody who may impersonate, acting as ``user``."""
        return replace(self, headers={**self.headers, "Impersonate-User": user})


def _tls(loaded: kubernetes.client.Configuration, *, with_client_certificate: bool) -> ssl.SSLContext | None:
    if not loaded.host.startswith("https"):
        return None
    context = ssl.create_default_context(cafile=loaded.ssl_ca_cert)
    if not loaded.verify_ssl:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if with_client_certificate and loaded.cert_file:
        context.load_cert_chain(loaded.cert_file, loaded.key_file)
    return context
