"""The webhook's private CA: it issues certificates, and a Secret holds them."""

import base64
import binascii
import re
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from dragoman_webhooks.tls import issuing
from dragoman_webhooks.tls.issuing import Issued, Validity
from dragoman_webhooks.tls.rotation import Action, Certificate, KeyPair, Keys, Lifetimes

SKEW = timedelta(hours=1)
"""How far other clocks may be behind; at most a tenth of a certificate's lifetime."""
_PEM = re.compile(rb"-----BEGIN CERTIFICATE-----.+?-----END CERTIFICATE-----", re.DOTALL)
NAME = "dragoman-webhook"


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
    return _pair(issuing.new_ca(f"{NAME}-ca", _valid(now, now + lifetime)))


def issue(ca: KeyPair, hosts: frozenset[str], now: datetime, lifetime: timedelta) -> KeyPair:
    """Issue a serving certificate; it ends with its CA at the latest."""
    key = serialization.load_pem_private_key(ca.key, None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    issuer = Issued(x509.load_pem_x509_certificate(ca.certificate.pem), key)
    ends = min(now + lifetime, ca.certificate.ends)
    return _pair(issuing.issue(issuer, NAME, _valid(now, ends), hosts=sorted(hosts)))


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


def _valid(now: datetime, ends: datetime) -> Validity:
    return Validity(now - min(SKEW, (ends - now) / 10), ends)


def _pair(issued: Issued) -> KeyPair:
    return KeyPair(_fact(issued.certificate), issued.key_pem)


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
