"""Which objects of the catalog are applied, with which settings; pure.

Server-side apply distinguishes owners of fields. What the catalog says is the operator's; a field
that an admin has taken over comes back as a conflict, and is left out from then on.
"""

import copy
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dragoman_configs.objects.driverconfigschema import MODES, VARIABLE_TYPES

ALL, NONE = "all", "none"
_STEP = re.compile(r"\.([A-Za-z0-9_-]+)|\[([^\]]*)\]")
_KEY = re.compile(r'(\w+)=("(?:[^"\\]|\\.)*"|[^,]+)')


class SelectionError(ValueError):
    """A setting that the catalog does not have; the message names it and what there is."""


@dataclass(frozen=True, slots=True)
class UnknownSetting:
    """A setting that is left out, because the catalog does not have it."""

    driver: str  # The driver that the setting names, whether the catalog has it or not
    message: str  # The setting and the allowed ones


@dataclass(frozen=True, slots=True)
class CatalogSelection:
    """The objects to apply."""

    documents: tuple[dict[str, Any], ...] = ()  # The objects, with their modes and variables
    # The settings that are left out; the others take effect
    faults: tuple[UnknownSetting, ...] = ()


def select(
    documents: Iterable[Mapping[str, Any]],
    names: str,
    modes: Sequence[str] = (),
    variables: Sequence[str] = (),
    releases: Mapping[str, Mapping[str, Any]] | None = None,
) -> CatalogSelection:
    """Choose objects of the catalog and set what an installation decides.

    Args:
        documents: The catalog's default objects.
        names: `all`, `none`, or names with commas between them: of drivers, `DRIVER@RELEASE` for
            an earlier release, and `all` for the others.
        modes: `driver=mode` each.
        variables: `driver:NAME=VALUE` each.
        releases: The objects for earlier releases, by `DRIVER@RELEASE`.
    """
    known = {document["spec"]["driver"]: copy.deepcopy(dict(document)) for document in documents}
    faults: list[UnknownSetting] = []
    chosen: dict[str, None] = {}
    for name in (each.strip() for each in names.split(",")) if names != NONE else ():
        driver, at, _ = name.partition("@")
        try:
            if at:
                known[driver] = _release(releases or {}, name)
            chosen.update(dict.fromkeys(known if name == ALL else [_of(known, driver)]))
        except SelectionError as error:
            faults.append(UnknownSetting(driver, f"--catalog: {error}"))
    faults += _set(known, "--catalog-mode", modes, _set_mode)
    faults += _set(known, "--catalog-variable", variables, _set_variable)
    return CatalogSelection(tuple(known[driver] for driver in chosen), tuple(faults))


def _set(
    known: Mapping[str, dict[str, Any]],
    option: str,
    settings: Sequence[str],
    apply: Callable[[Mapping[str, dict[str, Any]], str], None],
) -> Iterator[UnknownSetting]:
    for setting in settings:
        try:
            apply(known, setting)
        except SelectionError as error:
            yield UnknownSetting(re.split("[:=]", setting)[0], f"{option}: {error}")


def _release(releases: Mapping[str, Mapping[str, Any]], name: str) -> dict[str, Any]:
    if name not in releases:
        listed = ", ".join(sorted(releases)) or "none"
        raise SelectionError(f"expected an earlier release, one of {listed}, found {name!r}")
    return copy.deepcopy(dict(releases[name]))


def without(document: Mapping[str, Any], path: str) -> dict[str, Any]:
    """Leave one field out of an object.

    Args:
        document: The object.
        path: As a conflict of server-side apply names it: `.spec.mode`,
            `.spec.variables[name="MPSSupport"].value`.
    """
    left = copy.deepcopy(dict(document))
    place: Any = left
    steps = list(_STEP.finditer(path))
    for step in steps[:-1]:
        place = _below(place, step)
    last = _place(place, steps[-1]) if steps and place is not None else None
    if last is not None:
        del place[last]
    return left


def _below(place: Any, step: re.Match[str]) -> Any:
    found = None if place is None else _place(place, step)
    return None if found is None else place[found]


def _place(place: Any, step: re.Match[str]) -> str | int | None:
    """Find a step's key or index; None where it leads nowhere."""
    name, keys = step[1], step[2]
    if name is not None:
        return name if isinstance(place, dict) and name in place else None
    if not isinstance(place, list):
        return None
    if keys.isdigit():
        return int(keys) if int(keys) < len(place) else None
    wanted = {key: json.loads(value) for key, value in _KEY.findall(keys)}
    return next((i for i, item in enumerate(place) if _has(item, wanted)), None)


def _has(item: Any, wanted: Mapping[str, Any]) -> bool:
    # The defaulted keys of `spec.configs` are empty, and need not be written.
    return isinstance(item, dict) and all(item.get(k, "") == v for k, v in wanted.items())


def _of(known: Mapping[str, dict[str, Any]], driver: str) -> str:
    if driver not in known:
        raise SelectionError(
            f"expected a driver of the catalog, one of {', '.join(sorted(known))}, found {driver!r}"
        )
    return driver


def _set_mode(known: Mapping[str, dict[str, Any]], setting: str) -> None:
    driver, _, mode = setting.partition("=")
    if mode not in MODES:
        raise SelectionError(
            f"expected DRIVER=MODE with one of {', '.join(MODES)}, found {setting!r}"
        )
    known[_of(known, driver)]["spec"]["mode"] = mode


def _set_variable(known: Mapping[str, dict[str, Any]], setting: str) -> None:
    driver, colon, rest = setting.partition(":")
    name, equals, text = rest.partition("=")
    if not colon or not equals:
        raise SelectionError(f"expected DRIVER:NAME=VALUE, found {setting!r}")
    found = known[_of(known, driver)]["spec"].get("variables") or []
    variable = next((one for one in found if one["name"] == name), None)
    if variable is None:
        listed = ", ".join(one["name"] for one in found) or "none"
        raise SelectionError(f"{driver} has the variables {listed}; found {name!r}")
    variable["value"] = _value(variable["type"], text, setting)


def _value(kind: str, text: str, setting: str) -> Any:
    try:
        value = text if kind == "string" else json.loads(text)
    except ValueError:
        value = None
    if type(value) is not VARIABLE_TYPES[kind]:
        raise SelectionError(f"expected a value of type {kind}, found {setting!r}")
    return value
