"""What kubectl refuses in a kubeconfig, in its words.

Source: client-go's tools/clientcmd/validation.go, and the plugins in plugin/pkg/client/auth.
"""

import base64
import json
from collections.abc import Iterator, Mapping
from typing import Any

from dragoman.kube.http.tunnel import proxy_of
from dragoman_base import files

OIDC = "oidc"
_MODES = ("Never", "IfAvailable", "Always")
_REMOVED = {
    "gcp": (
        'The gcp auth plugin has been removed.\nPlease use the "gke-gcloud-auth-plugin" '
        "kubectl/client-go credential plugin instead.\nSee https://cloud.google.com/blog/products/"
        "containers-kubernetes/kubectl-auth-changes-in-gke for further details"
    ),
    "azure": (
        "The azure auth plugin has been removed.\nPlease use the "
        "https://github.com/Azure/kubelogin kubectl/client-go credential plugin instead.\nSee https://kubernetes.io/docs/reference/"
        "access-authn-authz/authentication/#client-go-credential-plugins for further details"
    ),
}


def cluster_faults(name: str, cluster: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with a cluster.

    Args:
        name: Of the cluster; empty where only its server is known.
        cluster: `clusters[].cluster`.
    """
    if not cluster.get("server"):
        yield (
            f'no server found for cluster "{name}"'
            if name
            else ("default cluster has no server defined")
        )
    if proxy := str(cluster.get("proxy-url") or ""):
        try:
            proxy_of(proxy)
        except ValueError as error:
            # kubectl quotes the URL, which may have a password.
            yield f"invalid 'proxy-url' for cluster \"{name}\": {error}"
    authority = "certificate-authority"
    if cluster.get(authority) and cluster.get(f"{authority}-data"):
        yield (
            f"{authority}-data and {authority} are both specified for {name}. "
            f"{authority}-data will override."
        )
    yield from _unreadable(cluster, authority, authority, name)


def user_faults(name: str, user: Mapping[str, Any]) -> Iterator[str]:
    """Yield what is wrong with a user.

    Args:
        name: Of the user.
        user: `users[].user`.
    """
    certificate = user.get("client-certificate"), user.get("client-certificate-data")
    key = user.get("client-key"), user.get("client-key-data")
    if any(certificate):
        if all(certificate):
            yield (
                f"client-cert-data and client-cert are both specified for {name}. "
                "client-cert-data will override."
            )
        if all(key):
            yield (
                f"client-key-data and client-key are both specified for {name}; "
                "client-key-data will override"
            )
        if not any(key):
            yield (
                f"client-key-data or client-key must be specified for {name} to use the clientCert "
                "authentication method."
            )
        yield from _unreadable(user, "client-certificate", "client-cert", name)
        yield from _unreadable(user, "client-key", "client-key", name)
    if user.get("exec"):
        yield from _plugin_faults(name, user["exec"], provider=bool(user.get("auth-provider")))
    if user.get("token") and (user.get("username") or user.get("password")):
        yield (
            f"more than one authentication method found for {name}; found [token basicAuth], "
            "only one is allowed"
        )
    if not user.get("as") and any(map(user.get, ("as-uid", "as-groups", "as-user-extra"))):
        yield f"requesting uid, groups or user-extra for {name} without impersonating a user"


def _plugin_faults(name: str, plugin: Mapping[str, Any], *, provider: bool) -> Iterator[str]:
    if provider:
        yield f"authProvider cannot be provided in combination with an exec plugin for {name}"
    for field in ("command", "apiVersion"):
        if not plugin.get(field):
            yield f"{field} must be specified for {name} to use exec authentication plugin"
    if not all(one.get("name") for one in plugin.get("env") or ()):
        yield f"env variable name must be specified for {name} to use exec authentication plugin"
    mode = plugin.get("interactiveMode") or ""
    old = str(plugin.get("apiVersion") or "").endswith(("/v1alpha1", "/v1beta1"))
    if not mode and not old:
        yield f"interactiveMode must be specified for {name} to use exec authentication plugin"
    elif mode and mode not in _MODES:
        yield f'invalid interactiveMode for {name}: "{mode}"'


def _unreadable(section: Mapping[str, Any], field: str, word: str, name: str) -> Iterator[str]:
    """Yield why the file of a field cannot be read, in Go's words where the system says it."""
    path = section.get(field)
    if not path:
        return
    try:
        files.opened(path).close()
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", "") or str(error)
        why = why[:1].lower() + why[1:]
        yield f"unable to read {word} {path} for {name} due to open {path}: {why}"


def provider_fault(provider: Mapping[str, Any]) -> str:
    """Return why an auth provider is refused, or its token is none; empty for nothing.

    Args:
        provider: `users[].user.auth-provider`.
    """
    name = str(provider.get("name") or "")
    if name != OIDC:
        return _REMOVED.get(name) or f'no Auth Provider found for name "{name}"'
    settings = provider.get("config") or {}
    for field in ("idp-issuer-url", "client-id"):
        if not settings.get(field):
            return f"Must provide {field}"
    return ""


def expiry(token: str) -> float:
    """Return when an ID token expires, in seconds since 1970; raise ValueError for what is none."""
    parts = token.split(".")
    if len(parts) != 3:
        raise ValueError("ID Token is not a valid JWT")
    try:
        padded = parts[1] + "=" * (-len(parts[1]) % 4)
        claims = json.loads(base64.urlsafe_b64decode(padded))
        return float(claims["exp"])
    except (ValueError, KeyError, TypeError, RecursionError):
        raise ValueError("ID Token is not a valid JWT") from None
