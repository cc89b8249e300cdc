"""Taints of devices, tolerations, and DeviceTaintRules (KEP-5055)."""

from dataclasses import dataclass

from dragoman.model.fields import (
    Document,
    MalformedObjectError,
    mapping,
    optional_text,
    require_object,
    text,
)

RESERVATION = "dragoman.dev/preemption"
"""Key of the taint of a reserved device; the value is the UID of the pod that it is for."""


@dataclass(frozen=True, slots=True)
class Taint:
    """A taint of a device."""

    key: str  # `key`
    effect: str  # `effect`
    value: str = ""  # `value`
    rule: str = ""  # Name of the DeviceTaintRule that set it, empty for the driver
    added: str = ""  # `timeAdded` as an API timestamp, empty where unset; the scheduler ignores it


@dataclass(frozen=True, slots=True)
class Toleration:
    """A toleration of a request, or as the scheduler copied it into an allocation.

    API: resource.k8s.io/v1 DeviceToleration.
    """

    key: str = ""  # Empty for every key
    operator: str = ""  # `Exists` or `Equal`; empty is `Equal`, any other tolerates nothing
    value: str = ""  # Compared by `Equal`
    effect: str = ""  # Empty for every effect
    seconds: int | None = None  # `tolerationSeconds`; None tolerates a taint without limit

    def tolerates(self, taint: Taint) -> bool:
        """Whether it covers a taint, as long as its `tolerationSeconds` last."""
        if self.effect and self.effect != taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        if self.operator == "Exists":
            return True
        return self.operator in ("", "Equal") and self.value == taint.value

    def document(self) -> Document:
        """Return the toleration in the API's JSON form, with the fields that are set."""
        found = {
            "key": self.key,
            "operator": self.operator,
            "value": self.value,
            "effect": self.effect,
            "tolerationSeconds": self.seconds,
        }
        return {name: value for name, value in found.items() if value not in ("", None)}


@dataclass(frozen=True, slots=True)
class DeviceTaintRule:
    """A DeviceTaintRule: a taint for all devices that its selector names."""

    name: str  # `metadata.name`.
    taint: Taint  # What the devices get
    has_selector: bool = True  # Whether `spec.deviceSelector` is set.
    driver: str | None = None  # None means every driver; so for pool and device
    pool: str | None = None  # See `driver`
    device: str | None = None  # See `driver`

    def concerns(self, driver: str, pool: str) -> bool:
        """Whether the selector names a pool, or all of them."""
        return self.driver in (None, driver) and self.pool in (None, pool)

    def selects(self, device: tuple[str, str, str]) -> bool:
        """Whether a rule selects a device: no selector selects none, an empty one selects all."""
        driver, pool, name = device
        return self.has_selector and self.concerns(driver, pool) and self.device in (None, name)


def parse_taint_rule(document: Document) -> DeviceTaintRule:
    """Read a DeviceTaintRule."""
    require_object(document)
    spec = mapping(document, "spec")
    selector = mapping(spec, "deviceSelector", "spec.")
    name = text(mapping(document, "metadata"), "name", "metadata.")
    within = "spec.deviceSelector."
    return DeviceTaintRule(
        name=name,
        taint=parse_taint(mapping(spec, "taint", "spec."), "spec.taint.", name),
        has_selector=spec.get("deviceSelector") is not None,
        driver=optional_text(selector, "driver", within),
        pool=optional_text(selector, "pool", within),
        device=optional_text(selector, "device", within),
    )


def parse_taint(document: Document, within: str, rule: str = "") -> Taint:
    """Read a taint of a device, or of the DeviceTaintRule with this name."""
    return Taint(
        optional_text(document, "key", within) or "",
        optional_text(document, "effect", within) or "",
        optional_text(document, "value", within) or "",
        rule,
        optional_text(document, "timeAdded", within) or "",
    )


def parse_toleration(document: Document, within: str) -> Toleration:
    """Read a toleration of a request or of an allocated device."""
    seconds = document.get("tolerationSeconds")
    if seconds is not None and type(seconds) is not int:
        found = type(seconds).__name__
        raise MalformedObjectError(f"{within}tolerationSeconds: expected an integer, found {found}")
    return Toleration(
        optional_text(document, "key", within) or "",
        optional_text(document, "operator", within) or "",
        optional_text(document, "value", within) or "",
        optional_text(document, "effect", within) or "",
        seconds,
    )
