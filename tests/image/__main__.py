"""`python -m tests.image [amd64|arm64]`: build the image without docker or a registry.

Root file system and archive land in build/image; the last line is the archive's path.
"""

import sys

from tests.image.application import CHECKOUT
from tests.image.architecture import ARCHITECTURES, native
from tests.image.build import NAME, build
from tests.image.debian import MmdebstrapMissingError

FOLDER = CHECKOUT / "build" / "image"


def main(names: list[str]) -> int:
    """Build for one architecture, this machine's when none is named; return the exit status."""
    if unknown := [name for name in names if name not in ARCHITECTURES]:
        print(f"{unknown[0]}: must be one of {', '.join(ARCHITECTURES)}", file=sys.stderr)
        return 2
    for architecture in [ARCHITECTURES[name] for name in names] or [native()]:
        try:
            image = build(FOLDER, architecture)
        except MmdebstrapMissingError as error:
            print(error, file=sys.stderr)
            return 1
        size = image.archive.stat().st_size / 1e6
        print(f"{NAME} for {architecture.name}, {size:.0f} MB, {image.digest}")
        print(f"bill of materials: {image.sbom}")
        print(f"import it: ctr -n k8s.io images import {image.archive.name}")
        print(image.archive)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
