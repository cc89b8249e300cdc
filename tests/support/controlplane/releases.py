"""`make release-digests` (ARGS="--check v1.36.3"): pin the official release binaries.

It reads the digest files that Kubernetes and etcd publish beside their binaries, and writes
releases.json, or with --check compares it, as the nightly CI does. Run it on a machine that reaches
dl.k8s.io and github.com, when a version is added and before a release; review the difference. No
digest comes from anywhere else.
"""

from __future__ import annotations

import json
import re
import sys
import urllib.request
from dataclasses import asdict
from typing import Final

from tests.support.controlplane.binaries import chosen_version
from tests.support.controlplane.downloads import PINS, READ_SECONDS, Pin
from tests.support.controlplane.recipes import RECIPES
from tests.support.controlplane.toolchain import MODULES

KUBERNETES: Final = "https://dl.k8s.io/release"
ETCD: Final = "https://github.com/etcd-io/etcd/releases/download"
BINARIES: Final = ("kube-apiserver", "kube-scheduler", "kube-controller-manager", "kubectl")
ARCHITECTURES: Final = ("amd64", "arm64")


def read(url: str) -> str:
    """Return the text at an address."""
    with urllib.request.urlopen(url, timeout=READ_SECONDS) as answer:
        text: str = answer.read(1 << 20).decode()
        return text


def kubernetes(version: str, machine: str, name: str) -> Pin:
    """Return the pin of a Kubernetes binary, from the .sha512 file beside it."""
    url = f"{KUBERNETES}/{version}/bin/linux/{machine}/{name}"
    return Pin(url, "sha512", checked(read(f"{url}.sha512").split()[0], 128, url))


def etcd(version: str, machine: str) -> Pin:
    """Return the pin of etcd's archive, from the SHA256SUMS of its release."""
    folder = f"etcd-{version}-linux-{machine}"
    sums = read(f"{ETCD}/{version}/SHA256SUMS")
    found = re.search(rf"^(\w+)  {re.escape(folder)}\.tar\.gz$", sums, re.MULTILINE)
    url = f"{ETCD}/{version}/{folder}.tar.gz"
    return Pin(url, "sha256", checked(found[1] if found else "", 64, url), f"{folder}/etcd")


def checked(digest: str, length: int, url: str) -> str:
    """Return a digest; raise ValueError for what is none."""
    if not re.fullmatch(rf"[0-9a-f]{{{length}}}", digest):
        raise ValueError(f"{url}: its digest file has {digest[:20]!r} instead of a digest")
    return digest


def pins(version: str, etcd_version: str) -> dict[str, dict[str, dict[str, str]]]:
    """Return the pins of one Kubernetes version, by architecture and name."""
    return {
        machine: {
            **{name: asdict(kubernetes(version, machine, name)) for name in BINARIES},
            "etcd": asdict(etcd(etcd_version, machine)),
        }
        for machine in ARCHITECTURES
    }


def main(arguments: list[str]) -> int:
    """Pin versions, by default the one that tests use; with --check, only compare.

    Returns 1 where --check found missing or other pins, 2 where a place cannot be reached.
    """
    text = (MODULES / RECIPES["etcd"].module / "go.mod").read_text()
    found = re.search(r"go\.etcd\.io/etcd/server/v3 (v\S+)", text)
    assert found is not None
    versions = [one for one in arguments if one != "--check"] or [chosen_version()]
    known = json.loads(PINS.read_text())
    try:
        published = {version: pins(version, found[1]) for version in versions}
    except OSError as error:
        print(f"cannot read the published digests: {error}", file=sys.stderr)
        return 2
    if "--check" not in arguments:
        PINS.write_text(json.dumps(known | published, indent=1, sort_keys=True) + "\n")
        return 0
    stale = [version for version in versions if known.get(version) != published[version]]
    for version in stale:
        print(
            f"{version}: {PINS.name} has {'other' if version in known else 'no'} digests; "
            f"`make release-digests ARGS={version}` pins the published ones"
        )
    return int(bool(stale))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
