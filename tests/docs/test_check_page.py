"""The page about `dragoman check`: every rule, with examples that show what it says."""

import json

import pytest
from click.testing import CliRunner

from docs import generate_rules
from dragoman_toolkit.check.check import check
from dragoman_toolkit.linting.rules.table import RULES
from tests.docs.pages import ROOT, Block, blocks

PAGE = ROOT / "docs/check.md"
EXAMPLES = [block for block in blocks(PAGE) if block.mark.startswith(("bad: ", "good: "))]


SERVED = "resource.k8s.io/v1beta2"
"""DeviceTaintRules are off by default, also where they are right."""


def found(text: str) -> list[str]:
    arguments = ["-", "-o", "json", "--runtime-config", SERVED]
    result = CliRunner().invoke(check, arguments, input=text, catch_exceptions=False)
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


def test_the_page_has_what_explain_prints() -> None:
    assert PAGE.read_text() == generate_rules.page(), "run: make pages"
    for rule in RULES:
        said = CliRunner().invoke(check, ["--explain", rule], catch_exceptions=False)
        assert said.exit_code == 0
        assert said.stdout.startswith(f"{rule} (")
        assert "Found:" in said.stdout
        assert "```" not in said.stdout


def test_a_rule_that_does_not_exist_is_named_with_the_nearest() -> None:
    said = CliRunner().invoke(check, ["--explain", "cel-ungarded"], catch_exceptions=False)
    assert said.exit_code == 2
    assert 'did you mean "dra/cel-unguarded"?' in said.stderr


def test_every_rule_has_a_bad_and_a_good_example() -> None:
    marks = {block.mark for block in EXAMPLES}
    assert marks == {f"{sort}: {rule}" for rule in RULES for sort in ("bad", "good")}
