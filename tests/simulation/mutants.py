"""Plants one fault after the other in a copy of the product, and measures how soon it is found."""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
TABLE = Path(__file__).with_name("mutants.json")


@dataclass(frozen=True)
class Edit:
    """A replacement in one file."""

    file: str
    old: str
    new: str


@dataclass(frozen=True)
class Mutant:
    """A fault."""

    name: str
    what: str
    scenarios: str  # Where it can show; empty for all
    edits: tuple[Edit, ...]


def mutants() -> list[Mutant]:
    """Return the faults of the table."""
    return [
        Mutant(
            one["name"],
            one["what"],
            one.get("scenarios", ""),
            tuple(Edit(**edit) for edit in one["edits"]),
        )
        for one in json.loads(TABLE.read_text())
    ]


def misplaced(mutant: Mutant) -> list[str]:
    """Return the edits whose text is not in its file exactly once."""
    counts = ((one, (ROOT / one.file).read_text().count(one.old)) for one in mutant.edits)
    return [f"{one.file} has the text {count} times" for one, count in counts if count != 1]


def plant(folder: Path, edits: Iterable[Edit]) -> None:
    """Copy product and simulator, and change the product."""
    for name in ("operator", "webhooks"):
        shutil.copytree(ROOT / name, folder / name)
    shutil.copytree(ROOT / "tests" / "simulation", folder / "tests" / "simulation")
    for edit in edits:
        path = folder / edit.file
        path.write_text(path.read_text().replace(edit.old, edit.new))


def hunt(mutant: Mutant, seconds: float) -> tuple[int, str]:
    """Return the exit status and the last lines of a hunt in a copy with the fault."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        plant(folder, mutant.edits)
        command = [sys.executable, "-m", "tests.simulation", "hunt", "--seconds", str(seconds)]
        if mutant.scenarios:
            command += ["--scenario", mutant.scenarios]
        paths = (folder / "operator", folder / "webhooks", folder)
        environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(map(str, paths)),
            "PYTHONDONTWRITEBYTECODE": "1",
        }
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, check=False
        )
    lines = [line.strip() for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    return done.returncode, " | ".join(line[:140] for line in lines[-2:])


def main() -> int:
    """Hunt each fault; the exit status says whether one was missed."""
    parser = argparse.ArgumentParser(prog="python -m tests.simulation.mutants", description=__doc__)
    parser.add_argument("--only", default="", help="a regular expression")
    parser.add_argument("--seconds", type=float, default=60, help="of CPU for each")
    arguments = parser.parse_args()
    missed = 0
    for mutant in mutants():
        if arguments.only and not re.search(arguments.only, mutant.name):
            continue
        wrong = misplaced(mutant)
        if wrong:
            print(f"STALE   {mutant.name}: {'; '.join(wrong)}")
            missed += 1
            continue
        began = time.perf_counter()
        status, said = hunt(mutant, arguments.seconds)
        verdict = {0: "missed", 1: "FOUND"}.get(status, f"error {status}")
        missed += status != 1
        took = time.perf_counter() - began
        print(f"{verdict:7} {mutant.name:30} {took:6.1f} s  {said}", flush=True)
    return int(bool(missed))


if __name__ == "__main__":
    sys.exit(main())
