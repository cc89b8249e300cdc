"""Opaque parameters against the catalog's schema of the driver that is pretended."""

from collections.abc import Iterable, Mapping
from typing import Any

from dragoman.driverconfigs import catalog
from dragoman.driverconfigs.compile.registry import Registry
from dragoman.driverconfigs.review.crd import compile_crd, validate_object
from dragoman.driverconfigs.review.validation import validate_configs
from dragoman.drivers.pretend.preparation import Validate

KIND = "DriverConfigSchema"


class SchemaError(ValueError):
    """A DriverConfigSchema that cannot be used; the message says why."""


def usable(documents: Iterable[Any], driver: str) -> list[Mapping[str, Any]]:
    """Return a driver's DriverConfigSchemas among documents, as the API server would take them.

    Raises:
        SchemaError: One is malformed or does not compile, or there is none of the driver.
    """
    definition = compile_crd(catalog.definition())
    known = [one for one in documents if isinstance(one, Mapping) and one.get("kind") == KIND]
    for one in known:
        if malformed := validate_object(definition, one):
            raise SchemaError(f"malformed {KIND}: {'; '.join(map(str, malformed))}")
    found = [one for one in known if one["spec"]["driver"] == driver]
    if not found:
        raise SchemaError(f"no {KIND} of driver {driver}")
    for name, registered in Registry.of(found).objects.items():
        if errors := registered.compilation.errors:
            raise SchemaError(f"{KIND} {name} does not compile: {'; '.join(map(str, errors))}")
    return found


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
