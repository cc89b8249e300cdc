"""`python -m tests.release.versions v1.2.3`: whether a tag is the version that this checkout has.

Everywhere where a version stands it must be the same; otherwise a release would ship a chart that
starts another version's image.
"""

import re
import sys
import tomllib
from collections.abc import Mapping
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
TAG = re.compile(r"v(\d+\.\d+\.\d+(?:-(?:alpha|beta|rc)\.\d+)?)")


def stated() -> Mapping[str, str]:
    """Return the versions that files state, by file and field."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    chart = yaml.safe_load((ROOT / "charts/dragoman/Chart.yaml").read_text())
    package = (ROOT / "operator/dragoman/__init__.py").read_text()
    (own,) = re.findall(r'^__version__ = "(.+)"$', package, re.MULTILINE)
    images = re.findall(r"^ARG VERSION=(.+)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    return {
        "pyproject.toml: version": project["version"],
        "Chart.yaml: version": chart["version"],
        "Chart.yaml: appVersion": chart["appVersion"],
        "dragoman.__version__": own,
        **{f"Dockerfile: VERSION ({number})": one for number, one in enumerate(images, 1)},
    }


def faults(tag: str) -> list[str]:
    """Return why a tag cannot be released, as sentences; empty when it can."""
    matched = TAG.fullmatch(tag)
    if matched is None:
        return [f"the tag {tag} is no version, such as v1.2.3 or v1.2.3-rc.1"]
    return [
        f"{place} is {version}, and the tag is {tag}: change one of them"
        for place, version in stated().items()
        if version != matched[1]
    ]


def main(arguments: list[str]) -> int:
    """Print the faults of a tag; return the exit status."""
    if len(arguments) != 1:
        print("usage: python -m tests.release.versions TAG", file=sys.stderr)
        return 2
    found = faults(arguments[0])
    print(*found, sep="\n", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
