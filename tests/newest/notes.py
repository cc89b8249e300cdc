"""Read the changelogs: fixes of faults that the product knows, and notes about DRA that are new."""

import re
from collections.abc import Iterator
from pathlib import Path

from docs.generate_faults import first_fixed
from dragoman.doctor.faults import FAULTS
from dragoman.doctor.fixes import FIXED
from dragoman_base import versions
from dragoman_base.versions import Version
from tests.newest.published import order
from tests.newest.report import Difference, Found

_ABOUT = re.compile(
    r"\bDRA|[Dd]ynamic [Rr]esource|Resource(?:Claim|Slice)|Device(?:Class|Taint|Allocation)"
    r"|device (?:plugin|taint|manager)|kubelet ?plugin|\bCEL\b|resource\.k8s\.io"
)
_HEAD = re.compile(r"# (v\d+\.\d+\.\d+(?:-\w+\.\d+)?)\s*$")
_NUMBER = re.compile(r"#(\d+)")


def notes(sources: Path, after: str) -> Iterator[tuple[str, str]]:
    """Yield release and text of each note about DRA in later releases, each once."""
    seen: set[str] = set()
    for page in sorted((sources / "CHANGELOG").glob("CHANGELOG-*.md")):
        head = ""
        for line in page.read_text(encoding="utf-8").splitlines():
            if match := _HEAD.match(line):
                head = match[1]
            elif line.startswith("- ") and head and order(head) > order(after):
                number = _NUMBER.search(line)
                key = number[1] if number else line
                if _ABOUT.search(line) and key not in seen:
                    seen.add(key)
                    yield head, line[2:]


def fixes(sources: Path, known: Version) -> Iterator[Difference]:
    """Yield first releases with the fix of a fault that the product does not name."""
    titles = {fault.issue: fault.note for fault in FAULTS}
    for issue, branches in sorted(first_fixed(sources).items()):
        told = {at: patch for at, patch in FIXED.get(issue, {}).items() if at <= known}
        if branches != told:
            listed = ", ".join(f"{versions.name(at)}.{patch}" for at, patch in branches.items())
            yield Difference(
                f"kubernetes#{issue} is fixed in {listed}", example=titles[issue] or ""
            )


def compare(known: Version, base: str, sources: Path) -> Found:
    """Compare the changelogs in the sources of a release with what was read of an earlier one."""
    found = [*fixes(sources, known)]
    read = [*notes(sources, base)]
    for head, line in read:
        number = _NUMBER.search(line)
        about = f"#{number[1]}" if number else "a note"
        found.append(Difference(f"{head}: {about}", example=line))
    return Found("changelogs", f"fixes of {len(FAULTS)} faults; notes since {base}", tuple(found))
