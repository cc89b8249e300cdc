"""Where the ready-made DriverConfigSchemas and the CRD lie, and reading them.

In a wheel they stand beside the code; in a checkout they stand in `crds/`, where people look.
"""

from pathlib import Path
from typing import Any

from dragoman_base.files import yamltext

_PACKAGE = Path(__file__).resolve().parent
_CHECKOUT = _PACKAGE.parent.parent / "crds"


def folder() -> Path:
    """Find the folder that holds the CRD and, in `catalog/`, one object per driver.

    Raises:
        FileNotFoundError: An installation without them.
    """
    for candidate in (_PACKAGE / "crds", _CHECKOUT):
        if (candidate / "catalog").is_dir():
            return candidate
    raise FileNotFoundError("the catalog is missing from this installation of dragoman")


def schemas() -> list[dict[str, Any]]:
    """Read the catalog's objects, in the order of their names."""
    return [_read(path) for path in sorted((folder() / "catalog").glob("*.yaml"))]


def releases() -> dict[str, dict[str, Any]]:
    """Read the objects for earlier releases of drivers, by `DRIVER@RELEASE`.

    Each has the name of the driver's default object, because it takes the place of that one.
    """
    found = sorted((folder() / "catalog" / "releases").glob("*.yaml"))
    return {path.stem: _read(path) for path in found}


def definition() -> dict[str, Any]:
    """Read the CustomResourceDefinition of DriverConfigSchema."""
    return _read(folder() / "driverconfigschemas.yaml")


def _read(path: Path) -> dict[str, Any]:
    document = yamltext.own(path.read_text(encoding="utf-8"))
    if not isinstance(document, dict):
        raise TypeError(f"{path.name} must hold one object")
    return document
