"""How to reach the API server, and who to be there.

Reading a kubeconfig (exec plugins, OIDC, client certificates) and the in-cluster account is the official
client's business. It also refreshes tokens: credentials are asked for again with every request, never kept.
"""

import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kubernetes.aio import config
from kubernetes.aio.client import Configuration

_OWN_NAMESPACE: Final = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")


@dataclass(frozen=True, slots=True)
class Connection:
    """A server and the credentials for it."""

    configuration: Configuration

    @property
    def server(self) -> str:
        """The API server's URL without a slash at its end."""
        return str(self.configuration.host).rstrip("/")

    @property
    def certificate_authority(self) -> str | None:
        """Path of the CA bundle, None for the system's."""
        path: str | None = self.configuration.ssl_ca_cert
        return path

    @property
    def client_certificate(self) -> tuple[str, str] | None:
        """Paths of the client's certificate and key, None where it has none."""
        certificate, key = self.configuration.cert_file, self.configuration.key_file
        return (certificate, key) if certificate and key else None

    @property
    def verified(self) -> bool:
        """Whether the server's certificate is checked."""
        return bool(self.configuration.verify_ssl)

    async def authorization(self) -> str | None:
        """Return the Authorization header, refreshed where it has to be; None where there is none."""
        header: str | None = await self.configuration.get_api_key_with_prefix("BearerToken", "authorization")
        return header or self.configuration.get_basic_auth_token() or None

    def ssl_context(self) -> ssl.SSLContext | bool:
        """Return the TLS settings; True means the default ones, which a plain http server never uses."""
        if not self.server.startswith("https:"):
            return True
        context = ssl.create_default_context(cafile=self.certificate_authority)
        if self.client_certificate:
            context.load_cert_chain(*self.client_certificate)
        # Cluster CAs made before Python 3.13 became strict lack a key-usage extension.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        if not self.verified:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context


async def connect(kubeconfig: str | None) -> Connection:
    """Read the credentials: from the file named, or else from the Pod's own service account.

    The default kubeconfig and its current context are never picked up unasked: an operator that was started
    by mistake on somebody's machine must not find their production.

    Raises:
        kubernetes.aio.config.ConfigException: there is neither, or it can't be read.
    """
    configuration = Configuration()
    if kubeconfig:
        await config.load_kube_config(config_file=kubeconfig, client_configuration=configuration)
    else:
        config.load_incluster_config(client_configuration=configuration)
    return Connection(configuration)


def own_namespace(account: Path = _OWN_NAMESPACE) -> str:
    """Return the namespace of the Pod's service account, ``default`` outside of a Pod."""
    return (account.read_text(encoding="utf-8").strip() if account.is_file() else "") or "default"
