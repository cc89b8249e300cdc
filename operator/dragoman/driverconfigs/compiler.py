"""Compilation: from a parsed DriverConfigSchema to what judges parameters.

All or nothing: an object with one faulty config is not compiled at all, so that a generation is in
force as a whole or not. The faults name their place in the object.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, Final

import orjson
from jsonschema.protocols import Validator

from dragoman.driverconfigs import fielderrors, structural
from dragoman.driverconfigs.defaults import wrong_defaults
from dragoman.driverconfigs.driverconfigschema import (
    ConfigSpec,
    DriverConfigSchema,
    EntryRules,
    Variable,
)
from dragoman.driverconfigs.fielderrors import Finding
from dragoman.driverconfigs.jsonschema import translate
from dragoman.driverconfigs.pruning import Shape, shape_of
from dragoman.driverconfigs.rules import Rules, compile_rules, size_of_rules
from dragoman.driverconfigs.validators import build

MAX_SCHEMA_BYTES: Final = 128 * 1024
"""Size of one config's schema as compact JSON."""

MAX_SCHEMAS_BYTES: Final = 512 * 1024
"""Size of all schemas of one object; so large an object takes most of a second to compile."""

MAX_RULES_BYTES: Final = 64 * 1024
"""Size of all rules of one object, those inside schemas included."""


OBJECT: Final = -1
"""Stands for the object where faults are listed by config."""


@dataclass(frozen=True, slots=True)
class CompiledConfig:
    """One kind of parameters, ready to judge.

    Attributes:
        spec: what it was compiled from.
        shape: what the schema says about members.
        validator: what it says about values.
        rules: what the CEL rules say, None without any.
        digest: names what all of it was compiled from, variables included: equal digests, equal
            judgements.
    """

    spec: ConfigSpec
    shape: Shape
    validator: Validator
    rules: Rules | None
    digest: bytes


@dataclass(frozen=True, slots=True)
class CompiledSchema:
    """One generation of one object, ready to judge.

    Attributes:
        name: the object's name.
        generation: the generation that was compiled.
        driver: the driver's name.
        mode: Enforce, Warn, Audit or Off.
        unknown_configs: what to do about kinds that are not listed.
        entries: how the driver treats entries.
        configs: by (apiVersion, kind), empty strings where a kind has none.
    """

    name: str
    generation: int
    driver: str
    mode: str
    unknown_configs: str
    entries: EntryRules
    configs: Mapping[tuple[str, str], CompiledConfig]

    def in_mode(self, mode: str) -> CompiledSchema:
        """Give the same schema in another mode."""
        return self if mode == self.mode else replace(self, mode=mode)


@dataclass(frozen=True, slots=True)
class Compilation:
    """The outcome for one object.

    Attributes:
        schema: None when there are faults.
        faults: by config index; `OBJECT` collects those of the object itself.
        warnings: what is accepted but does nothing, such as unknown formats.
    """

    schema: CompiledSchema | None
    faults: Mapping[int, tuple[Finding, ...]]
    warnings: tuple[Finding, ...]

    @property
    def errors(self) -> tuple[Finding, ...]:
        """List all faults, the object's own first."""
        return tuple(fault for index in sorted(self.faults) for fault in self.faults[index])


def compile_schema(parsed: DriverConfigSchema) -> Compilation:
    """Compile an object; pure, and bounded by limits on the size of everything in it."""
    faults: dict[int, tuple[Finding, ...]] = {}
    if own := (*parsed.faults, *_oversize(parsed)):
        faults[OBJECT] = own
    warnings: list[Finding] = []
    compiled: dict[tuple[str, str], CompiledConfig] = {}
    # What is too large is not looked at at all.
    for index, config in enumerate(parsed.configs if len(own) == len(parsed.faults) else ()):
        path = f"spec.configs[{index}]"
        errors, ignored = _structure(config, f"{path}.schema.openAPIV3Schema")
        warnings += ignored
        if not errors:
            ready, errors = compile_config(config, parsed.variables, path)
            compiled[config.api_version, config.kind] = ready
        if errors:
            faults[index] = errors
    schema = None if faults else _schema(parsed, compiled)
    return Compilation(schema, faults, tuple(warnings))


def compile_config(
    config: ConfigSpec, variables: Sequence[Variable], path: str
) -> tuple[CompiledConfig, tuple[Finding, ...]]:
    """Compile one config whose schema passed the structural check.

    Returns:
        The config, and what is wrong with its rules and defaults; with any of that it must not
        be used.
    """
    schema = _with_discriminator(config)
    inside = f"{path}.schema.openAPIV3Schema"
    rules, errors = compile_rules(schema, config.rules, variables, path)
    errors = (*wrong_defaults(schema, inside), *errors)
    digest = sha256(repr((config, variables)).encode("utf-8", "surrogatepass")).digest()
    compiled = CompiledConfig(config, shape_of(schema), build(translate(schema)), rules, digest)
    return compiled, errors


def _oversize(parsed: DriverConfigSchema) -> Iterator[Finding]:
    if sum(_size(config.schema) or 0 for config in parsed.configs) > MAX_SCHEMAS_BYTES:
        detail = f"schemas must have at most {MAX_SCHEMAS_BYTES} bytes together"
        yield Finding("spec.configs", fielderrors.TOO_LONG, detail)
    elif sum(map(size_of_rules, parsed.configs)) > MAX_RULES_BYTES:
        detail = f"rules must have at most {MAX_RULES_BYTES} bytes together"
        yield Finding("spec.configs", fielderrors.TOO_LONG, detail)


def _schema(
    parsed: DriverConfigSchema, configs: Mapping[tuple[str, str], CompiledConfig]
) -> CompiledSchema:
    return CompiledSchema(
        name=parsed.name,
        generation=parsed.generation,
        driver=parsed.driver,
        mode=parsed.mode,
        unknown_configs=parsed.unknown_configs,
        entries=parsed.entries,
        configs=configs,
    )


def _structure(config: ConfigSpec, path: str) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
    # Measured before anything walks it; None also stands for what is no JSON at all.
    size = _size(config.schema)
    if size is None or size > MAX_SCHEMA_BYTES:
        detail = f"must be JSON of at most {MAX_SCHEMA_BYTES} bytes"
        return (fielderrors.finding((), fielderrors.TOO_LONG, detail).under(path),), ()
    outcome = structural.check(config.schema)
    errors = tuple(error.under(path) for error in outcome.errors)
    return errors, tuple(warning.under(path) for warning in outcome.warnings)


def _size(schema: Any) -> int | None:
    try:
        return len(orjson.dumps(schema))
    except TypeError:
        return None


def _with_discriminator(config: ConfigSpec) -> dict[str, Any]:
    """Let parameters carry the apiVersion and kind by which they were chosen."""
    names = [("apiVersion", config.api_version), ("kind", config.kind)]
    implied = {name: {"type": "string"} for name, value in names if value}
    return {**config.schema, "properties": implied | (config.schema.get("properties") or {})}
