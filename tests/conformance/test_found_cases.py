"""Regression tests: differences that random cases once showed, with Kubernetes' answers."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.fuzzing.cases import answer_selector, differences
from tests.conformance.fuzzing.rules import answer_rules

DATA = Path(__file__).with_name("data")


def cases() -> list[dict[str, Any]]:
    files = [DATA / f"found-{kind}.json" for kind in ("rules", "selectors")]
    return [case for file in files for case in json.loads(file.read_text())["cases"]]


def title(case: dict[str, Any]) -> str:
    request = case["request"]
    return str(request.get("expression") or json.dumps(request["schema"]))[-100:]


@pytest.mark.parametrize("case", cases(), ids=title)
def test_a_found_case_is_answered_as_by_kubernetes(case: dict[str, Any]) -> None:
    answer = {"dra": answer_selector, "rules": answer_rules}[case["request"]["op"]]
    ours = answer(case["request"])
    assert not differences(case["answer"], ours), f"{case['answer']} is not {ours}"
