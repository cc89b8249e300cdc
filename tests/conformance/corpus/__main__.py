"""`make test-corpus`: the check on files in the layouts of public repositories, beside servers.

Every content stands in every layout. Of each version, API servers with their default flags say
which objects they reject, and the check says what it finds. The result is what the check leaves
out, and which of its errors and warnings are false.
"""

import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from click.testing import CliRunner

from dragoman_toolkit.check.check import check
from tests.conformance.corpus.contents import Content, contents
from tests.conformance.corpus.layouts import LAYOUTS, REPOSITORIES, Tree, written
from tests.conformance.manifests.verdicts import verdict
from tests.support.controlplane.api import Api
from tests.support.controlplane.plane import ControlPlane

VERSIONS = ("v1.34.4", "v1.36.3", "v1.37.1")
ERRORS, WARNINGS = 200, 50
"""Of so many errors or warnings, one may be false."""


@dataclass
class Result:
    """What one version gave."""

    files: int = 0
    refused: int = 0
    missed: list[str] = field(default_factory=list)
    errors: int = 0
    warnings: int = 0
    false: Counter[str] = field(default_factory=Counter)

    def holds(self) -> bool:
        """Tell whether the bars hold."""
        errors = sum(count for what, count in self.false.items() if what.startswith("error"))
        warnings = self.false.total() - errors
        few = errors * ERRORS <= self.errors and warnings * WARNINGS <= self.warnings
        return not self.missed and few


def compare(version: str) -> Result:
    """Compare check and API server of one version."""
    result = Result()
    with ControlPlane(version, audit=False) as plane:
        api = plane.api()
        for layout in LAYOUTS:
            for content in contents():
                _one(api, version, layout, content, result)
    return result


def _one(api: Api, version: str, layout: str, content: Content, result: Result) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        applied: dict[str, list[Tree]] = {}
        for file, text, trees in LAYOUTS[layout](content.name, content.trees):
            path = folder / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            applied[str(path)] = trees
            result.files += 1
        arguments = [name, "-o", "json", "--kubernetes", version[1:].rpartition(".")[0]]
        said = CliRunner().invoke(check, arguments, catch_exceptions=False)
    findings = json.loads(said.stdout)["findings"]
    place = f"{layout}/{content.name}"
    rejecting = {file: _rejection(api, trees) for file, trees in applied.items()}
    for file, words in rejecting.items():
        result.refused += bool(words)
        if words and not any(one["file"] == file for one in findings):
            result.missed.append(f"{place}: {words}")
    for one in findings:
        severity = str(one["severity"])
        result.errors += severity == "error"
        result.warnings += severity != "error"
        right = one["id"] in content.true or (severity == "error" and rejecting[one["file"]])
        if not right:
            result.false[f"{severity} {one['id']} in {place}: {one['message']}"] += 1


def _rejection(api: Api, trees: Iterable[Tree]) -> str:
    found = (verdict(api, written(one)) for one in trees)
    return next((words for words in found if words), "")


def main() -> None:
    """Compare all versions, or those named."""
    failed = False
    repositories = sum(map(len, REPOSITORIES.values()))
    print(
        f"{len(LAYOUTS)} layouts of {repositories} repositories, {len(list(contents()))} contents"
    )
    for version in sys.argv[1:] or VERSIONS:
        result = compare(version)
        false = Counter(what.partition(" ")[0] for what in result.false.elements())
        print(
            f"{version}: {result.files} files, {result.refused} rejected, {len(result.missed)} of"
            f" them without a finding; {result.errors} errors, {false['error']} false;"
            f" {result.warnings} warnings, {false['warning']} false"
        )
        for what in (*result.missed, *sorted(result.false)):
            print(f"  {what}")
        failed |= not result.holds()
    sys.exit(failed)


if __name__ == "__main__":
    main()
