"""`python -m tests.zipapp`: make the check and `kubectl dra`, each in one file, without servers.

Each holds the modules of its commands and the packages that they need, taken from this environment,
so that it runs with the same Python version on the same platform; some packages are compiled. shiv
unpacks it into a cache folder when it is run first. The last lines are their sizes and paths.
"""

import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterable
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
NAME = "dragoman-check.pyz"
PLUGIN = (
    f"kubectl-dra-{sysconfig.get_platform()}-python{sys.version_info.major}."
    f"{sys.version_info.minor}.pyz"
)
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

PLUGIN_MODULES = (
    "operator/dragoman",
    "operator/dragoman_base",
    "operator/dragoman_cel",
    "operator/dragoman_toolkit",
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
    """Make the archive of the check in a folder and return its path."""
    asked = [sys.executable, "-c", OPERATORS]
    loaded = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.split()
    matching = (path for pattern in MODULES for path in ROOT.glob(pattern))
    sources = (*matching, *map(Path, loaded))
    return _archive(folder / NAME, PACKAGES, sources, "dragoman_toolkit.check.check:check")


def build_plugin(folder: Path) -> Path:
    """Make the archive of `kubectl dra` in a folder and return its path."""
    sources = (ROOT / name for name in PLUGIN_MODULES)
    return _archive(folder / PLUGIN, needed("dragoman"), sources, "dragoman.cli:main")


def needed(name: str, extras: Iterable[str] = ()) -> set[str]:
    """Return the packages that one needs on this platform, and those that these need."""
    found: set[str] = set()
    for text in distribution(name).requires or ():
        one = Requirement(text)
        wanted = one.marker is None or any(
            one.marker.evaluate({"extra": extra}) for extra in ("", *extras)
        )
        if wanted and one.name not in found:
            found |= {one.name} | needed(one.name, one.extras)
    return found


def _archive(target: Path, packages: Iterable[str], sources: Iterable[Path], entry: str) -> Path:
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as temporary:
        site = Path(temporary)
        for name in packages:
            _copy_distribution(name, site)
        for source in sources:
            _copy(source, site.joinpath(*source.relative_to(ROOT).parts[1:]))
        _copy(ROOT / "crds", site / "dragoman_configs/crds")
        command = [sys.executable, "-m", "shiv", "--site-packages", str(site), "--compressed"]
        options = ["--entry-point", entry, "--compile-pyc", "--python", "/usr/bin/env python3"]
        subprocess.run([*command, *options, "--output-file", str(target)], check=True)
    return target


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
    for made in (build(ROOT / "dist"), build_plugin(ROOT / "dist")):
        print(f"{made.stat().st_size / 1e6:.1f} MB")
        print(made)
