"""Reduce a difference of answers to its cause: words that are alike for alike cases."""

import re
from collections.abc import Mapping
from typing import Any

Json = Mapping[str, Any]

_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"|\'[^\']*\'')
_PATH = re.compile(r"\S*/\S+")
_NUMBER = re.compile(r"\d+")
COSTS = ("max_cost", "actual_cost")
"""Parts of an answer to a selector that are costs."""


def plain(words: str) -> str:
    """Return an error's words without names and numbers."""
    words = _PATH.sub("…", _QUOTED.sub("…", words))
    return _NUMBER.sub("n", words).partition("\n")[0]


def answer(given: Json) -> str:
    """Name an answer of the allocator."""
    if "error" in given:
        return f"{given['scope']} error {plain(given['error'])!r}"
    if "fits" in given:
        return "does not fit"
    return "allocated" if "results" in given else next(iter(given), "nothing")


def allocation(case: Json, expected: Json, ours: Json, steps: bool) -> str:
    """Name why an allocation differs."""
    if steps:
        return f"allocator: steps of the variant {case.get('variant') or 'that the gates choose'}"
    before, after = answer(ours), answer(expected)
    if before != after:
        return f"allocator: {after}; known: {before}"
    if "error" in expected:
        return f"allocator: words of {after}"
    return f"allocator: other {', '.join(_parts(expected, ours))}"


def _parts(one: Any, other: Any, path: str = "") -> list[str]:
    """Return the paths, without indices, at which two documents differ."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        keys = dict.fromkeys([*one, *other])
        found = [_parts(one.get(key), other.get(key), f"{path}.{key}") for key in keys]
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        found = [_parts(*pair, path) for pair in zip(one, other, strict=True)]
    else:
        return [] if one == other else [path.lstrip(".") or "results"]
    return sorted({part for parts in found for part in parts})


def selector(expected: Json, more: Mapping[str, int], parts: list[str]) -> str:
    """Name why an answer to a selector differs.

    Args:
        expected: What Kubernetes answered.
        more: By how much each cost there is higher.
        parts: Names of the parts that differ.
    """
    failed = expected.get("compile_error") or expected.get("match_error") or ""
    outcome = f"fails: {plain(failed.rpartition('ERROR: ')[2])!r}" if failed else "has a result"
    said = [
        f"{part} {'higher' if more[part] > 0 else 'lower'}" if part in COSTS else part
        for part in parts
        if part != "match_error" or "match" not in parts
    ]
    return f"selectors: {', '.join(said)}, where it {outcome}"
