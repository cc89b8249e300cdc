"""The structural check: would the API server accept this schema in a CustomResourceDefinition?

The rules are those of apiextensions (structural schemas, KEP-1693's predecessor in the CRD
documentation): types stand in the outer schema only, `allOf`, `anyOf`, `oneOf` and `not` only
narrow what the outer schema declares, nothing refers anywhere. Two of its rules do not apply
here: parameters have no ObjectMeta, and formats unknown to it are reported as warnings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import re2

from dragoman.driverconfigs import fielderrors, formats, openapi
from dragoman.driverconfigs.fielderrors import Finding

MAX_NODES: Final = 2000
"""Schemas and sub-schemas in one config's schema; a large real CRD has some hundreds."""

MAX_SCHEMA_DEPTH: Final = 32
"""Levels of sub-schemas."""

MAX_PATTERN_MEMORY: Final = 1 << 19
"""Bytes that RE2 may use for one pattern; hostile repetitions need more and do not compile."""

MAX_PATTERN_SIZE: Final = 50_000
"""RE2 instructions of all patterns of one schema; a usual pattern has some dozens."""

MAX_ERRORS: Final = 50
"""Errors after which the check ends; making them costs time too."""


@dataclass(frozen=True, slots=True)
class Structure:
    """The outcome of the check: nothing in `errors` means that the schema can be compiled.

    Attributes:
        errors: what the API server would refuse, with paths relative to the schema's root.
        warnings: what it would ignore silently, such as unknown formats.
    """

    errors: tuple[Finding, ...]
    warnings: tuple[Finding, ...]


def check(schema: Any) -> Structure:
    """Check a schema as it came in, whatever JSON it is."""
    walk = _Walk()
    if not isinstance(schema, dict):
        walk.fault("", fielderrors.TYPE_INVALID, "must be an object", schema)
    else:
        walk.root(schema)
    return Structure(tuple(walk.errors), tuple(walk.warnings))


def pattern_of(text: str) -> Any:
    """Compile a pattern to RE2 over UTF-8 bytes, without captures and with little memory.

    Raises:
        re2.error: no regular expression, or one that needs too much memory.
    """
    options = re2.Options()
    options.log_errors = False
    options.never_capture = True
    options.max_mem = MAX_PATTERN_MEMORY
    return re2.compile(text.encode("utf-8", "replace"), options)


@dataclass(slots=True)
class _Walk:
    """One pass over one schema; stops descending when there are too many nodes."""

    errors: list[Finding] = field(default_factory=list)
    warnings: list[Finding] = field(default_factory=list)
    nodes: int = 0
    pattern_size: int = 0

    def fault(self, path: str, reason: str, detail: str, value: Any = fielderrors.NOTHING) -> None:
        self.errors.append(fielderrors.finding((), reason, detail, value).under(path))

    def root(self, schema: dict[str, Any]) -> None:
        self.outer(schema, "", 1)
        if "type" in schema and schema["type"] != "object":
            self.fault(".type", fielderrors.INVALID, "must be object at the root", schema["type"])
        if "additionalProperties" in schema:
            self.fault(
                ".additionalProperties", fielderrors.FORBIDDEN, "must not be used at the root"
            )
        if schema.get("nullable"):
            self.fault(".nullable", fielderrors.FORBIDDEN, "nullable cannot be true at the root")

    def outer(self, schema: Any, path: str, level: int) -> None:
        """Check a schema outside of allOf, anyOf, oneOf and not."""
        if not self._sound(schema, path, level):
            return
        for complaint in _outer_complaints(schema):
            self.fault(path + complaint[0], *complaint[1:])
        for step, child in openapi.children(schema):
            self.outer(child, path + step, level + 1)
        for step, child in _narrowings(schema):
            self.inner(child, schema, path + step, level + 1)

    def inner(self, schema: Any, outer: Mapping[str, Any] | None, path: str, level: int) -> None:
        """Check a schema inside of them; `outer` is the schema that declares the same value."""
        if not self._sound(schema, path, level) or not schema:
            return
        if outer is None:
            self.fault(
                path,
                fielderrors.REQUIRED,
                "must also be declared outside of allOf, anyOf, oneOf and not",
            )
            return
        for keyword in sorted(openapi.OUTER_ONLY.intersection(schema)):
            if schema[keyword] not in (None, False, "", [], {}):
                self.fault(
                    f"{path}.{keyword}",
                    fielderrors.FORBIDDEN,
                    "must not be set here to be structural",
                )
        for step, child in _narrowings(schema):
            self.inner(child, outer, path + step, level + 1)
        if "items" in schema:
            self.inner(schema["items"], _declared(outer, "items"), f"{path}.items", level + 1)
        for name, child in _members(schema, "properties"):
            declared = dict(_members(outer, "properties")).get(name)
            self.inner(child, declared, f"{path}.properties[{name}]", level + 1)

    def _sound(self, schema: Any, path: str, level: int) -> bool:
        """Check what holds for every schema: shape, keywords, limits. False ends the descent."""
        self.nodes += 1
        if len(self.errors) >= MAX_ERRORS:
            return False
        if not isinstance(schema, dict):
            self.fault(path, fielderrors.TYPE_INVALID, "must be a schema", schema)
            return False
        if self.nodes > MAX_NODES or level > MAX_SCHEMA_DEPTH:
            if not any(error.reason == fielderrors.TOO_MANY for error in self.errors):
                limit = f"at most {MAX_NODES} schemas in {MAX_SCHEMA_DEPTH} levels"
                self.fault(path, fielderrors.TOO_MANY, f"must have {limit}")
            return False
        known = len(self.errors)
        for keyword, value in schema.items():
            complaint = openapi.complaint(keyword, value)
            if complaint:
                self.fault(f"{path}.{keyword}", *complaint)
        if "pattern" in schema and known == len(self.errors):
            self._pattern(schema["pattern"], path)
        self._format(schema, path)
        return known == len(self.errors)

    def _pattern(self, pattern: str, path: str) -> None:
        try:
            self.pattern_size += pattern_of(pattern).programsize
        except re2.error as error:
            reason = error.args[0] if error.args else "invalid"
            words = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
            detail = f"must be a regular expression (RE2): {words}"
            self.fault(f"{path}.pattern", fielderrors.INVALID, detail, pattern)
        if self.pattern_size > MAX_PATTERN_SIZE:
            detail = "the schema's patterns are too large together"
            self.fault(f"{path}.pattern", fielderrors.TOO_LONG, detail)

    def _format(self, schema: dict[str, Any], path: str) -> None:
        name = schema.get("format")
        if not isinstance(name, str) or not name:
            return
        of_type = {"integer": ("int32", "int64"), "number": ("float", "double")}
        known = of_type.get(str(schema.get("type")))
        recognized = name in known if known else formats.check_of(name) is not None
        # Kubernetes' own types write this one beside x-kubernetes-int-or-string.
        if not recognized and name != "int-or-string":
            ignored = fielderrors.finding(
                (), fielderrors.NOT_SUPPORTED, "unrecognized format, ignored", name
            )
            self.warnings.append(ignored.under(f"{path}.format"))


