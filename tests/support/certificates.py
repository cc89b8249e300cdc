"""A certificate authority whose certificates and keys are files."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from dragoman_webhooks.tls.issuing import Issued, Validity, issue, new_ca


@dataclass(frozen=True, slots=True)
class KeyPairPaths:
    """Paths of a certificate and its private key, both PEM."""

    certificate: Path
    key: Path


class Authority:
    """It writes what it issues into one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        now = datetime.now(UTC)
        self._valid = Validity(now - timedelta(hours=1), now + timedelta(days=7))
        self._ca = new_ca("control plane under test", self._valid)
        folder.mkdir(parents=True, exist_ok=True)
        self.certificate = folder / "ca.crt"
        self.certificate.write_bytes(self._ca.certificate_pem)

    def serving(
        self, name: str, hosts: tuple[str, ...] = ("127.0.0.1", "localhost")
    ) -> KeyPairPaths:
        return self._stored(name, issue(self._ca, name, self._valid, hosts=hosts))

    def client(self, user: str, groups: tuple[str, ...] = ()) -> KeyPairPaths:
        return self._stored(user, issue(self._ca, user, self._valid, groups=groups))

    def _stored(self, name: str, issued: Issued) -> KeyPairPaths:
        stem = name.replace(":", "-")
        paths = KeyPairPaths(self.folder / f"{stem}.crt", self.folder / f"{stem}.key")
        paths.key.touch(mode=0o600)
        paths.certificate.write_bytes(issued.certificate_pem)
        paths.key.write_bytes(issued.key_pem)
        return paths
