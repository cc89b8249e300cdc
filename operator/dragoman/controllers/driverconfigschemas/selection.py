"""Which objects of the catalogue are applied, and in whose words; pure.

Server-side apply tells owners of fields apart. What the catalogue says is the operator's; a field
that an admin has taken over comes back as a conflict, and is left out from then on.
"""

import copy
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dragoman.driverconfigs.driverconfigschema import MODES, VARIABLE_TYPES

ALL, NONE = "all", "none"
_STEP = re.compile(r"\.([A-Za-z0-9_-]+)|\[([^\]]*)\]")
_KEY = re.compile(r'(\w+)=("(?:[^"\\]|\\.)*"|[^,]+)')


class SelectionError(ValueError):
    """A choice that the catalogue does not have; the message names it and what there is."""


def select(
    documents: Iterable[Mapping[str, Any]],
    names: str,
    modes: Sequence[str] = (),
    variables: Sequence[str] = (),
) -> list[dict[str, Any]]:
    """Choose objects of the catalogue and set what an installation decides.

    Args:
        documents: the catalogue.
        names: `all`, `none`, or names of drivers with commas between them.
        modes: `driver=mode` each.
        variables: `driver:NAME=VALUE` each.

    Raises:
        SelectionError: a driver, mode or variable that does not exist, or a value of another type.
    """
    known = {document["spec"]["driver"]: copy.deepcopy(dict(document)) for document in documents}
    for setting in modes:
        _set_mode(known, setting)
    for setting in variables:
        _set_variable(known, setting)
    if names in {ALL, NONE}:
        return list(known.values()) if names == ALL else []
    return [_of(known, name.strip(), "--catalogue") for name in names.split(",")]


def without(document: Mapping[str, Any], path: str) -> dict[str, Any]:
    """Leave one field out of an object.

    Args:
        document: the object.
        path: as a conflict of server-side apply names it: `.spec.mode`,
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


def _of(known: Mapping[str, dict[str, Any]], driver: str, option: str) -> dict[str, Any]:
    if driver not in known:
        raise SelectionError(
            f"{option}: expected a driver of the catalogue, one of {', '.join(sorted(known))}, "
            f"found {driver!r}"
        )
    return known[driver]


def _set_mode(known: Mapping[str, dict[str, Any]], setting: str) -> None:
    driver, _, mode = setting.partition("=")
    if mode not in MODES:
        raise SelectionError(
            f"--catalogue-mode: expected DRIVER=MODE with one of {', '.join(MODES)}, "
            f"found {setting!r}"
        )
    _of(known, driver, "--catalogue-mode")["spec"]["mode"] = mode


def _set_variable(known: Mapping[str, dict[str, Any]], setting: str) -> None:
    driver, colon, rest = setting.partition(":")
    name, equals, text = rest.partition("=")
    if not colon or not equals:
        raise SelectionError(f"--catalogue-variable: expected DRIVER:NAME=VALUE, found {setting!r}")
    found = _of(known, driver, "--catalogue-variable")["spec"].get("variables") or []
    variable = next((one for one in found if one["name"] == name), None)
    if variable is None:
        listed = ", ".join(one["name"] for one in found) or "none"
        raise SelectionError(
            f"--catalogue-variable: {driver} has the variables {listed}; found {name!r}"
        )
    variable["value"] = _value(variable["type"], text, setting)


def _value(kind: str, text: str, setting: str) -> Any:
    try:
        value = text if kind == "string" else json.loads(text)
    except ValueError:
        value = None
    if type(value) is not VARIABLE_TYPES[kind]:
        raise SelectionError(
            f"--catalogue-variable: expected a value of type {kind}, found {setting!r}"
        )
    return value
