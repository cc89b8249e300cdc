"""`dragoman.dev/ignore` comments and annotations.

    # dragoman.dev/ignore: dra/cel-unguarded: all nodes of this cluster have the same GPUs

A comment counts for its own line and the line below; an annotation counts for its object. Several
rules stand with commas between them. Without a reason nothing is ignored.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from dragoman_toolkit.linting.findings.finding import Problem
from dragoman_toolkit.linting.manifests.manifestobjects import Object, mapping
from dragoman_toolkit.linting.rules.table import RULES

NAME = "dragoman.dev/ignore"
_COMMENT = re.compile(rf"(?:^|\s)#\s*{re.escape(NAME)}:?[ \t]*(.*)$", re.MULTILINE)
_CONTENT = re.compile(r"\s*((?:[a-z]+/[a-z-]+)(?:\s*,\s*[a-z]+/[a-z-]+)*)\s*:?\s*(.*)")


@dataclass(slots=True)
class Ignores:
    """What one object ignores."""

    lines: dict[int, set[str]] = field(default_factory=dict)  # Rules by line of the file
    everywhere: set[str] = field(default_factory=set)  # Rules for the whole object
    problems: list[Problem] = field(default_factory=list)  # Ignores that have no effect

    def cover(self, rule: str, line: int) -> bool:
        """Tell whether a finding of a rule on a line is ignored."""
        return rule in self.everywhere or rule in self.lines.get(line, ())


def mentioned(obj: Object) -> bool:
    """Tell whether there can be an ignore at all, at the price of a search."""
    return obj.document.has(NAME)


def rules_of(obj: Object) -> Ignores:
    """Read the ignores of an object."""
    found = Ignores()
    if not mentioned(obj):
        return found
    annotation = mapping(obj.metadata.get("annotations")).get(NAME)
    if isinstance(annotation, str):
        steps = ("metadata", "annotations", NAME)
        rules, complaint = _parsed(annotation)
        found.everywhere |= rules
        if complaint:
            found.problems.append(Problem("dra/ignore", steps, complaint))
    first = obj.document.line - obj.document.head.count("\n")
    for line, content in _comments(obj.document.head + obj.document.text):
        rules, complaint = _parsed(content)
        number = first + line + 1
        for covered in (number, number + 1):
            found.lines.setdefault(covered, set()).update(rules)
        if complaint:
            found.problems.append(Problem("dra/ignore", (), f"line {number}: {complaint}"))
    return found


def _comments(text: str) -> Iterator[tuple[int, str]]:
    for match in _COMMENT.finditer(text):
        yield text.count("\n", 0, match.start(1)), match[1]


def _parsed(content: str) -> tuple[set[str], str]:
    match = _CONTENT.fullmatch(content)
    if match is None:
        return set(), f"{NAME} wants rules and a reason: `dra/rule: reason`"
    rules = {rule.strip() for rule in match[1].split(",")}
    unknown = sorted(rules - RULES.keys())
    if unknown:
        return set(), f"{NAME} names unknown rules: {', '.join(unknown)}"
    if not match[2].strip():
        return set(), f"{NAME} wants a reason after the rules: `{match[1]}: reason`"
    return rules, ""
