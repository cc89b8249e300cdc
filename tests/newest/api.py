"""Compare the API: kinds, fields, enums, and the releases that serve a kind no more."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from docs.generate_api_schemas import FOLDER, facts
from dragoman_base import versions
from dragoman_base.versions import REMOVED_IN, Version
from tests.newest.published import Release
from tests.newest.report import Difference, Found

_REMOVED = re.compile(
    r"func \(in \*(\w+)\) APILifecycleRemoved\(\) \(major, minor int\) \{\s*return (\d+), (\d+)"
)


def compare(release: Release, known: Version, kubernetes: Path, api: Path) -> Found:
    """Compare a release with the schemas of a known version.

    Args:
        release: The release.
        known: The version.
        kubernetes: Sources of k8s.io/kubernetes.
        api: Sources of k8s.io/api.
    """
    old = json.loads((FOLDER / f"openapi-{versions.name(known)}.json").read_text("utf-8"))
    new = facts(release.tag, kubernetes)
    found = [*kinds(old["kinds"], new["kinds"]), *fields(old["definitions"], new["definitions"])]
    found += removals(api)
    return Found("api", f"{len(new['definitions'])} definitions", tuple(found))


def kinds(old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[Difference]:
    """Yield kinds that one of two releases lacks."""
    for name in sorted(new.keys() - old.keys()):
        yield Difference(f"kind {name} is new")
    for name in sorted(old.keys() - new.keys()):
        yield Difference(f"kind {name} is gone")


def fields(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Difference]:
    """Yield fields of the definitions that both releases have, where they differ."""
    for name in sorted(new.keys() & old.keys()):
        before, now = old[name].get("properties", {}), new[name].get("properties", {})
        for field in sorted(now.keys() | before.keys()):
            if field not in before:
                yield Difference(f"field {name}.{field} is new")
            elif field not in now:
                yield Difference(f"field {name}.{field} is gone")
            elif before[field] != now[field]:
                example = f"{json.dumps(before[field])} -> {json.dumps(now[field])}"
                yield Difference(f"field {name}.{field} takes other values", example=example)


def removals(api: Path) -> Iterator[Difference]:
    """Yield kinds whose last release is another one than the product knows."""
    for path in sorted((api / "resource").glob("*/zz_generated.prerelease-lifecycle.go")):
        for kind, *numbers in _REMOVED.findall(path.read_text("utf-8")):
            if kind.endswith("List"):
                continue
            end = int(numbers[0]), int(numbers[1])
            key = path.parent.name, kind
            if REMOVED_IN.get(key) != end:
                known = REMOVED_IN.get(key)
                said = f"known is {versions.name(known)}" if known else "not known"
                yield Difference(f"{key[0]} {kind} is removed in {versions.name(end)}; {said}")
