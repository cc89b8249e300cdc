"""Opaque parameters against the catalog's schema of the driver that is pretended."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from dragoman.driverconfigs import catalog
from dragoman.driverconfigs.compile.registry import Registry
from dragoman.driverconfigs.review.validation import validate_configs
from dragoman.drivers.pretend.preparation import Validate


def validator(driver: str, schemas: Iterable[Mapping[str, Any]] | None = None) -> Validate:
    """Return what finds errors in parameters.

    Args:
        driver: Whose schema counts; without one, any object is valid.
        schemas: DriverConfigSchemas; those of the catalog when None.
    """
    documents = catalog.schemas() if schemas is None else schemas
    registry = Registry.of(one for one in documents if one["spec"]["driver"] == driver)

    def validate(parameters: Any) -> str:
        if not isinstance(parameters, Mapping):
            return f"parameters: {type(parameters).__name__} is not an object"
        entry = {"opaque": {"driver": driver, "parameters": parameters}}
        claim = {"spec": {"devices": {"config": [entry]}}}
        found = validate_configs(registry, "ResourceClaim", claim).violations
        return "; ".join(str(one.error) for one in found if one.denies)

    return validate
