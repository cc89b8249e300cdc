"""`make release-digests` (ARGS="--check v1.36.3"): pin the official release binaries.

It reads the digest files that Kubernetes and etcd publish beside their binaries, and writes
releases.json, or with --check compares it, as the nightly CI does. Run it on a machine that reaches
dl.k8s.io and github.com, when a version is added and before a release; review the difference. No
digest comes from anywhere else.
"""

import json
import sys
from dataclasses import asdict

from dragoman_drivers.throwaway import official
from dragoman_drivers.throwaway.downloads import PINS
from tests.support.controlplane.binaries import chosen_version

ARCHITECTURES = ("amd64", "arm64")


def pins(version: str, etcd_version: str) -> dict[str, dict[str, dict[str, str]]]:
    """Return the pins of one Kubernetes version, by architecture and name."""
    return {
        machine: {
            **{name: asdict(official.server(version, machine, name)) for name in official.BINARIES},
            "etcd": asdict(official.etcd(etcd_version, machine)),
        }
        for machine in ARCHITECTURES
    }


def main(arguments: list[str]) -> int:
    """Pin versions, by default the one that tests use; with --check, only compare.

    Returns 1 where --check found missing or other pins, 2 where a place cannot be reached.
    """
    versions = [one for one in arguments if one != "--check"] or [chosen_version()]
    known = json.loads(PINS.read_text())
    try:
        published = {version: pins(version, official.ETCD_VERSION) for version in versions}
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
