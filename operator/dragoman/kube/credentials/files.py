"""Kubeconfig files as kubectl reads them, without its libraries: which files, merged how, what for.

Source: client-go's tools/clientcmd: the loading rules and the merge in loader.go, the choice of
context, cluster and user in client_config.go, the refusals in validation.go.
"""

import base64
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dragoman.kube.connectionoptions import ConnectionOptions
from dragoman.kube.credentials.forms import wrong_form
from dragoman_base import files
from dragoman_base.files import documents
from dragoman_base.files.yamltext import INVALID
from dragoman_base.words.spelling import closest

_LISTS = {"contexts": "context", "clusters": "cluster", "users": "user"}
"""Named entries of a kubeconfig, each with the field that has the content."""
_TYPES = {"contexts": "Context", "clusters": "Cluster", "users": "AuthInfo"}
"""Their types in Go, as kubectl's words have them."""
_PATHS = {
    "clusters": ("certificate-authority",),
    "users": ("client-certificate", "client-key", "tokenFile"),
}
"""Fields with paths, which start at the folder of their file."""
HOME = Path("~/.kube/config")
"""The kubeconfig where none is named."""
MAX_CERTIFICATE = 1 << 20
"""Bytes of a file with certificates, a key or a token."""


class ConnectionSettingsError(Exception):
    """There is no usable API server configuration; the message names the sources that were read."""


@dataclass(frozen=True, slots=True)
class Config:
    """Kubeconfig files, merged: of entries with one name, that of the first file counts."""

    current: str = ""  # `current-context` of the first file that has one
    # `contexts`, `clusters` and `users`, each by name
    entries: Mapping[str, Mapping[str, Mapping[str, Any]]] = field(
        default_factory=lambda: {plural: {} for plural in _LISTS}
    )
    absent: str = ""  # Files that were looked for and are not there; empty for none

    @property
    def contexts(self) -> Mapping[str, Mapping[str, Any]]:
        """Contexts by name."""
        return self.entries["contexts"]


@dataclass(frozen=True, slots=True)
class ChosenContext:
    """The parts of a kubeconfig that a choice means."""

    cluster: Mapping[str, Any]  # `clusters[].cluster`, paths resolved.
    user: Mapping[str, Any]  # `users[].user`, paths resolved.
    namespace: str = ""  # Of the context; empty where it has none
    cluster_name: str = ""  # Empty for the server of an option alone
    user_name: str = ""  # Empty for none


def load(kubeconfig: Path | None) -> Config:
    """Read and merge kubeconfig files; a file of $KUBECONFIG may be missing, a named one not.

    Raises:
        ConnectionSettingsError: A file cannot be read, or has another form.
    """
    current = ""
    entries: dict[str, dict[str, Mapping[str, Any]]] = {plural: {} for plural in _LISTS}
    places = [*_places(kubeconfig)]
    missing = ", ".join(str(one) for one in places if not os.path.exists(one))  # noqa: PTH110 — never raises
    variable = " ($KUBECONFIG)" if os.environ.get("KUBECONFIG") else ""
    absent = f"{missing}{variable}: no such file" if missing else ""
    for path in places:
        document = _document(path, required=kubeconfig is not None)
        named = document.get("current-context") or ""
        if not isinstance(named, str):
            raise _wrong(path, "current-context", "a string")
        current = current or named
        for plural, singular in _LISTS.items():
            for name, content in _named(document, plural, singular, path):
                entries[plural].setdefault(name, content)
    return Config(current, entries, absent)


def connection(config: Config, choice: ConnectionOptions) -> ChosenContext:
    """Return what a choice means; raise ConnectionSettingsError in kubectl's words."""
    name = choice.context or config.current
    if not (name or choice.cluster or choice.server):
        known = ", ".join(config.contexts)
        hint = f"choose one with --context: {known}" if known else "no kubeconfig has a context"
        if config.absent and not known:
            raise ConnectionSettingsError(config.absent)
        raise ConnectionSettingsError(f"current-context is not set; {hint}")
    context = _entry(config, "contexts", "context", name) if name else {}
    cluster_name = choice.cluster or context.get("cluster")
    cluster: Mapping[str, Any] = {}
    if cluster_name or not choice.server:
        cluster = _entry(config, "clusters", "cluster", cluster_name)
    if choice.server:
        cluster = {**cluster, "server": choice.server, "tls-server-name": ""}
    if choice.tls_server_name:
        cluster = {**cluster, "tls-server-name": choice.tls_server_name}
    user_name = choice.user or context.get("user")
    user = _entry(config, "users", "auth info", user_name) if user_name else {}
    if choice.token:
        user = {**user, "token": choice.token, "tokenFile": ""}
    names = str(cluster_name or ""), str(user_name or "")
    return ChosenContext(cluster, user, str(context.get("namespace") or ""), *names)


