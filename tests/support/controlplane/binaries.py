"""Provide the real control plane's binaries in a cache: downloaded, or built from pinned modules.

`python -m tests.support.controlplane.binaries [NAME …]` provides what is missing and prints the
folder that holds the binaries as its last line. Progress goes to standard error.

The cache is `$XDG_CACHE_HOME/dragoman/controlplane/<Kubernetes version>/`. `DRAGOMAN_KUBERNETES`
chooses the version. Binaries come from, in this order: the folder `DRAGOMAN_BINARIES`,
`KUBEBUILDER_ASSETS` for those that envtest defines, the PATH for kubectl, the cache, the official
downloads (`downloads.py`), and the build. Where only pinned digests count (DRAGOMAN_DOWNLOADS is
`pinned`, or CI is set), a cached binary that was downloaded without one is replaced.

A build leaves out optimizations of the compiler, unless `DRAGOMAN_BUILD` is `optimized`, as it is
for CI and benchmarks; then a cached binary that was built quickly is replaced.
"""

import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

from dragoman_drivers.throwaway import downloads, official
from dragoman_toolkit.replacing import replace_file
from tests.support.controlplane import gobuild
from tests.support.controlplane.artifacts import (
    PINNED,
    QUICK,
    UNPINNED,
    Artifact,
    cache_root,
    quick_allowed,
)
from tests.support.controlplane.gobuild import say
from tests.support.controlplane.recipes import CONTROL_PLANE, RECIPES, Recipe
from tests.support.controlplane.toolchain import MODULES

DEFAULT_VERSION = "v1.36.3"


def chosen_version() -> str:
    """Return the Kubernetes version to test with, `v1.36.3` unless the environment says other.

    Raises:
        ValueError: `DRAGOMAN_KUBERNETES` names a version that no go.mod pins.
    """
    asked = os.environ.get("DRAGOMAN_KUBERNETES") or DEFAULT_VERSION
    known = sorted(path.name.removeprefix("kubernetes-") for path in MODULES.glob("kubernetes-*"))
    for version in known:
        if version.startswith(f"v{asked.removeprefix('v')}"):
            return version
    raise ValueError(f"DRAGOMAN_KUBERNETES={asked} is not pinned here; known: {', '.join(known)}")


def find(names: Iterable[str], version: str | None = None) -> dict[str, Path]:
    """Return the path of each named binary, providing those that are missing.

    Args:
        names: Keys of `RECIPES`.
        version: Kubernetes version; the environment's choice when absent.
    """
    version = version or chosen_version()
    recipes = [RECIPES[name] for name in names]
    found = {recipe.name: ready_made(recipe, version) for recipe in recipes}
    made = provide([recipe for recipe in recipes if not found[recipe.name]], version)
    return {name: path or made[name] for name, path in found.items()}


def ready_made(recipe: Recipe, version: str) -> Path | None:
    """Return a binary that somebody else put there, where the recipe allows it.

    A folder of another version than `DRAGOMAN_KUBERNETES` asks for is passed over, loudly.
    """
    given = os.environ.get("DRAGOMAN_BINARIES")
    if given and (Path(given) / recipe.name).exists():
        return Path(given) / recipe.name
    folder = os.environ.get(recipe.elsewhere) if recipe.elsewhere else None
    if folder and (Path(folder) / recipe.name).exists():
        candidate = Path(folder) / recipe.name
        if not os.environ.get("DRAGOMAN_KUBERNETES") or reports(candidate, recipe, version):
            return candidate
        say(f"{recipe.name}: the one in {recipe.elsewhere} is not {version}, building it instead")
    if recipe.on_path and (installed := shutil.which(recipe.name)):
        return Path(installed)
    return None


def reports(binary: Path, recipe: Recipe, version: str) -> bool:
    """Tell whether the binary reports the version; etcd and kubectl may differ from the server."""
    if recipe.name != "kube-apiserver":
        return True
    answer = subprocess.run([binary, "--version"], capture_output=True, text=True, check=False)
    return version in answer.stdout


def built(recipe: Recipe, version: str) -> Path:
    """Return the cached binary, after fetching or building it when it or its pins are new."""
    return provide([recipe], version)[recipe.name]


