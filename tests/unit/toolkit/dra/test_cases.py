"""Cases that people met, kept beside the repository: what a right answer of a command contains."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.support.dra import invoke

SHARED = Path(__file__).parents[5] / "shared"
FOLDERS = ("live", "field")
CHECKED_ELSEWHERE = "check"
"""The command whose cases `check`'s own test runs."""


def cases() -> list[Any]:
    found = []
    for folder in FOLDERS:
        try:
            listed = json.loads((SHARED / folder / "cases.json").read_text(encoding="utf-8"))
        except OSError:
            reason = f"the cases are not beside the repository, in shared/{folder}"
            skip = pytest.mark.skip(reason=reason)
            found.append(pytest.param(folder, None, marks=skip, id=f"{folder}-absent"))
            continue
        found += [
            pytest.param(folder, one, id=f"{folder}-{one['id']}")
            for one in listed
            if one["cmd"][0] != CHECKED_ELSEWHERE
        ]
    return found


@pytest.mark.parametrize(("folder", "case"), cases())
def test_a_case_is_answered(folder: str, case: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(SHARED / folder)
    result = invoke(*case["cmd"])
    missing = [one for one in case["want"] if not re.search(one, result.output)]
    wrong = [one for one in case["forbid"] if re.search(one, result.output)]
    assert (missing, wrong) == ([], []), result.output
    assert case["rc"] in (None, result.exit_code), result.output
