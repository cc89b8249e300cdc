"""The server's side of TLS; its certificate changes while the server runs.

New connections get the new certificate, and open connections stay open.
"""

import asyncio
import ssl
import tempfile
from datetime import UTC
from pathlib import Path

import structlog
from cryptography import x509

from dragoman_base.files import UnreadableError, read
from dragoman_webhooks import metrics

CHECK_INTERVAL = 10.0
"""Seconds between checks of the files; the kubelet itself takes up to a minute to change them."""
CIPHERS = "ECDHE+AESGCM:ECDHE+CHACHA20"
"""Cipher suites of TLS 1.2, in OpenSSL's words: none in CBC mode, all with forward secrecy."""
MEMORY = Path("/dev/shm")  # noqa: S108 — a private folder in it, which never reaches a disk

log = structlog.get_logger(logger_name="dragoman.webhook")


class CertificateFilesError(Exception):
    """The certificate or key cannot be used; the message names the file."""


def server_context() -> ssl.SSLContext:
    """Return a context for a server, without a certificate yet."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(CIPHERS)
    return context


def require_client_certificates(context: ssl.SSLContext, ca: Path) -> None:
    """Refuse clients without a certificate that a CA has signed for client authentication.

    Args:
        context: The server's side of TLS.
        ca: PEM file with the certificates of one or several CAs.

    Raises:
        CertificateFilesError: The file cannot be used.
    """
    try:
        context.load_verify_locations(ca)
    except (OSError, ssl.SSLError) as error:
        raise CertificateFilesError(f"{ca}: expected PEM certificates of a CA: {error}") from error
    context.verify_mode = ssl.CERT_REQUIRED


def serve(context: ssl.SSLContext, certificate: bytes, key: bytes) -> None:
    """Serve new connections with a certificate and its key.

    Call it in the event loop's thread, where handshakes begin: between certificate and key OpenSSL
    has half a pair, and a handshake that begins then fails.

    Args:
        context: Unchanged when they cannot be used.
        certificate: PEM, with the chain behind it.
        key: PEM.

    Raises:
        ssl.SSLError: The key does not belong to the certificate.
        ValueError: The certificate cannot be parsed.
    """
    # OpenSSL reads keys from files only, and replaces the certificate before it checks the key. So
    # a context of its own checks the pair first.
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

    Raises:
        CertificateFilesError: The files are unusable.
    """

    def __init__(self, certificate: Path, key: Path) -> None:
        self._certificate = certificate
        self._key = key
        self._loaded = (b"", b"")
        self.context = server_context()
        self._take(self._read())

    def _read(self) -> tuple[bytes, bytes]:
        try:
            return read(self._certificate), read(self._key)
        except (OSError, UnreadableError) as error:
            raise self._unusable(error) from error

    def _take(self, content: tuple[bytes, bytes]) -> None:
        if content == self._loaded:
            return
        try:
            serve(self.context, *content)
        except (OSError, ssl.SSLError, ValueError) as error:
            raise self._unusable(error) from error
        self._loaded = content

    def _unusable(self, error: Exception) -> CertificateFilesError:
        return CertificateFilesError(
            f"{self._certificate} and {self._key}: expected a PEM certificate and its key: {error}"
        )

    def unready(self) -> None:
        """Return None: the webhook does not start without usable files."""

    async def run(self) -> None:
        """Load the files again whenever they change, until cancelled."""
        while True:
            await asyncio.sleep(CHECK_INTERVAL)
            try:
                self._take(await asyncio.to_thread(self._read))
            except CertificateFilesError as error:
                # One of the files may have changed before the other; serve the old pair until then.
                log.warning("Cannot load certificate", error=str(error))
