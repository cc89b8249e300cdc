"""The review: one object against the schemas in force.

Every entry of a driver that has schemas is judged, and then how the entries of one driver stand to
each other. On updates whatever was stored before and is unchanged passes: a schema that came later
must never block labels, finalizers or a deletion.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dragoman.cel.budget import StepBudget
from dragoman.cel.errors import StepBudgetExceeded
from dragoman.driverconfigs import fielderrors, steps, strictjson
from dragoman.driverconfigs.compiler import CompiledConfig
from dragoman.driverconfigs.crd import complaints
from dragoman.driverconfigs.driverconfigschema import ALLOW, ENFORCE, OFF, WARN, parse
from dragoman.driverconfigs.entries import Configured, Entry, configured
from dragoman.driverconfigs.fielderrors import Finding
from dragoman.driverconfigs.lookup import Chosen, choose, unlisted
from dragoman.driverconfigs.parameters_validation import (
    MAX_PARAMETERS_BYTES,
    TOO_EXPENSIVE,
    TOO_LONG,
    Judgement,
    judge,
)
from dragoman.driverconfigs.precedence import arrangement
from dragoman.driverconfigs.registry import Installed, Registry, install
from dragoman.driverconfigs.suggestions import Effort, nearest
from dragoman.driverconfigs.verdict import Consulted, Verdict, Violation

Key = tuple[bytes, bytes]
"""Digest of the compiled config, and the parameters' canonical bytes."""

Memory = MutableMapping[Key, Judgement]
"""Judgements of earlier reviews; they depend on their key alone. The owner keeps it small."""


def review(  # noqa: PLR0913 — all but three have defaults
    registry: Registry,
    kind: str,
    document: Any,
    *,
    old: Any = None,
    memory: Memory | None = None,
    allowance: int = steps.REVIEW_STEPS,
) -> Verdict:
    """Review a claim, template or class of any API version; never raises, whatever JSON it is.

    Args:
        registry: the schemas in force.
        kind: `ResourceClaim`, `ResourceClaimTemplate` or `DeviceClass`; others have no entries.
        document: the object, parsed by `strictjson.parse`.
        old: the stored object on updates.
        memory: judgements to reuse and to add to. With or without it the verdict is the same.
        allowance: steps that the review may take. A verdict that is not `exhausted` is the same
            with any allowance.
    """
    if being_deleted(document):
        return Verdict()
    objects = configured(kind, document)
    fresh = _fresh(objects.entries, configured(kind, old).entries if old else ())
    if not fresh:
        return Verdict()
    return _Review(registry, memory, objects, fresh, allowance).verdict()


def review_schema(
    registry: Registry,
    document: Any,
    *,
    old: Any = None,
    definition: CompiledConfig | None = None,
) -> Verdict:
    """Review a DriverConfigSchema: refuse what does not compile, warn of what has no effect.

    An unchanged spec passes, and so does mode Off: switching off must always be possible.

    Args:
        registry: the schemas in force, for conflicts.
        document: the object.
        old: the stored object on updates.
        definition: the CRD, for objects that no API server has checked.
    """
    document = document if isinstance(document, dict) else {}
    if being_deleted(document) or (
        isinstance(old, dict) and old.get("spec") == document.get("spec")
    ):
        return Verdict()
    installed = install(parse(document))
    parsed = installed.parsed
    denied = ENFORCE if parsed.mode != OFF else WARN

    def violation(finding: Finding, mode: str) -> Violation:
        harmless = mode != ENFORCE
        return Violation(finding, parsed.name, parsed.generation, parsed.driver, mode, harmless)

    errors = installed.compilation.errors
    if definition and (malformed := complaints(definition, document)):
        compiling = [error for error in errors if error not in parsed.faults]
        errors = (*malformed, *compiling)
    found = [violation(error, denied) for error in errors]
    found += [violation(warning, WARN) for warning in installed.compilation.warnings]
    for conflict in registry.with_object(installed).conflicts(parsed.name):
        detail = f"{conflict.title} is decided by the older object {conflict.winner}"
        found.append(
            violation(fielderrors.Finding("spec.configs", fielderrors.DUPLICATE, detail), WARN)
        )
    return Verdict(tuple(found), (_consulted(installed),))


