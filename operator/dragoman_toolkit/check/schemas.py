"""The schemas that judge driver configs in `dragoman check`, compiled for the input's drivers."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any

from dragoman_configs import catalog
from dragoman_configs.compile.registry import Registry, register
from dragoman_configs.objects.driverconfigschema import (
    VARIABLE_TYPES,
    DriverConfigSchema,
    Variable,
)
from dragoman_configs.objects.schemaparser import parse
from dragoman_configs.review.crd import compile_crd, validate_object
from dragoman_configs.review.hints import undecided
from dragoman_configs.review.validation import validate_configs, validate_schema
from dragoman_configs.review.verdict import Violation
from dragoman_toolkit.check.settings import CATALOG, KIND
from dragoman_toolkit.linting.findings.finding import UnreadableFile
from dragoman_toolkit.linting.manifests.documents import UnreadableError, read
from dragoman_toolkit.linting.manifests.manifestobjects import mapping, text
from dragoman_toolkit.manifests import texts
from dragoman_toolkit.unusable import UnusableInput

_DRIVER = re.compile(r"^  driver:\s*\"?([^\s\"#]+)", re.MULTILINE)

Kind = tuple[str, str]
"""apiVersion and kind of parameters."""


class NamedSchemas:
    """The schemas that were named.

    Args:
        sources: Files and folders of schemas, `catalog` for those that are shipped.
        variables: `SCHEMA:NAME=VALUE`.
    """

    def __init__(self, sources: tuple[str, ...], variables: tuple[str, ...]) -> None:
        self._sources = sources
        self._variables = variables
        self._registries: dict[frozenset[str], tuple[frozenset[Kind], Registry]] = {}

    def require_own(self) -> None:
        """Read and compile what the user names; raise UnusableInput where that fails."""
        self.registry(frozenset(one.driver for one in self._own), frozenset())

    def of_configs(self, registry: Registry, kind: str, tree: Any) -> Iterator[Violation]:
        """Yield what is wrong with the driver configs of an object."""
        given = self._given()
        for violation in validate_configs(registry, kind, tree).violations:
            schema = registry.objects.get(violation.schema)
            # Offline the driver's feature gates are not known: what depends on them is a warning.
            names = given.get(violation.schema, set())
            yield undecided(violation, schema.parsed, names) if schema else violation

    def of_schema(self, tree: Any) -> Iterator[Violation]:
        """Yield what is wrong with a schema."""
        driver = text(mapping(tree.get("spec")).get("driver"))
        registry = self.registry(frozenset((driver,)), frozenset())
        yield from validate_schema(registry, tree, crd=self._definition).violations

    def _given(self) -> dict[str, set[str]]:
        """List the variables that the user sets, by schema."""
        found: dict[str, set[str]] = {}
        for setting in self._variables:
            schema, _, rest = setting.partition(":")
            found.setdefault(schema, set()).add(rest.partition("=")[0])
        return found

    @cached_property
    def _definition(self) -> Any:
        return compile_crd(catalog.definition())

    def registry(self, drivers: frozenset[str], kinds: frozenset[Kind]) -> Registry:
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
        registry = Registry()
        wanted = drivers if drivers <= self._names else None
        for one in self._parsed(wanted).values():
            # Shipped schemas compile as a whole, which tests say; those of users must show it.
            installed = register(_narrowed(one, kinds) if self._sources == (CATALOG,) else one)
            if installed.compilation.errors:
                listed = "\n".join(f"  {error}" for error in installed.compilation.errors)
                raise UnusableInput(f"{KIND} {one.name} does not compile:\n{listed}")
            registry = registry.with_object(installed)
        return registry

    @cached_property
    def _names(self) -> frozenset[str]:
        """The drivers that have a schema."""
        found = {one.driver for one in self._own}
        if CATALOG in self._sources:
            found |= {driver for driver, _ in self._catalog}
        return frozenset(found)

    @cached_property
    def _catalog(self) -> list[tuple[str, str]]:
        """Driver and text of every shipped schema."""
        found = []
        for path in sorted((catalog.folder() / "catalog").glob("*.yaml")):
            content = path.read_text(encoding="utf-8")
            match = _DRIVER.search(content)
            found.append((match[1] if match else "", content))
        return found

    def _parsed(self, drivers: frozenset[str] | None) -> dict[str, DriverConfigSchema]:
        """Parse the schemas of some drivers, or of all; a later source replaces an earlier one."""
        found: dict[str, DriverConfigSchema] = {}
        own = {one.name: one for one in self._own}
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

    @cached_property
    def _own(self) -> list[DriverConfigSchema]:
        return [one for source in self._sources if source != CATALOG for one in self._load(source)]

    def _load(self, source: str) -> list[DriverConfigSchema]:
        if "@" in source and (release := catalog.releases().get(source)):
            return [parse(release)]
        documents = [tree for tree in _trees(source) if mapping(tree).get("kind") == KIND]
        if not documents:
            raise UnusableInput(f"{source}: no {KIND} in it")
        for document in documents:
            if malformed := validate_object(self._definition, document):
                listed = "\n".join(f"  {complaint}" for complaint in malformed)
                raise UnusableInput(f"{source}: malformed {KIND}:\n{listed}")
        return [parse(document) for document in documents]


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
        if isinstance(one, UnreadableFile):
            raise UnusableInput(str(one))
        name, content = one
        try:
            for document in read(content):
                items = mapping(document.tree).get("items")
                yield from items if isinstance(items, list) else [document.tree]
        except UnreadableError as error:
            raise UnusableInput(f"{name}:{error.line}:{error.column}: {error}") from None


def set_variable(parsed: dict[str, DriverConfigSchema], setting: str) -> None:
    """Set a variable of a schema, in place.

    Raises:
        UnusableInput: No such variable, or a value of another type; the words name those there are.
    """
    name, _, rest = setting.partition(":")
    variable, equals, value = rest.partition("=")
    schema = parsed.get(name)
    known = {one.name: one for one in schema.variables} if schema else {}
    if not equals or schema is None or variable not in known:
        listed = ", ".join(
            sorted(f"{s.name}:{v.name}" for s in parsed.values() for v in s.variables)
        )
        raise UnusableInput(f"--variable {setting}: must be SCHEMA:NAME=VALUE with one of {listed}")
    kind = known[variable].type
    known[variable] = Variable(variable, kind, _value(setting, kind, value))
    parsed[name] = replace(schema, variables=tuple(known.values()))


def _value(setting: str, kind: str, content: str) -> bool | int | str:
    try:
        value = content if kind == "string" else json.loads(content)
    except ValueError:
        value = None
    if type(value) is not VARIABLE_TYPES[kind]:
        variable = setting.partition("=")[0]
        raise UnusableInput(f"--variable {variable}: {content} is no value of type {kind}")
    result: bool | int | str = value
    return result
