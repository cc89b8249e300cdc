"""What a check prints: for people, for programs, and for what annotates code."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from dragoman import __version__
from dragoman.cli.terminal import line
from dragoman.linting.findings.finding import ERROR, Finding, Report
from dragoman.linting.rules.table import RULES

_SARIF_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_PAGE: Final = "https://dragoman.dev/check"


def text(report: Report) -> str:
    """Write a line for each finding, clickable in most terminals and editors."""
    return "\n".join(_lines(report))


def _lines(report: Report) -> Iterator[str]:
    for one in report.findings:
        place = f"{one.file}:{one.line}:{one.column}"
        text = f"{place}: {one.severity}: {one.object}: {one.message} [{one.id}]"
        yield line(text)
        if one.suggestion:
            yield line(f"  {one.suggestion}")
    for failure in report.failures:
        yield line(f"{failure.place}: error: {failure.message}")


def json_text(report: Report) -> str:
    """Write the stable JSON form."""
    return json.dumps(report.document(), indent=2, ensure_ascii=False)


def github(report: Report) -> str:
    """Write workflow commands, which annotate the files of a pull request."""
    lines = [
        _command(
            one.severity, one.file, (one.line, one.column), one.id, f"{one.object}: {_advice(one)}"
        )
        for one in report.findings
    ]
    lines += [
        _command("error", one.file, (one.line or 1, one.column or 1), "unreadable", one.message)
        for one in report.failures
    ]
    return "\n".join(lines)


def _command(severity: str, file: str, at: tuple[int, int], title: str, message: str) -> str:
    place = f"file={_property(file)},line={at[0]},col={at[1]},title={_property(title)}"
    return f"::{severity} {place}::{_escaped(message)}"


def _advice(one: Finding) -> str:
    return f"{one.message}; {one.suggestion}" if one.suggestion else one.message


def _escaped(value: str) -> str:
    """Escape what ends a workflow command; what a terminal would obey is spelled out before."""
    return line(value).replace("%", "%25")


def _property(value: str) -> str:
    return _escaped(value).replace(":", "%3A").replace(",", "%2C")


def sarif(report: Report) -> str:
    """Write SARIF 2.1.0, which code scanning reads."""
    rules = [
        {
            "id": rule.id,
            "shortDescription": {"text": rule.summary},
            "helpUri": f"{_PAGE}#{rule.id.replace('/', '')}",
            "defaultConfiguration": {"level": rule.severity},
        }
        for rule in RULES.values()
    ]
    driver = {"name": "dragoman", "version": __version__, "informationUri": _PAGE, "rules": rules}
    notifications = [
        {
            "level": "error",
            "message": {"text": one.message},
            "locations": [_location(one.document())],
        }
        for one in report.failures
    ]
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "invocations": [
            {
                "executionSuccessful": not report.failures,
                "toolExecutionNotifications": notifications,
            }
        ],
        "results": [_result(one, list(RULES)) for one in report.findings],
    }
    document = {"$schema": _SARIF_SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(document, indent=2, ensure_ascii=False)


def _result(one: Finding, rules: list[str]) -> dict[str, Any]:
    return {
        "ruleId": one.id,
        "ruleIndex": rules.index(one.id),
        "level": one.severity,
        "message": {"text": f"{one.object}: {_advice(one)}"},
        "locations": [_location(one.document())],
    }


def _location(one: Mapping[str, Any]) -> dict[str, Any]:
    region = {"startLine": max(one["line"], 1), "startColumn": max(one["column"], 1)}
    artifact = {"uri": one["file"]}
    return {"physicalLocation": {"artifactLocation": artifact, "region": region}}


def junit(report: Report) -> str:
    """Write JUnit's XML: a test case for each finding, or one that passes."""
    from xml.etree import ElementTree as ET  # noqa: PLC0415 — only for this format

    failures = len(report.failures)
    suite = ET.Element(
        "testsuite",
        name="dragoman check",
        tests=str(max(1, len(report.findings) + failures)),
        failures=str(report.errors),
        errors=str(failures),
        skipped=str(report.warnings),
    )
    for one in report.findings:
        name = f"{one.id} {one.file}:{one.line}:{one.column}"
        case = ET.SubElement(suite, "testcase", classname=one.file, name=name)
        kind = "failure" if one.severity == ERROR else "skipped"
        detail = ET.SubElement(case, kind, message=_printable(one.message))
        detail.text = _printable(f"{one.object}: {_advice(one)}")
    for failure in report.failures:
        case = ET.SubElement(suite, "testcase", classname=failure.file, name="readable")
        ET.SubElement(case, "error", message=_printable(failure.message))
    if not len(suite):
        ET.SubElement(suite, "testcase", classname="dragoman", name=report.summary())
    ET.indent(suite)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ET.tostring(suite, encoding="unicode")


def _printable(value: str) -> str:
    """Replace controls, which XML cannot hold."""
    return "".join(char if char.isprintable() or char in "\n\t" else "\ufffd" for char in value)


FORMATS: Final[Mapping[str, Callable[[Report], str]]] = {
    "text": text,
    "json": json_text,
    "github": github,
    "sarif": sarif,
    "junit": junit,
}
