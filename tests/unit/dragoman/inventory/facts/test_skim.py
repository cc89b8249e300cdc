"""Watch events of slices that change nothing which is stored."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from dragoman.inventory.facts.skim import is_unchanged
from dragoman.inventory.facts.stored import StoredSlice

TAINT = {"key": "broken", "effect": "NoExecute", "timeAdded": "2026-01-01T00:00:00Z"}
ATTRIBUTES = {"model": {"string": 'an odd {"name":"b"} value'}, "index": {"int": 1}}
KNOWN: dict[str, Any] = {
    "driver": "gpu.example.com",
    "pool": {"name": "node-1", "generation": 3, "resourceSliceCount": 2},
    "nodeName": "node-1",
    "devices": [{"name": "a", "attributes": ATTRIBUTES}, {"name": "b"}],
}


def line(kind: str = "MODIFIED", uid: str = "u", **spec: Any) -> bytes:
    """Return a watch line as the API server writes it."""
    body = {
        "kind": "ResourceSlice",
        "apiVersion": "resource.k8s.io/v1",
        "metadata": {
            "name": "slice-1",
            "generateName": "slice-",
            "uid": uid,
            "resourceVersion": "7",
        },
        "spec": {**KNOWN, **spec},
    }
    return json.dumps({"type": kind, "object": body}, separators=(",", ":")).encode() + b"\n"


def named(slice_: StoredSlice) -> Callable[[str], StoredSlice | None]:
    """Return the lookup of a store with this slice."""
    return {slice_.metadata.name: slice_}.get


def stored(found: bytes, *, content: bool = False) -> StoredSlice:
    return StoredSlice.parse(json.loads(found)["object"], content=content)


@pytest.mark.parametrize(
    "spec",
    [
        {},
        {"devices": [{"name": "a", "attributes": {"model": {"string": "x"}}}, {"name": "b"}]},
        {"devices": [{"name": "a"}, {"name": "b", "capacity": {"memory": {"value": "80Gi"}}}]},
        {"devices": [{"name": "a", "attributes": {"m": {"string": '"taints":'}}}, {"name": "b"}]},
        {"nodeName": "node-2"},
    ],
)
def test_other_attributes_change_nothing(spec: dict[str, Any]) -> None:
    changed = line(**spec)
    assert is_unchanged(changed, named(stored(line())))


@pytest.mark.parametrize(
    "spec",
    [
        {"devices": [{"name": "a", "taints": [TAINT]}, {"name": "b"}]},
        {"devices": [{"name": "a"}]},
        {"devices": [{"name": "b"}, {"name": "a"}]},
        {"devices": [{"name": "a"}, {"name": "b"}, {"name": "c"}]},
        {"devices": []},
        {"devices": [{"name": "a"}], "sharedCounters": [{"name": "b", "counters": {}}]},
        {"driver": "other.example.com"},
        {"pool": KNOWN["pool"] | {"name": "node-2"}},
        {"pool": KNOWN["pool"] | {"generation": 30}},
        {"pool": KNOWN["pool"] | {"resourceSliceCount": 1}},
        {"partitionTypeAttribute": "gpu.example.com/profile"},
    ],
)
def test_what_is_stored_is_noticed(spec: dict[str, Any]) -> None:
    assert not is_unchanged(line(**spec), named(stored(line())))


@pytest.mark.parametrize(
    ("changed", "known"),
    [
        (line("ADDED"), stored(line())),
        (line("DELETED"), stored(line())),
        (line(uid="other"), stored(line())),
        (line(), stored(line(devices=[{"name": "a", "taints": [TAINT]}, {"name": "b"}]))),
        (line(), stored(line(), content=True)),
        (line().replace(b":", b": "), stored(line())),
    ],
)
def test_a_line_that_may_matter_is_parsed(changed: bytes, known: StoredSlice) -> None:
    assert not is_unchanged(changed, named(known))


def test_deletion_is_noticed() -> None:
    deleting = line().replace(b'"7"}', b'"7","deletionTimestamp":"2026-01-01T00:00:00Z"}')
    assert b"deletionTimestamp" in deleting
    assert not is_unchanged(deleting, named(stored(line())))
