"""The application below `/app`: pinned wheels, dragoman's own wheel, compiled."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.image.architecture import Architecture
from tests.image.debian import PYTHON

CHECKOUT = Path(__file__).parent.parent.parent
APP = "app"
NOTES = (
    ".lock",
    *(f"*.dist-info/{name}" for name in ("RECORD", "direct_url.json", "uv_cache.json")),
)
"""What the installer notes for itself: paths and times of this machine, and files as they were."""
Command = list[str | Path]

UNUSED = ("kubernetes/aio", "kubernetes/client/api", "kubernetes/client/models")
"""Folders of generated code, all of it loaded on demand and 120 MB when compiled.

Connection settings are all that dragoman takes from that package.
"""


def install(root: Path, architecture: Architecture) -> None:
    """Put dragoman and what it requires into `root`/app.

    Args:
        root: A root file system with Python.
        architecture: For which wheels are taken.
    """
    app = root / APP
    with tempfile.TemporaryDirectory() as folder:
        wheel = _own_wheel(Path(folder))
        pinned: Command = ["--require-hashes", "--requirements", CHECKOUT / "requirements.txt"]
        _uv(*pinned, app=app, of=architecture)
        _uv("--no-deps", wheel, app=app, of=architecture)
    shutil.rmtree(app / "bin")
    for name in NOTES:
        for note in app.glob(name):
            note.unlink()
    for name in UNUSED:
        _thin(app / name)


def compile_all(root: Path, by: Path, architecture: Architecture) -> None:
    """Write bytecode beside all sources, the same bytes whenever and wherever it is made.

    Args:
        root: Whose sources are compiled; paths in tracebacks are those below it.
        by: A root file system whose Python this machine can run.
        architecture: That of `by`.
    """
    loader: Command = [by / architecture.loader, "--library-path", by / architecture.libraries]
    command: Command = [*loader, by / f"usr/bin/python{PYTHON}", "-m", "compileall", "-qq"]
    ways: Command = ["--invalidation-mode", "unchecked-hash", "-s", root, "-p", "/"]
    subprocess.run(
        [*command, *ways, root / f"usr/lib/python{PYTHON}", root / APP],
        check=True,
        env={"PYTHONHOME": str(by / "usr"), "PYTHONHASHSEED": "0", "PYTHONDONTWRITEBYTECODE": "1"},
    )


def _own_wheel(folder: Path) -> Path:
    build: Command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder]
    subprocess.run(build, cwd=CHECKOUT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    return wheel


def _uv(*what: str | Path, app: Path, of: Architecture) -> None:
    uv: Command = [Path(sys.executable).parent / "uv", "pip", "install", "--quiet", "--target", app]
    ways = ["--only-binary", ":all:", "--link-mode", "copy", "--no-config"]
    aim = ["--python-version", PYTHON, "--python-platform", of.wheels]
    subprocess.run(
        [*uv, *ways, *aim, *what], check=True, env=os.environ | {"UV_PYTHON_DOWNLOADS": "never"}
    )


def _thin(folder: Path) -> None:
    for path in folder.iterdir():
        if path.name != "__init__.py":
            shutil.rmtree(path) if path.is_dir() else path.unlink()
