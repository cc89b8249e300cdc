"""The examples of docs/allocation.md run."""

import re
from pathlib import Path
from typing import Any

from dragoman.allocation import Code

PAGE = Path(__file__).parents[4] / "docs" / "allocation.md"
TEXT = PAGE.read_text()


def test_the_examples_do_what_the_page_says() -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    assert len(blocks) >= 5
    names: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)


def test_every_code_stands_in_the_table() -> None:
    table = TEXT.partition("## Reasons")[2].partition("## Extended")[0]
    assert {str(code) for code in Code} - set(re.findall(r"`(\w+)`", table)) == set()
