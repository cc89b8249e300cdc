"""Write the schemas of `dragoman check` from the OpenAPI that pinned API servers serve.

Run it after pinning another Kubernetes version: `python -m docs.generate_api_schemas [VERSION …]`.
It starts each API server with every API version and the gates of workload scheduling.

What is kept: the kinds of resource.k8s.io whole; of pods and of the kinds that hold pod templates
the names and plain types of every field, with claims, resources and tolerations below them.
What is left out: descriptions, defaults, and `required`. An API server reads an absent field as its
zero value; its validation code says which of these it refuses, and so does ours.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from tests.support.controlplane.api import Api
from tests.support.controlplane.plane import ControlPlane

FOLDER: Final = Path(__file__).parent.parent / "operator/dragoman/linting/knowledge/data"
VERSIONS: Final = ("v1.34.4", "v1.36.3")
GATES: Final = {"v1.36.3": {"GenericWorkload": True, "DRAWorkloadResourceClaims": True}}
PREFIX: Final = "#/components/schemas/"
WHOLE: Final = "resource.k8s.io"
HOLDERS: Final = {
    "api/v1": ("Pod", "PodTemplate", "ReplicationController"),
    "apis/apps/v1": ("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"),
    "apis/batch/v1": ("CronJob", "Job"),
    "apis/scheduling.k8s.io/v1alpha2": ("PodGroup", "Workload"),
}
"""Kinds that hold pod templates or name claims, by the path of their OpenAPI document."""

PARTS: Final = (
    "CronJobSpec", "DaemonSetSpec", "DeploymentSpec", "JobSpec", "JobTemplateSpec",
    "ReplicaSetSpec", "ReplicationControllerSpec", "StatefulSetSpec", "PodSpec",
    "PodTemplateSpec", "Container",
    "EphemeralContainer", "PodResourceClaim", "ResourceRequirements", "ResourceClaim", "Toleration",
    "ObjectMeta", "OwnerReference", "PodGroupSpec", "WorkloadSpec", "PodGroupTemplate",
    "PodGroupResourceClaim", "WorkloadPodGroupResourceClaim", "PodSchedulingGroup",
)  # fmt: skip
"""Definitions of holders that are kept; all others are any object."""

SPECIAL: Final[dict[str, dict[str, Any]]] = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": {"format": "quantity"},
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {},
    "io.k8s.apimachinery.pkg.runtime.RawExtension": {},
    "io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1": {},
}


def short(name: str) -> str:
    """Shorten `io.k8s.api.resource.v1.Device` to `resource.v1.Device`."""
    return ".".join(name.split(".")[-3:])


def reduced(schema: dict[str, Any]) -> dict[str, Any]:
    """Keep what says which values the decoder takes."""
    if "allOf" in schema:
        return reduced(schema["allOf"][0])
    if "$ref" in schema:
        name = schema["$ref"].removeprefix(PREFIX)
        return SPECIAL.get(name, {"$ref": f"#/definitions/{short(name)}"})
    kept: dict[str, Any] = {key: schema[key] for key in ("type",) if key in schema}
    if "properties" in schema:
        kept["properties"] = {k: reduced(v) for k, v in sorted(schema["properties"].items())}
        kept["additionalProperties"] = False
    elif "additionalProperties" in schema:
        kept["additionalProperties"] = reduced(schema["additionalProperties"])
    if "items" in schema:
        kept["items"] = reduced(schema["items"])
    if "enum" in schema:
        # The empty string is an absent value to the API server.
        kept["enum"] = sorted({*schema["enum"], ""})
    if schema.get("format") == "date-time":
        kept["format"] = "date-time"
    if schema.get("format") in ("int32", "int64"):
        limit = 2 ** (int(schema["format"][3:]) - 1)
        kept |= {"minimum": -limit, "maximum": limit - 1}
    return kept


def references(schema: Any) -> Iterator[str]:
    """Yield the names of the definitions that a schema refers to."""
    if isinstance(schema, dict):
        if "$ref" in schema:
            yield schema["$ref"].removeprefix(PREFIX)
        for value in schema.values():
            yield from references(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from references(value)


def taken(roots: list[str], schemas: dict[str, Any], *, whole: bool) -> dict[str, Any]:
    """Return the reduced definitions that the roots need."""
    definitions: dict[str, Any] = {}
    pending = list(roots)
    while pending:
        name = pending.pop()
        if name in SPECIAL or short(name) in definitions:
            continue
        part = name.rpartition(".")[2]
        if not whole and name not in roots and part not in PARTS:
            plain = schemas[name]
            known = plain.get("type") if "properties" not in plain else "object"
            definitions[short(name)] = {"type": known} if known else {}
            continue
        definitions[short(name)] = reduced(schemas[name])
        pending += references(schemas[name])
    return definitions


def document(api: Api, path: str) -> dict[str, Any]:
    """Read an OpenAPI document; the API server names its own content type."""
    answer = api.request("GET", path)
    found: dict[str, Any] = json.loads(answer) if isinstance(answer, str) else answer
    return found


def facts(version: str) -> dict[str, Any]:
    """Return the kinds and definitions that one API server serves."""
    definitions: dict[str, Any] = {}
    kinds: dict[str, str] = {}
    with ControlPlane(
        version, audit=False, runtime_config={"api/all": True}, feature_gates=GATES.get(version, {})
    ) as plane:
        for path in sorted(document(plane.api(), "/openapi/v3")["paths"]):
            whole = path.startswith(f"apis/{WHOLE}/")
            if not whole and path not in HOLDERS:
                continue
            schemas = document(plane.api(), f"/openapi/v3/{path}")["components"]["schemas"]
            api_version = path.removeprefix("apis/").removeprefix("api/")
            roots = list(served(schemas, api_version, HOLDERS.get(path)))
            kinds |= {f"{api_version}/{name.rpartition('.')[2]}": short(name) for name in roots}
            found = taken(roots, schemas, whole=whole)
            # What is kept whole for one kind is not replaced by the outline for another.
            definitions = {**definitions, **found} if whole else {**found, **definitions}
    return {"kubernetes": version, "kinds": kinds, "definitions": dict(sorted(definitions.items()))}


def served(
    schemas: dict[str, Any], api_version: str, only: tuple[str, ...] | None
) -> Iterator[str]:
    """Yield the definitions that are kinds of an API version, lists left out."""
    for name, schema in sorted(schemas.items()):
        for kind in schema.get("x-kubernetes-group-version-kind", ()):
            own = f"{kind['group']}/{kind['version']}".lstrip("/")
            listed = (
                "metadata" in schema.get("properties", {}) and "items" not in schema["properties"]
            )
            chosen = kind["kind"] in only if only else listed
            if own == api_version and chosen and name.startswith("io.k8s.api."):
                yield name


def main() -> None:
    """Write one file per version."""
    for version in sys.argv[1:] or VERSIONS:
        target = FOLDER / f"openapi-{'.'.join(version.lstrip('v').split('.')[:2])}.json"
        text = json.dumps(facts(version), indent=None, separators=(",", ":"), sort_keys=True)
        # One definition a line, so that changes can be read.
        target.write_text(text.replace('},"', '},\n"', text.count('},"')) + "\n")


if __name__ == "__main__":
    main()
