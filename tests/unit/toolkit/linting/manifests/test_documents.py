"""Texts: positions, numbers as kubectl reads them, and hostile input that ends soon."""

import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from dragoman_base.files.unreadable import DuplicateKeys
from dragoman_toolkit.linting.manifests.documents import Positions, UnreadableError, read, steps_of

TEXT = """\
# a comment
apiVersion: v1
kind: Pod
metadata: {name: a, labels: {"x.y/z": "1"}}
spec:
  containers:
  - name: b
    command: |
      one
      two
---
second: true
"""


def trees(text: str) -> list[Any]:
    return [document.tree for document in read(text)]


@pytest.mark.parametrize(
    ("steps", "at_key", "place"),
    [
        ((), True, (2, 1)),
        (("kind",), True, (3, 1)),
        (("kind",), False, (3, 7)),
        (("metadata", "labels", "x.y/z"), True, (4, 30)),
        (("spec", "containers", 0), True, (7, 5)),
        (("spec", "containers", 0, "name"), False, (7, 11)),
        (("spec", "containers", 9, "nosuch"), True, (6, 3)),
        (("spec", "nosuch"), True, (5, 1)),
    ],
)
def test_positions_are_of_the_value_or_what_is_nearest(
    steps: Any, place: tuple[int, int], *, at_key: bool
) -> None:
    document = next(iter(read(TEXT)))
    found = Positions(document).find(steps, at_key=at_key)
    assert (found.line, found.column) == place


def test_positions_inside_a_block_scalar() -> None:
    document = next(iter(read(TEXT)))
    steps = ("spec", "containers", 0, "command")
    found = Positions(document).find(steps, at_key=False, offset=(1, 2))
    assert (found.line, found.column) == (10, 9)


def test_positions_in_later_documents_and_in_json() -> None:
    second = list(read(TEXT))[1]
    assert Positions(second).find(("second",)).line == 12
    text = '{"a": 1}\n{"b": {"c": "\\ud800",\n  "d": 2}}'
    found = Positions(list(read(text))[1]).find(("b", "d"))
    assert (found.line, found.column) == (3, 3)


# As kubectl 1.36 sends them; measured with `kubectl create --dry-run=server`.
@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("y", True), ("n", False), ("yes", True), ("Off", False), ("TRUE", True), ("tRUE", "tRUE"),
        ("~", None), ("Null", None), ("", None), ("010", 8), ("0o10", 8), ("0x1F", 31), ("0b11", 3),
        ("1_000", 1000), ("_1", "_1"), ("08", 8), ("-010", -8), ("+1", 1), ("0O7", 7),
        ("0o8", "0o8"), ("1:30", "1:30"), (".5", 0.5), ("1e1", 10.0), ("1.", 1.0), ("1E5", 1e5),
        ("1e400", "1e400"), ("'010'", "010"), ("1.0", 1.0),
        ("685_230.15", 685230.15), ("2024-01-01", "2024-01-01"), ("=", "="), ("'1'", "1"),
        ("!!str 1", "1"), ('!!int "3"', 3), ("!!float 3", 3.0), ("!!binary aGk=", "hi"),
        ("!foo b", "b"), ("18446744073709551616", 18446744073709551616),
    ],
)  # fmt: skip
def test_scalars_are_read_as_kubectl_does(text: str, value: Any) -> None:
    [tree] = trees(f"a: {text}\n")
    assert tree["a"] == value
    assert type(tree["a"]) is type(value)


def test_repeated_keys_are_seen() -> None:
    for text in ("a: 1\na: 2\n", '{"a": 1, "a": 2}'):
        [tree] = trees(text)
        assert isinstance(tree, DuplicateKeys)
        assert tree.duplicate_keys == ("a",)


def test_keys_become_strings() -> None:
    [tree] = trees("1: a\ntrue: b\n1.5: c\ny: e\n")
    assert tree == {"1": "a", "true": "e", "1.5": "c"}
    assert tree.duplicate_keys == ("true",)


def test_merge_keys_are_merged() -> None:
    [tree] = trees("x: &x {a: 1, b: 2}\nz:\n  <<: *x\n  b: 3\n")
    assert tree["z"] == {"a": 1, "b": 3}


BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{chr(98 + i)}: &{chr(98 + i)} [{', '.join([f'*{chr(97 + i)}'] * 9)}]\n" for i in range(9)
)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param(BOMB, "more than 100000 values", id="an alias bomb"),
        pytest.param("a: &a [*a]\n", "nested deeper|recursive|more than", id="a cycle"),
        pytest.param("a: &a {b: *a}\n", "nested deeper|recursive|more than", id="a cyclic mapping"),
        pytest.param("a: &a\n  <<: *a\n", "nested deeper|more than", id="a cyclic merge"),
        pytest.param("[" * 100_000, "nest|JSON|YAML", id="deep YAML"),
        pytest.param('{"a":' * 100_000, "nest|JSON|YAML", id="deep JSON"),
        pytest.param("- " * 5_000 + "a\n", "nest|YAML", id="deep block lists"),
        pytest.param("a: " + "x" * 17_000_000, "larger than 16 MiB", id="a large text"),
        pytest.param("a: }\n", "invalid YAML", id="no YAML"),
        pytest.param('{"a": ]\n', "invalid JSON", id="no JSON"),
        pytest.param("? [a]\n: b\n", "a key must be a scalar", id="a list as key"),
        pytest.param("~: b\n", "a key must not be null", id="null as key"),
        pytest.param("a: .inf\n", "JSON has no number", id="infinity"),
        pytest.param("a: *b\n", "invalid YAML", id="an unknown alias"),
        pytest.param("a: \x00\n", "invalid YAML", id="a control character"),
        pytest.param("a: !!binary x\n", "!!binary wants base64", id="no base64"),
    ],
)
def test_hostile_texts_end_with_a_clear_error(text: str, words: str) -> None:
    with pytest.raises(UnreadableError, match=words):
        trees(text)


def test_a_huge_file_is_not_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "huge.yaml"
    with path.open("wb") as file:
        file.truncate(100 * 1024 * 1024)
    answer = subprocess.run(
        [sys.executable, "-m", "dragoman", "check", str(path)],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (512 << 20, 512 << 20)),
    )
    assert (answer.returncode, "larger than 16 MiB" in answer.stdout) == (2, True)


@pytest.mark.parametrize(
    ("path", "steps"),
    [
        ("spec.devices.config[0]", ("spec", "devices", "config", 0)),
        ("metadata.annotations[a.b/c]", ("metadata", "annotations", "a.b/c")),
        ("", ()),
        (".a", ("a",)),
    ],
)
def test_paths_split_into_steps(path: str, steps: tuple[Any, ...]) -> None:
    assert steps_of(path) == steps
