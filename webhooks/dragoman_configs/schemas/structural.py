"""The structural check: whether a CustomResourceDefinition may hold this schema.

The rules are those of apiextensions for structural schemas: types are declared outside of `allOf`,
`anyOf`, `oneOf` and `not`, which only narrow values; references are forbidden. Two rules do not
apply here: parameters have no ObjectMeta, and unknown formats become warnings.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from dragoman_cel.errors import StepBudgetExceeded
from dragoman_configs.fielderrors import (
    FORBIDDEN,
    INVALID,
    NOT_SUPPORTED,
    OMIT_VALUE,
    REQUIRED,
    TOO_LONG,
    TOO_MANY,
    TYPE_INVALID,
    ConfigFieldError,
    field_error,
)
from dragoman_configs.schemas import formats, openapi
from dragoman_configs.schemas.patterns import PatternCompiler, PatternError

MAX_NODES = 2000
"""Schemas and sub-schemas in one config's schema; a large real CRD has some hundreds."""

MAX_SCHEMA_DEPTH = 32
"""Levels of sub-schemas."""

MAX_PATTERN_SIZE = 50_000
"""RE2 instructions of all patterns of one schema; a usual pattern has some dozens."""

MAX_ERRORS = 50
"""Errors after which the check stops, because making errors costs time too."""


@dataclass(frozen=True, slots=True)
class StructuralResult:
    """The outcome of the check; a schema without errors can be compiled."""

    # Reasons for which the API server refuses such a schema; paths are relative to the schema's
    # root
    errors: tuple[ConfigFieldError, ...]
    # Keywords that the API server ignores silently, such as unknown formats
    warnings: tuple[ConfigFieldError, ...]


def validate_structural(schema: Any, patterns: PatternCompiler | None = None) -> StructuralResult:
    """Check a schema as it was read, of any JSON type.

    Args:
        schema: The schema.
        patterns: Compiles its patterns and keeps them for the validator.
    """
    walk = _Walk(patterns or PatternCompiler())
    if not isinstance(schema, dict):
        walk.add("", TYPE_INVALID, "must be an object", schema)
    else:
        walk.root(schema)
    return StructuralResult(tuple(walk.errors), tuple(walk.warnings))


@dataclass(slots=True)
class _Walk:
    """One pass over one schema; stops descending at the limits."""

    patterns: PatternCompiler
    errors: list[ConfigFieldError] = field(default_factory=list)
    warnings: list[ConfigFieldError] = field(default_factory=list)
    nodes: int = 0
    pattern_size: int = 0

    def add(self, path: str, reason: str, detail: str, value: Any = OMIT_VALUE) -> None:
        self.errors.append(field_error((), reason, detail, value).under(path))

    def root(self, schema: dict[str, Any]) -> None:
        self.outer(schema, "", 1)
        if "type" in schema and schema["type"] != "object":
            self.add(".type", INVALID, "must be object at the root", schema["type"])
        if "additionalProperties" in schema:
            self.add(".additionalProperties", FORBIDDEN, "must not be used at the root")
        if schema.get("nullable"):
            self.add(".nullable", FORBIDDEN, "nullable cannot be true at the root")

    def outer(self, schema: Any, path: str, level: int) -> None:
        """Check a schema outside of allOf, anyOf, oneOf and not."""
        if not self._check_node(schema, path, level):
            return
        for place, reason, detail in _keyword_conflicts(schema):
            self.add(path + place, reason, detail)
        for step, child in openapi.children(schema):
            self.outer(child, path + step, level + 1)
        for step, child in _value_validations(schema):
            self.inner(child, schema, path + step, level + 1)

    def inner(self, schema: Any, outer: Mapping[str, Any] | None, path: str, level: int) -> None:
        """Check a schema inside allOf, anyOf, oneOf or not; `outer` declares the same value."""
        if not self._check_node(schema, path, level) or not schema:
            return
        if outer is None:
            self.add(path, REQUIRED, "must also be declared outside of allOf, anyOf, oneOf and not")
            return
        for keyword in sorted(openapi.OUTER_ONLY.intersection(schema)):
            if schema[keyword] not in (None, False, "", [], {}):
                self.add(f"{path}.{keyword}", FORBIDDEN, "must not be set here to be structural")
        for step, child in _value_validations(schema):
            self.inner(child, outer, path + step, level + 1)
        if "items" in schema:
            self.inner(schema["items"], _declared(outer, "items"), f"{path}.items", level + 1)
        for name, child in _properties(schema).items():
            declared = _properties(outer).get(name)
            self.inner(child, declared, f"{path}.properties[{name}]", level + 1)

    def _check_node(self, schema: Any, path: str, level: int) -> bool:
        """Check what holds for every schema: shape, keywords, limits. False ends the descent."""
        self.nodes += 1
        if len(self.errors) >= MAX_ERRORS:
            return False
        if not isinstance(schema, dict):
            self.add(path, TYPE_INVALID, "must be a schema", schema)
            return False
        if self.nodes > MAX_NODES or level > MAX_SCHEMA_DEPTH:
            if not any(error.reason == TOO_MANY for error in self.errors):
                limit = f"at most {MAX_NODES} schemas in {MAX_SCHEMA_DEPTH} levels"
                self.add(path, TOO_MANY, f"must have {limit}")
            return False
        known = len(self.errors)
        for keyword, value in schema.items():
            error = openapi.keyword_error(keyword, value)
            if error:
                self.add(f"{path}.{keyword}", *error)
        if "pattern" in schema and known == len(self.errors):
            self._pattern(schema["pattern"], path)
        self._format(schema, path)
        return known == len(self.errors)

    def _pattern(self, pattern: str, path: str) -> None:
        try:
            self.pattern_size += self.patterns.compile(pattern).programsize
        except PatternError as error:
            detail = f"must be a regular expression (RE2): {error}"
            self.add(f"{path}.pattern", INVALID, detail, pattern)
        except StepBudgetExceeded:
            return  # the compiler reports the limit once, for the whole object
        if self.pattern_size > MAX_PATTERN_SIZE:
            detail = f"the schema's patterns have more than {MAX_PATTERN_SIZE} RE2 instructions"
            self.add(f"{path}.pattern", TOO_LONG, detail)

    def _format(self, schema: dict[str, Any], path: str) -> None:
        name = schema.get("format")
        if not isinstance(name, str) or not name:
            return
        of_type = {"integer": ("int32", "int64"), "number": ("float", "double")}
        known = of_type.get(str(schema.get("type")))
        recognized = name in known if known else formats.check_of(name) is not None
        # Kubernetes' own types write this one beside x-kubernetes-int-or-string.
        if not recognized and name != "int-or-string":
            ignored = field_error((), NOT_SUPPORTED, "unrecognized format, ignored", name)
            self.warnings.append(ignored.under(f"{path}.format"))