def content(section: Mapping[str, Any], name: str) -> bytes | None:
    """Return what a certificate or key is: its data, or what its file has; None without either.

    Raises:
        OSError: The file cannot be read.
        ValueError: The data is not base64.
    """
    if data := section.get(f"{name}-data"):
        # As in Go, line ends within base64 count for nothing; other characters are refused.
        return base64.b64decode("".join(str(data).splitlines()), validate=True)
    if not section.get(name):
        return None
    try:
        return files.read(section[name], MAX_CERTIFICATE)
    except files.UnreadableError as error:
        raise OSError(f"{section[name]}: {error}") from None


def _places(kubeconfig: Path | None) -> Iterable[Path]:
    if kubeconfig is not None:
        return [kubeconfig]
    named = os.environ.get("KUBECONFIG")
    if named:
        return [Path(one) for one in dict.fromkeys(named.split(os.pathsep)) if one]
    return [HOME.expanduser()]


def _document(path: Path, *, required: bool) -> Mapping[str, Any]:
    try:
        # As for kubectl, what follows the first document counts for nothing.
        document = next(iter(documents.trees(path)), None)
    except OSError as error:
        if isinstance(error, FileNotFoundError) and not required:
            return {}
        raise ConnectionSettingsError(f"{path}: {files.reason(error)}") from error
    except ValueError as error:
        line = getattr(error, "line", 0)
        place = f"yaml: line {line}: " if line else ""
        raise _refused(path, place + str(error).removeprefix(f"{INVALID}: ")) from None
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise _wrong(path, "the file", "an object")
    for name, default in (("apiVersion", "v1"), ("kind", "Config")):
        if not isinstance(document.get(name), str | None):
            raise _wrong(path, name, "a string")
        if (document.get(name) or default) != default:
            raise _refused(
                path,
                f'no kind "{document.get("kind") or "Config"}" is registered for version '
                f'"{document.get("apiVersion") or "v1"}"',
            )
    return document


def _named(
    document: Mapping[str, Any], plural: str, singular: str, path: Path
) -> Iterable[tuple[str, Mapping[str, Any]]]:
    found = document.get(plural) or []
    if not isinstance(found, list):
        raise _wrong(path, plural, "a list")
    seen = set()
    for one in found:
        if not isinstance(one, dict) or not isinstance(one.get("name"), str):
            raise _wrong(path, f"{plural}[]", "an object with a name")
        held = one.get(singular) or {}
        if not isinstance(held, dict):
            raise _wrong(path, f"{plural}[].{singular}", "an object")
        if fault := wrong_form(held, f"{plural}[].{singular}"):
            raise _wrong(path, *fault)
        if one["name"] in seen:
            # kubectl goes on with the whole list, tokens and keys included.
            kind = _TYPES[plural]
            raise _refused(
                path,
                f"error converting *[]Named{kind} into *map[string]*api.{kind}: "
                f'duplicate name "{one["name"]}" in list',
            )
        seen.add(one["name"])
        yield one["name"], _resolved(held, plural, path.parent)


def _resolved(held: dict[str, Any], plural: str, folder: Path) -> Mapping[str, Any]:
    """Return a section with absolute paths; a command without `/` is looked up in PATH."""
    paths = {name: held[name] for name in _PATHS.get(plural, ()) if held.get(name)}
    resolved: dict[str, Any] = {
        name: str(folder.absolute() / str(path)) for name, path in paths.items()
    }
    plugin = held.get("exec")
    if isinstance(plugin, dict) and os.sep in str(plugin.get("command") or ""):
        command = str(folder.absolute() / str(plugin["command"]))
        resolved |= {"exec": {**plugin, "command": command}}
    return {**held, **resolved}


def _entry(config: Config, plural: str, noun: str, name: object) -> Mapping[str, Any]:
    known = config.entries[plural]
    if name in known:
        return known[str(name)]
    near = closest(str(name), known) if name else None
    there = f"; did you mean {near}?" if near else f"; there are {', '.join(known)}"
    absent = f"; {config.absent}" if config.absent else ""
    raise ConnectionSettingsError(
        f'{noun} "{name or ""}" does not exist{absent}{there if known else ""}'
    )


def _wrong(path: Path, place: str, expected: str) -> ConnectionSettingsError:
    return _refused(path, f"{place}: expected {expected}")


def _refused(path: Path, why: str) -> ConnectionSettingsError:
    return ConnectionSettingsError(f'error loading config file "{path}": {why}')
