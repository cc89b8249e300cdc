"""Opaque parameters against the catalog's schema of the driver that is pretended."""

from collections.abc import Iterable, Mapping
from typing import Any

from dragoman_configs import catalog
from dragoman_configs.compile.registry import Registry
from dragoman_configs.review.crd import compile_crd, validate_object
from dragoman_configs.review.validation import validate_configs
from dragoman_drivers.pretend.preparation import Validate

KIND = "DriverConfigSchema"


class SchemaError(ValueError):
    """A DriverConfigSchema that cannot be used; the message says why."""


def usable(documents: Iterable[Any], driver: str) -> Registry:
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
    registry = Registry.of(found)
    for name, registered in registry.objects.items():
        if errors := registered.compilation.errors:
            raise SchemaError(f"{KIND} {name} does not compile: {'; '.join(map(str, errors))}")
    return registry


def validator(driver: str, registry: Registry | None = None) -> Validate:
    """Return what finds errors in parameters.

    Args:
        driver: Whose schema counts; without one, any object is valid.
        registry: DriverConfigSchemas of the driver; those of the catalog when None.
    """
    known = registry or Registry.of(s for s in catalog.schemas() if s["spec"]["driver"] == driver)

    def validate(parameters: Any) -> str:
        if not isinstance(parameters, Mapping):
            return f"parameters: {type(parameters).__name__} is not an object"
        entry = {"opaque": {"driver": driver, "parameters": parameters}}
        claim = {"spec": {"devices": {"config": [entry]}}}
        found = validate_configs(known, "ResourceClaim", claim).violations
        return "; ".join(str(one.error) for one in found if one.denies)

    return validate
