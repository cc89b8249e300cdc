"""The registry: which schemas are in force.

Immutable: every change gives a new registry, so a review never sees half a change or needs a lock.

Several objects may describe one driver. Their order is age (creationTimestamp), then name. For a
kind that two of them list, the older object decides: who comes later cannot change existing
verdicts. What concerns the driver as a whole (`unknownConfigs`, `entries`) is the oldest one's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dragoman.driverconfigs.compiler import Compilation, CompiledSchema, compile_schema
from dragoman.driverconfigs.driverconfigschema import OFF, DriverConfigSchema, parse


@dataclass(frozen=True, slots=True)
class Conflict:
    """A kind that an object lists in vain, since an older object describes it.

    Attributes:
        title: the kind.
        winner: name of the object that decides.
    """

    title: str
    winner: str


@dataclass(frozen=True, slots=True)
class Installed:
    """One object and what is in force of it.

    Attributes:
        parsed: the newest generation.
        compilation: what became of that generation.
        force: the generation in force, in the newest mode: the newest if it compiled, else the last
            one that did; None without any, and in mode Off.
    """

    parsed: DriverConfigSchema
    compilation: Compilation
    force: CompiledSchema | None

    @property
    def order(self) -> tuple[str, str]:
        """Sort objects that describe the same driver."""
        return self.parsed.created, self.parsed.name

    @property
    def broken(self) -> bool:
        """Tell whether the object should be in force and nothing of it is."""
        return self.force is None and self.parsed.mode != OFF


@dataclass(frozen=True, slots=True)
class Registry:
    """All objects, by name, and by driver in the order of precedence.

    Attributes:
        objects: every installed object by name.
        drivers: those that take part, by driver; objects in mode Off do not.
    """

    objects: Mapping[str, Installed] = field(default_factory=dict)
    drivers: Mapping[str, tuple[Installed, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, documents: Iterable[Mapping[str, Any]]) -> Registry:
        """Compile a registry from objects, as listed or loaded from files."""
        parsed = [parse(document) for document in documents]
        installed = {one.name: install(one) for one in parsed}
        return cls(installed, _by_driver(installed))

    def with_object(self, installed: Installed) -> Registry:
        """Give a registry with an object added or replaced."""
        objects = {**self.objects, installed.parsed.name: installed}
        return Registry(objects, _by_driver(objects))

    def without(self, name: str) -> Registry:
        """Give a registry without an object, present or not."""
        objects = {key: one for key, one in self.objects.items() if key != name}
        return Registry(objects, _by_driver(objects))

    def conflicts(self, name: str) -> tuple[Conflict, ...]:
        """List the kinds of an object that an older object decides."""
        installed = self.objects[name]
        found = []
        for kind in _kinds(installed):
            for older in self.drivers.get(installed.parsed.driver, ()):
                if older.order >= installed.order:
                    break
                if kind in _kinds(older):
                    title = " ".join(kind).strip() or "(any kind)"
                    found.append(Conflict(title, older.parsed.name))
                    break
        return tuple(found)


def install(parsed: DriverConfigSchema, before: Installed | None = None) -> Installed:
    """Compile an object; a generation that does not compile leaves the last good one in force.

    Args:
        parsed: the newest generation.
        before: what was installed under the name, if anything.
    """
    if before and before.parsed == parsed:
        return before
    compilation = compile_schema(parsed)
    force = compilation.schema
    same = before is not None and (before.parsed.uid, before.parsed.driver) == (
        parsed.uid,
        parsed.driver,
    )
    if force is None and before and before.force and same:
        # The mode is the admin's way out of a bad schema, so it counts even if nothing else does.
        force = before.force.in_mode(parsed.mode)
    return Installed(parsed, compilation, None if parsed.mode == OFF else force)


def _kinds(installed: Installed) -> frozenset[tuple[str, str]]:
    return frozenset((config.api_version, config.kind) for config in installed.parsed.configs)


def _by_driver(objects: Mapping[str, Installed]) -> dict[str, tuple[Installed, ...]]:
    drivers: dict[str, list[Installed]] = {}
    for installed in sorted(objects.values(), key=lambda one: one.order):
        if installed.parsed.driver and installed.parsed.mode != OFF:
            drivers.setdefault(installed.parsed.driver, []).append(installed)
    return {driver: tuple(found) for driver, found in drivers.items()}
