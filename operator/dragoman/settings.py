"""What can be set for the operator; flags of `dragoman operator` or DRAGOMAN_* variables."""

import math
import os
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Literal, Self, get_args, get_origin

from dragoman.address import Address
from dragoman.serving_settings import ServingSettings, own_namespace

ClaimsMode = Literal["auto", "own", "assist", "off"]
FeedKind = Literal["reflector", "kopf"]
LogFormat = Literal["text", "json"]
PREFIX = "DRAGOMAN_"


CHOICES = {
    "claims": get_args(ClaimsMode),
    "feed": get_args(FeedKind),
    "log_format": get_args(LogFormat),
}
BOUNDS = {
    "workers": (1, 1000),
    "grace": (0.0, math.inf),
    "takeover_after": (0.0, math.inf),
    "resync": (1.0, math.inf),
}
"""The least and the most of what is a number and nobody else checks."""


class SettingsError(ValueError):
    """A setting has a value that cannot be used; the message names it and what is expected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Settings of the operator.

    Attributes:
        kubeconfig: Path of a kubeconfig file; None for the usual places.
        context: Name of a context in it; None for the current one.
        claims: `own`: be the claim controller. `assist`: help another one where it failed.
            `auto`: assist until there is clearly no other. `off`: leave claims alone.
        grace: Seconds that another controller has before dragoman acts in its stead.
        quiet: Seconds without a sign of another controller after which `auto` becomes `own`.
        leader_elect: Whether only the holder of a Lease writes.
        lease_duration: Seconds for which a silent leader is left in office.
        renew_deadline: Seconds for which a leader goes on without a successful renewal.
        retry_period: Seconds between tries to take or renew the Lease.
        feed: How pods and claims come in: `reflector`, by own lists and watches; `kopf`,
            through kopf's, which cost more.
        namespace: Where the operator keeps its own objects.
        metrics_address: `HOST:PORT` of /metrics, /livez and /readyz; empty for none.
        log_format: `text` or `json`.
        log_level: The least severe level that is shown.
        workers: How many pods, and how many claims, are worked on at the same time.
        resync: Seconds between full passes.
        catalogue: Which ready-made DriverConfigSchemas are applied: `all`, `none`, or drivers
            with commas between them.
        catalogue_mode: `driver=mode` each.
        catalogue_variable: `driver:NAME=VALUE` each.
        serving: How reviews are served in this process too; None for not at all. No variable.
    """

    kubeconfig: Path | None = None
    context: str | None = None
    claims: ClaimsMode = "auto"
    grace: float = 30.0
    takeover_after: float = 300.0
    leader_elect: bool = True
    lease_duration: float = 15.0
    renew_deadline: float = 10.0
    retry_period: float = 2.0
    feed: FeedKind = "reflector"
    namespace: str = field(default_factory=own_namespace)
    metrics_address: str = ""
    log_format: LogFormat = "text"
    log_level: str = "info"
    workers: int = 32
    resync: float = 600.0
    catalogue: str = "none"
    catalogue_mode: tuple[str, ...] = ()
    catalogue_variable: tuple[str, ...] = ()
    serving: ServingSettings | None = None

    def __post_init__(self) -> None:
        """Refuse values that cannot be used; raise SettingsError naming the setting."""
        for name, (least, most) in BOUNDS.items():
            value = getattr(self, name)
            if not least <= value <= most:
                most_of = " or more" if most == math.inf else f" to {most:g}"
                raise SettingsError(f"{_named(name)}: expected {least:g}{most_of}, found {value:g}")
        try:
            Address.parse(self.metrics_address or ":0")
        except ValueError as error:
            raise SettingsError(f"{_named('metrics_address')}: {error}") from error

    @property
    def asks_for_schemas(self) -> bool:
        """Whether something was asked about DriverConfigSchemas, and must be seen to work."""
        chosen = self.catalogue_mode or self.catalogue_variable or self.catalogue != "none"
        return bool(chosen or self.serving)

    @classmethod
    def from_environment(cls) -> Self:
        """Read DRAGOMAN_* variables; raise SettingsError naming the wrong one."""
        values: dict[str, object] = {}
        for setting in fields(cls):
            variable = PREFIX + setting.name.upper()
            if variable in os.environ and setting.name != "serving":
                value = os.environ[variable]
                values[setting.name] = _convert(variable, setting.name, setting.type, value)
        return cls(**values)  # type: ignore[arg-type]  # _convert gave each its type


def _named(name: str) -> str:
    return f"--{name.replace('_', '-')} ({PREFIX}{name.upper()})"


def _convert(variable: str, name: str, kind: object, value: str) -> object:
    choices = CHOICES.get(name)
    if choices is not None and value not in choices:
        raise SettingsError(f"{variable}: expected one of {', '.join(choices)}, found {value!r}")
    if get_origin(kind) is tuple:
        return tuple(value.split())
    if kind is bool:
        return _switch(variable, value)
    if name == "kubeconfig":
        return Path(value)
    try:
        return int(value) if kind is int else float(value) if kind is float else value
    except ValueError as error:
        raise SettingsError(f"{variable}: expected a number, found {value!r}") from error


def _switch(variable: str, value: str) -> bool:
    known = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
    if value.lower() not in known:
        raise SettingsError(f"{variable}: expected true or false, found {value!r}")
    return known[value.lower()]
