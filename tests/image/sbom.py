"""The bill of materials of an image: its Python and Debian packages, as CycloneDX 1.6 JSON.

    python sbom.py --app /app --packages /var/lib/dpkg/status.d --version 0.1.0 … > sbom.cdx.json

It needs only the standard library, because the Dockerfile runs it in its build stage. The same
packages and date give the same bytes.
"""

import argparse
import hashlib
import json
import re
import sys
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from email.message import Message
from email.parser import HeaderParser
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

PLACE = "usr/share/sbom/dragoman.cdx.json"
"""Where it lies in the image."""
DISTRIBUTION = "debian-13"
Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Component:
    """One package.

    Attributes:
        purl: Package URL, which identifies it: https://github.com/package-url/purl-spec.
        name: Of the package.
        version: Of the package.
        licence: SPDX expression, or the package's own words; empty where it says nothing.
        needs: Names of the packages that it depends on, whatever their kind.
    """

    purl: str
    name: str
    version: str
    licence: str = ""
    needs: tuple[str, ...] = ()

    def described(self) -> Json:
        """Return the component as CycloneDX describes it."""
        found: Json = {
            "type": "library",
            "bom-ref": self.purl,
            "name": self.name,
            "version": self.version,
            "purl": self.purl,
        }
        if self.licence:
            found["licenses"] = [{"license": {"name": self.licence}}]
        return found


def python_packages(app: Path) -> Iterator[Component]:
    """Return the distributions in a folder, dragoman itself left out."""
    for found in distributions(path=[str(app)]):
        name = canonical(found.metadata["Name"])
        if name == "dragoman":
            continue
        yield Component(
            purl=f"pkg:pypi/{name}@{found.version}",
            name=name,
            version=found.version,
            licence=_licence(found.metadata),  # type: ignore[arg-type]  # it is a Message
            needs=tuple(canonical(re.split(r"[^\w.-]", one)[0]) for one in found.requires or ()),
        )


def debian_packages(folder: Path, architecture: str) -> Iterator[Component]:
    """Return the packages that a folder of control files describes, one file each."""
    for path in sorted(folder.iterdir()):
        if path.suffix == ".md5sums":  # distroless images have those beside
            continue
        fields = HeaderParser().parsestr(path.read_text())
        if "Package" not in fields:
            continue
        name, version = str(fields["Package"]), str(fields["Version"])
        needs = re.split(r"[,|]", str(fields.get("Depends") or ""))
        place = f"arch={fields.get('Architecture') or architecture}&distro={DISTRIBUTION}"
        yield Component(
            purl=f"pkg:deb/debian/{name}@{version.replace(':', '%3A').replace('+', '%2B')}?{place}",
            name=name,
            version=version,
            needs=tuple(re.split(r"[\s(:]", one.strip())[0] for one in needs if one.strip()),
        )


def bill(
    components: Iterable[Component], *, version: str, revision: str, architecture: str, epoch: int
) -> Json:
    """Return the bill of materials of an image with these packages.

    Args:
        components: The packages.
        version: Of dragoman.
        revision: The commit of dragoman.
        architecture: Of the image, such as `amd64`.
        epoch: Seconds since 1970: the date of the image.
    """
    listed = sorted(components, key=lambda one: one.purl)
    own = f"pkg:oci/dragoman@{version}?arch={architecture}"
    by_name: dict[str, str] = {one.name: one.purl for one in listed}
    edges = [
        {"ref": one.purl, "dependsOn": sorted({by_name[n] for n in one.needs if n in by_name})}
        for one in listed
    ]
    date = datetime.fromtimestamp(epoch, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    body = {
        "metadata": {
            "timestamp": date,
            "component": {
                "type": "container",
                "bom-ref": own,
                "name": "dragoman",
                "version": version,
                "purl": own,
                "licenses": [{"license": {"id": "Apache-2.0"}}],
                "properties": [
                    {"name": "dragoman:revision", "value": revision},
                    {"name": "dragoman:architecture", "value": architecture},
                ],
            },
        },
        "components": [one.described() for one in listed],
        "dependencies": [{"ref": own, "dependsOn": [one.purl for one in listed]}, *edges],
    }
    content = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_OID, content)}",
        "version": 1,
        **body,
    }


def canonical(name: str) -> str:
    """Return the name of a Python package as purl and PyPI normalize it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _licence(metadata: Message) -> str:
    expression = str(metadata.get("License-Expression") or "")
    if expression:
        return expression
    classifiers = [str(one) for one in metadata.get_all("Classifier") or ()]
    named = [one.rpartition(" :: ")[2] for one in classifiers if one.startswith("License :: ")]
    text = str(metadata.get("License") or "")
    return ", ".join(named) or (text if len(text) < 80 else "")


def main(arguments: list[str]) -> None:
    """Write the bill of materials of an image's folders to standard output."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--app", type=Path, required=True)
    parser.add_argument("--packages", type=Path, required=True)
    parser.add_argument("--version", required=True)
    parser.add_argument("--revision", required=True)
    parser.add_argument("--architecture", required=True)
    parser.add_argument("--epoch", type=int, default=0)
    given = parser.parse_args(arguments)
    components = [
        *python_packages(given.app),
        *debian_packages(given.packages, given.architecture),
    ]
    made = bill(
        components,
        version=given.version,
        revision=given.revision,
        architecture=given.architecture,
        epoch=given.epoch,
    )
    json.dump(made, sys.stdout, indent=1)


if __name__ == "__main__":
    main(sys.argv[1:])