def _keyword_conflicts(schema: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Check the keywords of one outer schema together; yields place, reason, detail."""
    kind = schema.get("type")
    free = schema.get("x-kubernetes-preserve-unknown-fields")
    either = schema.get("x-kubernetes-int-or-string")
    if not kind and not free and not either:
        yield ".type", REQUIRED, "must not be empty"
    if kind == "array" and "items" not in schema:
        yield ".items", REQUIRED, "must be specified"
    if schema.get("properties") and schema.get("additionalProperties") not in (None, True):
        yield (
            ".additionalProperties",
            FORBIDDEN,
            "additionalProperties and properties are mutually exclusive",
        )
    if either and free:
        yield (
            ".x-kubernetes-preserve-unknown-fields",
            INVALID,
            "must be unset if x-kubernetes-int-or-string is true",
        )
    if schema.get("x-kubernetes-embedded-resource") and kind != "object":
        yield (".type", INVALID, "must be object if x-kubernetes-embedded-resource is true")
    if schema.get("x-kubernetes-embedded-resource") and not free and not schema.get("properties"):
        detail = "must not be empty without x-kubernetes-preserve-unknown-fields"
        yield ".properties", REQUIRED, detail
    yield from _list_type_conflicts(schema, kind)
    if schema.get("x-kubernetes-map-type") and kind != "object":
        yield ".type", INVALID, "must be object if x-kubernetes-map-type is specified"


def _list_type_conflicts(schema: dict[str, Any], kind: Any) -> Iterator[tuple[str, str, str]]:
    list_type = schema.get("x-kubernetes-list-type")
    keys = schema.get("x-kubernetes-list-map-keys") or []
    if list_type and kind != "array":
        yield ".type", INVALID, "must be array if x-kubernetes-list-type is specified"
    if keys and list_type != "map":
        yield (
            ".x-kubernetes-list-type",
            INVALID,
            "must be map if x-kubernetes-list-map-keys is non-empty",
        )
    items = _declared(schema, "items") or {}
    if list_type == "set":
        yield from _set_conflicts(items)
    if list_type == "map":
        yield from _map_conflicts(items, keys)


def _map_conflicts(items: Mapping[str, Any], keys: list[str]) -> Iterator[tuple[str, str, str]]:
    names = _properties(items)
    place = ".x-kubernetes-list-map-keys"
    if not keys:
        detail = "must not be empty if x-kubernetes-list-type is map"
        yield place, REQUIRED, detail
    if items.get("type") != "object":
        yield ".items.type", INVALID, "must be object if the list is a map"
    if any(key not in names for key in keys) or len(set(keys)) != len(keys):
        yield place, INVALID, "must be different names of item properties"
    # Of any JSON type, because the items are checked after the list itself.
    required = items.get("required")
    required = required if isinstance(required, list) else []
    for key in keys:
        declared = names.get(key)
        if isinstance(declared, dict) and key not in required and "default" not in declared:
            detail = "a map key must be required or have a default"
            yield f".items.properties[{key}].default", REQUIRED, detail


def _set_conflicts(items: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    if items.get("type") == "object" and items.get("x-kubernetes-map-type") != "atomic":
        yield ".items.x-kubernetes-map-type", INVALID, "must be atomic as item of a set"
    if items.get("type") == "array" and items.get("x-kubernetes-list-type", "atomic") != "atomic":
        yield (".items.x-kubernetes-list-type", INVALID, "must be atomic as item of a set")


def _value_validations(schema: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """List the schemas under allOf, anyOf, oneOf and not, without the int-or-string idiom."""
    idiom = schema.get("x-kubernetes-int-or-string") and openapi.is_int_or_string(schema)
    for keyword in ("allOf", "anyOf", "oneOf"):
        for index, child in enumerate(schema.get(keyword) or []):
            if not (idiom == keyword and (keyword == "anyOf" or index == 0)):
                yield f".{keyword}[{index}]", child
    if "not" in schema:
        yield ".not", schema["not"]


def _declared(schema: Mapping[str, Any], keyword: str) -> Mapping[str, Any] | None:
    child = schema.get(keyword)
    return child if isinstance(child, dict) else None


def _properties(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    return _declared(schema, "properties") or {}
