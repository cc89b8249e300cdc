"""Driver configs in `dragoman check`: the verdicts of the admission webhook, for files.

Only what the input needs is loaded: schemas are read when the first config is met, and compiled
for the drivers that it names.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from dragoman.cli.manifests import texts
from dragoman.cli.unusable import Unusable
from dragoman.linting.findings.finding import ERROR, WARNING, Failure, Problem
from dragoman.linting.manifests.documents import UnreadableError, read, steps_of
from dragoman.linting.manifests.objects import Object, mapping, reach, sequence, text

if TYPE_CHECKING:
    from dragoman.driverconfigs.compile.registry import Registry
    from dragoman.driverconfigs.objects.driverconfigschema import DriverConfigSchema

CATALOG: Final = "catalog"
_FORMER: Final = "catalogue"
"""The former spelling, which is accepted as well."""
RULE: Final = "dra/driver-config"
KIND: Final = "DriverConfigSchema"
GROUP: Final = "dragoman.dev"
_DRIVER: Final = re.compile(r"^  driver:\s*\"?([^\s\"#]+)", re.MULTILINE)
_PLACES: Final = {
    "ResourceClaim": ("spec", "devices", "config"),
    "ResourceClaimTemplate": ("spec", "spec", "devices", "config"),
    "DeviceClass": ("spec", "config"),
}
CLUSTER_TEMPLATE: Final = "ClusterResourceClaimTemplate"

Kind = tuple[str, str]
"""apiVersion and kind of parameters."""


class ConfigChecker:
    """Judges driver configs with schemas; counts what it judged and what it skipped.

    Args:
        sources: files and folders of schemas, `catalog` for those that are shipped.
        variables: `SCHEMA:NAME=VALUE`.

    Attributes:
        configs: configs that a schema judged.
        skipped: reasons with their number.
    """

    def __init__(self, sources: Iterable[str], variables: Iterable[str]) -> None:
        self._sources = tuple(CATALOG if one == _FORMER else one for one in sources)
        self._variables = tuple(variables)
        self._registries: dict[frozenset[str], tuple[frozenset[Kind], Registry]] = {}
        self.configs = 0
        self.skipped: Counter[str] = Counter()
        if self._variables or self._sources != (CATALOG,):
            # What the user names is looked at even where no config needs it.
            self._registry(frozenset(one.driver for one in self._own()), frozenset())

    def __call__(self, obj: Object) -> Iterator[Problem]:
        """Yield what is wrong with the driver configs of an object, or with a schema."""
        if obj.group == GROUP and obj.kind == KIND:
            yield from self._schema(obj)
        elif (obj.in_group and obj.kind in _PLACES) or (
            obj.group == GROUP and obj.kind == CLUSTER_TEMPLATE
        ):
            drivers = list(_drivers(obj))
            if drivers:
                yield from self._review(obj, drivers)

    def _review(self, obj: Object, drivers: list[str]) -> Iterator[Problem]:
        from dragoman.driverconfigs.review.validation import validate_configs  # noqa: PLC0415 — only with configs

        registry = self._registry(frozenset(drivers), frozenset(_kinds(obj)))
        for driver in drivers:
            if driver in registry.drivers:
                self.configs += 1
            else:
                self.skipped[f"no schema for driver {driver}"] += 1
        from dragoman.driverconfigs.review.hints import undecided  # noqa: PLC0415 — as above

        given = self._given()
        for violation in validate_configs(registry, obj.kind, obj.tree).violations:
            schema = registry.objects.get(violation.schema)
            # Offline the driver's feature gates are not known: what depends on them is a warning.
            names = given.get(violation.schema, set())
            yield _problem(undecided(violation, schema.parsed, names) if schema else violation)

    def _given(self) -> dict[str, set[str]]:
        """List the variables that the user sets, by schema."""
        found: dict[str, set[str]] = {}
        for setting in self._variables:
            schema, _, rest = setting.partition(":")
            found.setdefault(schema, set()).add(rest.partition("=")[0])
        return found

    def _schema(self, obj: Object) -> Iterator[Problem]:
        from dragoman.driverconfigs.review.validation import validate_schema  # noqa: PLC0415 — as above

        driver = text(mapping(obj.tree.get("spec")).get("driver"))
        registry = self._registry(frozenset((driver,)), frozenset())
        for violation in validate_schema(registry, obj.tree, crd=self._definition).violations:
            yield _problem(violation)

    @cached_property
    def _definition(self) -> Any:
        from dragoman.driverconfigs import catalog  # noqa: PLC0415 — as above
        from dragoman.driverconfigs.review.crd import compile_crd  # noqa: PLC0415 — as above

        return compile_crd(catalog.definition())

    def _registry(self, drivers: frozenset[str], kinds: frozenset[Kind]) -> Registry:
        """Return the compiled schemas of some drivers.

        Those of the first object have only its kinds; when a second one has others, the schemas are
        compiled once more, as a whole, so that no input can cause many compilations.
        """
        if drivers not in self._registries:
            self._registries[drivers] = kinds, self._compiled(drivers, kinds)
        elif self._registries[drivers][0] and not kinds <= self._registries[drivers][0]:
            self._registries[drivers] = frozenset(), self._compiled(drivers, frozenset())
        return self._registries[drivers][1]

    def _compiled(self, drivers: frozenset[str], kinds: frozenset[Kind]) -> Registry:
        from dragoman.driverconfigs.compile.registry import Registry, register  # noqa: PLC0415 — as above

        registry = Registry()
        wanted = drivers if drivers <= self._names else None
        for one in self._parsed(wanted).values():
            # Shipped schemas compile as a whole, which tests say; those of users must show it.
            installed = register(_narrowed(one, kinds) if self._sources == (CATALOG,) else one)
            if installed.compilation.errors:
                listed = "\n".join(f"  {error}" for error in installed.compilation.errors)
                raise Unusable(f"{KIND} {one.name} does not compile:\n{listed}")
            registry = registry.with_object(installed)
        return registry

    @cached_property
    def _names(self) -> frozenset[str]:
        """The drivers that have a schema."""
        found = {one.driver for one in self._own()}
        if CATALOG in self._sources:
            found |= {driver for driver, _ in self._catalog}
        return frozenset(found)

    @cached_property
    def _catalog(self) -> list[tuple[str, str]]:
        """Driver and text of every shipped schema."""
        from dragoman.driverconfigs import catalog  # noqa: PLC0415 — as above

        found = []
        for path in sorted((catalog.folder() / "catalog").glob("*.yaml")):
            content = path.read_text(encoding="utf-8")
            match = _DRIVER.search(content)
            found.append((match[1] if match else "", content))
        return found

    def _parsed(self, drivers: frozenset[str] | None) -> dict[str, DriverConfigSchema]:
        """Parse the schemas of some drivers, or of all; a later source replaces an earlier one."""
        from dragoman.driverconfigs.objects.schemaparser import parse  # noqa: PLC0415 — as above

        found: dict[str, DriverConfigSchema] = {}
        own = {one.name: one for one in self._own()}
        if CATALOG in self._sources:
            for driver, content in self._catalog:
                # Variables may name any schema.
                if drivers is None or driver in drivers or self._variables:
                    for document in read(content):
                        one = parse(document.tree)
                        found[one.name] = one
        found |= {
            name: one for name, one in own.items() if drivers is None or one.driver in drivers
        }
        for setting in self._variables:
            set_variable(found, setting)
        return found

    def _own(self) -> list[DriverConfigSchema]:
        if not hasattr(self, "_loaded"):
            self._loaded = [
                one for source in self._sources if source != CATALOG for one in self._load(source)
            ]
        return self._loaded

    def _load(self, source: str) -> list[DriverConfigSchema]:
        from dragoman.driverconfigs import catalog  # noqa: PLC0415 — as above
        from dragoman.driverconfigs.objects.schemaparser import parse  # noqa: PLC0415 — as above
        from dragoman.driverconfigs.review.crd import validate_object  # noqa: PLC0415 — as above

        if "@" in source and (release := catalog.releases().get(source)):
            return [parse(release)]
        documents = [tree for tree in _trees(source) if mapping(tree).get("kind") == KIND]
        if not documents:
            raise Unusable(f"{source}: no {KIND} in it")
        for document in documents:
            if malformed := validate_object(self._definition, document):
                listed = "\n".join(f"  {complaint}" for complaint in malformed)
                raise Unusable(f"{source}: malformed {KIND}:\n{listed}")
        return [parse(document) for document in documents]


def _problem(violation: Any) -> Problem:
    error = violation.error
    severity = ERROR if violation.denies else WARNING
    return Problem(RULE, steps_of(error.path), str(error), severity=severity)


def _drivers(obj: Object) -> Iterator[str]:
    for entry in _entries(obj):
        driver = text(reach(entry, ("opaque", "driver")))
        if driver:
            yield driver


def _kinds(obj: Object) -> Iterator[Kind]:
    for entry in _entries(obj):
        parameters = mapping(reach(entry, ("opaque", "parameters")))
        yield text(parameters.get("apiVersion")), text(parameters.get("kind"))


def _entries(obj: Object) -> list[Any]:
    place = _PLACES.get(obj.kind, ("spec", "template", "spec", "devices", "config"))
    return sequence(reach(obj.tree, place))


def _narrowed(parsed: DriverConfigSchema, kinds: frozenset[Kind]) -> DriverConfigSchema:
    """Leave out the kinds that the input does not use: to compile them takes a tenth of the start.

    Without kinds nothing is left out. Errors about a kind that the schema does not list name those
    that it lists, so all stay then.
    """
    listed = {(config.api_version, config.kind): config for config in parsed.configs}
    if not kinds or not kinds <= listed.keys():
        return parsed
    return replace(parsed, configs=tuple(listed[kind] for kind in sorted(kinds)))


def _trees(source: str) -> Iterator[Any]:
    for one in texts([source]):
        if isinstance(one, Failure):
            raise Unusable(str(one))
        name, content = one
        try:
            for document in read(content):
                items = mapping(document.tree).get("items")
                yield from items if isinstance(items, list) else [document.tree]
        except UnreadableError as error:
            raise Unusable(f"{name}:{error.line}:{error.column}: {error}") from None


def set_variable(parsed: dict[str, DriverConfigSchema], setting: str) -> None:
    """Set a variable of a schema, in place.

    Raises:
        Unusable: no such variable, or a value of another type; the words name those there are.
    """
    from dragoman.driverconfigs.objects.driverconfigschema import Variable  # noqa: PLC0415 — as above

    name, _, rest = setting.partition(":")
    variable, equals, value = rest.partition("=")
    schema = parsed.get(name)
    known = {one.name: one for one in schema.variables} if schema else {}
    if not equals or schema is None or variable not in known:
        listed = ", ".join(
            sorted(f"{s.name}:{v.name}" for s in parsed.values() for v in s.variables)
        )
        raise Unusable(f"--variable {setting}: must be SCHEMA:NAME=VALUE with one of {listed}")
    kind = known[variable].type
    known[variable] = Variable(variable, kind, _value(setting, kind, value))
    parsed[name] = replace(schema, variables=tuple(known.values()))


def _value(setting: str, kind: str, content: str) -> bool | int | str:
    from dragoman.driverconfigs.objects.driverconfigschema import VARIABLE_TYPES  # noqa: PLC0415 — as above

    try:
        value = content if kind == "string" else json.loads(content)
    except ValueError:
        value = None
    if type(value) is not VARIABLE_TYPES[kind]:
        variable = setting.partition("=")[0]
        raise Unusable(f"--variable {variable}: {content} is no value of type {kind}")
    result: bool | int | str = value
    return result
