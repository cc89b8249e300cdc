"""Driver configs in `dragoman check`: the verdicts of the admission webhook, for files.

Only what the input needs is loaded: schemas are read when the first config is met, and compiled
for the drivers that it names.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dragoman_base.words.nearnames import certain
from dragoman_configs.fielderrors import FORBIDDEN
from dragoman_configs.objects.places import CLUSTER_TEMPLATE, KINDS, holder_of
from dragoman_toolkit.check.settings import CATALOG, KIND
from dragoman_toolkit.linting.findings.edits import Edit, Rename, Set, applied
from dragoman_toolkit.linting.findings.finding import ERROR, WARNING, Problem
from dragoman_toolkit.linting.manifests.documents import steps_of
from dragoman_toolkit.linting.manifests.manifestobjects import (
    Object,
    mapping,
    reach,
    sequence,
    text,
)

if TYPE_CHECKING:
    from dragoman_toolkit.check.schemas import NamedSchemas

_FORMER = "catalogue"
"""The former spelling, which is accepted as well."""
RULE = "dra/driver-config"
GROUP = "dragoman.dev"
_MAX_TRIED = 8
"""Violations of one object whose correction is judged."""


class ConfigChecker:
    """Judges driver configs with schemas; counts what it judged and what it skipped.

    Args:
        sources: Files and folders of schemas, `catalog` for those that are shipped.
        variables: `SCHEMA:NAME=VALUE`.

    Attributes:
        configs: Configs that a schema judged.
        skipped: Reasons with their number.
    """

    def __init__(self, sources: Iterable[str], variables: Iterable[str]) -> None:
        self._sources = tuple(CATALOG if one == _FORMER else one for one in sources)
        self._variables = tuple(variables)
        self.configs = 0
        self.skipped: Counter[str] = Counter()
        if self._variables or self._sources != (CATALOG,):
            # What the user names is looked at even where no config needs it.
            self._schemas.require_own()

    @cached_property
    def _schemas(self) -> NamedSchemas:
        from dragoman_toolkit.check.schemas import NamedSchemas  # noqa: PLC0415 — only with configs

        return NamedSchemas(self._sources, self._variables)

    def __call__(self, obj: Object) -> Iterator[Problem]:
        """Yield what is wrong with the driver configs of an object, or with a schema."""
        if obj.group == GROUP and obj.kind == KIND:
            yield from map(_problem, self._schemas.of_schema(obj.tree))
        elif obj.kind in KINDS and (
            obj.group == GROUP if obj.kind == CLUSTER_TEMPLATE else obj.in_group
        ):
            drivers = list(_drivers(obj))
            if drivers:
                yield from self._review(obj, drivers)

    def _review(self, obj: Object, drivers: list[str]) -> Iterator[Problem]:
        registry = self._schemas.registry(frozenset(drivers), frozenset(_kinds(obj)))
        for driver in drivers:
            if driver in registry.drivers:
                self.configs += 1
            else:
                self.skipped[f"no schema for driver {driver}"] += 1
        found = list(self._schemas.of_configs(registry, obj.kind, obj.tree))
        before = {str(one.error) for one in found}
        for index, one in enumerate(found):
            edits = _edits(one, obj.tree) if index < _MAX_TRIED else ()
            yield _problem(one, edits if edits and self._corrects(obj, edits, before) else ())

    def _corrects(self, obj: Object, edits: tuple[Edit, ...], before: set[str]) -> bool:
        """Tell whether a changed object has only errors that it had, or that are corrected next."""
        try:
            changed = replace(obj, tree=applied(obj.tree, edits))
        except (LookupError, TypeError, AttributeError):
            return False
        kinds, drivers = frozenset(_kinds(changed)), frozenset(_drivers(changed))
        registry = self._schemas.registry(drivers, kinds)
        after = list(self._schemas.of_configs(registry, obj.kind, changed.tree))
        fewer = not before <= {str(one.error) for one in after}
        return fewer and all(
            str(one.error) in before or not one.denies or _edits(one, changed.tree) for one in after
        )


def _of_group(obj: Object) -> bool:
    return obj.group == GROUP if obj.kind == CLUSTER_TEMPLATE else obj.in_group


def _problem(violation: Any, edits: tuple[Edit, ...] = ()) -> Problem:
    error = violation.error
    severity = ERROR if violation.denies else WARNING
    steps = steps_of(error.path)
    return Problem(RULE, steps, str(error), severity=severity, edits=edits, safe=False)


def _edits(violation: Any, tree: Any) -> tuple[Edit, ...]:
    """Return the change where a name or value can only mean one that the schema has."""
    error, steps = violation.error, steps_of(violation.error.path)
    if not error.known or not steps:
        return ()
    if error.reason == FORBIDDEN:  # an unknown field: its name is wrong
        beside = mapping(reach(tree, steps[:-1]))
        meant = certain(str(steps[-1]), {one for one in error.known if one not in beside})
        return (Rename(steps, meant),) if meant else ()
    meant = certain(text(reach(tree, steps)), error.known)
    return (Set(steps, meant),) if meant else ()


def _drivers(obj: Object) -> Iterator[str]:
    for entry in _entries(obj):
        driver = text(reach(entry, ("opaque", "driver")))
        if driver:
            yield driver


def _kinds(obj: Object) -> Iterator[tuple[str, str]]:
    for entry in _entries(obj):
        parameters = mapping(reach(entry, ("opaque", "parameters")))
        yield text(parameters.get("apiVersion")), text(parameters.get("kind"))


def _entries(obj: Object) -> list[Any]:
    return sequence(reach(holder_of(obj.kind, obj.tree), ("config",)))
