"""Build the real control plane's binaries from pinned Go modules into a cache, once.

`python -m tests.support.controlplane.binaries [NAME …]` builds what is missing and prints the
folder that holds the binaries as its last line. Progress goes to standard error.

The cache is `$XDG_CACHE_HOME/dragoman/controlplane/<Kubernetes version>/`. `DRAGOMAN_KUBERNETES`
chooses the version. Binaries come from, in this order: the folder `DRAGOMAN_BINARIES`,
`KUBEBUILDER_ASSETS` for those that envtest defines, the PATH for kubectl, the cache, the official
downloads (`downloads.py`; for the demo only), and the build.
"""

import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

from tests.support.controlplane import downloads, gobuild
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


def cache_root() -> Path:
    """Return the folder of everything that is built once per machine."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "dragoman" / "controlplane"


def find(
    names: Iterable[str], version: str | None = None, *, download: bool = False
) -> dict[str, Path]:
    """Return the path of each named binary, building those that are missing.

    Args:
        names: Keys of `RECIPES`.
        version: Kubernetes version; the environment's choice when absent.
        download: Whether official downloads are tried before a build.
    """
    version = version or chosen_version()
    found: dict[str, Path] = {}
    for name in names:
        recipe = RECIPES[name]
        lent = ready_made(recipe, version)
        found[name] = lent or built(recipe, version, download=download)
    return found


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


def built(recipe: Recipe, version: str, *, download: bool = False) -> Path:
    """Return the cached binary, after fetching or building it when it or its pins are new."""
    target = cache_root() / version / recipe.name
    module = MODULES / recipe.module.format(version=version)
    flags = linker_flags(recipe, module)
    stamp = target.with_name(f".{recipe.name}.stamp")
    pins = fingerprint(module, " ".join([flags, *recipe.tags]))
    if is_current(target, stamp, pins):
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    with locked(target.with_name(".lock")):
        if not is_current(target, stamp, pins):
            got = linked(target, pins) or (download and fetched(recipe, version, target))
            if not got:
                gobuild.build(recipe, module, flags, target, cache_root())
            replace_text(stamp, pins)
    return target


def linked(target: Path, pins: str) -> bool:
    """Whether another version's folder had the same binary: etcd and helm fit all versions."""
    for stamp in cache_root().glob(f"v*/.{target.name}.stamp"):
        same = stamp.with_name(target.name)
        if same != target and is_current(same, stamp, pins):
            target.unlink(missing_ok=True)
            target.hardlink_to(same)
            return True
    return False


def fetched(recipe: Recipe, version: str, target: Path) -> bool:
    """Whether the official binary could be fetched; says why not where it could not."""
    pin = downloads.pinned(recipe.name, version)
    if pin is None or not downloads.wanted():
        return False
    try:
        with bar(recipe.name) as progress:
            downloads.fetch(pin, target, progress)
    except downloads.DownloadError as error:
        say(f"{recipe.name}: {error}; building it instead")
        return False
    return True


@contextmanager
def bar(name: str) -> Iterator[downloads.Progress]:
    """Show a bar of a transfer on standard error, where that is a terminal."""
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    console = Console(stderr=True)
    with Progress(*columns, console=console, disable=not console.is_terminal) as drawn:
        task = drawn.add_task(name, total=None)
        yield lambda done, total: drawn.update(task, completed=done, total=total or None)


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


def replace_text(path: Path, text: str) -> None:
    """Write a small file so that readers see the old or the new text, never half of it."""
    partial = path.with_name(f"{path.name}.{os.getpid()}")
    partial.write_text(text)
    partial.replace(path)


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
