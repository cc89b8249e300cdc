"""The driver's own parameters: decoded strictly, so that a mistyped field fails a pod. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

API_VERSION, KIND = "gpu.example.com/v1", "GpuConfig"
MODES = ("Exclusive", "Shared")
MAX_LABEL = 63


class ConfigError(ValueError):
    """Parameters that the driver does not take; the message says why."""


@dataclass(frozen=True, slots=True)
class Config:
    """How a device is to be set up.

    Attributes:
        mode: One of `MODES`.
        label: A word that containers see.
    """

    mode: str = "Exclusive"
    label: str = ""


def decode(parameters: Any) -> Config:
    """Return the config that opaque parameters spell.

    Raises:
        ConfigError: No object, another kind, an unknown field, or a value that no field takes.
    """
    if not isinstance(parameters, Mapping):
        raise ConfigError(f"parameters: {type(parameters).__name__} is no object")
    kind = (parameters.get("apiVersion"), parameters.get("kind"))
    if kind != (API_VERSION, KIND):
        raise ConfigError(f"unknown config {kind[0]}, {kind[1]}: {API_VERSION}, {KIND} is known")
    given = {key: value for key, value in parameters.items() if key not in {"apiVersion", "kind"}}
    if unknown := sorted(given.keys() - {"mode", "label"}):
        raise ConfigError(f'strict decoding error: unknown field "{unknown[0]}"')
    mode, label = given.get("mode", "Exclusive"), given.get("label", "")
    if mode not in MODES:
        raise ConfigError(f"mode: {mode!r} is none of {', '.join(MODES)}")
    if not isinstance(label, str) or len(label) > MAX_LABEL or not label.isprintable():
        raise ConfigError(f"label: not a printable text of at most {MAX_LABEL} characters")
    return Config(mode, label)


def config_for(request: str, entries: Iterable[Mapping[str, Any]], driver: str) -> Config:
    """Return the config of one request: the last entry that covers it counts.

    Every entry of the driver is decoded, also one that another overrides.

    Args:
        request: Name in the allocation's results, such as `gpu` or `gpu/big`.
        entries: `status.allocation.devices.config` of the claim.
        driver: Whose entries count.
    """
    chosen = Config()
    main, *_ = request.split("/")
    for entry in entries:
        opaque = entry.get("opaque") or {}
        if opaque.get("driver") == driver:
            config = decode(opaque.get("parameters"))
            covered = entry.get("requests") or [request]
            chosen = config if {request, main} & set(covered) else chosen
    return chosen
