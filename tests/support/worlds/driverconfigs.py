"""Builders of claims with config entries, schemas, registries and validated parameters."""

from collections.abc import Mapping, Sequence
from typing import Any

from dragoman_cel.budget import StepBudget
from dragoman_configs import strictjson
from dragoman_configs.compile.compiler import CompiledConfig
from dragoman_configs.compile.registry import Registry
from dragoman_configs.review.parameters_validation import (
    ValidationResult,
    validate_parameters,
)

DRIVER = "gpu.example.com"
KIND = {"apiVersion": "example.com/v1", "kind": "Config"}


def entry(parameters: Any, driver: str = DRIVER, requests: Sequence[str] = ()) -> dict[str, Any]:
    """Make a config entry."""
    opaque = {"opaque": {"driver": driver, "parameters": parameters}}
    return {"requests": list(requests), **opaque} if requests else opaque


def claim(*entries: Mapping[str, Any], requests: Sequence[Any] = ("gpu",)) -> dict[str, Any]:
    """Make a claim; requests are names, or a name with the names of its alternatives."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": "claim"},
        "spec": {
            "devices": {"requests": [_request(one) for one in requests], "config": [*entries]}
        },
    }


def template(*entries: Mapping[str, Any]) -> dict[str, Any]:
    """Make a template."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaimTemplate",
        "metadata": {"name": "template"},
        "spec": {"spec": claim(*entries)["spec"]},
    }


def device_class(*entries: Mapping[str, Any]) -> dict[str, Any]:
    """Make a class."""
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "class"},
        "spec": {"config": [*entries]},
    }


def schema(
    *configs: Mapping[str, Any], name: str = DRIVER, driver: str = DRIVER, **spec: Any
) -> dict[str, Any]:
    """Make a DriverConfigSchema."""
    return {
        "apiVersion": "dragoman.dev/v1alpha1",
        "kind": "DriverConfigSchema",
        "metadata": {"name": name, "uid": f"uid-{name}", "generation": 1},
        "spec": {"driver": driver, "configs": [*configs], **spec},
    }


def config(properties: Mapping[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """Make a config of the kind `KIND` with the given properties."""
    outer = {"type": "object", "properties": dict(properties or {})}
    return {**KIND, "schema": {"openAPIV3Schema": outer}, **more}


def registry(*documents: Mapping[str, Any]) -> Registry:
    """Compile a registry; every object must compile."""
    compiled = Registry.of(list(documents))
    for registered in compiled.objects.values():
        assert not registered.compilation.errors
    return compiled


def compiled_config(field: Mapping[str, Any], **more: Any) -> CompiledConfig:
    """Compile a config with one field `v` of a schema."""
    active = registry(schema(config({"v": field}, **more))).objects[DRIVER].active
    assert active
    return next(iter(active.configs.values()))


def validated(field: Mapping[str, Any], value: str, **more: Any) -> ValidationResult:
    """Validate the field `v`, whose value is given as JSON text."""
    document = strictjson.parse(f'{{"v": {value}}}'.encode())
    return validate_parameters(compiled_config(field, **more), document, StepBudget(1_000_000))


def messages(field: Mapping[str, Any], value: str, **more: Any) -> list[str]:
    """Give the errors of the field `v` as users see them."""
    return [str(error) for error in validated(field, value, **more).errors]


def _request(one: Any) -> dict[str, Any]:
    if isinstance(one, str):
        return {"name": one, "exactly": {"deviceClassName": "gpus"}}
    name, alternatives = one
    subrequests = [{"name": sub, "deviceClassName": "gpus"} for sub in alternatives]
    return {"name": name, "firstAvailable": subrequests}
