"""Static C libraries for cgo: the machine's own, else Debian's, unpacked privately.

Nothing is installed: `apt-get download` and `dpkg -x` put the package into a folder of the cache.
"""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

PACKAGES = {"libseccomp": "libseccomp-dev"}


def static_library(name: str, cache: Path) -> dict[str, str]:
    """Return the environment in which cgo finds the library's headers and its `.a` file.

    Args:
        name: As pkg-config knows it, a key of `PACKAGES`.
        cache: Folder below which a downloaded package is unpacked once.

    Raises:
        RuntimeError: The machine has no such library, and Debian's tools cannot fetch it.
    """
    if not shutil.which("gcc") or not shutil.which("pkg-config"):
        raise RuntimeError(f"linking {name} needs gcc and pkg-config")
    if installed(name):
        return {}
    home = cache / name
    if not home.exists():
        unpack(PACKAGES[name], home)
    archive = next(home.rglob(f"{name}.a"))
    return {
        "PKG_CONFIG_PATH": str(archive.parent / "pkgconfig"),
        "CGO_CFLAGS": f"-I{home / 'usr' / 'include'}",
        "CGO_LDFLAGS": f"-L{archive.parent}",
    }


def installed(name: str) -> bool:
    """Tell whether the machine has the library, with its static archive."""
    answer = subprocess.run(
        ["pkg-config", "--variable=libdir", name], capture_output=True, text=True, check=False
    )
    return answer.returncode == 0 and (Path(answer.stdout.strip()) / f"{name}.a").exists()


def unpack(package: str, home: Path) -> None:
    """Fetch a Debian package and unpack it into `home` in one step.

    Raises:
        RuntimeError: Debian's tools are missing or failed; the message carries their words.
    """
    if not shutil.which("apt-get") or not shutil.which("dpkg"):
        raise RuntimeError(f"{package} is missing, and there is no apt-get that could fetch it")
    home.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{package}-", dir=home.parent) as scratch:
        run(["apt-get", "--quiet", "download", package], scratch)
        (archive,) = Path(scratch).glob("*.deb")
        run(["dpkg", "-x", archive.name, "root"], scratch)
        (Path(scratch) / "root").replace(home)


def run(command: list[str], folder: str) -> None:
    """Run a command in a folder; its words are the error's message when it fails."""
    plain = os.environ | {"LC_ALL": "C"}
    done = subprocess.run(
        command, cwd=folder, env=plain, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr}{done.stdout}")
