"""`python -m tests.release.krew v1.2.3 FILE…`: the manifest of the kubectl plugin, for krew.

Files are archives named `kubectl-dra-OS-ARCHITECTURE.tar.gz`. The format:
https://krew.sigs.k8s.io/docs/developer-guide/plugin-manifest/.
"""

import hashlib
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import yaml

HOME = "https://github.com/dragoman-dev/dragoman"
NAME = "dra"
ARCHIVE = re.compile(r"kubectl-dra-(linux|darwin)-(amd64|arm64)\.tar\.gz")
DESCRIPTION = """\
Shows devices of Dynamic Resource Allocation and who holds them, explains why a pod has none,
simulates changes, and checks manifests before they are applied. All commands but those with
--apply only read.
"""
CAVEATS = """\
What a command shows depends on your permissions: `kubectl dra auth` prints the rules that each
command needs.
"""


def manifest(tag: str, archives: Iterable[Path], home: str = HOME) -> dict[str, Any]:
    """Return the manifest of a release.

    Args:
        tag: Such as `v1.2.3`.
        archives: One for each platform.
        home: URL of the repository.

    Raises:
        ValueError: A file has another name.
    """
    return {
        "apiVersion": "krew.googlecontainertools.github.com/v1alpha2",
        "kind": "Plugin",
        "metadata": {"name": NAME},
        "spec": {
            "version": tag,
            "homepage": home,
            "shortDescription": "Show DRA devices; explain why a pod has none",
            "description": DESCRIPTION,
            "caveats": CAVEATS,
            "platforms": [_platform(tag, archive, home) for archive in sorted(archives)],
        },
    }


def _platform(tag: str, archive: Path, home: str) -> dict[str, Any]:
    matched = ARCHIVE.fullmatch(archive.name)
    if matched is None:
        raise ValueError(f"{archive.name}: expected kubectl-dra-OS-ARCHITECTURE.tar.gz")
    system, architecture = matched.groups()
    return {
        "selector": {"matchLabels": {"os": system, "arch": architecture}},
        "uri": f"{home}/releases/download/{tag}/{archive.name}",
        "sha256": hashlib.sha256(archive.read_bytes()).hexdigest(),
        "bin": "kubectl-dra",
        "files": [{"from": "kubectl-dra", "to": "."}, {"from": "LICENSE", "to": "."}],
    }


def main(arguments: list[str]) -> int:
    """Print the manifest; return the exit status."""
    if len(arguments) < 2:
        print("usage: python -m tests.release.krew TAG FILE…", file=sys.stderr)
        return 2
    tag, *files = arguments
    yaml.safe_dump(manifest(tag, map(Path, files)), sys.stdout, sort_keys=False)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
