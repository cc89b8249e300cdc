"""How to reach the API server: kubeconfig or in-cluster, with tokens that rotate."""

import asyncio
import os
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.request import getproxies

from kubernetes import client, config
from kubernetes.config import kube_config

from dragoman.kube.impersonation import Headers, acting_for
from dragoman.logs import logger

REFRESH_INTERVAL = 30.0
"""Seconds after which a token is asked for again: exec plugins and token files rotate them."""


RENEW_INTERVAL = 1.0
"""Seconds between two readings after refusals."""

SERVICE_ACCOUNT_TOKEN = Path("/var/run/secrets/kubernetes.io/serviceaccount/token")

log = logger("dragoman.credentials")


class CredentialsUnavailableError(Exception):
    """There is no token or certificate at the moment; the message says why."""


class ConnectionSettingsError(Exception):
    """No usable way to an API server was configured; the message says what was tried."""


@dataclass
class Credentials:
    """Server address, trust, the current Authorization header, and for whom its user acts.

    Args:
        kubeconfig: Path of a kubeconfig file; None for $KUBECONFIG, ~/.kube/config or, inside a
            pod, its service account.
        context: Name of a context in it; None for the current one.
    """

    kubeconfig: Path | None = None
    context: str | None = None
    impersonation: Headers = field(init=False, repr=False, default=())
    _configuration: client.Configuration = field(init=False, repr=False)
    _header: str | None = field(init=False, default=None, repr=False)
    _fetched: float = field(init=False, default=0.0)
    _renewed: float = field(init=False, default=float("-inf"))

    def __post_init__(self) -> None:
        """Load the configuration; raise ConnectionSettingsError when there is none."""
        self._load()

    @property
    def server(self) -> str:
        """The API server's base URL."""
        return str(self._configuration.host).rstrip("/")

    @property
    def certificate_files(self) -> tuple[str, ...]:
        """Paths of the files that `ssl_context` reads; they may change, and so may their paths."""
        settings = self._configuration
        paths = (settings.ssl_ca_cert, settings.cert_file, settings.key_file)
        return tuple(str(path) for path in paths if path)

    def ssl_context(self) -> ssl.SSLContext | bool:
        """Return what aiohttp wants as `ssl`: trust and, if configured, a client certificate."""
        settings = self._configuration
        if not self.server.startswith("https"):
            return True
        context = ssl.create_default_context(cafile=settings.ssl_ca_cert or None)
        if not settings.verify_ssl:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if settings.cert_file:
            context.load_cert_chain(settings.cert_file, settings.key_file)
        return context

    async def authorization(self) -> str | None:
        """Return the Authorization header's value, fetched again every REFRESH_INTERVAL."""
        if self._header is None or time.monotonic() - self._fetched > REFRESH_INTERVAL:
            # Marked first, so that one caller alone fetches while the others use the old one.
            self._fetched = time.monotonic()
            self._header = await self._refreshed(self._current)
        return self._header

    async def renew(self) -> None:
        """Read everything again from its source, after the API server answered 401.

        At most once a second, however many requests were refused.
        """
        if time.monotonic() - self._renewed < RENEW_INTERVAL:
            return
        self._renewed = self._fetched = time.monotonic()
        self._header = await self._refreshed(self._reload)

    async def _refreshed(self, source: Callable[[], str | None]) -> str | None:
        """Ask a source; go on with the old header where it fails, for it may recover."""
        try:
            header = await asyncio.to_thread(source)
        except Exception as error:
            if self._header is None:
                raise CredentialsUnavailableError(f"no credentials: {error}") from error
            log.warning("Cannot refresh credentials; going on with the old ones", error=str(error))
            return self._header
        # An exec plugin that fails leaves nothing but a line in the log.
        return header or self._header

    def _reload(self) -> str | None:
        self._load()
        return self._current()

    def _current(self) -> str | None:
        header: str | None = self._configuration.get_api_key_with_prefix("BearerToken")
        return header

    def _load(self) -> None:
        settings = client.Configuration()
        try:
            if self.kubeconfig is None and self.context is None and _only_inside_pod():
                config.load_incluster_config(client_configuration=settings)
            else:
                config.load_kube_config(
                    config_file=str(self.kubeconfig) if self.kubeconfig else None,
                    context=self.context,
                    client_configuration=settings,
                )
                self.impersonation = acting_for(self._user())
        except (config.ConfigException, OSError, ValueError) as error:
            where = self.kubeconfig or "$KUBECONFIG, ~/.kube/config and the pod's service account"
            raise ConnectionSettingsError(f"no way to an API server in {where}: {error}") from error
        _refuse_unsupported(settings)
        self._configuration = settings

    def _user(self) -> Mapping[str, Any]:
        """Read what the client library leaves out: it acts as the user itself, whoever `as` is."""
        path = str(self.kubeconfig or kube_config.KUBE_CONFIG_DEFAULT_LOCATION)
        merged = kube_config.KubeConfigMerger(path).config
        context = merged["contexts"].get_with_name(self.context or merged["current-context"])
        name = context["context"].safe_get("user")
        named = name and merged.safe_get("users")
        entry = merged["users"].get_with_name(name, safe=True) if named else None
        user: Mapping[str, Any] = {} if entry is None else entry["user"].value
        return user


def _refuse_unsupported(settings: client.Configuration) -> None:
    """Refuse what would have to change how the server is reached, rather than go another way."""
    # A proxy may also come from the environment, which speaks to other programs than this one.
    by_proxy = settings.proxy and settings.proxy not in getproxies().values()
    for name, used in (("proxy-url", by_proxy), ("tls-server-name", settings.tls_server_name)):
        if used:
            raise ConnectionSettingsError(
                f"clusters[].cluster.{name} of the kubeconfig is not supported: "
                "name a server that can be reached directly, under a name of its certificate"
            )


def _only_inside_pod() -> bool:
    return not os.environ.get("KUBECONFIG") and SERVICE_ACCOUNT_TOKEN.is_file()
