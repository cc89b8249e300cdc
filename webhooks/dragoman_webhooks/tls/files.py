"""The server's side of TLS, whose certificate changes under the running server.

New connections get the new certificate; those that are open stay open: nothing restarts.
"""

import asyncio
import ssl
import tempfile
from datetime import UTC
from pathlib import Path

import structlog
from cryptography import x509

from dragoman_webhooks import metrics

CHECK_INTERVAL = 10.0
"""Seconds between looks at the files; the kubelet itself takes up to a minute to change them."""
MEMORY = Path("/dev/shm")  # noqa: S108 — files there never reach a disk, and ours is in a private folder

log = structlog.get_logger(logger_name="dragoman.webhook")


class CertificateFilesError(Exception):
    """The certificate or key cannot be used; the message names the file."""


def server_context() -> ssl.SSLContext:
    """Return a context for a server, without a certificate yet."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    return context


def serve(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """Serve new connections with a certificate and its key.

    To be called where handshakes begin, in the event loop's thread: between certificate and key
    OpenSSL has half a pair, and a handshake that begins then is lost.

    Args:
        context: Unchanged when they cannot be used.
        certificate: PEM, with the chain behind it.
        key: PEM.

    Raises:
        ssl.SSLError: They are no pair.
        ValueError: The certificate cannot be read.
    """
    # OpenSSL reads keys from files alone, and takes a certificate in before it looks at the key:
    # a context that nobody uses finds out first.
    with tempfile.TemporaryDirectory(dir=MEMORY if MEMORY.is_dir() else None) as folder:
        files = Path(folder, "tls.crt"), Path(folder, "tls.key")
        for path, content in zip(files, (certificate, key), strict=True):
            path.write_bytes(content)
        server_context().load_cert_chain(*files)
        expiry = x509.load_pem_x509_certificate(certificate).not_valid_after_utc
        context.load_cert_chain(*files)
    metrics.CERTIFICATE_EXPIRY.set(expiry.timestamp())
    log.info("Loaded certificate", expires=expiry.astimezone(UTC).isoformat())


class CertificateFiles:
    """A TLS context that follows its certificate's files, as a mounted Secret's.

    Args:
        certificate: PEM file with the certificate and its chain.
        key: PEM file with its key.
    """

    def __init__(self, certificate: Path, key: Path) -> None:
        self._certificate = certificate
        self._key = key
        self._loaded = (b"", b"")
        self.context = server_context()
        self.load()

    def load(self) -> bool:
        """Load the files if they changed; raise CertificateFilesError where they are no pair."""
        return self._take(self._read())

    def _read(self) -> tuple[bytes, bytes]:
        try:
            return self._certificate.read_bytes(), self._key.read_bytes()
        except OSError as error:
            raise self._unusable(error) from error

    def _take(self, content: tuple[bytes, bytes]) -> bool:
        if content == self._loaded:
            return False
        try:
            serve(self.context, *content)
        except (OSError, ssl.SSLError, ValueError) as error:
            raise self._unusable(error) from error
        self._loaded = content
        return True

    def _unusable(self, error: Exception) -> CertificateFilesError:
        return CertificateFilesError(
            f"{self._certificate} and {self._key}: expected a PEM certificate and its key: {error}"
        )

    def unready(self) -> None:
        """Return None: files that could not be loaded would have kept the webhook from starting."""

    async def run(self) -> None:
        """Load the files again whenever they change, until cancelled."""
        while True:
            await asyncio.sleep(CHECK_INTERVAL)
            try:
                self._take(await asyncio.to_thread(self._read))
            except CertificateFilesError as error:
                # Half of a change may be there: the old pair serves on.
                log.warning("Cannot load certificate", error=str(error))
