"""Reports as JUnit's XML, which systems for continuous integration read. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Outcome = Literal["failure", "error", "skipped"]


@dataclass(frozen=True, slots=True)
class Case:
    """One test case."""

    group: str  # What it belongs to, such as a file
    name: str  # What was tested
    outcome: Outcome | None = None  # None where it passed
    message: str = ""  # Why it did not, in one line
    detail: str = ""  # What else there is to say
    seconds: float | None = None  # How long it took; None where that says nothing


def document(name: str, cases: Sequence[Case]) -> str:
    """Return a suite of test cases as XML."""
    from xml.etree import ElementTree as ET  # noqa: PLC0415 — only for this format

    suite = ET.Element("testsuite", name=printable(name), tests=str(len(cases)))
    for outcome, counted in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        suite.set(counted, str(sum(one.outcome == outcome for one in cases)))
    for one in cases:
        case = ET.SubElement(
            suite, "testcase", classname=printable(one.group), name=printable(one.name)
        )
        if one.seconds is not None:
            case.set("time", f"{one.seconds:.2f}")
        if one.outcome:
            found = ET.SubElement(case, one.outcome, message=printable(one.message))
            found.text = printable(one.detail) or None
    ET.indent(suite)
    head = '<?xml version="1.0" encoding="UTF-8"?>\n'
    return head + ET.tostring(suite, encoding="unicode")


def printable(text: str) -> str:
    """Replace control characters, which XML cannot have."""
    return "".join(one if one.isprintable() or one in "\n\t" else "\ufffd" for one in text)
