"""Measure `dragoman check` on 6,000 objects: `make bench-check`.

`--before COMMIT` also runs the check of another tree, in a work tree of its own, and prints the
ratio of the CPU times.
"""

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.conformance.corpus.contents import contents
from tests.conformance.corpus.layouts import Tree, written

ROOT = Path(__file__).parents[2]
OBJECTS = 6_000
PER_FILE = 60
PROGRAM = (
    "import sys; from {package}.check{module} import check;"
    " sys.argv[0] = 'check'; check(sys.argv[1:])"
)


def write(folder: Path) -> int:
    """Write the objects into files; return how many there are."""
    right: list[Tree] = [tree for one in contents() if not one.true for tree in one.trees]
    made = []
    for number in range(OBJECTS):
        one = {**right[number % len(right)]}
        one["metadata"] = {**one["metadata"], "name": f"{one['metadata']['name']}-{number}"}
        made.append(one)
    for start in range(0, OBJECTS, PER_FILE):
        text = written(*made[start : start + PER_FILE])
        (folder / f"objects-{start:05}.yaml").write_text(text)
    return len(made)


def seconds(tree: Path, folder: Path) -> float:
    """Return the least CPU time of three checks with the code of a tree."""
    toolkit = tree / "operator" / "dragoman_toolkit"
    package, module = ("dragoman_toolkit", ".check") if toolkit.exists() else ("dragoman.cli", "")
    if package == "dragoman.cli" and (tree / "operator/dragoman/cli/check").is_dir():
        module = ".check"
    code = PROGRAM.format(package=package, module=module)
    paths = [str(tree / "operator"), str(tree / "webhooks")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    found = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(
            [sys.executable, "-c", code, str(folder)],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if f"checked {OBJECTS} objects" not in done.stderr:
            raise SystemExit(f"{tree}: {done.stderr[-2000:]}")
        found.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(found)


def main() -> None:
    """Measure, and compare where another tree is named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", help="commit whose tree is measured too")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "objects"
        folder.mkdir()
        count = write(folder)
        now = seconds(ROOT, folder)
        print(f"{count} objects: {now:.2f} s of CPU, {now / count * 1000:.3f} ms each")
        if arguments.before:
            tree = Path(name) / "before"
            git = ["git", "-C", str(ROOT), "worktree"]
            subprocess.run([*git, "add", "-q", "--detach", str(tree), arguments.before], check=True)
            try:
                before = seconds(tree, folder)
            finally:
                subprocess.run([*git, "remove", "--force", str(tree)], check=True)
            print(f"{arguments.before}: {before:.2f} s, ratio {now / before:.2f}")


if __name__ == "__main__":
    main()
