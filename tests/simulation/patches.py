"""JSON merge patch (RFC 7386), and strategic merge patch as far as claims and pods need it."""

from typing import Any

MERGE_KEYS = {
    "resourceClaimStatuses": "name",
    "reservedFor": "uid",
    "conditions": "type",
    "ownerReferences": "uid",
}
"""Keys of lists by their `patchMergeKey` in the types of k8s.io/api."""


def merge(found: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    merged = dict(found) if isinstance(found, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge(merged.get(key), value)
    return merged


def strategic(found: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    merged = dict(found) if isinstance(found, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        elif isinstance(value, list) and key in MERGE_KEYS:
            merged[key] = _lists(merged.get(key) or [], value, MERGE_KEYS[key])
            if not merged[key]:
                del merged[key]
        elif key == "finalizers" and isinstance(value, list):
            merged[key] = list(dict.fromkeys([*(merged.get(key) or []), *value]))
        else:
            merged[key] = strategic(merged.get(key), value)
    return merged


def _lists(found: list[Any], patch: list[Any], key: str) -> list[Any]:
    merged = {one[key]: one for one in found}
    for one in patch:
        if one.get("$patch") == "delete":
            merged.pop(one[key], None)
        else:
            merged[one[key]] = strategic(merged.get(one[key]), one)
    return list(merged.values())
