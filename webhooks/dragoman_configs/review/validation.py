"""Validate one object against the active schemas: claims, templates and classes; schemas too.

Each entry of a driver with schemas is validated, then the driver's entries together. Updates are
ratcheted: entries that were stored before and are unchanged pass, so that a schema created later
never blocks labels, finalizers or a deletion.
"""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, MutableMapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dragoman_base.words.spelling import SuggestionBudget, closest
from dragoman_cel.budget import REVIEW_STEPS, StepBudget
from dragoman_cel.errors import StepBudgetExceeded
from dragoman_configs import fielderrors, strictjson
from dragoman_configs.compile.compiler import CompiledConfig
from dragoman_configs.compile.registry import RegisteredSchema, Registry, register
from dragoman_configs.fielderrors import ConfigFieldError
from dragoman_configs.objects.driverconfigschema import ALLOW, ENFORCE, OFF, WARN
from dragoman_configs.objects.entries import ConfigEntry, Configured, configured
from dragoman_configs.objects.schemaparser import parse
from dragoman_configs.review.crd import validate_object
from dragoman_configs.review.hints import with_hint
from dragoman_configs.review.lookup import ConfigMatch, find_config, unknown_kind
from dragoman_configs.review.parameters_validation import (
    MAX_PARAMETERS_BYTES,
    TOO_EXPENSIVE,
    TOO_LONG,
    ValidationResult,
    validate_parameters,
)
from dragoman_configs.review.precedence import check_precedence, refused_classes
from dragoman_configs.review.verdict import Verdict, Violation

MAX_STEPS = REVIEW_STEPS
"""Steps that a review may spend."""

Key = tuple[bytes, bytes]
"""Digest of the compiled config, and the parameters' canonical bytes."""

ResultCache = MutableMapping[Key, ValidationResult]
"""Results of earlier reviews; each depends on its key alone. The owner bounds the size."""


def validate_configs(  # noqa: PLR0913 — all but three have defaults
    registry: Registry,
    kind: str,
    document: Any,
    *,
    old: Any = None,
    cache: ResultCache | None = None,
    max_steps: int = MAX_STEPS,
) -> Verdict:
    """Validate a claim, template or class of any API version and any JSON type; never raises.

    Args:
        registry: The active schemas.
        kind: `ResourceClaim`, `ResourceClaimTemplate` or `DeviceClass`; others have no entries.
        document: The object, parsed by `strictjson.parse`.
        old: The stored object on updates.
        cache: Results to reuse and to add to; the verdict is the same without.
        max_steps: Steps that the validation may spend. A verdict that is not `exhausted` is the
            same with any number.
    """
    # An update needs no exception for deletion: unchanged entries pass, and a new config that a
    # finalizer's owner does not need must not slip in.
    if old is None and being_deleted(document):
        return Verdict()
    objects = configured(kind, document)
    changed = _changed(objects.entries, configured(kind, old).entries if old else ())
    if not changed:
        return Verdict()
    return _Validation(registry, cache, objects, changed, max_steps).verdict()


def validate_schema(
    registry: Registry,
    document: Any,
    *,
    old: Any = None,
    crd: CompiledConfig | None = None,
) -> Verdict:
    """Validate a DriverConfigSchema: deny one that does not compile, warn of ineffective parts.

    An unchanged spec passes, and so does mode Off, because an admin must always be able to switch
    a schema off.

    Args:
        registry: The active schemas, for conflicts.
        document: The object, of any JSON type.
        old: The stored object on updates.
        crd: The compiled CRD, for objects that no API server has validated.
    """
    document = document if isinstance(document, dict) else {}
    if isinstance(old, dict) and _same_spec(old, document):
        return Verdict()
    if old is None and being_deleted(document):
        return Verdict()
    parsed = parse(document)
    registered = register(parsed, available=registry.available_bytes(parsed.name))
    mode = ENFORCE if parsed.mode != OFF else WARN
    errors = registered.compilation.errors
    if crd and (malformed := validate_object(crd, document)):
        errors = (*malformed, *(error for error in errors if error not in parsed.errors))
    warnings = [*registered.compilation.warnings, *_conflicts(registry, registered)]

    def violation(error: ConfigFieldError, mode: str) -> Violation:
        harmless = mode != ENFORCE
        return Violation(error, parsed.name, parsed.generation, parsed.driver, mode, harmless)

    found = [violation(error, mode) for error in errors]
    found += [violation(warning, WARN) for warning in warnings]
    return Verdict(tuple(found), (_reference(registered),))


