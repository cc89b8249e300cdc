"""Files of --snapshot, also those that `kubectl get -o json|yaml` prints.

A dump does not say when it was made, of which version the cluster is, or which lists are complete:
the newest time in it, the newest kubelet and the kinds in it stand for these.
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from dragoman.cli.terminal import say
from dragoman.inventory.snapshots import snapshot as snapshots
from dragoman.inventory.snapshots.documents import KINDS, OPTIONAL, Document, reduced
from dragoman.inventory.snapshots.snapshot import (
    GZIP,
    MAX_LINE,
    Snapshot,
    SnapshotError,
    Unseen,
    is_header,
)
from dragoman.model.fields import MalformedObjectError, mapping
from dragoman_base.files import MAX_FILE, UnreadableError, bounded, decoded, opened, reason
from dragoman_base.files.documents import parts
from dragoman_toolkit.dra.missing import LACKING
from dragoman_toolkit.dra.output import Unusable

_TIME = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_VERSION = re.compile(r"v?(\d{1,6})\.(\d{1,6})(?:\.(\d{1,6}))?")
WHOLE = "nodes,pods,deviceclasses,resourceslices,resourceclaims,resourceclaimtemplates"
"""What `kubectl get -A` has to list for most answers."""
NO_SNAPSHOT = (
    "no snapshot of `kubectl dra snapshot -o FILE`, and no List or manifests of "
    f"`kubectl get -A {WHOLE} -o json`"
)


def load(path: Path) -> Snapshot:
    """Read a snapshot or a dump, and say once what a dump lacks.

    Raises:
        Unusable: It is neither.
    """
    try:
        with opened(path) as file:
            first = file.readline(MAX_LINE + 1)
            if is_header(first) or first.startswith(GZIP):
                return snapshots.read(file, first)
            content = first + file.read(MAX_FILE)
        made = datetime.fromtimestamp(path.stat().st_mtime, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        snapshot = read(decoded(bounded(content)), made)
    except (OSError, UnreadableError) as error:
        raise Unusable(f"{path}: {reason(error)}") from None
    except SnapshotError as error:
        raise Unusable(f"{path}: {error}") from None
    context = click.get_current_context(silent=True)
    said = context.find_root().meta if context else {}
    if lacking := [plural for plural in KINDS.values() if not snapshot.of(plural)]:
        text = f"{path}: read as output of kubectl get; it has no {', '.join(lacking)}"
        if said.setdefault(str(path), text) is text:
            say(f"{text}; `kubectl dra snapshot -o FILE` has all that answers need")
    return snapshot


def read(text: str, latest: str) -> Snapshot:
    """Read a dump as a snapshot, whose `unseen` names the resources that it must have.

    Args:
        text: JSON or YAML: a List, or objects one after the other.
        latest: An API timestamp; later ones in the text are no times of reading.

    Raises:
        UnreadableError: It is neither, or has no object that any answer needs.
    """
    objects: defaultdict[str, list[Document]] = defaultdict(list)
    for tree in (one[0] for one in parts(text)):
        for plural, document in _objects(tree, ""):
            objects[plural].append(reduced(plural, document))
    if not objects:
        raise UnreadableError(NO_SNAPSHOT)
    lacking = [*dict.fromkeys(one for one in _needed(objects) if one not in objects)]
    return Snapshot(
        taken=max((one for one in _TIME.findall(text) if one <= latest), default=latest),
        kubernetes=_version(objects["nodes"]),
        objects={
            plural: tuple(objects[plural])
            for plural in KINDS.values()
            if objects[plural] or (plural not in OPTIONAL and plural not in lacking)
        },
        unseen=tuple(Unseen(plural, LACKING) for plural in lacking),
    )


def _objects(tree: Any, kind: str) -> Iterator[tuple[str, Document]]:
    """Yield objects with their plurals; items of a PodList have no kind of their own."""
    if not isinstance(tree, Mapping):
        return
    kind = str(tree.get("kind") or kind)
    items = tree.get("items")
    if isinstance(items, list) and kind.endswith("List"):
        for one in items:
            yield from _objects(one, kind.removesuffix("List"))
    elif kind in KINDS and isinstance(tree.get("metadata"), Mapping) and _is_ours(kind, tree):
        yield KINDS[kind], tree


def _is_ours(kind: str, tree: Mapping[str, Any]) -> bool:
    """Whether an object is of the group that the toolkit reads: others have such kinds as well."""
    group, slash, _ = str(tree.get("apiVersion") or "").rpartition("/")
    if kind in ("ResourceClaim", "ResourceClaimTemplate", "ResourceSlice", "DeviceClass"):
        return group == "resource.k8s.io" or not tree.get("apiVersion")
    return kind not in ("Pod", "Node", "Namespace", "ResourceQuota") or not slash


def _needed(objects: Mapping[str, list[Document]]) -> Iterator[str]:
    """Yield the resources that a whole dump of such a cluster has."""
    yield from ("nodes", "pods", "resourceslices", "deviceclasses")
    for pod in objects.get("pods", ()):
        entries = [one for one in _list(pod, "spec", "resourceClaims") if isinstance(one, Mapping)]
        if _list(pod, "status", "resourceClaimStatuses") or any(
            one.get("resourceClaimName") for one in entries
        ):
            yield "resourceclaims"
        placed = isinstance(pod.get("spec"), Mapping) and pod["spec"].get("nodeName")
        if not placed and any(one.get("resourceClaimTemplateName") for one in entries):
            yield "resourceclaimtemplates"


def _list(document: Document, *path: str) -> list[Any]:
    *outer, last = path
    try:
        for name in outer:
            document = mapping(document, name)
    except MalformedObjectError:
        return []
    found = document.get(last)
    return found if isinstance(found, list) else []


def _version(nodes: list[Document]) -> str:
    """Return the newest version of the kubelets, which is at most that of the API server."""
    found = []
    for node in nodes:
        status = node.get("status")
        info = status.get("nodeInfo") if isinstance(status, Mapping) else None
        text = str(info.get("kubeletVersion") or "") if isinstance(info, Mapping) else ""
        match = _VERSION.match(text)
        if match:
            found.append((tuple(int(one or 0) for one in match.groups()), match[0]))
    return max(found, default=((), ""))[1]
