"""The root file system below Python: unpacked from Debian packages, without anything to run but it.

mmdebstrap finds, fetches and verifies the packages (Debian 13, security updates included); no
maintainer script runs and nothing is installed, so neither root nor the same architecture is
needed. There is no shell and no package manager in the result.
"""

import io
import os
import shutil
import subprocess
import tarfile
import tempfile
from fnmatch import fnmatch
from pathlib import Path

from tests.image.architecture import Architecture
from tests.image.extraction import extract

SUITE = "trixie"
PYTHON = "3.13"

WANTED = (
    "base-files",
    f"python{PYTHON}-minimal",
    f"libpython{PYTHON}-stdlib",
    "libstdc++6",
    "netbase",
)
"""What is asked for; dependencies come along. The wheels of C++ extensions need libstdc++."""

NOT_NEEDED = (
    *("debconf", "mawk"),  # for maintainer scripts
    *("libdb5.3t64", "libsqlite3-0", "libreadline8t64", "readline-common"),
    *("libncursesw6", "libtinfo6", "openssl-provider-legacy"),
    *("media-types", "tzdata"),  # of time zones, the wheel's are used
)
"""Dependencies that nothing here uses."""

_SHARE = (
    *("applications", "base-files", "binfmts", "bug", "gcc"),
    *("info", "lintian", "man", "pixmaps"),
)
_STDLIB = (
    *("curses*", "dbm*", "ensurepip*", "idlelib*"),
    *("pydoc_data*", "sqlite3*", "test/*", "turtle*"),
)
_MODULES = ("_codecs_", "_curses", "_dbm", "_sqlite3", "_test", "readline", "xx")
LEFT_OUT = (
    *(f"./{name}*" for name in ("boot", "media", "mnt", "srv", "var/")),
    *(f"./etc/{name}*" for name in ("default", "profile.d", "skel", "update-motd.d")),
    *(f"./usr/{name}*" for name in ("games", "include", "local", "src", "lib/valgrind")),
    *(f"./usr/lib/*/{name}*" for name in ("engines-3", "gconv")),
    *(f"./usr/share/{name}*" for name in _SHARE),
    *(f"./usr/lib/python3*/{name}" for name in _STDLIB),
    *(f"./usr/lib/python3*/lib-dynload/{name}*" for name in _MODULES),
)
"""Files that no process here reads; so is documentation, but for licences."""

FOLDERS = ("dev", "etc", "home/nonroot", "proc", "run", "sys", "tmp", "var/lib/dpkg/status.d")
FILES = {
    "etc/passwd": "root:x:0:0:root:/root:/sbin/nologin\n"
    "nonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n",
    "etc/group": "root:x:0:\nnonroot:x:65532:\n",
    "etc/nsswitch.conf": "hosts: files dns\n",
}
LINKS = {
    "usr/bin/python3": f"python{PYTHON}",
    "var/run": "../run",  # where Kubernetes mounts a pod's service account
}


class MmdebstrapMissingError(Exception):
    """mmdebstrap is neither installed nor to be had from apt."""


def unpack_base(root: Path, architecture: Architecture) -> None:
    """Fill `root` with Debian's Python and what it stands on.

    Args:
        root: An empty folder.
        architecture: For which the packages are; it need not be this machine's.

    Raises:
        MmdebstrapMissingError: There is no mmdebstrap.
    """
    with tempfile.TemporaryDirectory() as folder:
        packages = _fetched(Path(folder), architecture)
        for path in FOLDERS:
            (root / path).mkdir(parents=True)
        for package in packages:
            name = _field(package, "Package")
            if name not in NOT_NEEDED:
                _unpack(package, root)
                # Where scanners look for packages when there is no dpkg.
                (root / "var/lib/dpkg/status.d" / name).write_text(_field(package))
    for path, text in FILES.items():
        (root / path).write_text(text)
    (root / "tmp").chmod(0o1777)
    for link, target in LINKS.items():
        (root / link).symlink_to(target)


def mmdebstrap(folder: Path) -> list[str]:
    """Return the command of mmdebstrap: the installed one, else unpacked from its package.

    Args:
        folder: Where it is unpacked.

    Raises:
        MmdebstrapMissingError: It is not installed, and apt does not have it.
    """
    if installed := shutil.which("mmdebstrap"):
        return [installed]
    if not shutil.which("apt-get"):
        raise MmdebstrapMissingError("mmdebstrap is not installed, and there is no apt to fetch it")
    fetching = subprocess.run(
        ["apt-get", "-qq", "download", "mmdebstrap"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    if fetching.returncode:
        raise MmdebstrapMissingError(
            f"mmdebstrap is not installed, and apt cannot fetch it: {fetching.stderr.strip()}"
        )
    (package,) = folder.glob("mmdebstrap_*.deb")
    subprocess.run(["dpkg-deb", "--extract", package, folder / "mmdebstrap"], check=True)
    return ["perl", str(folder / "mmdebstrap/usr/bin/mmdebstrap")]


def _fetched(folder: Path, architecture: Architecture) -> list[Path]:
    """Return the packages, in the order of their names."""
    packages = folder / "packages"
    packages.mkdir()
    # Nothing is run inside, so nobody needs to change the root; as root it refuses to do without.
    mode = "auto" if os.geteuid() == 0 else "chrootless"
    subprocess.run(
        [
            *mmdebstrap(folder),
            *("--quiet", f"--mode={mode}", "--variant=extract", "--format=null"),
            *("--architectures", architecture.name, f"--include={','.join(WANTED)}"),
            f"--extract-hook=copy-out /var/cache/apt/archives {packages}",
            *(SUITE, "-"),
        ],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return sorted(packages.rglob("*.deb"))


def _field(package: Path, *names: str) -> str:
    command = ["dpkg-deb", "--field", str(package), *names]
    answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return answer.strip() if names else answer


def _unpack(package: Path, root: Path) -> None:
    command = ["dpkg-deb", "--fsys-tarfile", str(package)]
    content = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(content)) as files:
        extract(files, root, [member for member in files if _kept(member)])


def _kept(member: tarfile.TarInfo) -> bool:
    manual = member.name.startswith("./usr/share/doc/") and not member.name.endswith("/copyright")
    if manual and member.isreg():
        return False
    return not any(fnmatch(member.name, pattern) for pattern in LEFT_OUT)
