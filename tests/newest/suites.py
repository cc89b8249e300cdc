"""Run what needs a control plane of the release: verdicts of manifests, and upstream's tests."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from dragoman_base import versions
from dragoman_base.versions import Version, parse
from tests.conformance.manifests.verdicts import manifests, record
from tests.conformance.test_manifests import report
from tests.newest import causes
from tests.newest.published import (
    KUBERNETES,
    Release,
    UnbuildableError,
    folder,
    language,
    repinned,
    tidy,
)
from tests.newest.report import Difference, Found, grouped
from tests.support.controlplane.toolchain import MODULES, PINS

PINNED = ("kubernetes", "upstream")
"""Folders of pins that the suites need."""
_VERSION = re.compile(rf"{KUBERNETES} (v\S+)")
_WORSE = re.compile(r"^passes with the built-in controller only: (.*)$", re.MULTILINE)


def pin(release: Release, scratch: Path, replaced: dict[str, str]) -> tuple[str, ...]:
    """Pin the control plane of a release; return what is not served.

    Raises:
        UnbuildableError: A module that it needs is not served, and nothing stands in for it.
    """
    missing: list[str] = []
    for kind in PINNED:
        if (MODULES / f"{kind}-{release.tag}").is_dir():
            continue
        before = max(MODULES.glob(f"{kind}-v*"), key=lambda path: parse(path.name[len(kind) + 1 :]))
        home = scratch / "pins" / f"{kind}-{release.tag}"
        shutil.rmtree(home, ignore_errors=True)
        shutil.copytree(before, home)
        file = home / "go.mod"
        text = file.read_text()
        of = _VERSION.search(text)
        assert of, f"{before} pins no {KUBERNETES}"
        sources = folder(KUBERNETES, release.tag)
        needed = language((sources / "go.mod").read_text())
        file.write_text(repinned(text, f"v0{of[1][2:]}", release, needed))
        (home / "go.sum").write_text("")
        missing += tidy(home, "go.mod", replaced)
        if alone := [one for one in missing if "stands in" not in one]:
            raise UnbuildableError("; ".join(alone))
    os.environ[PINS] = str(scratch / "pins")
    return tuple(missing)


def refusals(release: Release, known: Version, missing: tuple[str, ...]) -> Found:
    """Compare what an API server says to manifests that people write with the check."""
    texts = manifests("wrong") | manifests("reported") | manifests("right")
    said = record(release.tag)
    name = versions.name(known)

    def cases() -> Iterator[tuple[str, str]]:
        for title, text in texts.items():
            errors = report(text, name).errors
            if said[title] and not errors:
                yield f"API server refuses: {causes.plain(said[title])}", f"{title}: {said[title]}"
            if errors and not said[title] and title in manifests("right"):
                yield f"API server takes what the check refuses: {title}", text

    told = f"{len(texts)} manifests, by the rules of {name}"
    return Found("manifests", told, grouped(cases()), missing)


def upstream(release: Release, scratch: Path, minutes: int) -> Found:
    """Run Kubernetes' own tests with dragoman and with the built-in controller.

    Raises:
        RuntimeError: They did not run to their end.
    """
    suites = ("e2e", "integration")
    chosen = [part for suite in suites for part in ("--suite", suite)]
    command = [sys.executable, "-m", "tests.upstream", "--kubernetes", release.tag, *chosen]
    log = scratch / "upstream.log"
    with log.open("wb") as sink:
        try:
            status = subprocess.run(
                [*command, "--folder", str(scratch / "upstream")],
                stdout=sink,
                stderr=sink,
                check=False,
                timeout=minutes * 60,
            ).returncode
        except subprocess.TimeoutExpired:
            status = -1
    words = log.read_text(errors="replace")
    worse = _WORSE.findall(words)
    found = tuple(Difference(f"passes with the built-in controller only: {one}") for one in worse)
    if status and not worse:
        why = "no end within the limit" if status < 0 else words.strip()[-600:]
        raise RuntimeError(f"Kubernetes' own tests: {why}")
    return Found("upstream", f"suites {', '.join(suites)} of {release.tag}", found)
