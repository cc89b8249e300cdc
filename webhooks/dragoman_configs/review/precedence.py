"""Check how several entries for one driver relate to each other and to the requests.

Each driver reads entries in its own way (`spec.entries`). Entries that make preparing devices fail
are errors; entries that the driver silently ignores are warnings, because the pod still runs.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from dragoman_configs import fielderrors
from dragoman_configs.fielderrors import ConfigFieldError
from dragoman_configs.objects.driverconfigschema import (
    CLAIM,
    EXACTLY_ONE,
    FIRST_WINS,
    LAST_WINS,
    ConfigSpec,
    EntryRules,
)
from dragoman_configs.objects.entries import WHOLE_CLASS, ConfigEntry, Configured

MAX_WARNINGS = 50
"""Warnings about ignored requests; there can be a thousand in one object."""


@dataclass(frozen=True, slots=True)
class EntryError:
    """A field error that concerns one or several entries."""

    error: ConfigFieldError  # The field error, with its path from the object's root
    entries: tuple[ConfigEntry, ...]  # The entries concerned
    harmless: bool  # The driver ignores something and does not fail


def check_precedence(
    rules: EntryRules, entries: Sequence[ConfigEntry], objects: Configured
) -> Iterator[EntryError]:
    """Check the entries of one driver in one object."""
    ignored = (error for entry in entries for error in _ignored(rules, entry, objects))
    yield from islice(ignored, MAX_WARNINGS)
    if len(entries) == 1:
        return
    reached = [_targets(rules, entry, objects) for entry in entries]
    if rules.precedence == EXACTLY_ONE:
        yield from _surplus(entries, reached)
    elif rules.precedence in (LAST_WINS, FIRST_WINS):
        yield from _overridden(rules, entries, reached)


def refused_classes(
    spec: ConfigSpec, entry: ConfigEntry, objects: Configured
) -> Iterator[EntryError]:
    """Check the device classes that an entry's kind does not fit.

    A driver that applies an entry to a device of the wrong type fails where the entry names the
    request, and skips the entry where it names none.
    """
    if not spec.refused_classes:
        return
    if entry.source != CLAIM:
        name = objects.classes.get(WHOLE_CLASS)
        if name in spec.refused_classes:
            error = ConfigFieldError(entry.path, fielderrors.FORBIDDEN, _refusal(spec, str(name)))
            yield EntryError(error, (entry,), harmless=False)
        return
    for index, request in enumerate(entry.requests):
        name = objects.classes.get(request)
        if name in spec.refused_classes:
            detail = _refusal(spec, str(name))
            error = fielderrors.field_error((index,), fielderrors.FORBIDDEN, detail)
            yield EntryError(error.under(f"{entry.path}.requests"), (entry,), harmless=False)
    reached = {objects.classes.get(target) for target in objects.targets}
    if not entry.requests and reached and reached <= spec.refused_classes:
        detail = "has no effect, the driver skips it for every request"
        error = ConfigFieldError(entry.path, fielderrors.INVALID, detail)
        yield EntryError(error, (entry,), harmless=True)


def _refusal(spec: ConfigSpec, name: str) -> str:
    return f"the driver rejects {spec.kind or spec.title} for devices of class {name}"


def _targets(rules: EntryRules, entry: ConfigEntry, objects: Configured) -> frozenset[str]:
    if entry.source != CLAIM:
        return frozenset({WHOLE_CLASS})
    if not entry.requests:
        return frozenset() if rules.requests_required else frozenset(objects.targets)
    reached = set(entry.requests)
    if rules.main_covers_subrequests:
        mains = tuple(f"{name}/" for name in entry.requests if name in objects.alternatives)
        reached.update(target for target in objects.targets if mains and target.startswith(mains))
    return frozenset(reached.intersection(objects.targets))


def _ignored(rules: EntryRules, entry: ConfigEntry, objects: Configured) -> Iterator[EntryError]:
    path = f"{entry.path}.requests"
    if rules.classes_ignored and entry.source != CLAIM:
        detail = "the driver ignores configs in device classes"
        error = ConfigFieldError(entry.path, fielderrors.FORBIDDEN, detail)
        yield EntryError(error, (entry,), harmless=True)
    if rules.requests_required and entry.source == CLAIM and not entry.requests:
        detail = "the driver ignores entries that name no requests"
        error = ConfigFieldError(path, fielderrors.REQUIRED, detail)
        yield EntryError(error, (entry,), harmless=True)
    if rules.main_covers_subrequests:
        return
    for index, name in enumerate(entry.requests):
        if name in objects.alternatives:
            subrequests = [target for target in objects.targets if target.startswith(f"{name}/")]
            detail = f"the driver ignores it here, name the subrequests: {', '.join(subrequests)}"
            error = fielderrors.field_error((index,), fielderrors.INVALID, detail, name)
            yield EntryError(error.under(path), (entry,), harmless=True)


def _surplus(
    entries: Sequence[ConfigEntry], reached: Sequence[frozenset[str]]
) -> Iterator[EntryError]:
    """Find requests with several entries, where the driver accepts one; one error each."""
    for target, indices in _by_target(reached).items():
        if len(indices) > 1:
            rivals = tuple(entries[index] for index in indices)
            subject = "the class has" if target == WHOLE_CLASS else f'request "{target}" has'
            detail = f"{subject} {len(rivals)} configs for this driver, it accepts exactly one"
            error = ConfigFieldError(rivals[-1].path, fielderrors.INVALID, detail)
            yield EntryError(error, rivals, harmless=False)


def _overridden(
    rules: EntryRules, entries: Sequence[ConfigEntry], reached: Sequence[frozenset[str]]
) -> Iterator[EntryError]:
    """Find entries that another one of the same kind overrides for each of their requests."""
    by_target = _by_target(reached)
    last = rules.precedence == LAST_WINS
    for i, entry in enumerate(entries):
        # An entry that overrides this one everywhere also does at any one of its requests.
        anywhere = next(iter(reached[i]), None)
        for j in by_target.get(anywhere, ()):
            wins = j > i if last else j < i
            if wins and reached[i] <= reached[j] and _kind(entry) == _kind(entries[j]):
                detail = f"has no effect, {entries[j].path} overrides it for the same requests"
                error = ConfigFieldError(entry.path, fielderrors.INVALID, detail)
                yield EntryError(error, (entry, entries[j]), harmless=True)
                break


def _by_target(reached: Sequence[frozenset[str]]) -> dict[str | None, list[int]]:
    """List the entries that reach each request, requests in the order of their names."""
    found: dict[str | None, list[int]] = {}
    for index, names in enumerate(reached):
        for name in sorted(names):
            found.setdefault(name, []).append(index)
    return found


def _kind(entry: ConfigEntry) -> tuple[object, object]:
    value = entry.parameters
    return (value.get("apiVersion"), value.get("kind")) if isinstance(value, dict) else (None, None)
