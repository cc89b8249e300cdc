"""The forms of a kubeconfig's fields, so that one with another form is named before it is used."""

from collections.abc import Iterator, Mapping
from typing import Any

_STRINGS = (
    *("cluster", "user", "namespace"),
    *("server", "tls-server-name", "proxy-url", "certificate-authority"),
    *("certificate-authority-data", "client-certificate", "client-certificate-data"),
    *("client-key", "client-key-data", "token", "tokenFile", "username", "password"),
)
_EXEC_STRINGS = ("apiVersion", "command", "installHint", "interactiveMode")


def wrong_form(section: Mapping[str, Any], place: str) -> tuple[str, str] | None:
    """Return the first field of another form than kubectl takes: its place, and what is expected.

    Args:
        section: `contexts[].context`, `clusters[].cluster` or `users[].user`.
        place: One of these.
    """
    return next(_wrong(section, place), None)


def _wrong(section: Mapping[str, Any], place: str) -> Iterator[tuple[str, str]]:
    yield from _others(section, place, _STRINGS, str, "a string")
    yield from _others(section, place, ("insecure-skip-tls-verify",), bool, "true or false")
    yield from _lists(section, place, "extensions", dict, "a list of objects")
    yield from _others(section, place, ("exec", "auth-provider"), dict, "an object")
    provider, plugin = section.get("auth-provider"), section.get("exec")
    if isinstance(provider, dict):
        within = f"{place}.auth-provider"
        yield from _others(provider, within, ("name",), str, "a string")
        yield from _others(provider, within, ("config",), dict, "an object")
        settings = provider.get("config") or {}
        yield from _others(settings, f"{within}.config", tuple(settings), str, "a string")
    if not isinstance(plugin, dict):
        return
    place = f"{place}.exec"
    yield from _others(plugin, place, _EXEC_STRINGS, str, "a string")
    yield from _others(plugin, place, ("provideClusterInfo",), bool, "true or false")
    yield from _lists(plugin, place, "args", str, "a list of strings")
    yield from _lists(plugin, place, "env", dict, "a list of objects")
    for one in plugin.get("env") or ():
        if not isinstance(one.get("name"), str) or not isinstance(one.get("value"), str):
            yield f"{place}.env[]", "name and value, both strings"


def _others(
    section: Mapping[str, Any], place: str, names: tuple[str, ...], kind: type, expected: str
) -> Iterator[tuple[str, str]]:
    for name in names:
        if not isinstance(section.get(name), kind | None):
            yield f"{place}.{name}", expected


def _lists(
    section: Mapping[str, Any], place: str, name: str, kind: type, expected: str
) -> Iterator[tuple[str, str]]:
    found = section.get(name) or []
    if not isinstance(found, list) or not all(isinstance(one, kind) for one in found):
        yield f"{place}.{name}", expected
