"""`python -m tests.zipapp`: make `dragoman-check.pyz`, the check in one file, without servers.

It holds the modules of the check and the packages that they need, taken from this environment, so
that it runs with the same Python version on the same platform. shiv unpacks it into a cache folder
when it is run first. The last line is its path.
"""

import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import distribution
from pathlib import Path

ROOT = Path(__file__).parents[2]
NAME = "dragoman-check.pyz"
PACKAGES = (
    "attrs",
    "click",
    "google-re2",
    "jsonschema",
    "jsonschema-specifications",
    "orjson",
    "pyyaml",
    "referencing",
    "rpds-py",
    "typing-extensions",
)
"""What the check imports; a test runs it without any other package."""

MODULES = (
    "operator/dragoman_base",
    "operator/dragoman_cel",
    "operator/dragoman_toolkit/*.py",
    "operator/dragoman_toolkit/check",
    "operator/dragoman_toolkit/linting",
    "webhooks/dragoman_configs",
)

OPERATORS = """
import importlib, pkgutil, sys
from dragoman_toolkit import check, linting
for package in (check, linting):
    for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        importlib.import_module(found.name)
print(*(one.__file__ for name, one in sys.modules.items() if f"{name}.".startswith("dragoman.")))
"""
"""Prints which modules of the operator those of the check import."""


def build(folder: Path) -> Path:
    """Make the archive in a folder and return its path."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        site = Path(temporary)
        for name in PACKAGES:
            _copy_distribution(name, site)
        asked = [sys.executable, "-c", OPERATORS]
        loaded = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.split()
        matching = (path for pattern in MODULES for path in ROOT.glob(pattern))
        for source in (*matching, *map(Path, loaded)):
            _copy(source, site.joinpath(*source.relative_to(ROOT).parts[1:]))
        _copy(ROOT / "crds", site / "dragoman_configs/crds")
        command = [sys.executable, "-m", "shiv", "--site-packages", str(site), "--compressed"]
        entry = ["--entry-point", "dragoman_toolkit.check.check:check", "--compile-pyc"]
        target = ["--python", "/usr/bin/env python3", "--output-file", str(folder / NAME)]
        subprocess.run([*command, *entry, *target], check=True)
    return folder / NAME


def _copy_distribution(name: str, site: Path) -> None:
    found = distribution(name)
    for file in found.files or ():
        source = Path(str(found.locate_file(file)))
        inside = ".." not in file.parts and source.suffix != ".pyc"
        if inside and source.is_file():
            _copy(source, site / file)


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        leave = shutil.ignore_patterns("__pycache__", "*.lark")
        shutil.copytree(source, target, dirs_exist_ok=True, ignore=leave)
    else:
        shutil.copyfile(source, target)


if __name__ == "__main__":
    made = build(ROOT / "dist")
    print(f"{made.stat().st_size / 1e6:.1f} MB")
    print(made)