def _same_spec(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Compare specs as written: Python finds 1, 1.0 and true equal."""
    return strictjson.identity(old.get("spec")) == strictjson.identity(new.get("spec"))


def _conflicts(registry: Registry, registered: RegisteredSchema) -> Iterator[ConfigFieldError]:
    for conflict in registry.with_object(registered).conflicts(registered.parsed.name):
        detail = f"{conflict.title} is decided by the older object {conflict.winner}"
        yield ConfigFieldError("spec.configs", fielderrors.DUPLICATE, detail)


@dataclass(slots=True)
class _Validation:
    """One validation in progress."""

    registry: Registry
    cache: ResultCache | None
    objects: Configured
    changed: list[ConfigEntry]
    max_steps: int
    exhausted: bool = False
    consulted: dict[str, RegisteredSchema] = field(default_factory=dict)
    unknown: dict[str, None] = field(default_factory=dict)
    budgets: dict[str, StepBudget] = field(default_factory=dict)
    suggesting: SuggestionBudget = field(default_factory=SuggestionBudget)

    def verdict(self) -> Verdict:
        found: list[Violation] = []
        matches = [self._match(entry) for entry in self.changed]
        self._share({match.registered.parsed.name for match in matches if match})
        for entry, match in zip(self.changed, matches, strict=True):
            found += self._entry(entry, match) if match else self._without_config(entry)
        for driver in dict.fromkeys(entry.driver for entry in self.changed):
            found += self._together(driver)
        schemas = tuple(map(_reference, self.consulted.values()))
        return Verdict(tuple(found), schemas, tuple(self.unknown), self.exhausted)

    def _match(self, entry: ConfigEntry) -> ConfigMatch | None:
        return find_config(self.registry.drivers.get(entry.driver, ()), entry.parameters)

    def _share(self, names: Collection[str]) -> None:
        """Give every schema an equal share, so that an expensive one cannot exhaust another's."""
        share = self.max_steps // max(1, len(names))
        self.budgets = {name: StepBudget(share) for name in names}

    def _without_config(self, entry: ConfigEntry) -> Iterator[Violation]:
        candidates = self.registry.drivers.get(entry.driver)
        if not candidates:
            yield from self._unknown_driver(entry)
            return
        policy, owner, errors = unknown_kind(candidates, entry.parameters)
        self._consult(owner)
        for error in errors if policy != ALLOW else ():
            placed = error.under(f"{entry.path}.opaque.parameters")
            yield self._violation(placed, owner, harmless=policy == WARN)

    def _unknown_driver(self, entry: ConfigEntry) -> Iterator[Violation]:
        known = {registered.parsed.driver for registered in self.registry.objects.values()}
        if entry.driver in known:
            return
        self.unknown[entry.driver] = None
        guess = closest(entry.driver, known, edits=1, budget=self.suggesting)
        if guess:
            detail = f'no DriverConfigSchema describes it; did you mean "{guess}"?'
            unsupported = fielderrors.NOT_SUPPORTED
            error = fielderrors.field_error((), unsupported, detail, entry.driver, known)
            placed = error.under(f"{entry.path}.opaque.driver")
            yield Violation(placed, "", 0, entry.driver, WARN, harmless=True)

    def _entry(self, entry: ConfigEntry, match: ConfigMatch) -> Iterator[Violation]:
        registered, config = match.registered, match.config
        self._consult(registered)
        if config is None:
            yield self._violation(_not_compiled(registered).under(entry.path), registered)
            return
        if entry.source not in config.spec.sources:
            yield self._violation(_wrong_source(entry, match).under(entry.path), registered)
        for refusal in refused_classes(config.spec, entry, self.objects):
            yield self._violation(refusal.error, registered, harmless=refusal.harmless)
        result = self._result(match, config, entry.parameters)
        self.exhausted |= result is TOO_EXPENSIVE
        place = f"{entry.path}.opaque.parameters"
        for errors, harmless in ((result.errors, False), (result.warnings, True)):
            for error in errors:
                hinted = with_hint(error, registered.parsed)
                yield self._violation(hinted.under(place), registered, harmless=harmless)

    def _together(self, driver: str) -> Iterator[Violation]:
        for registered in self.registry.drivers.get(driver, ()):
            if registered.active is None:
                continue
            changed = {entry.path for entry in self.changed}
            entries = [entry for entry in self.objects.entries if entry.driver == driver]
            for found in check_precedence(registered.active.entries, entries, self.objects):
                if changed.intersection(entry.path for entry in found.entries):
                    yield self._violation(found.error, registered, harmless=found.harmless)
            return

    def _result(self, match: ConfigMatch, config: CompiledConfig, value: Any) -> ValidationResult:
        """Validate or read the cache; either way for the same number of steps."""
        budget = self.budgets[match.registered.parsed.name]
        written = strictjson.canonical(value)
        if len(written or b"") > MAX_PARAMETERS_BYTES < strictjson.least_size(value):
            return TOO_LONG
        if self.cache is None or written is None:
            return validate_parameters(config, value, budget)
        # Not by uid and generation: an etcd restored from a backup assigns both again.
        key = (config.digest, written)
        cached = self.cache.get(key)
        if cached is not None:
            return cached if _spend(budget, cached.steps) else TOO_EXPENSIVE
        result = validate_parameters(config, value, budget)
        if result.complete:
            self.cache[key] = result
        return result

    def _consult(self, registered: RegisteredSchema) -> None:
        self.consulted.setdefault(registered.parsed.name, registered)

    def _violation(
        self, error: ConfigFieldError, registered: RegisteredSchema, *, harmless: bool = False
    ) -> Violation:
        self._consult(registered)
        parsed = registered.parsed
        generation = _generation(registered)
        return Violation(error, parsed.name, generation, parsed.driver, parsed.mode, harmless)


def _changed(entries: Sequence[ConfigEntry], stored: Sequence[ConfigEntry]) -> list[ConfigEntry]:
    """Leave out stored entries; a second copy of a stored one counts as changed."""
    left = Counter(entry.identity for entry in stored)
    if not left:
        return list(entries)
    changed = []
    for entry in entries:
        identity = entry.identity
        left[identity] -= 1
        if left[identity] < 0:
            changed.append(entry)
    return changed


def being_deleted(document: Any) -> bool:
    """Tell whether an object only waits for its finalizers."""
    metadata = document.get("metadata") if isinstance(document, Mapping) else None
    return isinstance(metadata, dict) and bool(metadata.get("deletionTimestamp"))


def _reference(registered: RegisteredSchema) -> str:
    name, mode = registered.parsed.name, registered.parsed.mode
    return f"{name}@{_generation(registered)} ({mode})"


def _generation(registered: RegisteredSchema) -> int:
    """Return the active generation, or the newest without an active one."""
    return (registered.active or registered.parsed).generation


def _spend(budget: StepBudget, count: int) -> bool:
    try:
        budget.spend(count)
    except StepBudgetExceeded:
        return False
    return True


def _not_compiled(registered: RegisteredSchema) -> ConfigFieldError:
    detail = (
        f"DriverConfigSchema {registered.parsed.name} does not compile,"
        " so this driver's configs cannot be validated; see its Ready condition"
    )
    return ConfigFieldError("", fielderrors.INTERNAL, detail)


def _wrong_source(entry: ConfigEntry, match: ConfigMatch) -> ConfigFieldError:
    places = {"Claim": "ResourceClaims", "Class": "DeviceClasses"}
    title = " ".join(match.kind).strip() or "a config of this driver"
    detail = f"{title} is not supported in {places[entry.source]}"
    return ConfigFieldError("", fielderrors.FORBIDDEN, detail)
