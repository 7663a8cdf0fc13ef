"""Certificates of a test cluster: one authority, short-lived leaf certificates, P-256 keys.

`openssl` is driven differently by every version and kubeadm isn't part of this cluster; with `cryptography`
a whole set takes a few milliseconds. One authority signs serving, client and front-proxy certificates: the
front proxy is told apart by its common name.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

# A fixed span: the clock of a virtual machine may jump, and a clock is nothing that certificates here need.
_NOT_BEFORE = datetime(2024, 1, 1, tzinfo=UTC)
_NOT_AFTER = _NOT_BEFORE + timedelta(days=365 * 50)
_AUTHORITY_USAGE = x509.KeyUsage(
    digital_signature=True,
    key_cert_sign=True,
    crl_sign=True,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    encipher_only=False,
    decipher_only=False,
)


@dataclass(frozen=True)
class KeyPair:
    """The PEM files of one certificate and its key."""

    certificate: Path
    key: Path


@dataclass(frozen=True)
class Pki:
    """The folder that holds a cluster's certificates and the service-account keys."""

    folder: Path

    @property
    def authority(self) -> Path:
        """The CA certificate, PEM."""
        return self.folder / "ca.crt"

    @property
    def service_account_key(self) -> Path:
        """The private key that signs service-account tokens."""
        return self.folder / "service-account.key"

    @property
    def service_account_public_key(self) -> Path:
        """The key with which the API server checks service-account tokens."""
        return self.folder / "service-account.pub"

    def pair(self, name: str) -> KeyPair:
        """The certificate and key called `name`."""
        return KeyPair(self.folder / f"{name}.crt", self.folder / f"{name}.key")


def create_pki(folder: Path, *, addresses: Sequence[str], node: str = "", node_address: str = "") -> Pki:
    """Write a new authority and the pairs apiserver, admin, front-proxy and, for a real node, kubelet."""
    folder.mkdir(parents=True, exist_ok=True)
    folder.chmod(0o700)
    pki = Pki(folder)
    issuer = _Authority.create(pki)
    names = ["localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"]
    issuer.issue(pki.pair("apiserver"), "kube-apiserver", sans=[*names, *addresses])
    issuer.issue(pki.pair("admin"), "bernstein-e2e-admin", organisation="system:masters")
    issuer.issue(pki.pair("front-proxy"), "front-proxy")
    if node:
        sans = [node, node_address, "127.0.0.1"]
        issuer.issue(pki.pair("kubelet"), f"system:node:{node}", organisation="system:nodes", sans=sans)
    _write_service_account_keys(pki)
    return pki


@dataclass(frozen=True)
class _Authority:
    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @classmethod
    def create(cls, pki: Pki) -> "_Authority":
        key = ec.generate_private_key(ec.SECP256R1())
        name = _name("bernstein-e2e-ca", "")
        certificate = (
            _builder(name, name, key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(_AUTHORITY_USAGE, critical=True)
            .sign(key, SHA256())
        )
        pki.authority.write_bytes(certificate.public_bytes(Encoding.PEM))
        return cls(certificate, key)

    def issue(
        self, pair: KeyPair, common_name: str, *, organisation: str = "", sans: Sequence[str] = ()
    ) -> None:
        key = ec.generate_private_key(ec.SECP256R1())
        builder = _builder(_name(common_name, organisation), self.certificate.subject, key.public_key())
        usages = [ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH]
        builder = builder.add_extension(x509.ExtendedKeyUsage(usages), critical=False)
        builder = builder.add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key()), critical=False
        )
        if sans:
            alternative = x509.SubjectAlternativeName([_general_name(san) for san in sans])
            builder = builder.add_extension(alternative, critical=False)
        pair.certificate.write_bytes(builder.sign(self.key, SHA256()).public_bytes(Encoding.PEM))
        _write_key(pair.key, key)


def _builder(
    subject: x509.Name, issuer: x509.Name, public_key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(_NOT_BEFORE)
        .not_valid_after(_NOT_AFTER)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
    )


def _name(common_name: str, organisation: str) -> x509.Name:
    attributes = [x509.NameAttribute(NameOID.COMMON_NAME, common_name)]
    if organisation:
        attributes.insert(0, x509.NameAttribute(NameOID.ORGANIZATION_NAME, organisation))
    return x509.Name(attributes)


def _general_name(value: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(value))
    except ValueError:
        return x509.DNSName(value)


def _write_key(path: Path, key: ec.EllipticCurvePrivateKey) -> None:
    path.touch(mode=0o600)
    path.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption()))


def _write_service_account_keys(pki: Pki) -> None:
    key = ec.generate_private_key(ec.SECP256R1())
    _write_key(pki.service_account_key, key)
    public = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
    pki.service_account_public_key.write_bytes(public)
