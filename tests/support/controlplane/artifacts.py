"""Binaries in the cache: where they are, from which pins, and how far they are trusted."""

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from dragoman_drivers.throwaway import downloads
from dragoman_toolkit.replacing import replace_file
from tests.support.controlplane.recipes import Recipe
from tests.support.controlplane.toolchain import MODULES, pinned_module

PINNED = ""
UNPINNED = " unpinned"
QUICK = " quick"
"""Ends of a stamp: a pinned digest or a build vouches for the binary, or its release alone; or it
was built quickly, and runs more slowly."""
BUILD = "DRAGOMAN_BUILD"
"""Variable that says `optimized` where only binaries as users run them will do."""


def quick_allowed() -> bool:
    """Whether binaries that are built quickly and run more slowly will do.

    Raises:
        ValueError: The variable has another value than `quick` and `optimized`.
    """
    asked = os.environ.get(BUILD) or "quick"
    if asked not in ("quick", "optimized"):
        raise ValueError(f"{BUILD}={asked}: expected quick or optimized")
    return asked == "quick"


def cache_root() -> Path:
    """Return the folder of everything that is built once per machine."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "dragoman" / "controlplane"


@dataclass(frozen=True, slots=True)
class Artifact:
    """A binary in the cache.

    Attributes:
        recipe: How it is built.
        version: Kubernetes version.
        module: Folder of its go.mod.
        flags: For the linker.
        target: Where it is.
        pins: Digest of what decides what a build yields.
    """

    recipe: Recipe
    version: str
    module: Path
    flags: str
    target: Path
    pins: str

    @classmethod
    def of(cls, recipe: Recipe, version: str) -> Self:
        """Return the artifact of a recipe."""
        module = pinned_module(recipe.module.format(version=version), MODULES)
        flags = linker_flags(recipe, module)
        pins = fingerprint(module, " ".join([flags, *recipe.tags]))
        return cls(recipe, version, module, flags, cache_root() / version / recipe.name, pins)

    @property
    def stamp(self) -> Path:
        """Return the file that says from which pins the binary is."""
        return self.target.with_name(f".{self.recipe.name}.stamp")

    def is_current(self, at: Path | None = None) -> bool:
        """Tell whether the binary, or the one `at` another place, is of these pins, and will do."""
        target = at or self.target
        stamp = target.with_name(f".{self.recipe.name}.stamp")
        allowed = {
            PINNED: True,
            UNPINNED: downloads.unpinned_allowed(),
            QUICK: quick_allowed(),
        }
        return any(
            is_current(target, stamp, self.pins + origin)
            for origin, holds in allowed.items()
            if holds
        )

    def keep(self, origin: str = "") -> None:
        """Write the stamp."""
        replace_file(self.stamp, (self.pins + origin).encode())


def is_current(target: Path, stamp: Path, pins: str) -> bool:
    """Tell whether the binary was built from these pins."""
    return target.exists() and stamp.exists() and stamp.read_text() == pins


def fingerprint(module: Path, flags: str) -> str:
    """Return a digest of everything that decides what a build yields."""
    digest = hashlib.sha256(flags.encode())
    for path in (module / "go.mod", module / "go.sum", *sorted(module.glob("*.go"))):
        digest.update(path.read_bytes())
    return digest.hexdigest()


def linker_flags(recipe: Recipe, module: Path) -> str:
    """Return -ldflags that strip the binary and stamp the version that go.mod pins."""
    version = pinned_version(recipe, module)
    major, minor, *_ = [*version.removeprefix("v").split("."), "", ""]
    fields = {"version": version, "major": major, "minor": minor}
    stamps = [f"-X {name}={value.format(**fields)}" for name, value in recipe.stamp]
    static = ["-linkmode external -extldflags -static"] if recipe.library else []
    return " ".join(["-s", "-w", *static, *stamps])


def pinned_version(recipe: Recipe, module: Path) -> str:
    """Return the version at which go.mod requires the recipe's stamped module, or nothing."""
    text = (module / "go.mod").read_text()
    found = re.search(rf"^(?:require)?\s*{re.escape(recipe.pinned)} (v\S+)", text, re.MULTILINE)
    return found[1] if recipe.pinned and found else ""
