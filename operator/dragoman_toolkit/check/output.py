"""What a check prints: for people, for programs, and for what annotates code."""

import json
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from dragoman import __version__
from dragoman.cli.terminal import line
from dragoman_toolkit.junit import Case, document
from dragoman_toolkit.linting.findings.finding import ERROR, CheckReport, Finding
from dragoman_toolkit.linting.rules.table import PAGE, RULES

_SARIF_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"


def text(report: CheckReport) -> str:
    """Write a line for each finding, clickable in most terminals and editors."""
    return "\n".join(_lines(report))


def _lines(report: CheckReport) -> Iterator[str]:
    for one in report.findings:
        place = f"{one.file}:{one.line}:{one.column}"
        yield line(f"{place}: {one.severity}: {one.object}: {one.message} ") + _rule(one.id)
        if one.suggestion:
            yield line(f"  {one.suggestion}")
    for failure in report.failures:
        yield line(f"{failure.place}: error: {failure.message}")


def _rule(name: str) -> str:
    """Return the rule in brackets, on a terminal as a link to its page."""
    if not sys.stdout.isatty():
        return f"[{name}]"
    return f"[\x1b]8;;{RULES[name].url}\x1b\\{name}\x1b]8;;\x1b\\]"


def json_text(report: CheckReport) -> str:
    """Write the stable JSON form."""
    document = report.document()
    for one in (*document["findings"], *document["fixed"]):
        one["url"] = RULES[one["id"]].url
    return json.dumps(document, indent=2, ensure_ascii=False)


def github(report: CheckReport) -> str:
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


def sarif(report: CheckReport) -> str:
    """Write SARIF 2.1.0, which code scanning reads."""
    rules = [
        {
            "id": rule.id,
            "shortDescription": {"text": rule.summary},
            "helpUri": rule.url,
            "defaultConfiguration": {"level": rule.severity},
        }
        for rule in RULES.values()
    ]
    driver = {"name": "dragoman", "version": __version__, "informationUri": PAGE, "rules": rules}
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


def junit(report: CheckReport) -> str:
    """Write JUnit's XML: a test case for each finding, and one that passes for each other file."""
    cases = [
        Case(
            one.file,
            f"{one.id} {one.file}:{one.line}:{one.column}",
            "failure" if one.severity == ERROR else "skipped",
            one.message,
            f"{one.object}: {_advice(one)}; {RULES[one.id].url}",
        )
        for one in report.findings
    ]
    cases += [Case(one.file, "readable", "error", one.message) for one in report.failures]
    cases += [Case(file, file) for file in _passed(report)]
    return document("dragoman check", cases or [Case("dragoman", report.summary())])


def _passed(report: CheckReport) -> list[str]:
    """List the files without findings and failures, in their order."""
    faulty = {one.file for one in report.findings} | {one.file for one in report.failures}
    return [file for file in report.files if file not in faulty]


def tap(report: CheckReport) -> str:
    """Write the Test Anything Protocol, version 13: a test for each file, `not ok` with errors."""
    files = list(dict.fromkeys([*report.files, *(one.file for one in report.failures)]))
    lines = ["TAP version 13", f"1..{len(files)}"]
    for number, file in enumerate(files, 1):
        found = [one for one in report.findings if one.file == file]
        unread = [one for one in report.failures if one.file == file]
        bad = unread or any(one.severity == ERROR for one in found)
        name = line(file).replace("#", "\\#")
        lines.append(f"{'not ok' if bad else 'ok'} {number} - {name}")
        if found or unread:
            details = [
                *({**one.document(), "url": RULES[one.id].url} for one in found),
                *(one.document() for one in unread),
            ]
            lines += ["  ---", f"  findings: {json.dumps(details)}", "  ..."]
    return "\n".join(lines)


def rules(output: str) -> str:
    """Write the table of rules, for people or as JSON."""
    if output == "json":
        listed = [
            {"id": one.id, "severity": one.severity, "summary": one.summary, "url": one.url}
            for one in RULES.values()
        ]
        return json.dumps(listed, indent=2, ensure_ascii=False)
    width = max(map(len, RULES))
    return "\n".join(
        f"{one.id:{width}}  {one.severity:7}  {one.summary}\n{'':{width}}  {'':7}  {one.url}"
        for one in RULES.values()
    )


FORMATS: Mapping[str, Callable[[CheckReport], str]] = {
    "text": text,
    "json": json_text,
    "github": github,
    "sarif": sarif,
    "junit": junit,
    "tap": tap,
}
