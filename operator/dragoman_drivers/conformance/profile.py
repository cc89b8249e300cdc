"""What a vendor says about a driver: configs that work and fail, and how a device fails. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dragoman_base.words.spelling import closest

_FIELDS = {
    "configs",
    "device",
    "metrics",
    "liveness",
    "oldCommand",
    "checkpoint",
    "slowCommand",
    "emptyCommand",
    "manyCommand",
    "shuffledCommand",
    "oldestKubernetes",
    "reset",
    "impossible",
}


class ProfileError(ValueError):
    """A profile that cannot be read; the message names the field."""


@dataclass(frozen=True, slots=True)
class DriverProfile:
    """A vendor's knowledge of a driver; every field may be absent."""

    good: tuple[Any, ...] = ()  # Opaque parameters that must be accepted
    # Opaque parameters that must be refused, each with a word that the error must contain
    bad: tuple[tuple[Any, str], ...] = ()
    # Opaque parameters that hold a secret, each with the secret
    secrets: tuple[tuple[Any, str], ...] = ()
    # Shell command that makes a device fail; `{device}` and all placeholders of commands
    fail: str = ""
    heal: str = ""  # Shell command that ends the failure
    lose: str = ""  # Shell command that takes a device away
    find: str = ""  # Shell command that brings it again
    liveness: str = ""  # URL of a liveness probe; `{http_port}` is replaced
    metrics: str = ""  # URL of metrics
    checkpoint: str = ""  # Path of the checkpoint, with placeholders
    # Variants of the driver's command: `old`, `slow`, `empty`, `many`, `shuffled`
    commands: Mapping[str, str] = field(default_factory=dict)
    oldest: int = 0  # The oldest minor release of Kubernetes that is promised, such as 33 for 1.33.
    impossible: Any = None  # Parameters that ask for what the device cannot do
    reset: str = ""  # Shell command that succeeds where a released device is as it was before


def parse(tree: Any) -> DriverProfile:
    """Read a profile from its YAML tree.

    Raises:
        ProfileError: An unknown field, or a value of another type.
    """
    if tree is None:
        return DriverProfile()
    if not isinstance(tree, Mapping):
        raise ProfileError("must be an object")
    if unknown := sorted(map(str, tree.keys() - _FIELDS)):
        near = closest(unknown[0], _FIELDS)
        raise ProfileError(
            f"{unknown[0]}: unknown field{f'; did you mean {near}?' if near else ''}"
        )
    configs = _mapping(tree, "configs")
    device = {
        key: _text(_mapping(tree, "device"), key, "device.")
        for key in ("fail", "heal", "lose", "find")
    }
    names = {
        "old": "oldCommand",
        "slow": "slowCommand",
        "empty": "emptyCommand",
        "many": "manyCommand",
        "shuffled": "shuffledCommand",
    }
    return DriverProfile(
        good=tuple(_list(configs, "good")),
        bad=tuple(_bad(one) for one in _list(configs, "bad")),
        secrets=tuple(_secret(one) for one in _list(configs, "secrets")),
        liveness=_text(tree, "liveness"),
        metrics=_text(tree, "metrics"),
        checkpoint=_text(tree, "checkpoint"),
        commands={key: _text(tree, name) for key, name in names.items() if tree.get(name)},
        oldest=_minor(tree),
        impossible=tree.get("impossible"),
        reset=_text(tree, "reset"),
        **device,
    )


def _bad(entry: Any) -> tuple[Any, str]:
    if not isinstance(entry, Mapping) or "parameters" not in entry:
        raise ProfileError("configs.bad: each entry has `parameters`, and `error` for a word of it")
    return entry["parameters"], str(entry.get("error", ""))


def _secret(entry: Any) -> tuple[Any, str]:
    if not isinstance(entry, Mapping) or not entry.get("parameters") or not entry.get("secret"):
        raise ProfileError("configs.secrets: each entry has `parameters` and the `secret` in them")
    parameters, secret = entry["parameters"], str(entry["secret"])
    if not any(secret in one for one in strings(parameters)):
        # C8 would look for what the driver never got, and pass.
        raise ProfileError("configs.secrets: the `secret` is in no text of its `parameters`")
    return parameters, secret


def strings(tree: Any) -> Iterator[str]:
    """Yield keys and values of a tree as texts."""
    if isinstance(tree, Mapping):
        for key, value in tree.items():
            yield str(key)
            yield from strings(value)
    elif isinstance(tree, list | tuple):
        for one in tree:
            yield from strings(one)
    elif tree is not None:
        yield str(tree)


def _minor(tree: Mapping[str, Any]) -> int:
    text = _text(tree, "oldestKubernetes")
    major, _, minor = text.removeprefix("v").partition(".")
    if text and not (major == "1" and minor.isdecimal()):
        raise ProfileError("oldestKubernetes: must be a minor release, such as '1.34'")
    return int(minor or 0)


def _mapping(tree: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = tree.get(key) or {}
    if not isinstance(value, Mapping):
        raise ProfileError(f"{key}: must be an object")
    return value


def _list(tree: Mapping[str, Any], key: str) -> Sequence[Any]:
    value = tree.get(key) or []
    if not isinstance(value, list):
        raise ProfileError(f"configs.{key}: must be a list")
    return value


def _text(tree: Mapping[str, Any], key: str, prefix: str = "") -> str:
    value = tree.get(key) or ""
    if not isinstance(value, str):
        raise ProfileError(f"{prefix}{key}: must be a text")
    return value
