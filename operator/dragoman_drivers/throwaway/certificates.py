"""The certificate authority of one control plane: serving, client and signing keys on disk."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography.hazmat.primitives import serialization

from dragoman_webhooks.tls.issuing import Issued, Validity, issue, key_pem, new_ca, new_key

LIFETIME = timedelta(days=7)
SKEW = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class KeyPairPaths:
    """Paths of a certificate and its private key, both PEM."""

    certificate: Path
    key: Path


class Authority:
    """A certificate authority that lives in one folder and is deleted with it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        now = datetime.now(UTC)
        self._valid = Validity(now - SKEW, now + LIFETIME)
        self._ca = new_ca("control plane under test", self._valid)
        self.certificate = write(folder / "ca.crt", self._ca.certificate_pem)

    def serving(
        self, name: str, hosts: tuple[str, ...] = ("127.0.0.1", "localhost")
    ) -> KeyPairPaths:
        """Issue a certificate for a server that answers at the hosts (names or addresses)."""
        return self._stored(name, issue(self._ca, name, self._valid, hosts=hosts))

    def client(self, user: str, groups: tuple[str, ...] = ()) -> KeyPairPaths:
        """Issue a certificate by which the API server knows the user and its groups."""
        return self._stored(user, issue(self._ca, user, self._valid, groups=groups))

    def _stored(self, name: str, issued: Issued) -> KeyPairPaths:
        stem = name.replace(":", "-")
        return KeyPairPaths(
            write(self.folder / f"{stem}.crt", issued.certificate_pem),
            write(self.folder / f"{stem}.key", issued.key_pem),
        )


def signing_keys(folder: Path, stem: str) -> KeyPairPaths:
    """Make a bare signing key: its public half stands where a certificate would."""
    key = new_key()
    public = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    return KeyPairPaths(
        write(folder / f"{stem}.pub", public), write(folder / f"{stem}.key", key_pem(key))
    )


def write(path: Path, content: bytes) -> Path:
    """Write a file that only its owner can read."""
    path.touch(mode=0o600)
    path.write_bytes(content)
    return path
