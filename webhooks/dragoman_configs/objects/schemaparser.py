"""Parses DriverConfigSchemas; every fault becomes a field error, none an exception."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from dragoman_base.words.dns import SUBDOMAIN
from dragoman_configs.fielderrors import (
    DUPLICATE,
    INVALID,
    NOT_SUPPORTED,
    OMIT_VALUE,
    REQUIRED,
    TYPE_INVALID,
    ConfigFieldError,
    clip,
    field_error,
    printable,
)
from dragoman_configs.objects.driverconfigschema import (
    CHECKED_AGAINST,
    DENY,
    ENFORCE,
    LAST_WINS,
    MAX_CHECKED_AGAINST,
    MODES,
    POLICIES,
    PRECEDENCES,
    SOURCES,
    VARIABLE_TYPES,
    ConfigSpec,
    DriverConfigSchema,
    EntryRules,
    Variable,
)

Value = TypeVar("Value", dict[str, Any], list[Any], str, bool)

_EXPECTED: Mapping[type[Any], str] = {
    dict: "an object",
    list: "an array",
    str: "a string",
    bool: "true or false",
}


def parse(document: Mapping[str, Any]) -> DriverConfigSchema:
    """Parse one object of any JSON shape; malformed fields become `errors`."""
    reader = _Reader()
    metadata = reader.read(document, "metadata", "", default={})
    spec = reader.read(document, "spec", "", default={})
    generation = metadata.get("generation")
    return DriverConfigSchema(
        name=_string(metadata.get("name")),
        uid=_string(metadata.get("uid")),
        generation=generation if type(generation) is int else 0,
        created=_string(metadata.get("creationTimestamp")),
        driver=reader.driver(spec),
        mode=reader.choice(spec, "mode", "spec", MODES, ENFORCE),
        unknown_configs=reader.choice(spec, "unknownConfigs", "spec", POLICIES, DENY),
        variables=reader.variables(spec),
        entries=reader.entries(reader.read(spec, "entries", "spec", default={})),
        configs=reader.configs(spec),
        checked_against=_checked_against(metadata),
        errors=tuple(reader.errors),
    )


def _checked_against(metadata: Mapping[str, Any]) -> str:
    annotations = metadata.get("annotations")
    value = annotations.get(CHECKED_AGAINST) if isinstance(annotations, dict) else None
    return clip(printable(_string(value)), MAX_CHECKED_AGAINST)


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _variable_type(item: Mapping[str, Any], value: Any) -> str:
    """Name the type of a variable; an object may leave it to the value."""
    if item.get("type") is None:
        return next((name for name, one in VARIABLE_TYPES.items() if type(value) is one), "")
    return _string(item["type"])


@dataclass(slots=True)
class _Reader:
    """Reads fields with defaults and collects the errors of malformed ones."""

    errors: list[ConfigFieldError] = field(default_factory=list)

    def add(self, path: str, reason: str, detail: str, value: Any = OMIT_VALUE) -> None:
        self.errors.append(field_error((), reason, detail, value).under(path))

    def read(self, parent: Mapping[str, Any], name: str, path: str, *, default: Value) -> Value:
        """Return a field of the default's type; the default where it is missing or malformed."""
        value = parent.get(name)
        if isinstance(value, type(default)):
            return value
        if value is not None:
            what = f"must be {_EXPECTED[type(default)]}"
            self.add(f"{path}.{name}".lstrip("."), TYPE_INVALID, what, value)
        return default

    def objects(self, parent: Mapping[str, Any], name: str, path: str) -> list[tuple[str, Any]]:
        """Read a list of objects, each with its path."""
        found = []
        for index, item in enumerate(self.read(parent, name, path, default=[])):
            place = f"{path}.{name}[{index}]"
            if isinstance(item, dict):
                found.append((place, item))
            else:
                self.add(place, TYPE_INVALID, "must be an object", item)
        return found

    def choice(
        self,
        parent: Mapping[str, Any],
        name: str,
        path: str,
        allowed: tuple[str, ...],
        default: str,
    ) -> str:
        value = parent.get(name)
        if value is None:
            return default
        if value in allowed:
            return str(value)
        listed = ", ".join(allowed)
        self.add(f"{path}.{name}", NOT_SUPPORTED, f"supported values: {listed}", value)
        return default

    def driver(self, spec: Mapping[str, Any]) -> str:
        name = spec.get("driver")
        if name is None:
            self.add("spec.driver", REQUIRED, "")
        elif not isinstance(name, str) or len(name) > 63 or not SUBDOMAIN.fullmatch(name):
            self.add("spec.driver", INVALID, "must be a driver name, as in opaque.driver", name)
        return _string(name)

    def variables(self, spec: Mapping[str, Any]) -> tuple[Variable, ...]:
        found: dict[str, Variable] = {}
        for path, item in self.objects(spec, "variables", "spec"):
            value: Any = item.get("value")
            name, kind = self.read(item, "name", path, default=""), _variable_type(item, value)
            if not name.isidentifier() or not name.isascii() or name in found:
                self.add(f"{path}.name", INVALID, "must be an identifier of its own", name)
            elif kind not in VARIABLE_TYPES:
                listed = ", ".join(VARIABLE_TYPES)
                self.add(f"{path}.type", NOT_SUPPORTED, f"supported values: {listed}", kind)
            elif type(value) is not VARIABLE_TYPES[kind]:
                self.add(f"{path}.value", TYPE_INVALID, f"must be of type {kind}", value)
            else:
                found[name] = Variable(name, kind, value)
        return tuple(found.values())

    def entries(self, entries: Mapping[str, Any]) -> EntryRules:
        path = "spec.entries"
        return EntryRules(
            self.choice(entries, "precedence", path, PRECEDENCES, LAST_WINS),
            self.read(entries, "requestsRequired", path, default=False),
            self.read(entries, "classesIgnored", path, default=False),
            self.read(entries, "mainCoversSubrequests", path, default=True),
        )

    def configs(self, spec: Mapping[str, Any]) -> tuple[ConfigSpec, ...]:
        found = []
        seen: set[tuple[str, str]] = set()
        for path, item in self.objects(spec, "configs", "spec"):
            config = self.config(path, item)
            if (config.api_version, config.kind) in seen:
                self.add(path, DUPLICATE, f"{config.title} is described already")
            seen.add((config.api_version, config.kind))
            found.append(config)
        return tuple(found)

    def config(self, path: str, item: Mapping[str, Any]) -> ConfigSpec:
        schema = self.read(item, "schema", path, default={})
        if "openAPIV3Schema" not in schema:
            self.add(f"{path}.schema.openAPIV3Schema", REQUIRED, "")
        api_version = self.read(item, "apiVersion", path, default="")
        kind = self.read(item, "kind", path, default="")
        if kind and not api_version:
            self.add(f"{path}.apiVersion", REQUIRED, "a kind has an apiVersion")
        return ConfigSpec(
            api_version=api_version,
            kind=kind,
            sources=self.sources(item, path),
            schema=schema.get("openAPIV3Schema"),
            unknown_fields=self.choice(item, "unknownFields", path, POLICIES, DENY),
            rules=tuple(rule for _, rule in self.objects(item, "rules", path)),
            refused_classes=frozenset(
                name
                for name in self.read(item, "refusedClasses", path, default=list[Any]())
                if isinstance(name, str)
            ),
        )

    def sources(self, item: Mapping[str, Any], path: str) -> frozenset[str]:
        named = self.read(item, "allowedSources", path, default=[])
        if any(source not in SOURCES for source in named):
            listed = ", ".join(SOURCES)
            self.add(f"{path}.allowedSources", NOT_SUPPORTED, f"supported values: {listed}")
        return frozenset(source for source in named if source in SOURCES) or frozenset(SOURCES)
