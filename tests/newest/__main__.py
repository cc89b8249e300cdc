"""Compare what dragoman knows of Kubernetes with the newest release of the Go module proxy.

    make newest
    make newest ARGS="--tag v1.38.0-beta.0 --known 1.37 --cases 500"

Builds allocator and CEL of the release, plays Kubernetes' own table and random cases, reads gates,
API, changelogs and sources, and prints the differences by cause. Exit status: 0 where nothing
differs, 1 where something does, 2 where nothing does, but a stage could not run. A run that is
started again goes on where it stopped; --again starts anew.
"""

import argparse
import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from docs.generate_faults import FEATURES
from dragoman_base import versions
from dragoman_base.versions import NEWEST, Version
from dragoman_toolkit.replacing import replace_file
from tests.newest import allocations, api, gates, notes, oracles, selectors, sources, suites
from tests.newest.published import (
    KUBERNETES,
    Release,
    UnbuildableError,
    announce,
    folder,
    newest,
    release,
)
from tests.newest.published import versions as served
from tests.newest.report import Found, load, save, text

ROOT = Path(__file__).parents[2]
CODE = ("operator", "webhooks", "tests/conformance", "tests/newest", "docs/generate_faults.py")
"""What a result depends on, beside the release."""
STAGES = (
    "gates", "api", "changelogs", "sources", "table of allocations", "random allocations",
    "recorded selectors", "random selectors", "manifests", "upstream",
)  # fmt: skip

NOTHING = "nothing"
"""What a stage compared that could not run."""


class Run:
    """One comparison, stage by stage."""

    def __init__(self, given: argparse.Namespace, chosen: Release, known: Version) -> None:
        self._given, self._release, self._known = given, chosen, known
        self._base = release(FEATURES[known])
        self._scratch = given.folder / chosen.tag / versions.name(known)
        self._results = self._scratch / "results" / _fingerprint(given)
        self._replaced: dict[str, str] = {}
        self._seed = int(hashlib.sha256(chosen.tag.encode()).hexdigest()[:8], 16)

    def all(self) -> list[Found]:
        """Return what the chosen stages found."""
        kubernetes = folder(KUBERNETES, self._release.tag)
        known, chosen = self._known, self._release
        made: dict[str, Callable[[], Found]] = {
            "gates": lambda: gates.compare(chosen, known, kubernetes),
            "api": lambda: api.compare(
                chosen, known, kubernetes, folder("k8s.io/api", chosen.modules)
            ),
            "changelogs": lambda: notes.compare(known, self._base.tag, kubernetes),
            "sources": lambda: sources.compare(chosen, self._base),
            "random allocations": self._random_allocations,
            "table of allocations": lambda: allocations.table(
                chosen, known, self._scratch, self._replaced
            ),
            "recorded selectors": lambda: self._selectors("recorded selectors"),
            "random selectors": lambda: self._selectors("random selectors"),
            "manifests": self._manifests,
            "upstream": lambda: suites.upstream(chosen, self._scratch, self._given.minutes),
        }
        return [self._stage(name, made[name]) for name in self._given.stage or STAGES]

    def forget(self) -> None:
        """Remove what a run before found."""
        shutil.rmtree(self._results, ignore_errors=True)

    def _stage(self, name: str, made: Callable[[], Found]) -> Found:
        file = self._results / f"{name.replace(' ', '-')}.json"
        if found := load(file):
            announce(f"{name}: {len(found.differences)} differences, as found before")
            return found
        announce(f"{name} ...")
        started = time.monotonic()
        try:
            found = made()
        except (UnbuildableError, RuntimeError, ValueError, OSError) as error:
            # Kept out of the results: what is missing today may be served tomorrow.
            announce(f"{name}: not compared")
            return Found(name, NOTHING, missing=(str(error).strip()[-600:],))
        save(found, file)
        seconds = time.monotonic() - started
        announce(f"{name}: {len(found.differences)} differences, {seconds:.0f} s")
        return found

    def _random_allocations(self) -> Found:
        built = oracles.start("allocator", self._release, self._scratch, self._replaced)
        if built.oracle is None:
            return Found("random allocations", NOTHING, tuple(built.differences))
        with built.oracle as oracle:
            cases = self._given.cases
            worlds = versions.name(NEWEST)
            found = allocations.random(oracle, self._known, cases, self._seed, worlds)
        return replace(found, missing=(*found.missing, *built.missing))

    def _selectors(self, stage: str) -> Found:
        built = oracles.start("selectors", self._release, self._scratch, self._replaced)
        if built.oracle is None:
            return Found(stage, NOTHING, tuple(built.differences))
        with built.oracle as oracle:
            if stage == "recorded selectors":
                found = selectors.vectors(oracle, self._known)
            else:
                found = selectors.random(oracle, self._known, self._given.cases, self._seed)
        return replace(found, missing=(*found.missing, *built.missing))

    def _manifests(self) -> Found:
        missing = suites.pin(self._release, self._scratch, self._replaced)
        return suites.refusals(self._release, self._known, missing)


def _fingerprint(given: argparse.Namespace) -> str:
    """Return a digest of the code, and of what was asked."""
    listed = ["git", "ls-files", "-s", "--", *CODE]
    changed = ["git", "diff", "HEAD", "--", *CODE]
    digest = hashlib.sha256(str(given.cases).encode())
    for command in (listed, changed):
        digest.update(subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout)
    return digest.hexdigest()[:12]


def arguments() -> argparse.ArgumentParser:
    """Return the options."""
    parser = argparse.ArgumentParser(
        prog="make newest",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--tag", help="the release (the newest that the module proxy serves)")
    parser.add_argument(
        "--known",
        choices=[versions.name(one) for one in FEATURES],
        default=versions.name(NEWEST),
        help="compare with what is known of this version, as if no newer one were known",
    )
    parser.add_argument("--stage", choices=STAGES, action="append", help="all, unless named")
    parser.add_argument("--cases", type=int, default=2000, help="random cases of each kind")
    parser.add_argument("--minutes", type=int, default=60, help="limit of Kubernetes' own tests")
    parser.add_argument("--again", action="store_true", help="do not use results of a run before")
    parser.add_argument("--folder", type=Path, default=ROOT / "build/newest")
    return parser


def main(words: list[str] | None = None) -> int:
    """Run the comparison of the command line; return the exit status."""
    given = arguments().parse_args(words)
    os.environ.setdefault("GOTELEMETRY", "off")
    try:
        chosen = release(given.tag or newest(served(KUBERNETES)))
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    known = versions.parse(given.known)
    run = Run(given, chosen, known)
    if given.again:
        run.forget()
    results = run.all()
    title = f"Kubernetes {chosen.tag} beside the rules of {versions.name(known)}"
    report = text(title, results)
    replace_file(given.folder / "report.md", report.encode())
    print(report)
    if any(found.differences for found in results):
        return 1
    return 2 if any(found.compared == NOTHING for found in results) else 0


if __name__ == "__main__":
    sys.exit(main())
