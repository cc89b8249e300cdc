"""The webhook's private CA: it issues certificates, and a Secret holds them."""

import base64
import binascii
import ipaddress
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from dragoman_webhooks.tls.rotation import Action, Certificate, KeyPair, Keys, Lifetimes

SKEW = timedelta(hours=1)
"""How far other clocks may be behind; at most a tenth of a certificate's lifetime."""
_PEM = re.compile(rb"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)
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


def carry_out(
    action: Action, keys: Keys, hosts: frozenset[str], lifetimes: Lifetimes, now: datetime
) -> Keys:
    """Return the keys after a step; `PUBLISH` changes none."""
    match action:
        case Action.CREATE:
            ca = new_ca(now, lifetimes.ca)
            return Keys(ca, issue(ca, hosts, now, lifetimes.serving))
        case Action.STAGE:
            return replace(keys, next_ca=new_ca(now, lifetimes.ca))
        case Action.SWITCH if keys.next_ca:
            old = keys.ca.certificate if keys.ca else None
            serving = issue(keys.next_ca, hosts, now, lifetimes.serving)
            return Keys(keys.next_ca, serving, None, old)
        case Action.RENEW if keys.ca:
            return replace(keys, serving=issue(keys.ca, hosts, now, lifetimes.serving))
        case Action.DROP:
            return replace(keys, old_ca=None)
    return keys


def new_ca(now: datetime, lifetime: timedelta) -> KeyPair:
    """Make a CA."""
    key = ec.generate_private_key(ec.SECP256R1())
    builder = (
        _builder("dragoman-webhook-ca", key, key, now, now + lifetime)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_SIGNS, critical=True)
    )
    return _pair(builder.sign(key, hashes.SHA256()), key)


def issue(ca: KeyPair, hosts: frozenset[str], now: datetime, lifetime: timedelta) -> KeyPair:
    """Issue a serving certificate; it ends with its CA at the latest."""
    signer = serialization.load_pem_private_key(ca.key, None)
    assert isinstance(signer, ec.EllipticCurvePrivateKey)
    key = ec.generate_private_key(ec.SECP256R1())
    ends = min(now + lifetime, ca.certificate.ends)
    names = x509.SubjectAlternativeName([_general_name(host) for host in sorted(hosts)])
    builder = (
        _builder("dragoman-webhook", key, signer, now, ends)
        .add_extension(names, critical=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
    )
    return _pair(builder.sign(signer, hashes.SHA256()), key)


def read_secret(data: Mapping[str, str]) -> Keys:
    """Read the data of a Secret; a missing or unusable pair is None."""
    held = {name: _decoded(value) for name, value in data.items()}
    old = certificates(held.get("old-ca.crt", b""))
    return Keys(
        ca=_stored(held, "ca"),
        serving=_stored(held, "tls"),
        next_ca=_stored(held, "next-ca"),
        old_ca=old[0] if old else None,
    )


def write_secret(keys: Keys) -> dict[str, str]:
    """Write the data of a Secret."""
    held: dict[str, bytes] = {}
    for name, pair in (("ca", keys.ca), ("tls", keys.serving), ("next-ca", keys.next_ca)):
        if pair:
            held |= {f"{name}.crt": pair.certificate.pem, f"{name}.key": pair.key}
    if keys.old_ca:
        held["old-ca.crt"] = keys.old_ca.pem
    return {name: base64.b64encode(content).decode() for name, content in held.items()}


def ca_bundle(trusted: frozenset[bytes]) -> str:
    """Write a `caBundle`."""
    return base64.b64encode(b"".join(sorted(trusted))).decode()


def read_ca_bundle(bundle: str) -> frozenset[bytes]:
    """Read the certificates of a `caBundle` as PEM; skip what is no certificate."""
    return frozenset(certificate.pem for certificate in certificates(_decoded(bundle)))


def certificates(content: bytes) -> list[Certificate]:
    """Read all certificates of a PEM text."""
    try:
        return [_fact(x509.load_pem_x509_certificate(one)) for one in _PEM.findall(content)]
    except ValueError:
        return []


def _builder(
    name: str,
    key: ec.EllipticCurvePrivateKey,
    signer: ec.EllipticCurvePrivateKey,
    now: datetime,
    ends: datetime,
) -> x509.CertificateBuilder:
    def named(text: str) -> x509.Name:
        return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])

    return (
        x509.CertificateBuilder()
        .subject_name(named(name))
        .issuer_name(named("dragoman-webhook-ca"))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - min(SKEW, (ends - now) / 10))
        .not_valid_after(ends)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()),
            critical=False,
        )
    )


def _pair(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> KeyPair:
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return KeyPair(_fact(certificate), pem)


def _fact(certificate: x509.Certificate) -> Certificate:
    extensions = certificate.extensions
    try:
        key_id = extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value.digest
        issuer = extensions.get_extension_for_class(x509.AuthorityKeyIdentifier).value
    except x509.ExtensionNotFound as error:
        raise ValueError("expected a certificate with key identifiers") from error
    try:
        names = extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        names = x509.SubjectAlternativeName([])
    return Certificate(
        pem=certificate.public_bytes(serialization.Encoding.PEM),
        begins=certificate.not_valid_before_utc,
        ends=certificate.not_valid_after_utc,
        key_id=key_id,
        issuer_id=issuer.key_identifier or b"",
        hosts=frozenset(str(name.value) for name in names),
    )


def _stored(held: Mapping[str, bytes], name: str) -> KeyPair | None:
    found = certificates(held.get(f"{name}.crt", b""))
    key = held.get(f"{name}.key", b"")
    try:
        private = serialization.load_pem_private_key(key, None)
    except (ValueError, TypeError):
        return None
    if not found or not isinstance(private, ec.EllipticCurvePrivateKey):
        return None
    digest = x509.SubjectKeyIdentifier.from_public_key(private.public_key()).digest
    return KeyPair(found[0], key) if digest == found[0].key_id else None


def _decoded(value: str) -> bytes:
    try:
        return base64.b64decode(value)
    except (binascii.Error, ValueError):
        return b""


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
