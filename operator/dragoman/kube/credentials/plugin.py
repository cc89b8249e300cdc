"""Exec plugins: programs that give out tokens and client certificates.

Source: client.authentication.k8s.io/v1 and v1beta1, and client-go's plugin/pkg/client/auth/exec.
"""

import base64
import json
import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from dragoman import surroundings

_GROUP = "client.authentication.k8s.io"
VERSIONS = (f"{_GROUP}/v1", f"{_GROUP}/v1beta1")
_EXTENSION = f"{_GROUP}/exec"
_MODES = ("Never", "IfAvailable", "Always")
MOST = 1 << 20
"""Bytes that a plugin prints at most."""


class PluginError(Exception):
    """A plugin that cannot be run, or whose answer is none; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Issued:
    """What a plugin gave out."""

    token: str = ""  # Bearer token; empty without one
    certificate: str = ""  # PEM; empty without one
    key: str = ""  # PEM
    # Until when it can be used; None for as long as the API server takes it
    expires: datetime | None = None

    @property
    def expired(self) -> bool:
        """Whether it has to be asked for again."""
        return self.expires is not None and surroundings.now() >= self.expires


def issue(plugin: Mapping[str, Any], cluster: Mapping[str, Any]) -> Issued:
    """Run a plugin; its standard error is the user's.

    Args:
        plugin: `users[].user.exec`.
        cluster: `clusters[].cluster`, which the plugin gets where it asks for it.

    Raises:
        PluginError: It cannot be run, fails, or answers something else.
    """
    version, command = plugin.get("apiVersion"), str(plugin.get("command") or "")
    if version not in VERSIONS:
        raise PluginError(
            f'exec plugin: invalid apiVersion "{version}"; expected {" or ".join(VERSIONS)}'
        )
    if not command:
        raise PluginError("users[].user.exec.command: expected a program")
    interactive = _interactive(plugin, str(version))
    spec: dict[str, Any] = {"interactive": interactive}
    if plugin.get("provideClusterInfo"):
        spec["cluster"] = _described(cluster)
    info = {"kind": "ExecCredential", "apiVersion": version, "spec": spec}
    added = {str(one["name"]): str(one["value"]) for one in plugin.get("env") or ()}
    try:
        with subprocess.Popen(  # noqa: S603 — kubeconfigs name programs, as for kubectl
            [command, *map(str, plugin.get("args") or ())],
            env={**os.environ, **added, "KUBERNETES_EXEC_INFO": json.dumps(info)},
            stdin=None if interactive else subprocess.DEVNULL,
            stdout=subprocess.PIPE,
        ) as process:
            assert process.stdout is not None
            output = process.stdout.read(MOST + 1)
            if len(output) > MOST:
                process.kill()
                raise PluginError(f"exec: executable {command} prints more than {MOST >> 20} MiB")
    except (OSError, ValueError) as error:  # the latter for NUL, and for = in a variable's name
        hint = f"; {plugin['installHint']}" if plugin.get("installHint") else ""
        why = error.strerror if isinstance(error, OSError) else error
        raise PluginError(f"exec: executable {command}: {why}{hint}") from error
    if process.returncode:
        raise PluginError(f"exec: executable {command} failed with exit code {process.returncode}")
    return _read(output, str(version), command)


def _interactive(plugin: Mapping[str, Any], version: str) -> bool:
    """Whether the plugin gets standard input, which it may ask the user on."""
    mode = plugin.get("interactiveMode") or ("IfAvailable" if version != VERSIONS[0] else "")
    if mode not in _MODES:
        raise PluginError(
            f"users[].user.exec.interactiveMode: expected {', '.join(_MODES)}, found {mode!r}"
        )
    terminal = sys.stdin is not None and sys.stdin.isatty()
    if mode == "Always" and not terminal:
        raise PluginError("exec: the plugin asks questions, and standard input is no terminal")
    return mode != "Never" and terminal


def _described(cluster: Mapping[str, Any]) -> dict[str, Any]:
    from dragoman.kube.credentials.files import content  # noqa: PLC0415 — seldom asked for

    names = ("server", "tls-server-name", "insecure-skip-tls-verify", "proxy-url")
    found: dict[str, Any] = {name: cluster[name] for name in names if cluster.get(name)}
    if authority := content(cluster, "certificate-authority"):
        found["certificate-authority-data"] = base64.b64encode(authority).decode()
    for one in cluster.get("extensions") or ():
        if one.get("name") == _EXTENSION:
            found["config"] = one.get("extension")
    return found


def _read(answer: bytes, version: str, command: str) -> Issued:
    try:
        document = json.loads(answer)
    except (ValueError, RecursionError):
        raise PluginError(f"exec: {command} did not print an ExecCredential") from None
    status = document.get("status") if isinstance(document, dict) else None
    if not isinstance(status, dict) or document.get("kind") != "ExecCredential":
        raise PluginError(f"exec: {command} did not print an ExecCredential with a status")
    if document.get("apiVersion") != version:
        raise PluginError(
            f"exec: {command} printed {document.get('apiVersion')}, the kubeconfig says {version}"
        )
    found = {
        name: str(status.get(name) or "")
        for name in ("token", "clientCertificateData", "clientKeyData")
    }
    token, certificate, key = found.values()
    if bool(certificate) != bool(key):
        raise PluginError(f"exec: {command} printed a certificate without its key, or the reverse")
    if not token and not certificate:
        raise PluginError(f"exec: {command} printed neither token nor clientCertificateData")
    return Issued(token, certificate, key, _expiry(status.get("expirationTimestamp"), command))


def _expiry(stamp: object, command: str) -> datetime | None:
    if not stamp:
        return None
    try:
        found = datetime.fromisoformat(str(stamp))
    except ValueError:
        raise PluginError(f"exec: {command}: expirationTimestamp is no time: {stamp!r}") from None
    return found if found.tzinfo else found.replace(tzinfo=UTC)