def _outer_complaints(schema: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """Name what keywords of one outer schema mean together; yields place, reason, detail."""
    kind = schema.get("type")
    free = schema.get("x-kubernetes-preserve-unknown-fields")
    either = schema.get("x-kubernetes-int-or-string")
    if not kind and not free and not either:
        yield ".type", fielderrors.REQUIRED, "must not be empty"
    if kind == "array" and "items" not in schema:
        yield ".items", fielderrors.REQUIRED, "must be specified"
    if schema.get("properties") and schema.get("additionalProperties") not in (None, True):
        yield (
            ".additionalProperties",
            fielderrors.FORBIDDEN,
            "additionalProperties and properties are mutually exclusive",
        )
    if either and free:
        yield (
            ".x-kubernetes-preserve-unknown-fields",
            fielderrors.INVALID,
            "must be unset if x-kubernetes-int-or-string is true",
        )
    if schema.get("x-kubernetes-embedded-resource") and kind != "object":
        yield (
            ".type",
            fielderrors.INVALID,
            "must be object if x-kubernetes-embedded-resource is true",
        )
    if schema.get("x-kubernetes-embedded-resource") and not free and not schema.get("properties"):
        detail = "must not be empty without x-kubernetes-preserve-unknown-fields"
        yield ".properties", fielderrors.REQUIRED, detail
    yield from _list_complaints(schema, kind)
    if schema.get("x-kubernetes-map-type") and kind != "object":
        yield ".type", fielderrors.INVALID, "must be object if x-kubernetes-map-type is specified"


def _list_complaints(schema: dict[str, Any], kind: Any) -> Iterator[tuple[str, str, str]]:
    list_type = schema.get("x-kubernetes-list-type")
    keys = schema.get("x-kubernetes-list-map-keys") or []
    if list_type and kind != "array":
        yield ".type", fielderrors.INVALID, "must be array if x-kubernetes-list-type is specified"
    if keys and list_type != "map":
        yield (
            ".x-kubernetes-list-type",
            fielderrors.INVALID,
            "must be map if x-kubernetes-list-map-keys is non-empty",
        )
    items = _declared(schema, "items") or {}
    if list_type == "set":
        yield from _set_complaints(items)
    if list_type != "map":
        return
    names = dict(_members(items, "properties"))
    if not keys:
        yield (
            ".x-kubernetes-list-map-keys",
            fielderrors.REQUIRED,
            "must not be empty if x-kubernetes-list-type is map",
        )
    if items.get("type") != "object":
        yield ".items.type", fielderrors.INVALID, "must be object if the list is a map"
    if any(key not in names for key in keys) or len(set(keys)) != len(keys):
        yield (
            ".x-kubernetes-list-map-keys",
            fielderrors.INVALID,
            "must be different names of item properties",
        )
    required = items.get("required") or []
    for key in keys:
        declared = names.get(key)
        if isinstance(declared, dict) and key not in required and "default" not in declared:
            yield (
                f".items.properties[{key}].default",
                fielderrors.REQUIRED,
                "a map key must be required or have a default",
            )


def _set_complaints(items: Mapping[str, Any]) -> Iterator[tuple[str, str, str]]:
    if items.get("type") == "object" and items.get("x-kubernetes-map-type") != "atomic":
        yield ".items.x-kubernetes-map-type", fielderrors.INVALID, "must be atomic as item of a set"
    if items.get("type") == "array" and items.get("x-kubernetes-list-type", "atomic") != "atomic":
        yield (
            ".items.x-kubernetes-list-type",
            fielderrors.INVALID,
            "must be atomic as item of a set",
        )


def _narrowings(schema: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
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


def _members(schema: Mapping[str, Any], keyword: str) -> list[tuple[str, Any]]:
    return list((_declared(schema, keyword) or {}).items())
