"""Write the schemas of `dragoman check` from the OpenAPI of pinned Kubernetes versions.

Run it after pinning another Kubernetes version: `python -m docs.generate_api_schemas [VERSION …]`.
It reads two things that Kubernetes generates, of the Go module k8s.io/kubernetes:
`api/openapi-spec`, made with every API version and feature gate on, and the Go source of the
schemas, because only API servers themselves publish enums.

What is kept: the kinds of resource.k8s.io whole; of pods and of the kinds that hold pod templates
the names and plain types of every field, with claims, resources and tolerations below them.
What is left out: descriptions, defaults, and `required`. An API server reads an absent field as its
zero value; its validation code says which of these it refuses, and so does ours.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.support.controlplane import standins
from tests.support.controlplane.artifacts import cache_root
from tests.support.controlplane.toolchain import MODULES, go_for

FOLDER = Path(__file__).parent.parent / "operator/dragoman_toolkit/linting/knowledge/data"
VERSIONS = ("v1.34.4", "v1.35.4", "v1.36.3", "v1.37.2", "v1.38.0-beta.0")
PREFIX = "#/components/schemas/"
WHOLE = "resource.k8s.io"
HOLDERS = {
    "api/v1": ("Pod", "PodTemplate", "ReplicationController"),
    "apis/apps/v1": ("DaemonSet", "Deployment", "ReplicaSet", "StatefulSet"),
    "apis/batch/v1": ("CronJob", "Job"),
    "apis/scheduling.k8s.io/v1alpha2": ("PodGroup", "Workload"),
    "apis/scheduling.k8s.io/v1alpha3": ("PodGroup", "Workload"),
    "apis/scheduling.k8s.io/v1beta1": ("PodGroup", "Workload"),
}
"""Kinds that hold pod templates or name claims, by the path of their OpenAPI document."""

PARTS = (
    "CronJobSpec", "DaemonSetSpec", "DeploymentSpec", "JobSpec", "JobTemplateSpec",
    "ReplicaSetSpec", "ReplicationControllerSpec", "StatefulSetSpec", "PodSpec",
    "PodTemplateSpec", "Container",
    "EphemeralContainer", "PodResourceClaim", "ResourceRequirements", "ResourceClaim", "Toleration",
    "ObjectMeta", "OwnerReference", "PodGroupSpec", "WorkloadSpec", "PodGroupTemplate",
    "PodGroupResourceClaim", "WorkloadPodGroupResourceClaim", "PodSchedulingGroup",
)  # fmt: skip
"""Definitions of holders that are kept; all others are any object."""

DEFINITION = re.compile(r"func schema_(\w+)\(ref")
PROPERTY = re.compile(r'\t{5}"([^"]+)": \{')
ENUM = re.compile(r"\t+Enum: +\[\]interface\{\}\{(.*)\},")

SPECIAL: dict[str, dict[str, Any]] = {
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


def module_folder(version: str) -> Path:
    """Return the folder of the pinned module k8s.io/kubernetes, downloaded where it is absent."""
    module = MODULES / f"kubernetes-{version}"
    go = go_for(module, cache_root())
    environment = os.environ | standins.environment(module / "go.mod", str(go), cache_root())
    told = subprocess.run(  # noqa: S603 — our Go, fixed arguments
        [go, "mod", "download", "-json", "k8s.io/kubernetes"],
        cwd=module,
        env=environment,
        check=True,
        stdout=subprocess.PIPE,
    )
    return Path(json.loads(told.stdout)["Dir"])


def enums(source: str) -> dict[tuple[str, str], list[str]]:
    """Return the values of enums by definition and property, from generated Go source."""
    found: dict[tuple[str, str], list[str]] = {}
    definition = name = ""
    for line in source.splitlines():
        if match := DEFINITION.match(line):
            definition = ".".join(match[1].split("_")[-3:])
        elif match := PROPERTY.match(line):
            name = match[1]
        elif match := ENUM.match(line):
            found[definition, name] = json.loads(f"[{match[1]}]")
    return found


def with_enums(definitions: dict[str, Any], values: dict[tuple[str, str], list[str]]) -> None:
    """Add the enums of properties to reduced definitions."""
    for (definition, name), listed in values.items():
        schema = definitions.get(definition, {}).get("properties", {}).get(name)
        if schema is not None:
            # The empty string is an absent value to the API server.
            schema.get("items", schema)["enum"] = sorted({*listed, ""})


def facts(version: str, folder: Path) -> dict[str, Any]:
    """Return the kinds and definitions of one version, from the sources of k8s.io/kubernetes."""
    definitions: dict[str, Any] = {}
    kinds: dict[str, str] = {}
    for file in sorted((folder / "api/openapi-spec/v3").glob("api*_openapi.json")):
        path = file.name.removesuffix("_openapi.json").replace("__", "/")
        whole = path.startswith(f"apis/{WHOLE}/")
        if not whole and path not in HOLDERS:
            continue
        schemas = json.loads(file.read_text(encoding="utf-8"))["components"]["schemas"]
        api_version = path.removeprefix("apis/").removeprefix("api/")
        roots = list(served(schemas, api_version, HOLDERS.get(path)))
        kinds |= {f"{api_version}/{name.rpartition('.')[2]}": short(name) for name in roots}
        found = taken(roots, schemas, whole=whole)
        # What is kept whole for one kind is not replaced by the outline for another.
        definitions = {**definitions, **found} if whole else {**found, **definitions}
    source = folder / "pkg/generated/openapi/zz_generated.openapi.go"
    with_enums(definitions, enums(source.read_text(encoding="utf-8")))
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
        text = json.dumps(
            facts(version, module_folder(version)),
            indent=None,
            separators=(",", ":"),
            sort_keys=True,
        )
        # One definition a line, so that changes can be read.
        target.write_text(text.replace('},"', '},\n"', text.count('},"')) + "\n")


if __name__ == "__main__":
    main()
