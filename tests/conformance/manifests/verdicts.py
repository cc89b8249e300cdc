"""What API servers say to manifests that people write: recorded once, compared with the check.

`python -m tests.conformance.manifests.verdicts [VERSION …]` sends each manifest of `wrong.txt`,
`reported.txt` and `right.txt` to a real API server as `kubectl create --dry-run=server
--validate=strict` does, and writes the refusals into `verdicts.json`. `make manifest-verdicts` does
so for the oldest and the newest version. Those of `reported.txt` are written after mistakes in
public issues, whose address is their first line.
"""

import json
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from urllib3.exceptions import HTTPError

from tests.support.controlplane.api import Api, ApiError
from tests.support.controlplane.plane import ControlPlane

FOLDER = Path(__file__).parent
VERDICTS = FOLDER / "verdicts.json"
VERSIONS = ("v1.34.4", "v1.37.2", "v1.38.0-beta.0")

Verdicts = dict[str, dict[str, str]]
"""By version and name of a manifest: the server's refusal; empty where it takes all objects."""


def manifests(file: str) -> dict[str, str]:
    """Return the manifests of `wrong`, `reported` or `right` by name."""
    parts = re.split(r"(?m)^### (.+)\n", (FOLDER / f"{file}.txt").read_text(encoding="utf-8"))
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def recorded() -> Verdicts:
    """Return the recorded verdicts."""
    found: Verdicts = json.loads(VERDICTS.read_text(encoding="utf-8"))
    return found


class Strict(yaml.SafeLoader):
    """Refuses repeated keys, as kubectl does before it asks a server."""

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        """Return a mapping."""
        names = [self.construct_object(key) for key, _ in node.value]
        if len(set(names)) < len(names):
            raise yaml.constructor.ConstructorError(
                None, None, "a key occurs twice", node.start_mark
            )
        return super().construct_mapping(node, deep)


def verdict(api: Api, text: str) -> str:
    """Return why the API server refuses an object of a manifest; empty where it takes all."""
    try:
        documents = list(yaml.load_all(text, Loader=Strict))
    except yaml.YAMLError as error:
        return str(error).partition("\n")[0]
    return next((said for one in documents if (said := _refusal(api, one))), "")


def _refusal(api: Api, one: Mapping[str, Any]) -> str:
    if one["kind"] == "Namespace":
        return ""  # it is there already, as the objects in it need it
    group, _, version = one["apiVersion"].rpartition("/")
    path = f"/apis/{group}/{version}" if group else f"/api/{version}"
    try:
        found = [
            entry
            for entry in api.request("GET", path)["resources"]
            if entry["kind"] == one["kind"] and "/" not in entry["name"]
        ]
    except ApiError:
        found = []
    if not found:
        return f'no matches for kind "{one["kind"]}" in version "{one["apiVersion"]}"'
    namespace = one["metadata"].get("namespace", "default")
    if found[0]["namespaced"]:
        path += f"/namespaces/{namespace}"
    try:
        path += f"/{found[0]['name']}"
        api.request("POST", path, dict(one), dryRun="All", fieldValidation="Strict")
    except ApiError as error:
        return str(error).partition("\n")[0][:300]
    except HTTPError:
        return "the API server ended the connection"  # it divides by a step of zero before 1.37
    return ""


def record(version: str) -> dict[str, str]:
    """Ask an API server of a version about every manifest."""
    everything = manifests("wrong") | manifests("reported") | manifests("right")
    with ControlPlane(version, audit=False) as plane:
        api = plane.api()
        for name in ("gpu-templates", "ml", "infra", "monitoring"):
            labels = {"resource.kubernetes.io/admin-access": "true"} if name == "monitoring" else {}
            meta = {"name": name, "labels": labels}
            api.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": meta})
        return {name: verdict(api, text) for name, text in everything.items()}


def main() -> None:
    """Record the verdicts of the named versions, or of the oldest and the newest."""
    found = recorded() if VERDICTS.exists() else {}
    for version in sys.argv[1:] or VERSIONS:
        found[version] = record(version)
        taken = sum(not said for said in found[version].values())
        print(f"{version}: {len(found[version])} manifests, {taken} taken")
    VERDICTS.write_text(json.dumps(found, indent=1, ensure_ascii=False, sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
