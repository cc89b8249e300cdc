"""What can be set for serving reviews."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from dragoman.address import Address

TlsKind = Literal["files", "self"]


def own_namespace() -> str:
    """Return the namespace of the pod that this process runs in, or `default` outside of one."""
    path = Path("/var/run/secrets/kubernetes.io/serviceaccount/namespace")
    return path.read_text().strip() if path.is_file() else "default"


class ServingSettingsError(ValueError):
    """Settings that do not go together; the message says what is missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServingSettings:
    """How reviews are served.

    Attributes:
        address: `HOST:PORT`; no host means all interfaces.
        deadline: Seconds for one review.
        tls: `files`: a certificate somebody else renews; `self`: an authority of its own.
        tls_certificate: PEM file, for `files`.
        tls_key: PEM file, for `files`.
        tls_secret: Secret that keeps certificates and keys, for `self`.
        tls_host: Names and addresses that the API server calls, for `self`; by default the
            Service `dragoman-webhook` of the namespace.
        tls_lifetime: Days that a certificate lasts, for `self`.
        webhook_configuration: ValidatingWebhookConfiguration whose `caBundle` is kept.
        namespace: Of the Secret.
    """

    address: str = ":9443"
    deadline: float = 4.0
    tls: TlsKind = "files"
    tls_certificate: Path | None = None
    tls_key: Path | None = None
    tls_secret: str = "dragoman-webhook-tls"  # noqa: S105 — the name of one
    tls_host: tuple[str, ...] = ()
    tls_lifetime: float = 90.0
    webhook_configuration: str = "dragoman"
    namespace: str = field(default_factory=own_namespace)

    def __post_init__(self) -> None:
        """Raise ServingSettingsError where something is missing."""
        if self.tls == "files" and not (self.tls_certificate and self.tls_key):
            raise ServingSettingsError("--tls=files needs --tls-certificate and --tls-key")
        try:
            Address.parse(self.address)
        except ValueError as error:
            raise ServingSettingsError(f"where to serve reviews: {error}") from error
