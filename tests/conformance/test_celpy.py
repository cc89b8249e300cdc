"""Core CEL beside cel-python, an independent implementation: equal but for what docs/cel.md lists.

The vectors and the fuzzer compare with cel-go, from whose rules the engine was written. A second
implementation notices a misread rule of the language that both sides of that comparison share.
"""

import os
import re
from collections import Counter
from importlib.metadata import version
from pathlib import Path
from random import Random

import pytest

from tests.conformance.fuzzing.core import (
    FAILURE,
    NO_PROGRAM,
    CoreCase,
    celpy_outcome,
    dragoman_outcome,
    dragoman_syntax_error,
)

PAGE = Path(__file__).parents[2] / "docs" / "cel.md"
CASES = int(1000 * float(os.environ.get("DRAGOMAN_EXAMPLES", "1")))
TYPES = "types and constants are checked first"

# What a shortened expression with a listed difference contains: texts that dragoman rejects ...
SYNTAX_SIGNS = {
    "a double ends with its point": r"\d\.(?!\d)",
    "an escape that CEL lacks": r"\\",
}
# ... and expressions that it evaluates.
SIGNS = {
    "a timestamp of seconds": r"timestamp\([^\"]",
    "a duration of a number": r"duration\([^\"]",
    "a negative index": r"\[.*-.*\]",
    "text of bools, doubles and null": r"string\(",
    "fractions of a second in texts": r"string\(.*(timestamp|duration)\(",
    "calculated durations": r"(timestamp|duration)\(.* [-+] .*(timestamp|duration)\(",
    "nanoseconds of a duration": r"int\(.*(duration|timestamp)\(",
    "ordering of different numbers": r"<|>",
    "equality of different types": r"(==|!=) dyn\(|\bin\b",
    "`map` with a condition": r"\.map\(\w+, .*, ",
    "calculated texts": r"\+.*\)\.|type\(.*\+",
    "a key written twice": r"\{.*: .*, .*: ",
    "division of a double by zero": r"(\bf\b|\d\.\d).* / | / .*(\bf\b|\d\.\d)",
    "bytes and lists as keys": r"\{(b[\"']|\[).*: ",
    "a failed value of a map": r"\{.*: .*[(.\[]",
    "a double between -1 and 0 as uint": r"uint\(.*[-+]",
    "null and bools as numbers": r"null|(int|double)\(dyn\(",
    "a trailing comma": r", ?[\]}]",
}


def rows() -> dict[str, tuple[str, str, str]]:
    """Return example and both outcomes of each row of the page's table."""
    section = PAGE.read_text().split("## What differs from cel-python")[1].split("\n## ")[0]
    cells = [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in section.splitlines()
        if line.startswith("| ") and not line.startswith("| difference")
    ]
    return {row[0].strip(): (row[1].strip("`"), row[2], row[3].strip(" |")) for row in cells}


ROWS = rows()


def listed(outcome: str) -> str:
    return outcome if outcome in (FAILURE, NO_PROGRAM) else f"`{outcome}`"


def reason(case: CoreCase) -> str:
    """Return the row of the table that a shrunk case belongs to, "" for none."""
    if dragoman_outcome(case.expression) != NO_PROGRAM:
        signs = SIGNS
    elif dragoman_syntax_error(case.expression):
        signs = SYNTAX_SIGNS
    else:
        return TYPES
    return next((name for name, sign in signs.items() if re.search(sign, case.expression)), "")


def test_the_table_speaks_of_the_installed_cel_python() -> None:
    assert f"cel-python {version('cel-python')}" in PAGE.read_text()


def test_the_table_and_the_comparison_know_the_same_differences() -> None:
    assert set(ROWS) == {TYPES, *SYNTAX_SIGNS, *SIGNS}


@pytest.mark.parametrize("name", ROWS)
def test_a_listed_difference_exists(name: str) -> None:
    example, theirs, ours = ROWS[name]
    assert (listed(celpy_outcome(example)), listed(dragoman_outcome(example))) == (theirs, ours)


def test_core_cases_differ_only_where_the_table_lists_it() -> None:
    random = Random(20)
    kinds: Counter[str] = Counter()
    unlisted = []
    for _ in range(CASES):
        case = CoreCase.generate(random)
        if not case.differs():
            kinds[case.outcomes()[0]] += 1
            continue
        case = case.shrunk()
        if not reason(case):
            unlisted.append((case.expression, *case.outcomes()))
    assert unlisted == []
    same = kinds.total() - kinds[FAILURE] - kinds[NO_PROGRAM]
    assert same > CASES / 2, "most cases have a result, and both sides agree on it"
