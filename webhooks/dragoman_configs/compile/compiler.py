"""Compile DriverConfigSchemas.

A generation becomes active as a whole: an object with one invalid config does not compile. Errors
name their place in the object.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any, Self

import orjson

from dragoman_cel.budget import PatternBudget, compiling
from dragoman_cel.values.regex import SMALL_MEMORY
from dragoman_configs import fielderrors
from dragoman_configs.compile.rules import Rules, compile_rules, count_rules, size_of_rules
from dragoman_configs.fielderrors import ConfigFieldError
from dragoman_configs.objects.driverconfigschema import (
    ConfigSpec,
    DriverConfigSchema,
    EntryRules,
    Variable,
)
from dragoman_configs.schemas.jsonschema import build_validator, translate
from dragoman_configs.schemas.patterns import ADVICE, MAX_PATTERN_STEPS, PatternCompiler
from dragoman_configs.schemas.pruning import PruningSchema, pruning_schema, validate_defaults
from dragoman_configs.schemas.structural import StructuralResult, validate_structural
from dragoman_configs.schemas.validator import Validator

MAX_SCHEMA_BYTES = 128 * 1024
"""Size of one config's schema as compact JSON."""

MAX_SCHEMAS_BYTES = 512 * 1024
"""Size of all schemas of one object; the largest object takes most of a second to compile."""

MAX_RULES_BYTES = 64 * 1024
"""Size of all rules of one object, those inside schemas included."""

MAX_RULES = 1000
"""Number of all rules of one object; each takes up to a millisecond to compile."""

BYTES_PER_BYTE = 60
"""Bytes of a compiled schema for each byte of its JSON, as measured: 17 to 56."""

BYTES_PER_RULE = 8 * 1024
"""The same for each rule; those with an own schema node take most."""

OBJECT = -1
"""Key of the object's own errors, where errors are listed by config."""


@dataclass(frozen=True, slots=True)
class CompiledConfig:
    """One kind of parameters, compiled."""

    spec: ConfigSpec  # The source
    pruning: PruningSchema  # The schema, for pruning and defaulting
    validator: Validator  # The schema, for values
    rules: Rules | None  # The CEL rules, None without any
    digest: bytes  # Hash of the source, variables included: equal digests, equal results


@dataclass(frozen=True, slots=True)
class CompiledSchema:
    """One generation of one object, compiled."""

    generation: int  # The generation that was compiled
    mode: str  # Enforce, Warn, Audit or Off
    unknown_configs: str  # The policy for kinds that the object does not list
    entries: EntryRules  # How the driver treats entries
    # By (apiVersion, kind), empty strings where a kind has none
    configs: Mapping[tuple[str, str], CompiledConfig]
    memory: int  # Bytes that it may take, as estimated

    def in_mode(self, mode: str) -> Self:
        """Return the same schema in another mode."""
        return self if mode == self.mode else replace(self, mode=mode)


@dataclass(frozen=True, slots=True)
class Compilation:
    """The outcome for one object."""

    schema: CompiledSchema | None  # None when there are errors
    # By config index; `OBJECT` holds those of the object itself
    errors_by_config: Mapping[int, tuple[ConfigFieldError, ...]]
    warnings: tuple[ConfigFieldError, ...]  # Accepted parts without effect, such as unknown formats

    @property
    def errors(self) -> tuple[ConfigFieldError, ...]:
        """List all errors, the object's own first."""
        by_config = self.errors_by_config
        return tuple(error for index in sorted(by_config) for error in by_config[index])


def compile_schema(parsed: DriverConfigSchema) -> Compilation:
    """Compile an object; pure, with bounded time and memory."""
    if too_large := tuple(_size_errors(parsed)):
        return Compilation(None, {OBJECT: (*parsed.errors, *too_large)}, ())
    budget = PatternBudget(MAX_PATTERN_STEPS)
    token = compiling.set(budget)
    try:
        return _compile(parsed, budget)
    finally:
        compiling.reset(token)


def _compile(parsed: DriverConfigSchema, budget: PatternBudget) -> Compilation:
    errors_by_config: dict[int, tuple[ConfigFieldError, ...]] = {}
    warnings: list[ConfigFieldError] = []
    configs: dict[tuple[str, str], CompiledConfig] = {}
    patterns = PatternCompiler(budget)
    for index, config in enumerate(parsed.configs):
        path = f"spec.configs[{index}]"
        structure = _structure(config, f"{path}.schema.openAPIV3Schema", patterns)
        warnings += structure.warnings
        errors = structure.errors
        if not budget.remaining:  # later errors would only say so once more
            errors_by_config = {}
            break
        if not errors:
            compiled, errors = compile_config(config, parsed.variables, path, patterns)
            if not budget.remaining:
                errors_by_config = {}
                break
            configs[config.api_version, config.kind] = compiled
        if errors:
            errors_by_config[index] = errors
    if own := (*parsed.errors, *_pattern_errors(budget)):
        errors_by_config[OBJECT] = own
    schema = None
    if not errors_by_config:
        schema = CompiledSchema(
            generation=parsed.generation,
            mode=parsed.mode,
            unknown_configs=parsed.unknown_configs,
            entries=parsed.entries,
            configs=configs,
            memory=_memory(parsed, len(budget.patterns)),
        )
    return Compilation(schema, errors_by_config, tuple(warnings))


