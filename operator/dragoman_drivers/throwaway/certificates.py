"""A certificate authority for one control plane: serving, client and signing keys on disk."""

import ipaddress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFETIME = timedelta(days=7)
CERTIFIES = x509.KeyUsage(
    digital_signature=False,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=True,
    crl_sign=True,
    encipher_only=False,
    decipher_only=False,
)


@dataclass(frozen=True, slots=True)
class KeyPairPaths:
    """Paths of a certificate and its private key, both PEM."""

    certificate: Path
    key: Path


class Authority:
    """A certificate authority that lives in one folder and is forgotten with it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name(
            [x509.NameAttribute(NameOID.COMMON_NAME, "control plane under test")]
        )
        builder = (
            self._builder(self._name, self._key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(CERTIFIES, critical=True)
        )
        self.certificate = write(folder / "ca.crt", pem(builder.sign(self._key, hashes.SHA256())))

    def serving(
        self, name: str, hosts: tuple[str, ...] = ("127.0.0.1", "localhost")
    ) -> KeyPairPaths:
        """Issue a certificate for a server that answers at the hosts (names or addresses)."""
        alternatives = x509.SubjectAlternativeName([general_name(host) for host in hosts])
        return self._issue(name, (), ExtendedKeyUsageOID.SERVER_AUTH, alternatives)

    def client(self, user: str, groups: tuple[str, ...] = ()) -> KeyPairPaths:
        """Issue a certificate by which the API server knows the user and its groups."""
        return self._issue(user, groups, ExtendedKeyUsageOID.CLIENT_AUTH, None)

    def _issue(
        self,
        common_name: str,
        organizations: tuple[str, ...],
        usage: x509.ObjectIdentifier,
        alternatives: x509.SubjectAlternativeName | None,
    ) -> KeyPairPaths:
        key = ec.generate_private_key(ec.SECP256R1())
        attributes = [
            *(x509.NameAttribute(NameOID.ORGANIZATION_NAME, name) for name in organizations),
            x509.NameAttribute(NameOID.COMMON_NAME, common_name),
        ]
        builder = self._builder(x509.Name(attributes), key.public_key()).add_extension(
            x509.ExtendedKeyUsage([usage]), critical=False
        )
        if alternatives:
            builder = builder.add_extension(alternatives, critical=False)
        stem = common_name.replace(":", "-")
        certificate = pem(builder.sign(self._key, hashes.SHA256()))
        return KeyPairPaths(
            write(self.folder / f"{stem}.crt", certificate),
            write(self.folder / f"{stem}.key", private_pem(key)),
        )

    # Strict verification (RFC 5280, Python >= 3.13) wants the identifiers of both keys.
    def _builder(self, name: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(now + LIFETIME)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
            .add_extension(
                x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()),
                critical=False,
            )
        )


def signing_keys(folder: Path, stem: str) -> KeyPairPaths:
    """Make a bare signing key: its public half stands where a certificate would."""
    key = ec.generate_private_key(ec.SECP256R1())
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return KeyPairPaths(
        write(folder / f"{stem}.pub", public),
        write(folder / f"{stem}.key", private_pem(key)),
    )


def private_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    """Return the key as PEM without a password."""
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def pem(certificate: x509.Certificate) -> bytes:
    """Return the certificate as PEM."""
    return certificate.public_bytes(serialization.Encoding.PEM)


def write(path: Path, content: bytes) -> Path:
    """Write a file that only its owner can read."""
    path.touch(mode=0o600)
    path.write_bytes(content)
    return path


def general_name(host: str) -> x509.GeneralName:
    """Return an address or a DNS name as a certificate spells it."""
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
