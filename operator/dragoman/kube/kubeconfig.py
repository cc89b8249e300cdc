"""How to reach the API server: kubeconfig or in-cluster, with tokens that rotate."""

import base64
import os
import ssl
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from dragoman import surroundings
from dragoman.kube.connectionoptions import ConnectionOptions
from dragoman.kube.credentials import files, plugin, validation
from dragoman.kube.credentials.files import ChosenContext, ConnectionSettingsError
from dragoman.kube.credentials.impersonation import Headers, impersonation_headers
from dragoman.logs import logger
from dragoman_base.files import UnreadableError, read_text

__all__ = ["ConnectionSettingsError", "Credentials", "Headers", "impersonation_headers"]

REFRESH_INTERVAL = 30.0
"""Seconds after which a token is read again: exec plugins and token files rotate them."""

RENEW_INTERVAL = 1.0
"""Least seconds between two reads of the credentials after 401 responses."""

SERVICE_ACCOUNT_TOKEN = Path("/var/run/secrets/kubernetes.io/serviceaccount/token")
_FILES = ("certificate-authority", "client-certificate", "client-key")

log = logger("dragoman.credentials")


class CredentialsUnavailableError(Exception):
    """There is no token or certificate at the moment; the message says why."""


@dataclass
class Credentials:
    """Server address, TLS, the current Authorization header, and impersonation headers.

    Args:
        options: Which parts of which kubeconfig; without a kubeconfig, inside a pod, those of its
            service account.
    """

    options: ConnectionOptions = field(default=ConnectionOptions())
    impersonation: Headers = field(init=False, repr=False, default=())
    _server: str = field(init=False, repr=False, default="")
    _cluster: Mapping[str, Any] = field(init=False, repr=False, default_factory=dict)
    _user: Mapping[str, Any] = field(init=False, repr=False, default_factory=dict)
    _issued: plugin.Issued | None = field(init=False, repr=False, default=None)
    _header: str | None = field(init=False, default=None, repr=False)
    _fetched: float = field(init=False, default=0.0)
    _renewed: float = field(init=False, default=float("-inf"))

    def __post_init__(self) -> None:
        """Load the configuration; raise ConnectionSettingsError when there is none."""
        self._load()

    def acting_as(self, account: str) -> "Credentials":
        """Return the same ones, which impersonate a user."""
        return Credentials(replace(self.options, acting_as=account))

    @property
    def server(self) -> str:
        """The API server's base URL."""
        return self._server

    @property
    def server_name(self) -> str:
        """The name that the server's certificate must have; empty for the server's host."""
        return str(self._cluster.get("tls-server-name") or "")

    @property
    def proxy(self) -> str:
        """URL of the proxy that the server is reached through; empty without one."""
        return str(self._cluster.get("proxy-url") or "")

    @property
    def certificate_files(self) -> tuple[str, ...]:
        """Paths of the files that `ssl_context` reads; they may change, and so may their paths."""
        sections = {**self._cluster, **self._user}
        named = (name for name in _FILES if not sections.get(f"{name}-data"))
        return tuple(str(sections[name]) for name in named if sections.get(name))

    def ssl_context(self) -> ssl.SSLContext | bool:
        """Return what aiohttp wants as `ssl`: trust and, if configured, a client certificate.

        Raises:
            OSError: A file cannot be read, or is no certificate or key.
        """
        if not self._secure:
            return True
        with _naming("certificate-authority"):
            authority = files.content(self._cluster, "certificate-authority")
            # Only what the kubeconfig names is trusted; without it, what the machine trusts.
            context = ssl.create_default_context(cadata=authority.decode() if authority else None)
        if self._cluster.get("insecure-skip-tls-verify"):
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        with _naming("client-certificate or client-key"):
            certificate, key = self._client_certificate()
            if certificate:
                with _private(certificate) as chain, _private(key or certificate) as secret:
                    # An encrypted key is refused, as by kubectl; OpenSSL would ask on the terminal.
                    context.load_cert_chain(chain, secret, password="")
        return context

    async def authorization(self) -> str | None:
        """Return the Authorization header's value, fetched again every REFRESH_INTERVAL."""
        if self._header is None or surroundings.monotonic() - self._fetched > REFRESH_INTERVAL:
            # Set first, so that a single caller refreshes while the others use the old header.
            self._fetched = surroundings.monotonic()
            self._header = await self._refreshed(self._current)
        return self._header

    async def renew(self) -> None:
        """Read everything again from its source, after the API server answered 401.

        At most once a second, however many requests were refused.
        """
        if surroundings.monotonic() - self._renewed < RENEW_INTERVAL:
            return
        self._renewed = self._fetched = surroundings.monotonic()
        self._header = await self._refreshed(self._reload)

    async def _refreshed(self, source: Callable[[], str | None]) -> str | None:
        """Read a source; keep the old header where it fails, because it may recover."""
        try:
            return await surroundings.in_thread(source)
        except Exception as error:
            if self._header is None:
                raise CredentialsUnavailableError(f"no credentials: {error}") from error
            log.warning("Cannot refresh credentials; keeping the old ones", error=str(error))
            return self._header

    def _reload(self) -> str | None:
        self._load()
        self._issued = None
        return self._current()

    def _current(self) -> str | None:
        """Return the header for what the user has; as in kubectl, a token goes first.

        As in kubectl, nothing of the user is read without TLS: any user of this machine may listen
        on a port where `kubectl proxy` was.
        """
        user = self._user
        if not self._secure:
            return None
        if token := _token(user):
            return f"Bearer {token}"
        if user.get("username"):
            pair = f"{user['username']}:{user.get('password') or ''}"
            return f"Basic {base64.b64encode(pair.encode()).decode()}"
        if user.get("exec"):
            # As in kubectl, a plugin is not run where there is a certificate.
            issued = None if self._has_certificate else self._from_plugin()
            return f"Bearer {issued.token}" if issued and issued.token else None
        if user.get("auth-provider"):
            return _from_provider(self, user["auth-provider"])
        if not self._has_certificate:
            raise ValueError(
                "the user has none, and kubectl would ask for a name and a password: users[].user "
                "needs a token, a client certificate, or exec"
            )
        return None

    @property
    def _secure(self) -> bool:
        return urlsplit(self.server).scheme == "https"

    @property
    def _has_certificate(self) -> bool:
        return any(self._user.get(f"client-certificate{kind}") for kind in ("", "-data"))

    def _from_plugin(self) -> plugin.Issued:
        if self._issued is None or self._issued.expired:
            self._issued = plugin.issue(self._user["exec"], self._cluster)
        return self._issued

    def _client_certificate(self) -> tuple[bytes | None, bytes | None]:
        certificate = files.content(self._user, "client-certificate")
        if certificate:
            return certificate, files.content(self._user, "client-key")
        if self._user.get("exec") and not self._user.get("username") and not _token(self._user):
            try:
                issued = self._from_plugin()
            except plugin.PluginError as error:
                raise ConnectionSettingsError(str(error)) from error
            return issued.certificate.encode() or None, issued.key.encode() or None
        return None, None

    def _load(self) -> None:
        options = self.options
        try:
            if options.name_nothing and _only_inside_pod():
                found = _of_pod()
            else:
                found = files.connection(files.load(options.kubeconfig), options)
            _refuse_unusable(found)
            self._cluster, self._user = found.cluster, found.user
            self.impersonation = impersonation_headers(self._user)
            self._server = _address(str(found.cluster["server"]))
            if self._secure:
                _refuse_unknown(found)
        except (OSError, ValueError) as error:
            raise ConnectionSettingsError(f"the kubeconfig cannot be used: {error}") from error
        self.impersonation = _acting(options) or self.impersonation


