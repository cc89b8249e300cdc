"""The functions and macros of the real environment are the ones dragoman_cel declares."""

import json
from pathlib import Path
from typing import Any

import pytest

from dragoman_cel.check.declarations import all_overloads
from dragoman_cel.syntax.macros import macros_of

FACTS = Path(__file__).parents[3] / "shared" / "vectors" / "k8s-cel-declarations.json"
# 1.28 stands for every version before as well; 1.35 equals 1.34.
VERSIONS = [(1, minor) for minor in range(28, 37)]
# What came after the record: in 1.37 of the lists library (apiserver v0.37.2 library/lists.go)
# and in 1.38 of the CIDR library (apiserver v0.38.0-beta.0 library/cidr.go).
LATER = {
    ("1.37", "member", "includes", "list_includes_dyn_dyn"): (("dyn", "dyn"), "bool"),
    ("1.38", "member", "isMask", "cidr_is_mask"): (("net.CIDR",), "bool"),
}
# Names of old syntax trees, which expressions cannot call.
LEFT_OUT = ("in(", "_in_(", "__not_strictly_false__(")


@pytest.fixture(scope="module")
def facts() -> dict[str, Any]:
    if not FACTS.exists():
        pytest.skip(f"{FACTS.parent} with what Kubernetes declares is not there")
    found: dict[str, Any] = json.loads(FACTS.read_text())
    return found


def test_every_overload_is_declared_in_its_first_version(facts: dict[str, Any]) -> None:
    expected = {
        (entry["since"], entry["kind"], entry["function"], entry["overload_id"])
        for entry in facts["functions"]
        if not entry["signature"].startswith(LEFT_OUT)
    }
    declared = {
        (
            f"{since[0]}.{since[1]}",
            "member" if overload.member else "global",
            function,
            overload.name,
        )
        for since, _, function, overload in all_overloads()
    }
    assert declared == expected | LATER.keys()


def test_every_overload_has_the_declared_parameters_and_result(facts: dict[str, Any]) -> None:
    shapes = {
        entry["overload_id"]: _shape(entry)
        for entry in facts["functions"]
        if not entry["signature"].startswith(LEFT_OUT)
    }
    shapes |= {overload: shape for (*_, overload), shape in LATER.items()}
    for _, _, _, overload in all_overloads():
        params = tuple(param.declared for param in overload.params)
        assert (params, overload.result.declared) == shapes[overload.name], overload.name


def test_every_macro_is_expanded_from_its_first_version_on(facts: dict[str, Any]) -> None:
    for version in VERSIONS:
        expected = {
            (macro["macro"], macro["args"], macro["receiver"])
            for macro in facts["macros"]
            if tuple(map(int, macro["since"].split("."))) <= version
        }
        assert set(macros_of(version, bind=False)) == expected


def _shape(entry: dict[str, Any]) -> tuple[tuple[str, ...], str]:
    """Return parameters, the receiver first, and result as the checker writes types."""
    left, _, result = entry["signature"].partition(") -> ")
    receiver, _, params = left.partition(f"{entry['function']}(")
    parts = [receiver.removesuffix("."), *_split(params)]
    return tuple(_written(part) for part in parts if part), _written(result)


def _split(text: str) -> list[str]:
    parts, depth = [""], 0
    for char in text:
        depth += (char == "(") - (char == ")")
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return [part.strip() for part in parts]


def _written(text: str) -> str:
    return text.replace("<", "").replace(">", "").strip()
