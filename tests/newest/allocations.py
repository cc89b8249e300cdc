"""Compare allocations of a release: Kubernetes' own table of cases, and random clusters."""

import json
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random
from typing import Any

from dragoman_base import versions
from dragoman_base.versions import Version
from tests.conformance.allocating.worlds import generate
from tests.conformance.fuzz_allocator import BATCH, ask, difference, expectation, ours, unstable
from tests.conformance.oracle import Oracle
from tests.newest import causes
from tests.newest.published import Release, announce, folder, language, pinned, toolchain, tried
from tests.newest.report import Found, grouped
from tests.newest.sources import DRA

Json = dict[str, Any]

TABLE = "structured/internal/allocatortesting"
VARIANTS = ("stable", "incubating", "experimental")
HERE = Path(__file__).parent / "table"
CALL = "results, err := allocator.Allocate("
"""Where the table calls the allocator; the call and its answer are recorded behind it."""
KTESTING = "k8s.io/ktesting"
LISTER = "could not retrieve device class "


def random(oracle: Oracle, known: Version, cases: int, seed: int, worlds: str) -> Found:
    """Compare random clusters.

    Args:
        oracle: The release's allocator.
        known: The version by whose rules dragoman answers.
        cases: How many.
        seed: Of the clusters.
        worlds: The version whose traits clusters have, such as names in both spellings.
    """
    random = Random(f"{worlds}/{seed}")
    found: list[tuple[str, str]] = []
    for start in range(0, cases, BATCH):
        asked = [generate(random, worlds) for _ in range(min(BATCH, cases - start))]
        answers = list(oracle.ask_all(map(ask, asked)))
        for case, theirs in zip(asked, answers, strict=True):
            case["kubernetes"] = versions.name(known)
            found += [*compared(case, theirs, oracle)]
        announce(f"{start + len(asked)} of {cases} allocations")
    told = f"{cases} random allocations, seed {seed}, by the rules of {versions.name(known)}"
    return Found("random allocations", told, grouped(found))


def compared(case: Json, theirs: Json, oracle: Oracle) -> Iterator[tuple[str, str]]:
    """Yield the cause and an example where the answers differ in each of some tries."""
    found = difference(theirs, case)
    if not found or unstable(oracle, case):
        return
    yield cause(case, theirs, found), json.dumps(case)


def cause(case: Json, theirs: Mapping[str, Any], found: str) -> str:
    """Return the cause of a difference."""
    answer, _ = ours(case)
    return causes.allocation(case, expectation(dict(theirs)), answer, found == "steps")


def table(release: Release, known: Version, scratch: Path, replaced: dict[str, str]) -> Found:
    """Compare Kubernetes' own table, as the tests of each variant of the allocator play it."""
    home = scratch / "table"
    prepare(release, home, replaced)
    needed = language((home / "go.mod").read_text())
    environment = {"GOTOOLCHAIN": toolchain(needed, pinned()), "GOFLAGS": "-mod=mod"}
    found: list[tuple[str, str]] = []
    names: set[str] = set()
    missing: list[str] = []
    calls = 0
    for variant in VARIANTS:
        record = home / f"{variant}.jsonl"
        record.unlink(missing_ok=True)
        package = f"./structured/internal/{variant}"
        command = [
            "go",
            "test",
            "-trimpath",
            "-vet=off",
            "-count=1",
            "-run=^TestAllocator$",
            package,
        ]
        recording = {**environment, "DRAGOMAN_RECORD": str(record)}
        missing += tried(command, home / "go.mod", replaced, recording)
        for line in record.read_text().splitlines():
            case = json.loads(line)
            names.add(case["id"])
            calls += 1
            found += [*_of_table(case, variant, known)]
    told = (
        f"{len(names)} cases of Kubernetes' own table, {calls} calls in {len(VARIANTS)} variants, "
        f"by the rules of {versions.name(known)}"
    )
    return Found("table of allocations", told, grouped(found), tuple(missing))


def _of_table(recorded: Json, variant: str, known: Version) -> Iterator[tuple[str, str]]:
    case = _case(recorded, variant, known)
    theirs = {**recorded["expect"], "steps": recorded["steps"]}
    if LISTER in theirs.get("error", ""):  # the table's own list of classes words it otherwise
        start = theirs["error"].index(LISTER) + len(LISTER)
        known_part, _, _ = theirs["error"][start:].partition(":")
        theirs |= {"error": theirs["error"][:start] + known_part, "match": "prefix"}
    if found := difference(theirs, case):
        yield cause(case, theirs, found), f"{recorded['id']}: {json.dumps(recorded['expect'])}"


def _case(recorded: Json, variant: str, known: Version) -> Json:
    """Return a recorded call as a case of the conformance format."""
    case = {name: recorded[name] or [] for name in ("claims", "classes", "slices")}
    kept = {name: recorded[name] for name in ("id", "features", "node", "state")}
    state = kept["state"]
    # From 1.38 on the state names devices, not their shares.
    state["shared"] = [[*share, "said"][:4] for share in state["shared"]]
    # Slices of one case may share a name there; those of a cluster cannot.
    names = Counter(one["metadata"]["name"] for one in case["slices"])
    for number, one in enumerate(case["slices"]):
        if names[one["metadata"]["name"]] > 1:
            one["metadata"]["name"] += f"-{number}"
    return {**case, **kept, "kubernetes": versions.name(known), "variant": variant}


def prepare(release: Release, home: Path, replaced: Mapping[str, str]) -> None:
    """Copy the sources of the library, and let its table record what it plays.

    Raises:
        ValueError: The table calls the allocator in another way than it did.
    """
    shutil.rmtree(home, ignore_errors=True)
    shutil.copytree(folder(DRA, release.modules), home)
    for path in [home, *home.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)
    file = home / TABLE / "allocator_testing.go"
    lines = file.read_text().splitlines()
    calls = [
        number
        for number, line in enumerate(lines)
        if line.strip().startswith(CALL) and "tc.node" in line
    ]
    if len(calls) != 1:
        raise ValueError(f"{TABLE} calls the allocator in {len(calls)} places, not in one")
    lines.insert(calls[0] + 1, "record(name, tc, allocator, slices, results, err)")
    file.write_text("\n".join(lines) + "\n")
    shutil.copy(HERE / "record.go", home / TABLE)
    module = home / "go.mod"
    text = module.read_text()
    others = {name: f"{name} {version}" for name, version in replaced.items()}
    if f"\t{KTESTING} " in text:
        (home / "ktesting").mkdir()
        shutil.copy(HERE / "ktesting.go", home / "ktesting")
        needed = language(text)
        (home / "ktesting" / "go.mod").write_text(f"module {KTESTING}\n\ngo {needed}\n")
        others[KTESTING] = "./ktesting"
    text += "".join(f"\nreplace {name} => {other}\n" for name, other in others.items())
    module.write_text(text)
