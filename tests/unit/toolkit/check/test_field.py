"""Cases from the field, kept beside the repository: what a right answer of the check contains."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from dragoman_toolkit.check.check import check

FIELD = Path(__file__).parents[5] / "shared" / "field"


def cases() -> list[Any]:
    try:
        found = json.loads((FIELD / "cases.json").read_text(encoding="utf-8"))
    except OSError:
        reason = f"the cases of the field are not beside the repository, in {FIELD.name}"
        return [pytest.param(None, marks=pytest.mark.skip(reason=reason), id="absent")]
    return [pytest.param(one, id=one["id"]) for one in found if one["cmd"][0] == "check"]


@pytest.mark.parametrize("case", cases())
def test_a_case_of_the_field_is_answered(case: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FIELD)
    result = CliRunner().invoke(check, case["cmd"][1:], catch_exceptions=False)
    missing = [one for one in case["want"] if not re.search(one, result.output)]
    wrong = [one for one in case["forbid"] if re.search(one, result.output)]
    assert (missing, wrong) == ([], []), result.output
    assert case["rc"] in (None, result.exit_code), result.output
