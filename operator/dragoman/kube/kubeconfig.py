"""How to reach the API server: kubeconfig or in-cluster, with tokens that rotate."""

import asyncio
import os
import ssl
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote
from urllib.request import getproxies

from kubernetes import client, config
from kubernetes.config import kube_config

from dragoman.logs import logger

REFRESH_INTERVAL = 30.0
"""Seconds after which a token is read again: exec plugins and token files rotate them."""

RENEW_INTERVAL = 1.0
"""Least seconds between two reads of the credentials after 401 responses."""

Headers = tuple[tuple[str, str], ...]
"""Names and values of HTTP headers; a name may occur more than once."""
HEADER_CHARACTERS = "!#$&'*+-.^_`|~"
"""Allowed in a header's name beside letters and digits (RFC 9110), without the escape `%`."""

SERVICE_ACCOUNT_TOKEN = Path("/var/run/secrets/kubernetes.io/serviceaccount/token")

log = logger("dragoman.credentials")


class CredentialsUnavailableError(Exception):
    """There is no token or certificate at the moment; the message says why."""


class ConnectionSettingsError(Exception):
    """There is no usable API server configuration; the message names the sources that were read."""


@dataclass
class Credentials:
    """Server address, TLS, the current Authorization header, and impersonation headers.

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
            # Set first, so that a single caller refreshes while the others use the old header.
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
        """Read a source; keep the old header where it fails, because it may recover."""
        try:
            header = await asyncio.to_thread(source)
        except Exception as error:
            if self._header is None:
                raise CredentialsUnavailableError(f"no credentials: {error}") from error
            log.warning("Cannot refresh credentials; keeping the old ones", error=str(error))
            return self._header
        # An exec plugin that fails yields None and a log line of the client library.
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
                self.impersonation = impersonation_headers(self._user())
        except (config.ConfigException, OSError, ValueError) as error:
            where = self.kubeconfig or "$KUBECONFIG, ~/.kube/config and the pod's service account"
            raise ConnectionSettingsError(
                f"found no usable API server configuration in {where}: {error}"
            ) from error
        _refuse_unsupported(settings)
        self._configuration = settings

    def _user(self) -> Mapping[str, Any]:
        """Return `users[].user`: the client library ignores its impersonation fields."""
        path = str(self.kubeconfig or kube_config.KUBE_CONFIG_DEFAULT_LOCATION)
        merged = kube_config.KubeConfigMerger(path).config
        context = merged["contexts"].get_with_name(self.context or merged["current-context"])
        name = context["context"].safe_get("user")
        named = name and merged.safe_get("users")
        entry = merged["users"].get_with_name(name, safe=True) if named else None
        user: Mapping[str, Any] = {} if entry is None else entry["user"].value
        return user


def _refuse_unsupported(settings: client.Configuration) -> None:
    """Refuse settings that change how the server is reached and that this client cannot honour."""
    # The library also takes a proxy from the environment, which is not the kubeconfig's.
    by_proxy = settings.proxy and settings.proxy not in getproxies().values()
    for name, used in (("proxy-url", by_proxy), ("tls-server-name", settings.tls_server_name)):
        if used:
            raise ConnectionSettingsError(
                f"clusters[].cluster.{name} of the kubeconfig is not supported: "
                "name a server that can be reached directly, under a name of its certificate"
            )


def _only_inside_pod() -> bool:
    return not os.environ.get("KUBECONFIG") and SERVICE_ACCOUNT_TOKEN.is_file()


def impersonation_headers(user: Mapping[str, Any]) -> Headers:
    """Return the headers for `as`, `as-uid`, `as-groups` and `as-user-extra`; none without them.

    Args:
        user: `users[].user` of a kubeconfig.

    Raises:
        ValueError: A field has another form, or no user is named; the message names the field.
    """
    headers = tuple(_header_lines(user))
    if headers and headers[0][0] != "Impersonate-User":
        raise ValueError("users[].user.as: expected a name beside as-uid, as-groups, as-user-extra")
    return headers


def _header_lines(user: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, header in (("as", "Impersonate-User"), ("as-uid", "Impersonate-Uid")):
        if user.get(name):
            yield header, _text(user[name], name)
    for group in _texts(user.get("as-groups"), "as-groups"):
        yield "Impersonate-Group", group
    extra = user.get("as-user-extra") or {}
    if not isinstance(extra, Mapping):
        raise _wrong("as-user-extra", "lists of strings by key", extra)
    for key, values in extra.items():
        escaped = quote(_text(key, "as-user-extra"), safe=HEADER_CHARACTERS)
        for value in _texts(values, f"as-user-extra[{key}]"):
            yield f"Impersonate-Extra-{escaped}", value


def _texts(found: Any, name: str) -> list[str]:
    if not isinstance(found, list | None):
        raise _wrong(name, "a list of strings", found)
    return [_text(item, name) for item in found or ()]


def _text(found: Any, name: str) -> str:
    if not isinstance(found, str) or not found.isprintable():
        raise _wrong(name, "a string of printable characters", found)
    return found


def _wrong(name: str, expected: str, found: Any) -> ValueError:
    return ValueError(f"users[].user.{name}: expected {expected}, found {found!r:.100}")
