"""Quantities and versions in forms that people write and Kubernetes does not read."""

import re

from dragoman_toolkit.linting.knowledge.api import is_quantity

_AMOUNT = re.compile(r"\s*([+-]?[0-9.]+)\s*([A-Za-z]*)\s*", re.ASCII)
_VERSION = re.compile(
    r"\s*[vV=]?\s*(\d+(?:\.\d+){0,2})((?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?)\s*"
)
_SUFFIXES = {
    **{
        f"{letter}{rest}".lower(): f"{letter}i" for letter in "KMGTPE" for rest in ("i", "ib", "iB")
    },
    **{f"{letter}b".lower(): letter for letter in "MGTPE"},
    **{letter.lower(): letter for letter in "GTPE"},
    "kb": "k",
    "k": "k",
    "b": "",
    "bytes": "",
    "byte": "",
}


def quantity_meant(value: str) -> str | None:
    """Return a quantity that can only be meant, as `6Gi` for `6 GiB`; None without one."""
    match = _AMOUNT.fullmatch(value)
    if match is None or len(value) > 64:
        return None
    unit = match[2]
    suffix = unit if is_quantity(f"1{unit}") else _SUFFIXES.get(unit.lower())
    if suffix is None:
        return None
    meant = f"{match[1]}{suffix}"
    return meant if is_quantity(meant) and meant != value else None


def semver_meant(value: str) -> str | None:
    """Return a version with three numbers, as `8.0.0` for `8.0`; None without one."""
    match = _VERSION.fullmatch(value)
    if match is None or len(value) > 64:
        return None
    numbers = [str(int(one)) for one in match[1].split(".")]
    meant = ".".join([*numbers, "0", "0"][:3]) + match[2]
    return meant if meant != value else None