def _acting(options: ConnectionOptions) -> Headers:
    """Return whom the options impersonate, in place of whom the kubeconfig says."""
    if (options.acting_groups or options.acting_uid) and not options.acting_as:
        raise ConnectionSettingsError("--as-group and --as-uid need --as USER")
    named = {"as": options.acting_as, "as-uid": options.acting_uid}
    try:
        return impersonation_headers({**named, "as-groups": [*options.acting_groups]})
    except ValueError as error:
        raise ConnectionSettingsError(f"--as: {error}") from error


def namespace(choice: ConnectionOptions) -> str:
    """Return the namespace of a context, or of the pod that this runs in; empty without one.

    Raises:
        ConnectionSettingsError: There is no such context.
    """
    if choice.name_nothing and _only_inside_pod():
        own = SERVICE_ACCOUNT_TOKEN.with_name("namespace")
        return read_text(own, files.MAX_CERTIFICATE).strip() if own.is_file() else ""
    config = files.load(choice.kubeconfig)
    name = choice.context or config.current
    if choice.context and name not in config.contexts:
        files.connection(config, choice)  # raises in kubectl's words
    return str((config.contexts.get(name) or {}).get("namespace") or "")


def _token(user: Mapping[str, Any]) -> str:
    """Return the token of a user; as in kubectl, that of a readable file goes before `token`."""
    token = str(user.get("token") or "")
    if not user.get("tokenFile"):
        return token
    try:
        return read_text(user["tokenFile"], files.MAX_CERTIFICATE).strip() or token
    except (OSError, UnreadableError):
        if not token:
            raise
        return token