def compile_config(
    config: ConfigSpec,
    variables: Sequence[Variable],
    path: str,
    patterns: PatternCompiler | None = None,
) -> tuple[CompiledConfig, tuple[ConfigFieldError, ...]]:
    """Compile one config whose schema passed the structural check.

    Returns:
        The config, and the errors of its rules and defaults; with errors it must not be used.
    """
    schema = _with_discriminator(config)
    pruning = pruning_schema(schema)
    validator = build_validator(translate(schema), patterns)
    defaults = validate_defaults(pruning, validator, f"{path}.schema.openAPIV3Schema")
    rules, errors = compile_rules(schema, config.rules, variables, path)
    digest = sha256(repr((config, variables)).encode("utf-8", "surrogatepass")).digest()
    compiled = CompiledConfig(config, pruning, validator, rules, digest)
    return compiled, (*defaults, *errors)


def _size_errors(parsed: DriverConfigSchema) -> Iterator[ConfigFieldError]:
    """Check sizes before anything walks the schemas."""
    if sum(_size(config.schema) or 0 for config in parsed.configs) > MAX_SCHEMAS_BYTES:
        detail = f"schemas must have at most {MAX_SCHEMAS_BYTES} bytes together"
        yield ConfigFieldError("spec.configs", fielderrors.TOO_LONG, detail)
    elif sum(map(size_of_rules, parsed.configs)) > MAX_RULES_BYTES:
        detail = f"rules must have at most {MAX_RULES_BYTES} bytes together"
        yield ConfigFieldError("spec.configs", fielderrors.TOO_LONG, detail)
    elif sum(map(count_rules, parsed.configs)) > MAX_RULES:
        detail = f"must have at most {MAX_RULES} rules together"
        yield ConfigFieldError("spec.configs", fielderrors.TOO_MANY, detail)


def _pattern_errors(budget: PatternBudget) -> Iterator[ConfigFieldError]:
    """Name the limits that the object's patterns exceed."""
    if not budget.remaining:
        detail = (
            f"patterns, those in rules included, take more than {MAX_PATTERN_STEPS} steps to"
            f" compile; {ADVICE}"
        )
        yield ConfigFieldError("spec.configs", fielderrors.TOO_LONG, detail)
        return
    for pattern in sorted(budget.too_large):
        detail = f"a rule's pattern needs more than {SMALL_MEMORY >> 10} KiB in RE2; {ADVICE}"
        error = fielderrors.field_error((), fielderrors.TOO_LONG, detail, pattern)
        yield error.under("spec.configs")


def _memory(parsed: DriverConfigSchema, patterns: int) -> int:
    """Estimate the bytes of a compiled object at worst, when every pattern met many texts."""
    schemas = sum(_size(config.schema) or 0 for config in parsed.configs)
    rules = sum(count_rules(config) for config in parsed.configs)
    return schemas * BYTES_PER_BYTE + rules * BYTES_PER_RULE + patterns * SMALL_MEMORY


def _structure(config: ConfigSpec, path: str, patterns: PatternCompiler) -> StructuralResult:
    size = _size(config.schema)
    if size is None or size > MAX_SCHEMA_BYTES:
        detail = f"must be JSON of at most {MAX_SCHEMA_BYTES} bytes"
        return StructuralResult((ConfigFieldError(path, fielderrors.TOO_LONG, detail),), ())
    result = validate_structural(config.schema, patterns)
    return StructuralResult(
        errors=tuple(error.under(path) for error in result.errors),
        warnings=tuple(warning.under(path) for warning in result.warnings),
    )


def _size(schema: Any) -> int | None:
    """Count the bytes of a schema as JSON; None for trees that orjson does not write."""
    try:
        return len(orjson.dumps(schema))
    except TypeError:
        return None


def _with_discriminator(config: ConfigSpec) -> dict[str, Any]:
    """Declare apiVersion and kind, by which the config was found."""
    names = [("apiVersion", config.api_version), ("kind", config.kind)]
    implied = {name: {"type": "string"} for name, value in names if value}
    return {**config.schema, "properties": implied | (config.schema.get("properties") or {})}
