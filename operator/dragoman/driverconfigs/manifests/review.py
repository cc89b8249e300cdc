"""Validate text files: the webhook's verdicts, with the line of each violation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dragoman.driverconfigs import driverconfigschema
from dragoman.driverconfigs.compiler import CompiledConfig
from dragoman.driverconfigs.entries import CLUSTER_TEMPLATE, KINDS
from dragoman.driverconfigs.manifests import json, yaml
from dragoman.driverconfigs.manifests.documents import Document, ManifestError
from dragoman.driverconfigs.registry import Registry
from dragoman.driverconfigs.validation import validate_configs, validate_schema
from dragoman.driverconfigs.verdict import Verdict, Violation

GROUP = "resource.k8s.io/"


@dataclass(frozen=True, slots=True)
class LocatedViolation:
    """One violation in a text.

    Attributes:
        line: 1-based line in the text.
        object: the object, such as `ResourceClaim default/gpu`.
        denies: the admission webhook would deny the object; else it is a warning.
        violation: the violation; its path is relative to the object.
    """

    line: int
    object: str
    denies: bool
    violation: Violation


@dataclass(frozen=True, slots=True)
class ManifestResult:
    """The outcome for one text.

    Attributes:
        violations: in the order of the text's objects.
        objects: number of validated objects; others are ignored.
    """

    violations: tuple[LocatedViolation, ...]
    objects: int


def documents(text: str) -> list[Document]:
    """Read the documents of a text, YAML or JSON.

    Raises:
        ManifestError: the text is neither.
    """
    if not text.lstrip().startswith(("{", "[")):
        return list(yaml.read(text))
    try:
        return list(json.read(text))
    except ManifestError as json_error:
        # YAML in flow style begins like JSON; if both fail, the JSON error is the useful one.
        try:
            return list(yaml.read(text))
        except ManifestError:
            raise json_error from None


def validate_manifests(
    registry: Registry, text: str, crd: CompiledConfig | None = None
) -> ManifestResult:
    """Validate every claim, template, class and DriverConfigSchema of a text, Lists included.

    Args:
        registry: the active schemas.
        text: the text.
        crd: the compiled CRD, for DriverConfigSchemas.

    Raises:
        ManifestError: the text is neither YAML nor JSON.
    """
    violations: list[LocatedViolation] = []
    count = 0
    for document in documents(text):
        for path, tree in _objects(document.tree, ""):
            verdict = _verdict(registry, tree, crd)
            if verdict is not None:
                count += 1
                violations += _located(verdict, document, path, _title(tree))
    return ManifestResult(tuple(violations), count)


def _objects(tree: Any, path: str) -> Iterator[tuple[str, Any]]:
    if not isinstance(tree, dict):
        return
    kind, items = tree.get("kind"), tree.get("items")
    if isinstance(kind, str) and kind.endswith("List") and isinstance(items, list):
        for index, item in enumerate(items):
            yield from _objects(_typed(item, kind, tree), f"{path}items[{index}].")
    else:
        yield path, tree


def _typed(item: Any, kind: str, parent: dict[str, Any]) -> Any:
    """Add the kind that items of a typed list, such as ResourceClaimList, may omit."""
    implied = {"apiVersion": parent.get("apiVersion"), "kind": kind.removesuffix("List")}
    return {**implied, **item} if isinstance(item, dict) and implied["kind"] else item


def _verdict(
    registry: Registry, tree: dict[str, Any], crd: CompiledConfig | None
) -> Verdict | None:
    api_version, kind = tree.get("apiVersion"), tree.get("kind")
    if not isinstance(api_version, str):
        return None
    group = "dragoman.dev/" if kind == CLUSTER_TEMPLATE else GROUP
    if api_version.startswith(group) and kind in KINDS:
        return validate_configs(registry, str(kind), tree)
    if (api_version, kind) == (driverconfigschema.API_VERSION, driverconfigschema.KIND):
        return validate_schema(registry, tree, crd=crd)
    return None


def _located(
    verdict: Verdict, document: Document, path: str, title: str
) -> Iterator[LocatedViolation]:
    for violation in verdict.violations:
        line = document.line_of(path + violation.error.path)
        yield LocatedViolation(line, title, violation.denies, violation)


def _title(tree: dict[str, Any]) -> str:
    metadata = tree.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    name = metadata.get("name") or metadata.get("generateName") or "(no name)"
    namespace = metadata.get("namespace")
    return f"{tree.get('kind')} {namespace}/{name}" if namespace else f"{tree.get('kind')} {name}"