def _only_inside_pod() -> bool:
    """Whether there is a service account and, as kubectl has it, no kubeconfig."""
    if os.environ.get("KUBECONFIG") or not SERVICE_ACCOUNT_TOKEN.is_file():
        return False
    return not files.HOME.expanduser().exists()


def _of_pod() -> ChosenContext:
    """Return cluster and user of a pod's service account."""
    host, port = (os.environ.get(f"KUBERNETES_SERVICE_{one}") for one in ("HOST", "PORT"))
    if not host or not port:
        raise ConnectionSettingsError(
            "KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set in this pod"
        )
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    authority = SERVICE_ACCOUNT_TOKEN.with_name("ca.crt")
    cluster = {"server": f"https://{address}", "certificate-authority": str(authority)}
    return ChosenContext(cluster, {"tokenFile": str(SERVICE_ACCOUNT_TOKEN)})


def _address(server: str) -> str:
    """Return the base URL; as in kubectl, one without a scheme has no TLS."""
    parts = urlsplit(server if "://" in server else f"http://{server}")
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0:
        raise ValueError("clusters[].cluster.server: expected a URL with https or http")
    if parts.username is not None or parts.password is not None:
        # kubectl sends them in place of the user's own credentials, also without TLS.
        raise ValueError(
            "clusters[].cluster.server: user and password are not read from a URL: "
            "write them to users[].user as username and password"
        )
    return (server if "://" in server else f"http://{server}").rstrip("/")


def _refuse_unusable(found: ChosenContext) -> None:
    """Refuse what kubectl refuses, in its words."""
    faults = [
        *validation.user_faults(found.user_name, found.user),
        *validation.cluster_faults(found.cluster_name, found.cluster),
    ]
    if faults:
        raise ConnectionSettingsError("; ".join(faults))


def _refuse_unknown(found: ChosenContext) -> None:
    """Refuse, for a server with TLS, who cannot be known by it."""
    user, cluster = found.user, found.cluster
    names = ("certificate-authority", "certificate-authority-data")
    if cluster.get("insecure-skip-tls-verify") and any(map(cluster.get, names)):
        raise ConnectionSettingsError(
            "specifying a root certificates file with the insecure flag is not allowed: "
            "remove insecure-skip-tls-verify or certificate-authority"
        )
    if user.get("tokenFile") and user.get("username"):
        raise ConnectionSettingsError("username/password or bearer token may be set, but not both")
    provider = user.get("auth-provider")
    if provider and (fault := validation.provider_fault(provider)):
        raise ConnectionSettingsError(fault)


def _from_provider(credentials: Credentials, provider: Mapping[str, Any]) -> str | None:
    """Return the header of the provider `oidc`; only the client library can refresh its token."""
    settings = provider.get("config") or {}
    token = str(settings.get("id-token") or "")
    if token and validation.expiry(token) > surroundings.unix():
        return f"Bearer {token}"
    if not settings.get("refresh-token"):
        raise ValueError("No valid id-token, and cannot refresh without refresh-token")
    try:
        from kubernetes import client, config  # noqa: PLC0415 — heavy, and seldom needed
    except ModuleNotFoundError as error:
        raise CredentialsUnavailableError(
            "refreshing the token of users[].user.auth-provider needs packages that are not "
            "installed: in a checkout of dragoman, pip install '.[operator]'; or use exec"
        ) from error

    found = client.Configuration()
    path = credentials.options.kubeconfig
    try:
        config.load_kube_config(
            config_file=str(path) if path else os.environ.get("KUBECONFIG"),
            context=credentials.options.context,
            client_configuration=found,
        )
    except config.ConfigException as error:
        raise CredentialsUnavailableError(str(error)) from error
    header: str | None = found.get_api_key_with_prefix("BearerToken")
    return header


@contextmanager
def _naming(field_name: str) -> Iterator[None]:
    """Name the field of what is no certificate or key; the message has nothing of its content."""
    try:
        yield
    except (ValueError, ssl.SSLError) as error:
        what = getattr(error, "reason", "") if isinstance(error, ssl.SSLError) else ""
        raise OSError(
            f"{field_name} of the kubeconfig cannot be used: {what or 'expected PEM'}"
        ) from error


@contextmanager
def _private(text: bytes) -> Iterator[str]:
    """Keep a certificate or key in a file that only this user reads, until it is loaded."""
    with tempfile.NamedTemporaryFile(prefix="dragoman-") as file:
        file.write(text)
        file.flush()
        yield file.name