@dataclass(slots=True)
class _Review:
    """One review under way."""

    registry: Registry
    memory: Memory | None
    objects: Configured
    fresh: list[Entry]
    allowance: int
    exhausted: bool = False
    consulted: dict[str, Installed] = field(default_factory=dict)
    unknown: dict[str, None] = field(default_factory=dict)
    budgets: dict[str, StepBudget] = field(default_factory=dict)
    effort: Effort = field(default_factory=Effort)

    def verdict(self) -> Verdict:
        found: list[Violation] = []
        choices = [self._choice(entry) for entry in self.fresh]
        self._share({chosen.installed.parsed.name for chosen in choices if chosen})
        for entry, chosen in zip(self.fresh, choices, strict=True):
            found += self._entry(entry, chosen) if chosen else self._unlisted(entry)
        for driver in dict.fromkeys(entry.driver for entry in self.fresh):
            found += self._together(driver)
        schemas = tuple(map(_consulted, self.consulted.values()))
        return Verdict(tuple(found), schemas, tuple(self.unknown), self.exhausted)

    def _choice(self, entry: Entry) -> Chosen | None:
        return choose(self.registry.drivers.get(entry.driver, ()), entry.parameters)

    def _share(self, names: Collection[str]) -> None:
        """Give every schema its share, so that an expensive one cannot spoil another's verdict."""
        share = self.allowance // max(1, len(names))
        self.budgets = {name: StepBudget(share) for name in names}

    def _unknown_driver(self, entry: Entry) -> Iterator[Violation]:
        known = {installed.parsed.driver for installed in self.registry.objects.values()}
        if entry.driver in known:
            return
        self.unknown[entry.driver] = None
        guess = nearest(entry.driver, known, edits=1, effort=self.effort)
        if guess:
            detail = f'no DriverConfigSchema describes it; did you mean "{guess}"?'
            finding = fielderrors.finding((), fielderrors.NOT_SUPPORTED, detail, entry.driver)
            yield Violation(
                finding.under(f"{entry.path}.opaque.driver"),
                "",
                0,
                entry.driver,
                WARN,
                harmless=True,
            )

    def _unlisted(self, entry: Entry) -> Iterator[Violation]:
        candidates = self.registry.drivers.get(entry.driver)
        if not candidates:
            yield from self._unknown_driver(entry)
            return
        policy, owner, unknown = unlisted(candidates, entry.parameters)
        self._consult(owner)
        for finding in unknown if policy != ALLOW else ():
            placed = finding.under(f"{entry.path}.opaque.parameters")
            yield self._violation(placed, owner, harmless=policy == WARN)

    def _entry(self, entry: Entry, chosen: Chosen) -> Iterator[Violation]:
        installed, config = chosen.installed, chosen.config
        self._consult(installed)
        if config is None:
            yield self._violation(_not_compiled(installed).under(entry.path), installed)
            return
        if entry.source not in config.spec.sources:
            yield self._violation(_wrong_source(entry, chosen).under(entry.path), installed)
        judgement = self._judgement(chosen, config, entry.parameters)
        self.exhausted |= judgement is TOO_EXPENSIVE
        place = f"{entry.path}.opaque.parameters"
        for finding in judgement.errors:
            yield self._violation(finding.under(place), installed)
        for finding in judgement.warnings:
            yield self._violation(finding.under(place), installed, harmless=True)

    def _together(self, driver: str) -> Iterator[Violation]:
        for installed in self.registry.drivers.get(driver, ()):
            if installed.force is None:
                continue
            fresh = {entry.path for entry in self.fresh}
            entries = [entry for entry in self.objects.entries if entry.driver == driver]
            for note in arrangement(installed.force.entries, entries, self.objects):
                if fresh.intersection(entry.path for entry in note.entries):
                    yield self._violation(note.finding, installed, harmless=note.harmless)
            return

    def _judgement(self, chosen: Chosen, config: CompiledConfig, value: Any) -> Judgement:
        """Judge, or remember; either way for the same number of steps."""
        budget = self.budgets[chosen.installed.parsed.name]
        written = strictjson.canonical(value)
        if len(written or b"") > MAX_PARAMETERS_BYTES < strictjson.least_size(value):
            return TOO_LONG
        if self.memory is None or written is None:
            return judge(config, value, budget)
        # Not by uid and generation: an etcd restored from a backup gives both out again.
        key = (config.digest, written)
        known = self.memory.get(key)
        if known is not None:
            return known if _spent(budget, known.steps) else TOO_EXPENSIVE
        judgement = judge(config, value, budget)
        if judgement.complete:
            self.memory[key] = judgement
        return judgement

    def _consult(self, installed: Installed) -> None:
        self.consulted.setdefault(installed.parsed.name, installed)

    def _violation(
        self, finding: Finding, installed: Installed, *, harmless: bool = False
    ) -> Violation:
        self._consult(installed)
        parsed = installed.parsed
        generation = _generation(installed)
        return Violation(finding, parsed.name, generation, parsed.driver, parsed.mode, harmless)


def _fresh(entries: Sequence[Entry], stored: Sequence[Entry]) -> list[Entry]:
    """Leave out what was stored; a second one of the same is new."""
    left = Counter(entry.identity for entry in stored)
    if not left:
        return list(entries)
    fresh = []
    for entry in entries:
        identity = entry.identity
        left[identity] -= 1
        if left[identity] < 0:
            fresh.append(entry)
    return fresh


def being_deleted(document: Any) -> bool:
    """Tell whether an object only waits for its finalizers."""
    metadata = document.get("metadata") if isinstance(document, Mapping) else None
    return isinstance(metadata, dict) and bool(metadata.get("deletionTimestamp"))


def _consulted(installed: Installed) -> Consulted:
    return Consulted(installed.parsed.name, _generation(installed), installed.parsed.mode)


def _generation(installed: Installed) -> int:
    """Give the generation in force, or the newest where none is."""
    return (installed.force or installed.parsed).generation


def _spent(budget: StepBudget, count: int) -> bool:
    try:
        budget.spend(count)
    except StepBudgetExceeded:
        return False
    return True


def _not_compiled(installed: Installed) -> Finding:
    detail = (
        f"DriverConfigSchema {installed.parsed.name} does not compile,"
        " so nothing can be said about this driver's configs; see its Ready condition"
    )
    return fielderrors.Finding("", fielderrors.INTERNAL, detail)


def _wrong_source(entry: Entry, chosen: Chosen) -> Finding:
    places = {"Claim": "ResourceClaims", "Class": "DeviceClasses"}
    title = " ".join(chosen.kind).strip() or "a config of this driver"
    detail = f"{title} is not supported in {places[entry.source]}"
    return fielderrors.Finding("", fielderrors.FORBIDDEN, detail)
