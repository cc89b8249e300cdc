"""`python -m tests.release.chart REGISTRY DIGEST FOLDER`: the chart as it is released.

The copy in FOLDER starts the released image by its digest, so `helm install` needs no values. Its
Chart.yaml names that image, which a chart of a checkout does not.
"""

import re
import shutil
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
CHART = ROOT / "charts/dragoman"


def released(registry: str, digest: str, folder: Path) -> Path:
    """Write the chart into a folder and return its path.

    Args:
        registry: Of the image, without its repository, such as `ghcr.io/dragoman-dev`.
        digest: Of the image, `sha256:…`.
        folder: Where the copy goes; it must not have one.

    Raises:
        ValueError: The digest is none, or values.yaml has another form.
    """
    if not re.fullmatch(r"sha256:[0-9a-f]{64}", digest):
        raise ValueError(f"expected the digest of an image, sha256:…, found {digest!r}")
    target = folder / CHART.name
    shutil.copytree(CHART, target)
    values = target / "values.yaml"
    text = values.read_text()
    start = text.index("\nimage:\n")
    head, image = text[:start], text[start:]
    for field, value in (("registry", registry), ("digest", digest)):
        pattern = re.compile(rf'^  {field}: ""$', re.MULTILINE)
        image, count = pattern.subn(f"  {field}: {value}", image, count=1)
        if not count:
            raise ValueError(f"values.yaml has no empty image.{field}")
    values.write_text(head + image)
    meta = target / "Chart.yaml"
    meta.write_text(f"{meta.read_text()}{_images(registry, digest)}")
    return target


def _images(registry: str, digest: str) -> str:
    """Return Artifact Hub's annotation of the image, which goes behind the other annotations."""
    return (
        "  artifacthub.io/images: |\n"
        "    - name: dragoman\n"
        f"      image: {registry}/dragoman@{digest}\n"
        "      platforms: [linux/amd64, linux/arm64]\n"
    )


def main(arguments: list[str]) -> int:
    """Write the chart; return the exit status."""
    if len(arguments) != 3:
        print("usage: python -m tests.release.chart REGISTRY DIGEST FOLDER", file=sys.stderr)
        return 2
    registry, digest, folder = arguments
    print(released(registry, digest, Path(folder)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
