"""Certificates and keys in memory: a CA, what it issues, and both as PEM.

The webhook's own CA issues by it, and so does the conformance kit's for its control plane.
"""

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_SIGNS = x509.KeyUsage(
    digital_signature=True,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    key_cert_sign=True,
    crl_sign=True,
    encipher_only=False,
    decipher_only=False,
)


class Validity(NamedTuple):
    """When a certificate becomes valid, and when it ends."""

    begins: datetime
    ends: datetime


@dataclass(frozen=True, slots=True)
class Issued:
    """A certificate and its private key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @property
    def certificate_pem(self) -> bytes:
        """The certificate as PEM."""
        return self.certificate.public_bytes(serialization.Encoding.PEM)

    @property
    def key_pem(self) -> bytes:
        """The key as PEM, without a password."""
        return key_pem(self.key)


def new_ca(name: str, valid: Validity) -> Issued:
    """Make a CA that issues leaves only."""
    key = new_key()
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    builder = (
        _builder(subject, subject, key, key, valid)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_SIGNS, critical=True)
    )
    return Issued(builder.sign(key, hashes.SHA256()), key)


def issue(
    ca: Issued,
    name: str,
    valid: Validity,
    *,
    hosts: Iterable[str] = (),
    groups: Iterable[str] | None = None,
) -> Issued:
    """Issue a leaf.

    Args:
        ca: Its issuer.
        name: The common name: a server's, or the user that the API server sees.
        valid: When it can be used.
        hosts: DNS names and addresses of a server.
        groups: Groups of the user; None for the certificate of a server.
    """
    key = new_key()
    subject = x509.Name(
        [
            *(x509.NameAttribute(NameOID.ORGANIZATION_NAME, one) for one in groups or ()),
            x509.NameAttribute(NameOID.COMMON_NAME, name),
        ]
    )
    builder = _builder(subject, ca.certificate.subject, key, ca.key, valid)
    names = [general_name(host) for host in hosts]
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    usage = ExtendedKeyUsageOID.SERVER_AUTH if groups is None else ExtendedKeyUsageOID.CLIENT_AUTH
    builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
    return Issued(builder.sign(ca.key, hashes.SHA256()), key)


def new_key() -> ec.EllipticCurvePrivateKey:
    """Make a key on P-256."""
    return ec.generate_private_key(ec.SECP256R1())


def key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    """Return the key as PEM, without a password."""
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def general_name(host: str) -> x509.GeneralName:
    """Return an address or a DNS name as a certificate spells it."""
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


# Strict verification (RFC 5280, Python >= 3.13) wants the identifiers of both keys.
def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    signer: ec.EllipticCurvePrivateKey,
    valid: Validity,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(valid.begins)
        .not_valid_after(valid.ends)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()),
            critical=False,
        )
    )
