"""`make test-corpus`: the check on files in the layouts of public repositories, beside servers.

Every content stands in some layouts, and every layout has a third of the contents or more. Of each
version, API servers with their default flags say which objects they reject, and the check says what
it finds. The result is what the check leaves out, and which of its errors and warnings are false:
`truth.py` says that, by the server and by Kubernetes' own CEL on devices of drivers, or where
neither can tell, the content does.

What a content gave is kept in `build/corpus` until product or corpus change, so that a run that was
ended goes on where it was.
"""

import hashlib
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from dragoman_toolkit.check.check import check
from tests.conformance.corpus.contents import Content, contents
from tests.conformance.corpus.families import families
from tests.conformance.corpus.layouts import LAYOUTS, REPOSITORIES, Tree
from tests.conformance.corpus.truth import Truth
from tests.conformance.oracle import MODULES, cel_oracle
from tests.support.controlplane.plane import ControlPlane

ROOT = Path(__file__).parents[3]
VERSIONS = ("v1.34.4", "v1.36.3", "v1.37.2")
LAYOUTS_OF_EACH = 4
ERRORS, WARNINGS = 200, 50
"""Of so many errors or warnings, one may be false."""


@dataclass
class Result:
    """What one version gave, or one content of it."""

    tries: int = 0  # Contents in a layout, each with one run of the check
    files: int = 0
    refused: int = 0
    missed: list[str] = field(default_factory=list)
    errors: int = 0
    warnings: int = 0
    declared: int = 0  # Findings whose truth the content says, as nothing measures it
    false: dict[str, int] = field(default_factory=dict)

    def add(self, other: dict[str, Any]) -> None:
        """Add another one in the form of `asdict`."""
        for name in ("tries", "files", "refused", "missed", "errors", "warnings", "declared"):
            setattr(self, name, getattr(self, name) + other[name])
        self.false = dict(Counter(self.false) + Counter(other["false"]))

    def false_of(self, severity: str) -> int:
        """Count false findings of a severity."""
        return sum(count for what, count in self.false.items() if what.startswith(severity))

    def holds(self) -> bool:
        """Tell whether the bars hold."""
        errors, warnings = self.false_of("error"), self.false_of("warning")
        few = errors * ERRORS <= self.errors and warnings * WARNINGS <= self.warnings
        return not self.missed and few


def corpus() -> dict[str, Content]:
    """Return all contents by name."""
    found = [*contents(), *families()]
    named = {one.name: one for one in found}
    assert len(named) == len(found), "two contents have one name"
    return named


def compare(version: str) -> Result:
    """Compare check and API server of one version, where that is not kept already."""
    result = Result()
    kept = ROOT / "build" / "corpus" / f"{version}-{_fingerprint()}.jsonl"
    done = {one["content"]: one for one in _read(kept)}
    for one in done.values():
        result.add(one)
    left = {name: one for name, one in corpus().items() if name not in done}
    if not left:
        return result
    kept.parent.mkdir(parents=True, exist_ok=True)
    for former in kept.parent.glob(f"{version}-*"):
        if former != kept:
            former.unlink()
    minor = version[1:].rpartition(".")[0]
    oracle = cel_oracle(minor if minor in MODULES else min(MODULES))
    with ControlPlane(version, audit=False) as plane, oracle, kept.open("w") as file:
        file.writelines(f"{json.dumps(one)}\n" for one in done.values())
        truth = Truth(plane.api(), oracle)
        for number, content in enumerate(corpus().values()):
            if content.name not in left:
                continue
            found = Result()
            for place, layout in enumerate(LAYOUTS):
                if (place - number) % len(LAYOUTS) < LAYOUTS_OF_EACH:
                    _one(truth, minor, layout, content, found)
            result.add(asdict(found))
            file.write(json.dumps({"content": content.name, **asdict(found)}) + "\n")
            file.flush()
    return result


def _fingerprint() -> str:
    """Return what changes with product and corpus."""
    packages = ("operator", "webhooks", "tests/conformance/corpus")
    files = sorted(one for name in packages for one in (ROOT / name).rglob("*") if one.is_file())
    digest = hashlib.sha256()
    for one in files:
        if one.suffix in (".py", ".json", ".yaml"):
            digest.update(f"{one.relative_to(ROOT)}\0".encode() + one.read_bytes())
    return digest.hexdigest()[:16]


def _read(file: Path) -> Iterator[dict[str, Any]]:
    """Yield what was kept; the last line may be cut off."""
    for line in file.read_text().splitlines() if file.exists() else ():
        try:
            yield json.loads(line)
        except json.JSONDecodeError:
            return


def _one(truth: Truth, minor: str, layout: str, content: Content, result: Result) -> None:
    result.tries += 1
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
            what = f"{severity} {one['id']} in {place}: {one['message']}"
            result.false[what] = result.false.get(what, 0) + 1


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
        print(
            f"{version}: {result.tries} tries, {result.files} files, {result.refused} rejected,"
            f" {len(result.missed)} of them without a finding; {result.errors} errors,"
            f" {result.false_of('error')} false; {result.warnings} warnings,"
            f" {result.false_of('warning')} false; of {result.declared} of them"
            " the content says whether they are true",
            flush=True,
        )
        for what in (*result.missed, *sorted(result.false)):
            print(f"  {what}")
        failed |= not result.holds()
    sys.exit(failed)


if __name__ == "__main__":
    main()
