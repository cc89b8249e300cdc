"""Every allocation that kube-scheduler's own library computed, as a test."""

import json
from pathlib import Path

import pytest

from tests.conformance.allocator import Case, difference

HERE = Path(__file__).parent
SHARED = HERE.parents[2] / "shared" / "vectors" / "allocator-vectors.json"
FOUND = HERE / "data" / "found-allocations.json"


def cases(path: Path) -> list[Case]:
    if not path.exists():
        pytest.skip(f"{path.parent} with the cases observed on Go code is not there")
    found: list[Case] = json.loads(path.read_text())
    assert found
    return found


@pytest.mark.parametrize("path", [SHARED, FOUND], ids=["shared", "found"])
def test_the_scheduler_would_allocate_the_same_in_as_many_steps(path: Path) -> None:
    differences = {case["id"]: difference(case) for case in cases(path)}
    assert {name: text for name, text in differences.items() if text} == {}


def test_a_wrong_expectation_is_noticed() -> None:
    case = next(case for case in cases(FOUND) if case["expect"] == {"fits": False})
    assert "expected" in difference({**case, "expect": {"results": []}})
    assert "steps" in difference({**case, "steps": case["steps"] + 1})