def provide(recipes: Sequence[Recipe], version: str) -> dict[str, Path]:
    """Return the cached binaries, after fetching or building those that, or whose pins, are new."""
    artifacts = [Artifact.of(recipe, version) for recipe in recipes]
    if not all(one.is_current() for one in artifacts):
        folder = cache_root() / version
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder / ".lock"):
            missing = [one for one in artifacts if not one.is_current() and not linked(one)]
            quick = quick_allowed()
            for group in gobuild.groups(fetch_all(missing)):
                gobuild.build(group, cache_root(), quick=quick)
                for one in group:
                    one.keep(QUICK if quick else PINNED)
    return {one.recipe.name: one.target for one in artifacts}


def linked(artifact: Artifact) -> bool:
    """Whether another version's folder had the same binary: etcd and helm fit all versions."""
    target = artifact.target
    for stamp in cache_root().glob(f"v*/.{target.name}.stamp"):
        same = stamp.with_name(target.name)
        if same != target and artifact.is_current(same):
            target.unlink(missing_ok=True)
            target.hardlink_to(same)
            replace_file(artifact.stamp, stamp.read_bytes())
            return True
    return False


def fetch_all(missing: list[Artifact]) -> list[Artifact]:
    """Download official binaries side by side; return those that have to be built."""
    if not missing or not downloads.allowed():
        return missing
    with bars() as bar, ThreadPoolExecutor(len(missing)) as pool:
        got = [*pool.map(lambda one: fetched(one, bar), missing)]
    if UNPINNED in got:
        say(
            f"{downloads.PINS.name} pins no digest of {missing[0].version}: those above are "
            f"recorded in {records()}. {downloads.ALLOWED}=pinned builds such binaries instead"
        )
    return [one for one, origin in zip(missing, got, strict=True) if origin is None]


def fetched(artifact: Artifact, bar: Callable[[str], downloads.Progress]) -> str | None:
    """Return how far an official binary that was fetched is trusted; None where none was.

    It says what vouches for the binary, or why there is none.
    """
    name, version, target = artifact.recipe.name, artifact.version, artifact.target
    pin = downloads.pinned(name, version)
    if pin is None and not (official.has(name) and downloads.unpinned_allowed()):
        return None
    try:
        if pin:
            downloads.fetch(pin, target, bar(name))
            digest = official.shortened(f"{pin.algorithm}:{pin.digest}")
            words = f"downloaded from {downloads.host(pin.url)}; {digest} equals the pinned digest"
        else:
            words = official.fetch(name, version, target, records(), bar(name))
    except downloads.DownloadError as error:
        say(f"{name}: {error}; building it instead")
        return None
    say(f"{name}: {words}")
    origin = PINNED if pin else UNPINNED
    artifact.keep(origin)
    return origin


def records() -> Path:
    """Return the folder with the digests that official binaries had when first downloaded."""
    return cache_root() / "digests"


@contextmanager
def bars() -> Iterator[Callable[[str], downloads.Progress]]:
    """Show a bar for each transfer on standard error, where that is a terminal."""
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=not console.is_terminal) as drawn:

        def bar(name: str) -> downloads.Progress:
            task = drawn.add_task(name, total=None)
            return lambda done, total: drawn.update(task, completed=done, total=total or None)

        yield bar


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on the file, saying so when somebody else builds already."""
    with path.open("w") as handle:
        if not try_lock(handle):
            say("waiting for another build of the same binaries")
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def try_lock(handle: IO[str]) -> bool:
    """Take the lock if nobody holds it."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def folder_of(found: dict[str, Path], version: str) -> Path:
    """Return one folder that holds the binaries: the cache, or links where some are lent.

    What is on PATH (kubectl) is found there and needs no link.
    """
    home = cache_root() / version
    lent = os.environ.get("KUBEBUILDER_ASSETS")
    if not lent or Path(lent) not in {path.parent for path in found.values()}:
        return home
    links = cache_root() / f"{version}-links"
    links.mkdir(parents=True, exist_ok=True)
    for name, path in found.items():
        partial = links / f".{name}.{os.getpid()}"
        partial.symlink_to(path)
        partial.replace(links / name)
    return links


def main(names: list[str]) -> int:
    """Build the named binaries (the control plane when none is named) and print their folder."""
    if unknown := [name for name in names if name not in RECIPES]:
        say(f"unknown: {', '.join(unknown)}; known: {', '.join(RECIPES)}")
        return 2
    version = chosen_version()
    print(folder_of(find(names or CONTROL_PLANE, version), version))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
