"""Manifests offline: the verdicts of the webhook for texts, with the line of each complaint."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from dragoman.driverconfigs import driverconfigschema
from dragoman.driverconfigs.compiler import CompiledConfig
from dragoman.driverconfigs.entries import KINDS
from dragoman.driverconfigs.manifests import json, yaml
from dragoman.driverconfigs.manifests.documents import Document, Unreadable
from dragoman.driverconfigs.registry import Registry
from dragoman.driverconfigs.validation import review, review_schema
from dragoman.driverconfigs.verdict import Verdict, Violation

GROUP = "resource.k8s.io/"


@dataclass(frozen=True, slots=True)
class Remark:
    """One complaint about a text.

    Attributes:
        line: 1-based line in the text.
        object: the object, such as `ResourceClaim default/gpu`.
        denies: an admission webhook would refuse the object for it; else it is a warning.
        violation: the complaint; its path is relative to the object.
    """

    line: int
    object: str
    denies: bool
    violation: Violation


@dataclass(frozen=True, slots=True)
class Reviewed:
    """The outcome for one text.

    Attributes:
        remarks: complaints in the order of the text's objects.
        objects: how many objects were reviewed; others are ignored.
    """

    remarks: tuple[Remark, ...]
    objects: int


def documents(text: str) -> list[Document]:
    """Read the documents of a text, YAML or JSON.

    Raises:
        Unreadable: it is neither.
    """
    if not text.lstrip().startswith(("{", "[")):
        return list(yaml.read(text))
    try:
        return list(json.read(text))
    except Unreadable as no_json:
        # Flow style YAML begins like JSON; where both fail, JSON is what was meant.
        try:
            return list(yaml.read(text))
        except Unreadable:
            raise no_json from None


def review_text(
    registry: Registry, text: str, definition: CompiledConfig | None = None
) -> Reviewed:
    """Review every claim, template, class and DriverConfigSchema of a text, Lists included.

    Args:
        registry: the schemas to review with.
        text: the text.
        definition: the CRD, to judge DriverConfigSchemas by.

    Raises:
        Unreadable: it is neither YAML nor JSON.
    """
    remarks: list[Remark] = []
    count = 0
    for document in documents(text):
        for path, tree in _objects(document.tree, ""):
            verdict = _verdict(registry, tree, definition)
            if verdict is not None:
                count += 1
                remarks += _remarks(verdict, document, path, _title(tree))
    return Reviewed(tuple(remarks), count)


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
    """Give items of a typed list, such as ResourceClaimList, the kind that they may leave out."""
    implied = {"apiVersion": parent.get("apiVersion"), "kind": kind.removesuffix("List")}
    return {**implied, **item} if isinstance(item, dict) and implied["kind"] else item


def _verdict(
    registry: Registry, tree: dict[str, Any], definition: CompiledConfig | None
) -> Verdict | None:
    api_version, kind = tree.get("apiVersion"), tree.get("kind")
    if not isinstance(api_version, str):
        return None
    if api_version.startswith(GROUP) and kind in KINDS:
        return review(registry, str(kind), tree)
    if (api_version, kind) == (driverconfigschema.API_VERSION, driverconfigschema.KIND):
        return review_schema(registry, tree, definition=definition)
    return None


def _remarks(verdict: Verdict, document: Document, path: str, title: str) -> Iterator[Remark]:
    for violation in verdict.violations:
        line = document.line_of(path + violation.finding.path)
        yield Remark(line, title, violation.denies, violation)


def _title(tree: dict[str, Any]) -> str:
    metadata = tree.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    name = metadata.get("name") or metadata.get("generateName") or "(no name)"
    namespace = metadata.get("namespace")
    return f"{tree.get('kind')} {namespace}/{name}" if namespace else f"{tree.get('kind')} {name}"
