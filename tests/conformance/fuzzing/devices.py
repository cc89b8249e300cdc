"""Random devices in the API's form, and the paths by which selectors reach into them."""

from random import Random
from typing import Any

from tests.conformance.fuzzing.grammar import Type

DRIVER = "dra.example.com"
OTHER = "other.example.com"

_KINDS: dict[str, Type] = {
    "model": ("string",),
    "family": ("string",),
    "index": ("int",),
    "slots": ("int",),
    "healthy": ("bool",),
    "version": ("semver",),
    "tags": ("L", ("string",)),
    "numbers": ("L", ("int",)),
    "flags": ("L", ("bool",)),
    "versions": ("L", ("semver",)),
}
_LISTS = ("tags", "numbers", "flags", "versions")
_CAPACITIES = ("memory", "cores")


def roots(*, lists: bool) -> list[tuple[Type, str]]:
    """Return the paths into a device with the type they have when the device has them."""
    found: list[tuple[Type, str]] = [
        (("string",), "device.driver"),
        (("bool",), "device.allowMultipleAllocations"),
        (("bool",), f'"{DRIVER}" in device.attributes'),
        (("bool",), f'has(device.attributes["{DRIVER}"].model)'),
        (("M", ("string",), ("string",)), f'device.attributes["{DRIVER}"]'),
        (("M", ("string",), ("int",)), f'device.attributes["{OTHER}"]'),
        (("M", ("string",), ("quantity",)), f'device.capacity["{DRIVER}"]'),
        (("M", ("string",), ("M", ("string",), ("int",))), "device.attributes"),
        (("M", ("string",), ("M", ("string",), ("quantity",))), "device.capacity"),
    ]
    for name in _CAPACITIES:
        found.append((("quantity",), f'device.capacity["{DRIVER}"].{name}'))
        found.append((("O", ("quantity",)), f'device.capacity["{OTHER}"].?{name}'))
    for name, kind in _KINDS.items():
        if lists or name not in _LISTS:
            found += _paths(name, kind)
    return found


def _paths(name: str, kind: Type) -> list[tuple[Type, str]]:
    return [
        (kind, f'device.attributes["{DRIVER}"].{name}'),
        (kind, f'device.attributes["{DRIVER}"]["{name}"]'),
        (kind, f'device.attributes["{OTHER}"].{name}'),
        (("O", kind), f'device.attributes["{DRIVER}"].?{name}'),
        (("O", kind), f'device.attributes[?"{OTHER}"][?"{name}"]'),
        (("bool",), f'has(device.attributes["{DRIVER}"].{name})'),
        (("bool",), f'"{name}" in device.attributes["{OTHER}"]'),
    ]


def device(random: Random, *, lists: bool) -> dict[str, Any]:
    """Return a device; it has list attributes only where `lists` allows them."""
    names = [name for name in _KINDS if lists or name not in _LISTS]
    attributes = {
        _domain(random) + name: _attribute(random, name)
        for name in random.sample(names, random.randrange(len(names) + 1))
    }
    capacity = {
        _domain(random) + name: {
            "value": random.choice(("40Gi", "1500m", "0", "100Ti", "8", "1.5Gi"))
        }
        for name in _CAPACITIES
        if random.random() < 0.7
    }
    found: dict[str, Any] = {"attributes": attributes, "capacity": capacity}
    if random.random() < 0.3:
        found["allowMultipleAllocations"] = random.random() < 0.5
    return found


def _domain(random: Random) -> str:
    return random.choice(("", "", f"{DRIVER}/", f"{OTHER}/"))


def _attribute(random: Random, name: str) -> dict[str, Any]:
    if random.random() < 0.04:
        name = random.choice(("model", "index", "healthy", "version"))
    count = random.randrange(4)
    match name:
        case "model" | "family":
            return {"string": random.choice(("", "abc", "a100", "A1", "é", "42"))}
        case "index" | "slots":
            return {"int": random.choice((0, 1, 3, -7, 42, 9223372036854775807))}
        case "healthy":
            return {"bool": random.random() < 0.5}
        case "version":
            return {
                "version": random.choice((*["1.2.3", "0.0.1-rc.1", "2.0.0+b", "10.0.0"] * 6, "1.2"))
            }
        case "tags":
            return {"strings": random.choices(("a", "abc", "b", "é"), k=count)}
        case "numbers":
            return {"ints": random.choices((0, 1, 2, 42), k=count)}
        case "flags":
            return {"bools": random.choices((True, False), k=count)}
        case _:
            return {"versions": random.choices(("1.2.3", "2.0.0"), k=count)}
