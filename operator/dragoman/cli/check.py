"""`dragoman check`: the webhook's verdicts for files, without a cluster."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import click

from dragoman.controllers.driverconfigschemas import catalogue
from dragoman.driverconfigs.crd import compile_crd, validate_object
from dragoman.driverconfigs.driverconfigschema import (
    KIND,
    VARIABLE_TYPES,
    DriverConfigSchema,
    Variable,
    parse,
)
from dragoman.driverconfigs.hints import undecided
from dragoman.driverconfigs.manifests.documents import ManifestError
from dragoman.driverconfigs.manifests.review import LocatedViolation, documents, validate_manifests
from dragoman.driverconfigs.registry import Registry, register

CLEAN, VIOLATIONS, UNUSABLE = 0, 1, 2

CATALOGUE: Final = "catalogue"

_SUFFIXES: Final = (".yaml", ".yml", ".json")
_MAX_FILE: Final = 16 * 1024 * 1024

_EXAMPLES: Final = """\
\b
Examples:
  dragoman check -f claim.yaml
  helm template . | dragoman check -f -
  dragoman check -f manifests/ --variable gpu.nvidia.com:MPSSupport=true
  dragoman check -f claim.yaml --schemas catalogue --schemas my-schemas/
  dragoman check -f manifests/ -o github

\b
Exit status:
  0  clean; warnings do not count
  1  violations
  2  unusable input: no YAML or JSON, a schema that does not compile, a missing file
