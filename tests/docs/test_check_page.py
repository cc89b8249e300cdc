"""The page about `dragoman check`: every rule, with examples that show what it says."""

import json

import pytest
from click.testing import CliRunner

from dragoman_toolkit.check.check import check
from dragoman_toolkit.linting.rules.table import RULES
from tests.docs.pages import ROOT, Block, blocks

PAGE = ROOT / "docs/check.md"
EXAMPLES = [block for block in blocks(PAGE) if block.mark.startswith(("bad: ", "good: "))]


def found(text: str) -> list[str]:
    result = CliRunner().invoke(check, ["-", "-o", "json"], input=text, catch_exceptions=False)
    document = json.loads(result.stdout)
    assert document["failures"] == []
    return [finding["id"] for finding in document["findings"]]


@pytest.mark.parametrize("block", EXAMPLES, ids=lambda block: block.mark)
def test_an_example_shows_its_rule(block: Block) -> None:
    sort, _, rule = block.mark.partition(": ")
    if sort == "bad":
        assert rule in found(block.text)
    else:
        assert found(block.text) == []


def test_every_rule_has_a_bad_and_a_good_example() -> None:
    marks = {block.mark for block in EXAMPLES}
    assert marks == {f"{sort}: {rule}" for rule in RULES for sort in ("bad", "good")}
