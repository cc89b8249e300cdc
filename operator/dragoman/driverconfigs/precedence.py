"""The arrangement: how several entries for one driver stand to each other and to the requests.

Each driver reads entries in its own way (`spec.entries`). Where its way makes preparing fail, that
is an error; where it silently ignores an entry, that is a warning, since the pod would still run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from dragoman.driverconfigs import fielderrors
from dragoman.driverconfigs.driverconfigschema import (
    CLAIM,
    EXACTLY_ONE,
    FIRST_WINS,
    LAST_WINS,
    EntryRules,
)
from dragoman.driverconfigs.entries import Configured, Entry
from dragoman.driverconfigs.fielderrors import Finding

MAX_WARNINGS = 50
"""Entries' requests that are told to be ignored; there can be a thousand in one object."""

WHOLE_CLASS = "(class)"
"""Stands for whatever request a class is used for; entries of classes reach all of them."""


@dataclass(frozen=True, slots=True)
class Note:
    """One remark about entries.

    Attributes:
        finding: the remark, with its full path.
        entries: the entries concerned.
        harmless: the driver ignores something instead of failing.
    """

    finding: Finding
    entries: tuple[Entry, ...]
    harmless: bool


def arrangement(rules: EntryRules, entries: Sequence[Entry], objects: Configured) -> Iterator[Note]:
    """Check the entries of one driver in one object."""
    unreachable = (note for entry in entries for note in _unreachable(rules, entry, objects))
    yield from islice(unreachable, MAX_WARNINGS)
    if len(entries) == 1:
        return  # it stands beside none
    reached = [_targets(rules, entry, objects) for entry in entries]
    if rules.precedence == EXACTLY_ONE:
        yield from _surplus(entries, reached)
    elif rules.precedence in (LAST_WINS, FIRST_WINS):
        yield from _shadowed(rules, entries, reached)


def _targets(rules: EntryRules, entry: Entry, objects: Configured) -> frozenset[str]:
    if entry.source != CLAIM:
        return frozenset({WHOLE_CLASS})
    if not entry.requests:
        return frozenset() if rules.requests_required else frozenset(objects.targets)
    reached = set(entry.requests)
    if rules.main_covers_subrequests:
        mains = tuple(f"{name}/" for name in entry.requests if name in objects.alternatives)
        reached.update(target for target in objects.targets if mains and target.startswith(mains))
    return frozenset(reached.intersection(objects.targets))


def _unreachable(rules: EntryRules, entry: Entry, objects: Configured) -> Iterator[Note]:
    path = f"{entry.path}.requests"
    if rules.classes_ignored and entry.source != CLAIM:
        detail = "the driver ignores configs in device classes"
        yield Note(Finding(entry.path, fielderrors.FORBIDDEN, detail), (entry,), harmless=True)
    if rules.requests_required and entry.source == CLAIM and not entry.requests:
        detail = "the driver ignores entries that name no requests"
        yield Note(Finding(path, fielderrors.REQUIRED, detail), (entry,), harmless=True)
    if rules.main_covers_subrequests:
        return
    for index, name in enumerate(entry.requests):
        if name in objects.alternatives:
            subrequests = [target for target in objects.targets if target.startswith(f"{name}/")]
            detail = (
                f"the driver ignores it here, it wants the subrequests: {', '.join(subrequests)}"
            )
            finding = fielderrors.finding((index,), fielderrors.INVALID, detail, name)
            yield Note(finding.under(path), (entry,), harmless=True)


def _surplus(entries: Sequence[Entry], reached: Sequence[frozenset[str]]) -> Iterator[Note]:
    """Find requests that several entries are for, where the driver wants one; one note each."""
    for target, indices in _by_target(reached).items():
        if len(indices) > 1:
            rivals = tuple(entries[index] for index in indices)
            whose = "the class has" if target == WHOLE_CLASS else f'request "{target}" has'
            detail = f"{whose} {len(rivals)} configs for this driver, it wants exactly one"
            yield Note(
                Finding(rivals[-1].path, fielderrors.INVALID, detail), rivals, harmless=False
            )


def _shadowed(
    rules: EntryRules, entries: Sequence[Entry], reached: Sequence[frozenset[str]]
) -> Iterator[Note]:
    """Find entries that another one of the same kind always beats."""
    by_target = _by_target(reached)
    last = rules.precedence == LAST_WINS
    for i, entry in enumerate(entries):
        # Who beats it everywhere beats it at any one of its requests.
        anywhere = next(iter(reached[i]), None)
        for j in by_target.get(anywhere, ()):
            beats = j > i if last else j < i
            if beats and reached[i] <= reached[j] and _kind(entry) == _kind(entries[j]):
                detail = f"has no effect, {entries[j].path} beats it for the same requests"
                finding = Finding(entry.path, fielderrors.INVALID, detail)
                yield Note(finding, (entry, entries[j]), harmless=True)
                break


def _by_target(reached: Sequence[frozenset[str]]) -> dict[str | None, list[int]]:
    """List the entries that reach each request, requests in the order of their names."""
    found: dict[str | None, list[int]] = {}
    for index, names in enumerate(reached):
        for name in sorted(names):
            found.setdefault(name, []).append(index)
    return found


def _kind(entry: Entry) -> tuple[object, object]:
    value = entry.parameters
    return (value.get("apiVersion"), value.get("kind")) if isinstance(value, dict) else (None, None)
