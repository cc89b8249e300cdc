"""The registry of active schemas.

A registry is immutable: every change gives a new one, so that a review sees one state of all
schemas without a lock.

Several objects may describe one driver. They are ordered by age (creationTimestamp), then by name.
For a kind that two of them list, the older object decides, so that a newer one cannot change
existing verdicts. `unknownConfigs` and `entries` concern the driver as a whole and come from the
oldest object.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from dragoman_configs import fielderrors
from dragoman_configs.compile.compiler import (
    OBJECT,
    Compilation,
    CompiledSchema,
    compile_schema,
)
from dragoman_configs.fielderrors import ConfigFieldError
from dragoman_configs.objects.driverconfigschema import OFF, DriverConfigSchema
from dragoman_configs.objects.schemaparser import parse

MAX_COMPILED_BYTES = 128 * 1024 * 1024
"""Memory of all active schemas together, as estimated."""


@dataclass(frozen=True, slots=True)
class Conflict:
    """A kind that an object lists without effect, because an older object describes it."""

    title: str  # The kind
    winner: str  # Name of the older object


@dataclass(frozen=True, slots=True)
class RegisteredSchema:
    """One object with its active schema."""

    parsed: DriverConfigSchema  # The newest generation
    compilation: Compilation  # The outcome for that generation
    # The schema that takes effect, in the newest mode: of the newest generation if it compiled,
    # else of the last one that did; None without any, and in mode Off
    active: CompiledSchema | None
    # Memory of a generation that was refused because there was not enough left; 0 for all others
    refused_bytes: int = 0

    @property
    def order(self) -> tuple[str, str]:
        """Sort objects that describe the same driver: the oldest first."""
        return self.parsed.created, self.parsed.name

    @property
    def kinds(self) -> frozenset[tuple[str, str]]:
        """List apiVersion and kind of the configs of the newest generation."""
        return frozenset((config.api_version, config.kind) for config in self.parsed.configs)

    @property
    def broken(self) -> bool:
        """Tell whether the object has no active schema although its mode is not Off."""
        return self.active is None and self.parsed.mode != OFF


@dataclass(frozen=True, slots=True)
class Registry:
    """All objects, by name, and by driver in the order of precedence."""

    # Every registered object by name
    objects: Mapping[str, RegisteredSchema] = field(default_factory=dict)
    # The same by driver, without objects in mode Off
    drivers: Mapping[str, tuple[RegisteredSchema, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, documents: Iterable[Mapping[str, Any]]) -> Registry:
        """Compile a registry of objects as they were read."""
        registry = cls()
        for parsed in map(parse, documents):
            available = registry.available_bytes(parsed.name)
            registry = registry.with_object(register(parsed, available=available))
        return registry

    def with_object(self, registered: RegisteredSchema) -> Registry:
        """Return a registry with an object added or replaced."""
        objects = {**self.objects, registered.parsed.name: registered}
        return Registry(objects, _by_driver(objects))

    def without(self, name: str) -> Registry:
        """Return a registry without an object, present or not."""
        objects = {key: one for key, one in self.objects.items() if key != name}
        return Registry(objects, _by_driver(objects))

    def available_bytes(self, name: str) -> int:
        """Return the memory that the other objects leave for one."""
        others = (one.active for key, one in self.objects.items() if key != name)
        return MAX_COMPILED_BYTES - sum(active.memory for active in others if active)

    def fitting(self) -> tuple[str, ...]:
        """List objects that were refused for their memory, and fit since others are gone."""
        return tuple(
            name
            for name, one in self.objects.items()
            if 0 < one.refused_bytes <= self.available_bytes(name)
        )

    def conflicts(self, name: str) -> tuple[Conflict, ...]:
        """List the kinds of an object that an older object describes too."""
        registered = self.objects[name]
        found = []
        for kind in registered.kinds:
            for older in self.drivers.get(registered.parsed.driver, ()):
                if older.order >= registered.order:
                    break
                if kind in older.kinds:
                    title = " ".join(kind).strip() or "(any kind)"
                    found.append(Conflict(title, older.parsed.name))
                    break
        return tuple(found)


def register(
    parsed: DriverConfigSchema,
    before: RegisteredSchema | None = None,
    available: int = MAX_COMPILED_BYTES,
) -> RegisteredSchema:
    """Compile an object; if it does not compile, the last good generation stays active.

    Args:
        parsed: The newest generation.
        before: What the registry held under the name, if anything.
        available: Bytes of memory that the other objects leave.
    """
    if before and before.parsed == parsed and not 0 < before.refused_bytes <= available:
        return before
    compilation, refused_bytes = compile_schema(parsed), 0
    if compilation.schema and compilation.schema.memory > available:
        refused_bytes = compilation.schema.memory
        compilation = replace(
            compilation,
            schema=None,
            errors_by_config={OBJECT: (_memory_error(refused_bytes, available),)},
        )
    active = compilation.schema
    same = before and (before.parsed.uid, before.parsed.driver) == (parsed.uid, parsed.driver)
    if active is None and before and before.active and same:
        # Switching the mode is the admin's remedy for a bad schema, so the new mode counts even
        # where the rest of the generation does not compile.
        active = before.active.in_mode(parsed.mode)
    if parsed.mode == OFF:
        active, compilation = None, replace(compilation, schema=None)
    return RegisteredSchema(parsed, compilation, active, refused_bytes)


def _memory_error(needed: int, available: int) -> ConfigFieldError:
    total, mebibyte = MAX_COMPILED_BYTES >> 20, 1 << 20
    detail = (
        f"compiled, the object takes up to {needed / mebibyte:.1f} MiB of memory, and the other"
        f" DriverConfigSchemas leave {max(0, available) / mebibyte:.1f} of {total} MiB;"
        " use fewer patterns and rules, or delete schemas that are not needed"
    )
    return ConfigFieldError("spec.configs", fielderrors.TOO_LONG, detail)


def _by_driver(objects: Mapping[str, RegisteredSchema]) -> dict[str, tuple[RegisteredSchema, ...]]:
    drivers: dict[str, list[RegisteredSchema]] = {}
    for registered in sorted(objects.values(), key=lambda one: one.order):
        if registered.parsed.driver and registered.parsed.mode != OFF:
            drivers.setdefault(registered.parsed.driver, []).append(registered)
    return {driver: tuple(found) for driver, found in drivers.items()}
