"""`make test-corpus`: the check on files in the layouts of public repositories, beside servers.

Every content stands in some layouts, and every layout has a third of the contents or more. Of each
version, API servers with their default flags say which objects they reject, and the check says what
it finds. The result is what the check leaves out, and which of its errors and warnings are false:
`truth.py` says that, by the server and by Kubernetes' own CEL on devices of drivers, or where
neither can tell, the content does.
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
from tests.conformance.corpus.families import families
from tests.conformance.corpus.layouts import LAYOUTS, REPOSITORIES, Tree
from tests.conformance.corpus.truth import Truth
from tests.conformance.oracle import MODULES, cel_oracle
from tests.support.controlplane.plane import ControlPlane

VERSIONS = ("v1.34.4", "v1.36.3", "v1.37.1")
LAYOUTS_OF_EACH = 4
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
    declared: int = 0  # Findings whose truth the content says, as nothing measures it
    false: Counter[str] = field(default_factory=Counter)

    def holds(self) -> bool:
        """Tell whether the bars hold."""
        errors = sum(count for what, count in self.false.items() if what.startswith("error"))
        warnings = self.false.total() - errors
        few = errors * ERRORS <= self.errors and warnings * WARNINGS <= self.warnings
        return not self.missed and few


def corpus() -> dict[str, Content]:
    """Return all contents by name."""
    found = [*contents(), *families()]
    named = {one.name: one for one in found}
    assert len(named) == len(found), "two contents have one name"
    return named


def compare(version: str) -> Result:
    """Compare check and API server of one version."""
    result = Result()
    minor = version[1:].rpartition(".")[0]
    oracle = cel_oracle(minor if minor in MODULES else min(MODULES))
    with ControlPlane(version, audit=False) as plane, oracle:
        truth = Truth(plane.api(), oracle)
        for number, content in enumerate(corpus().values()):
            for place, layout in enumerate(LAYOUTS):
                if (place - number) % len(LAYOUTS) < LAYOUTS_OF_EACH:
                    _one(truth, minor, layout, content, result)
    return result


def _one(truth: Truth, minor: str, layout: str, content: Content, result: Result) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        applied: dict[str, list[Tree]] = {}
        for file, text, trees in LAYOUTS[layout](content.name, content.trees):
            path = folder / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            applied[str(path)] = trees
            result.files += 1
        arguments = [name, "-o", "json", "--kubernetes", minor]
        said = CliRunner().invoke(check, arguments, catch_exceptions=False)
    findings = json.loads(said.stdout)["findings"]
    place = f"{layout}/{content.name}"
    rejecting = {file: _rejection(truth, trees) for file, trees in applied.items()}
    everything = [tree for trees in applied.values() for tree in trees]
    for file, words in rejecting.items():
        result.refused += bool(words)
        if words and not any(one["file"] == file for one in findings):
            result.missed.append(f"{place}: {words}")
    for one in findings:
        severity = str(one["severity"])
        result.errors += severity == "error"
        result.warnings += severity != "error"
        right = bool(severity == "error" and rejecting[one["file"]]) or truth.of(one, everything)
        if right is None:
            right = one["id"] in content.true
            result.declared += 1
        if not right:
            result.false[f"{severity} {one['id']} in {place}: {one['message']}"] += 1


def _rejection(truth: Truth, trees: Iterable[Tree]) -> str:
    found = (truth.refusal(one) for one in trees)
    return next((words for words in found if words), "")


def main() -> None:
    """Compare all versions, or those named."""
    failed = False
    repositories = sum(map(len, REPOSITORIES.values()))
    print(
        f"{len(LAYOUTS)} layouts of {repositories} repositories, {len(corpus())} distinct contents"
    )
    for version in sys.argv[1:] or VERSIONS:
        result = compare(version)
        false = Counter(what.partition(" ")[0] for what in result.false.elements())
        print(
            f"{version}: {result.files} files, {result.refused} rejected, {len(result.missed)} of"
            f" them without a finding; {result.errors} errors, {false['error']} false;"
            f" {result.warnings} warnings, {false['warning']} false; of {result.declared} of them"
            " the content says whether they are true"
        )
        for what in (*result.missed, *sorted(result.false)):
            print(f"  {what}")
        failed |= not result.holds()
    sys.exit(failed)


if __name__ == "__main__":
    main()
