"""The webhook's own certificate authority: keys, certificates, and how a Secret holds them."""

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

from dragoman_webhooks.tls.rotation import Action, Certificate, Keys, Pair, Terms

SKEW = timedelta(hours=1)
"""How far other clocks may be behind; at most a tenth of a certificate's life."""
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


def changed(action: Action, keys: Keys, hosts: frozenset[str], terms: Terms, now: datetime) -> Keys:
    """Return the keys after an action; `PUBLISH` changes none."""
    match action:
        case Action.FOUND:
            authority = new_authority(now, terms.authority)
            return Keys(authority, issue(authority, hosts, now, terms.leaf))
        case Action.STAGE:
            return replace(keys, coming=new_authority(now, terms.authority))
        case Action.SWITCH if keys.coming:
            leaving = keys.authority.certificate if keys.authority else None
            return Keys(keys.coming, issue(keys.coming, hosts, now, terms.leaf), None, leaving)
        case Action.RENEW if keys.authority:
            return replace(keys, leaf=issue(keys.authority, hosts, now, terms.leaf))
        case Action.DROP:
            return replace(keys, leaving=None)
    return keys


def new_authority(now: datetime, lifetime: timedelta) -> Pair:
    """Make an authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    builder = (
        _builder("dragoman-webhook-ca", key, key, now, now + lifetime)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_SIGNS, critical=True)
    )
    return _pair(builder.sign(key, hashes.SHA256()), key)


def issue(authority: Pair, hosts: frozenset[str], now: datetime, lifetime: timedelta) -> Pair:
    """Issue a serving certificate; it never outlives its authority."""
    signer = serialization.load_pem_private_key(authority.key, None)
    assert isinstance(signer, ec.EllipticCurvePrivateKey)
    key = ec.generate_private_key(ec.SECP256R1())
    ends = min(now + lifetime, authority.certificate.ends)
    names = x509.SubjectAlternativeName([_general_name(host) for host in sorted(hosts)])
    builder = (
        _builder("dragoman-webhook", key, signer, now, ends)
        .add_extension(names, critical=False)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
    )
    return _pair(builder.sign(signer, hashes.SHA256()), key)


def keys_of(data: Mapping[str, str]) -> Keys:
    """Read the data of a Secret; what is missing or no certificate with its key is None."""
    held = {name: _decoded(value) for name, value in data.items()}
    leaving = certificates(held.get("old-ca.crt", b""))
    return Keys(
        authority=_stored(held, "ca"),
        leaf=_stored(held, "tls"),
        coming=_stored(held, "next-ca"),
        leaving=leaving[0] if leaving else None,
    )


def data_of(keys: Keys) -> dict[str, str]:
    """Write the data of a Secret."""
    held: dict[str, bytes] = {}
    for name, pair in (("ca", keys.authority), ("tls", keys.leaf), ("next-ca", keys.coming)):
        if pair:
            held |= {f"{name}.crt": pair.certificate.pem, f"{name}.key": pair.key}
    if keys.leaving:
        held["old-ca.crt"] = keys.leaving.pem
    return {name: base64.b64encode(content).decode() for name, content in held.items()}


def bundle_of(trusted: frozenset[bytes]) -> str:
    """Write a `caBundle`."""
    return base64.b64encode(b"".join(sorted(trusted))).decode()


def published_in(bundle: str) -> frozenset[bytes]:
    """Read a `caBundle`: its certificates as PEM; what is none counts as nothing."""
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


def _pair(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> Pair:
    pem = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return Pair(_fact(certificate), pem)


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


def _stored(held: Mapping[str, bytes], name: str) -> Pair | None:
    found = certificates(held.get(f"{name}.crt", b""))
    key = held.get(f"{name}.key", b"")
    try:
        private = serialization.load_pem_private_key(key, None)
    except (ValueError, TypeError):
        return None
    if not found or not isinstance(private, ec.EllipticCurvePrivateKey):
        return None
    digest = x509.SubjectKeyIdentifier.from_public_key(private.public_key()).digest
    return Pair(found[0], key) if digest == found[0].key_id else None


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
