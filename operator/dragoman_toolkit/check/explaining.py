"""`--explain RULE`: the page of a rule on the terminal."""

import re
from functools import cache
from pathlib import Path

from dragoman_base.words.nearnames import nearest
from dragoman_toolkit.linting.rules.table import RULES
from dragoman_toolkit.unusable import UnusableInput

_PAGES = Path(__file__).parents[1] / "linting" / "rules" / "rules.md"
_MARK = re.compile(r"<!-- (bad|good): [a-z/-]+ -->\n")
_TITLES = {"bad": "Found:", "good": "Right:"}


@cache
def pages() -> dict[str, str]:
    """Return the pages of the rules in Markdown, by rule; docs/check.md has them too."""
    parts = re.split(r"(?m)^### (dra/[a-z-]+)\n", _PAGES.read_text(encoding="utf-8"))
    return dict(zip(parts[1::2], (one.strip("\n") for one in parts[2::2]), strict=True))


def explained(name: str) -> str:
    """Return the page of a rule for a terminal.

    Raises:
        UnusableInput: There is no such rule.
    """
    rule = name if "/" in name else f"dra/{name}"
    if rule not in RULES:
        guess = nearest(rule, RULES)
        known = f'did you mean "{guess}"?' if guess else "--list-rules names those there are"
        raise UnusableInput(f"--explain {name}: no such rule; {known}")
    one = RULES[rule]
    body = _MARK.sub(lambda match: f"{_TITLES[match[1]]}\n", pages()[rule])
    body = re.sub(r"```yaml\n(.*?)```", lambda match: _indented(match[1]), body, flags=re.DOTALL)
    return f"{rule} ({one.severity}): {one.summary}\n\n{body.rstrip()}\n\n{one.url}"


def _indented(text: str) -> str:
    return "\n" + re.sub(r"(?m)^(?=.)", "  ", text)