"""


@dataclass(frozen=True, slots=True)
class Line:
    """One line of output.

    Attributes:
        file: as it was named, `-` for standard input.
        located: the complaint.
    """

    file: str
    located: LocatedViolation

    @property
    def severity(self) -> str:
        """Name the severity: `error` for what would be refused, else `warning`."""
        return "error" if self.located.denies else "warning"

    def text(self) -> str:
        """Write the line for people, clickable in most terminals and editors."""
        place = f"{self.file}:{self.located.line}"
        error = self.located.violation.error
        return f"{place}: {self.severity}: {self.located.object}: {error}"

    def github(self) -> str:
        """Write the line as a workflow command, which annotates the file in a pull request."""
        title = self.located.violation.schema or self.located.violation.driver
        place = f"file={_property(self.file)},line={self.located.line},title={_property(title)}"
        body = f"{self.located.object}: {self.located.violation.error}"
        return f"::{self.severity} {place}::{_escaped(body)}"

    def document(self) -> dict[str, Any]:
        """Write the line as an object; its keys are stable."""
        violation = self.located.violation
        return {
            "file": self.file,
            "line": self.located.line,
            "severity": self.severity,
            "object": self.located.object,
            "schema": violation.schema,
            "driver": violation.driver,
            "path": violation.error.path,
            "reason": violation.error.reason,
            "message": str(violation.error),
        }


@click.command(epilog=_EXAMPLES)
@click.option(
    "-f",
    "--filename",
    "filenames",
    multiple=True,
    required=True,
    metavar="FILE|DIR|-",
    help="Manifests to check; a folder with all below it, - for standard input.",
)
@click.option(
    "--schemas",
    multiple=True,
    default=(CATALOGUE,),
    show_default=True,
    metavar="FILE|DIR|catalogue|DRIVER@RELEASE",
    help="DriverConfigSchemas to check with; a later one replaces an earlier one of its name.",
)
@click.option(
    "--variable",
    "variables",
    multiple=True,
    metavar="SCHEMA:NAME=VALUE",
    help="Set a variable of a schema, such as a feature gate of the driver.",
)
@click.option(
    "-o",
    "--output",
    type=click.Choice(["text", "json", "github"]),
    default="text",
    show_default=True,
    help="Form of the output.",
)
def check(
    filenames: tuple[str, ...], schemas: tuple[str, ...], variables: tuple[str, ...], output: str
) -> None:
    """Check driver configs in ResourceClaims, their templates and DeviceClasses.

    The verdicts are those of the admission webhook. Objects of other kinds are ignored;
    DriverConfigSchemas are compiled.
    """
    try:
        registry = _registry(schemas, variables)
        lines, objects = _review(registry, filenames, _given(variables))
    except _Unusable as error:
        click.echo(f"Error: {error}", err=True)
        sys.exit(UNUSABLE)
    _print(lines, objects, output)
    sys.exit(VIOLATIONS if any(line.located.denies for line in lines) else CLEAN)


class _Unusable(Exception):  # noqa: N818 — about the input
    """Input that cannot be used, in words for the user."""


def _registry(sources: Iterable[str], variables: Iterable[str]) -> Registry:
    parsed = {one.name: one for source in sources for one in _schemas(source)}
    for setting in variables:
        _set_variable(parsed, setting)
    registry = Registry()
    for one in parsed.values():
        registered = register(one)
        if registered.compilation.errors:
            listed = "\n".join(f"  {error}" for error in registered.compilation.errors)
            raise _Unusable(f"{KIND} {one.name} does not compile:\n{listed}")
        registry = registry.with_object(registered)
    return registry


def _schemas(source: str) -> Iterator[DriverConfigSchema]:
    if source == CATALOGUE:
        yield from map(parse, catalogue.schemas())
        return
    if "@" in source and (release := catalogue.releases().get(source)):
        yield parse(release)
        return
    found = [
        tree
        for _, text in _texts(source)
        for tree in _trees(source, text)
        if isinstance(tree, dict) and tree.get("kind") == KIND
    ]
    if not found:
        raise _Unusable(f"{source}: no {KIND} in it")
    definition = compile_crd(catalogue.definition())
    for document in found:
        if malformed := validate_object(definition, document):
            listed = "\n".join(f"  {complaint}" for complaint in malformed)
            raise _Unusable(f"{source}: malformed {KIND}:\n{listed}")
    yield from map(parse, found)


def _trees(source: str, text: str) -> Iterator[Any]:
    try:
        for document in documents(text):
            tree = document.tree
            items = tree.get("items") if isinstance(tree, dict) else None
            yield from items if isinstance(items, list) else [tree]
    except ManifestError as error:
        raise _Unusable(f"{source}:{error.line}: {error}") from None


def _set_variable(parsed: dict[str, DriverConfigSchema], setting: str) -> None:
    name, _, rest = setting.partition(":")
    variable, equals, text = rest.partition("=")
    schema = parsed.get(name)
    known = {one.name: one for one in schema.variables} if schema else {}
    if not equals or schema is None or variable not in known:
        listed = ", ".join(
            sorted(f"{s.name}:{v.name}" for s in parsed.values() for v in s.variables)
        )
        raise _Unusable(f"--variable {setting}: must be SCHEMA:NAME=VALUE with one of {listed}")
    known[variable] = Variable(variable, known[variable].type, _value(known[variable].type, text))
    parsed[name] = replace(schema, variables=tuple(known.values()))


def _value(kind: str, text: str) -> bool | int | str:
    try:
        value = text if kind == "string" else json.loads(text)
    except ValueError:
        value = None
    if type(value) is not VARIABLE_TYPES[kind]:
        raise _Unusable(f"--variable: {text} is no value of type {kind}")
    return value


def _given(settings: Iterable[str]) -> Mapping[str, set[str]]:
    """List the variables that the user sets, by schema."""
    found: dict[str, set[str]] = {}
    for setting in settings:
        schema, _, rest = setting.partition(":")
        found.setdefault(schema, set()).add(rest.partition("=")[0])
    return found


def _offline(
    registry: Registry, located: LocatedViolation, given: Mapping[str, set[str]]
) -> LocatedViolation:
    """Warn of what depends on a variable that the user has not set, instead of refusing it."""
    registered = registry.objects.get(located.violation.schema)
    if registered is None:
        return located
    names = given.get(registered.parsed.name, ())
    violation = undecided(located.violation, registered.parsed, names)
    return replace(located, violation=violation, denies=violation.denies)


def _review(
    registry: Registry, filenames: Iterable[str], given: Mapping[str, set[str]]
) -> tuple[list[Line], int]:
    lines: list[Line] = []
    objects = 0
    definition = compile_crd(catalogue.definition())
    for filename in filenames:
        for name, text in _texts(filename):
            try:
                reviewed = validate_manifests(registry, text, definition)
            except ManifestError as error:
                raise _Unusable(f"{name}:{error.line}: {error}") from None
            objects += reviewed.objects
            violations = (_offline(registry, one, given) for one in reviewed.violations)
            lines += [Line(name, violation) for violation in violations]
    return lines, objects


def _texts(filename: str) -> Iterator[tuple[str, str]]:
    """Yield names and texts: one for a file, many for a folder."""
    if filename == "-":
        yield "-", _decoded("-", sys.stdin.buffer.read(_MAX_FILE + 1))
        return
    path = Path(filename)
    paths = sorted(p for p in path.rglob("*") if p.suffix in _SUFFIXES) if path.is_dir() else [path]
    if not paths:
        raise _Unusable(f"{filename}: no {', '.join(_SUFFIXES)} file in it")
    for one in paths:
        try:
            yield str(one), _decoded(str(one), one.read_bytes())
        except OSError as error:
            raise _Unusable(f"{one}: {error.strerror}") from None


def _decoded(name: str, content: bytes) -> str:
    if len(content) > _MAX_FILE:
        raise _Unusable(f"{name}: larger than {_MAX_FILE >> 20} MiB")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise _Unusable(f"{name}: not UTF-8") from None


def _print(lines: list[Line], objects: int, output: str) -> None:
    if output == "json":
        click.echo(json.dumps([line.document() for line in lines], indent=2))
        return
    for line in lines:
        click.echo(line.github() if output == "github" else line.text())
    errors = sum(line.located.denies for line in lines)
    summary = f"{objects} objects checked: {errors} violations, {len(lines) - errors} warnings"
    click.echo(summary, err=True)


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _escaped(text).replace(":", "%3A").replace(",", "%2C")
