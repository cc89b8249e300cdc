"""YAML is read as kubectl reads it."""

from __future__ import annotations

from typing import Any

import pytest

from dragoman.driverconfigs.manifests.review import documents
from dragoman.driverconfigs.strictjson import DuplicateKeys


# As kubectl 1.36 sends them; measured with `kubectl create --dry-run=server`.
@pytest.mark.parametrize(
    ("scalar", "value"),
    [
        ("y", True), ("n", False), ("yes", True), ("Off", False), ("TRUE", True), ("tRUE", "tRUE"),
        ("~", None), ("Null", None), ("", None), ("010", 8), ("0o10", 8), ("0x1F", 31), ("0b11", 3),
        ("1_000", 1000), ("_1", "_1"), ("08", 8), ("-010", -8), ("+1", 1), ("0O7", 7),
        ("0o8", "0o8"), ("1:30", "1:30"), (".5", 0.5), ("1e1", 10.0), ("1.", 1.0), ("1E5", 1e5),
        ("1e400", "1e400"),
        ("685_230.15", 685230.15), ("2024-01-01", "2024-01-01"), ("=", "="), ("'1'", "1"),
        ("!!str 1", "1"), ('!!int "3"', 3), ("!!float 3", 3.0), ("!!binary aGk=", "hi"),
        ("!foo b", "b"), ("18446744073709551616", 18446744073709551616),
    ],
)  # fmt: skip
def test_scalars_are_read_as_kubectl_reads_them(scalar: str, value: Any) -> None:
    [document] = documents(f"v: {scalar}\n")
    assert document.tree == {"v": value}
    assert type(document.tree["v"]) is type(value)


def test_keys_become_strings_and_merges_are_merged() -> None:
    text = "base: &b {x: 1, w: 0}\n1: a\ntrue: b\n1.5: c\nd: {<<: *b, x: 2}\ny: e\n"
    [document] = documents(text)
    merged = document.tree.pop("d")
    assert merged == {"x": 2, "w": 0}
    assert not isinstance(merged, DuplicateKeys)
    assert document.tree == {"base": {"x": 1, "w": 0}, "1": "a", "true": "e", "1.5": "c"}
    assert document.tree.duplicate_keys == ("true",)
