"""Snapshots without names: nodes, pools, slices, rules and all objects of namespaces get others.

New names sort as the old ones do, because the allocator goes by names. Drivers, DeviceClasses,
devices, requests and attributes keep theirs: selectors name them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from dragoman.inventory.snapshots.documents import (
    AUTHOR,
    DEVICE,
    KUEUE,
    MAINTENANCE,
    REASON,
    Document,
    selected_labels,
)
from dragoman.inventory.snapshots.snapshot import Snapshot, Unseen

_HOLD: Final = "dragoman-hold-"
_HIDDEN: Final = "(left out)"
_KEPT: Final = (*("creationTimestamp", "deletionTimestamp", "managedFields", "finalizers"),)
_NAMING: Final = frozenset({AUTHOR, DEVICE, REASON})
"""Annotations of holds that name users, nodes and whatever a reason says."""


@dataclass(frozen=True, slots=True)
class _Names:
    """New names by old ones."""

    nodes: Mapping[str, str]
    namespaces: Mapping[str, str]
    objects: Mapping[str, str]
    """Pods, claims, templates, quotas and owners share names, so they share this table."""
    slices: Mapping[str, str]
    rules: Mapping[str, str]
    uids: Mapping[str, str]
    labels: Mapping[str, str]
    """Keys and values of labels of pods, which budgets select by."""


def anonymized(snapshot: Snapshot) -> Snapshot:
    """Return a snapshot whose answers differ from the original's in names alone."""
    names = _names(snapshot)
    objects = {
        plural: tuple(_object(names, plural, document) for document in found)
        for plural, found in snapshot.objects.items()
    }
    unseen = tuple(
        Unseen(one.plural, "forbidden", names.namespaces.get(one.namespace, ""))
        for one in snapshot.unseen
    )
    return replace(snapshot, objects=objects, unseen=unseen)


def _names(snapshot: Snapshot) -> _Names:
    metadata = [
        (plural, document["metadata"])
        for plural, found in snapshot.objects.items()
        for document in found
    ]
    slices = [one.get("spec") or {} for one in snapshot.of("resourceslices")]
    nodes = {one["name"] for plural, one in metadata if plural == "nodes"}
    nodes |= {one["nodeName"] for one in slices if one.get("nodeName")}
    # Most pools have the name of their node, and pools are ordered by name: one table for both.
    nodes |= {(one.get("pool") or {}).get("name") for one in slices}
    nodes |= {
        result["pool"] for claim in snapshot.of("resourceclaims") for result in _results(claim)
    }
    own = {"pods", "resourceclaims", "resourceclaimtemplates", "resourcequotas"}
    own |= {"poddisruptionbudgets"}
    objects = {one["name"] for plural, one in metadata if plural in own}
    objects |= {
        str(consumer.get("name"))
        for claim in snapshot.of("resourceclaims")
        for consumer in (claim.get("status") or {}).get("reservedFor") or ()
    }
    specs = [one.get("spec") or {} for one in snapshot.of("pods")]
    objects |= {(one.get("schedulingGroup") or {}).get("podGroupName") for one in specs} - {None}
    return _Names(
        nodes=_numbered("node", nodes),
        namespaces=_numbered(
            "ns",
            (
                one["name"] if plural == "namespaces" else one.get("namespace")
                for plural, one in metadata
            ),
        ),
        objects=_numbered("object", objects),
        slices=_numbered("slice", (one["name"] for p, one in metadata if p == "resourceslices")),
        rules=_numbered("rule", (one["name"] for p, one in metadata if p == "devicetaintrules")),
        uids=_numbered("uid", (one["uid"] for _, one in metadata if "uid" in one)),
        labels=_numbered("label", _pod_labels(snapshot)),
    )


def _pod_labels(snapshot: Snapshot) -> Iterator[str]:
    """Yield keys and values that budgets select by; well-known keys keep their names."""
    keys = selected_labels(snapshot.of("poddisruptionbudgets")) - {KUEUE, MAINTENANCE}
    yield from keys
    for pod in snapshot.of("pods"):
        labels = pod["metadata"].get("labels")
        if isinstance(labels, Mapping):
            yield from (value for key, value in labels.items() if key in keys)
    for budget in snapshot.of("poddisruptionbudgets"):
        selector = (budget.get("spec") or {}).get("selector") or {}
        yield from (selector.get("matchLabels") or {}).values()
        for one in selector.get("matchExpressions") or ():
            yield from one.get("values") or ()


def _results(claim: Document) -> Iterable[Document]:
    allocation = (claim.get("status") or {}).get("allocation") or {}
    return (allocation.get("devices") or {}).get("results") or ()


def _numbered(prefix: str, names: Iterable[str | None]) -> dict[str, str]:
    found = sorted({name for name in names if name})
    width = len(str(len(found)))
    return {
        name: f"{_HOLD if name.startswith(_HOLD) else ''}{prefix}-{number:0{width}}"
        for number, name in enumerate(found, 1)
    }


def _object(names: _Names, plural: str, document: Document) -> Document:
    own = {
        "nodes": names.nodes,
        "resourceslices": names.slices,
        "devicetaintrules": names.rules,
        "deviceclasses": {},
        "namespaces": names.namespaces,
    }.get(plural, names.objects)
    rest = {key: value for key, value in document.items() if key != "metadata"}
    budget = plural == "poddisruptionbudgets"
    made = {
        **(_budget(names, rest) if budget else _walk(names, rest)),
        "metadata": _metadata(names, own, document["metadata"]),
    }
    labels = document["metadata"].get("labels")
    if plural == "pods" and isinstance(labels, Mapping):
        kept = {key: value for key, value in labels.items() if key in names.labels}
        made["metadata"]["labels"] = _renamed(names.labels, kept) | {
            key: labels[key] for key in (KUEUE,) if key in labels
        }
    return made


def _renamed(table: Mapping[str, str], labels: Mapping[str, Any]) -> dict[str, Any]:
    return {table.get(key, _HIDDEN): table.get(value, _HIDDEN) for key, value in labels.items()}


def _budget(names: _Names, document: Document) -> dict[str, Any]:
    """Replace the labels that a budget selects by, and the pods that it counts as disrupted."""
    spec, status = dict(document.get("spec") or {}), dict(document.get("status") or {})
    selector = spec.get("selector")
    if isinstance(selector, Mapping):
        spec["selector"] = {
            "matchLabels": _renamed(names.labels, selector.get("matchLabels") or {}),
            "matchExpressions": [
                {
                    **one,
                    "key": names.labels.get(str(one.get("key")), _HIDDEN),
                    "values": [names.labels.get(v, _HIDDEN) for v in one.get("values") or ()],
                }
                for one in selector.get("matchExpressions") or ()
            ],
        }
    if status.get("disruptedPods"):
        status["disruptedPods"] = {
            names.objects.get(name, _HIDDEN): when for name, when in status["disruptedPods"].items()
        }
    return {**document, "spec": spec, "status": status}


def _metadata(names: _Names, own: Mapping[str, str], metadata: Document) -> dict[str, Any]:
    kept = {
        "name": own.get(metadata["name"], metadata["name"]),
        **{key: metadata[key] for key in _KEPT if key in metadata},
    }
    if "annotations" in metadata:
        kept["annotations"] = {
            key: value for key, value in metadata["annotations"].items() if key not in _NAMING
        }
    if "namespace" in metadata:
        kept["namespace"] = names.namespaces[metadata["namespace"]]
    if "uid" in metadata:
        kept["uid"] = names.uids[metadata["uid"]]
    if "labels" in metadata:
        kept["labels"] = {
            key: "" if key == MAINTENANCE else names.nodes.get(value, value)
            for key, value in metadata["labels"].items()
        }
    if metadata.get("ownerReferences"):
        kept["ownerReferences"] = [
            {
                **owner,
                "name": names.objects.get(owner.get("name"), _HIDDEN),
                "uid": names.uids.get(owner.get("uid"), _HIDDEN),
            }
            for owner in metadata["ownerReferences"]
        ]
    return kept


def _walk(names: _Names, value: Any, key: str = "") -> Any:
    """Replace names by the field that they stand in."""
    if isinstance(value, list):
        return [_walk(names, item, key) for item in value]
    if isinstance(value, Mapping):
        if key == "pool" and "name" in value:  # of a slice; that of a result is a string
            value = {**value, "name": names.nodes.get(value["name"], value["name"])}
        if key == "nodeSelector":  # of a pod; that of an allocation has terms
            value = {label: _node(names, one) for label, one in value.items()}
        if key == "reservedFor":
            return {**value, **_consumer(names, value)}
        return {name: _walk(names, inner, name) for name, inner in value.items()}
    replace_in: Callable[[_Names], Mapping[str, str]] | None = _FIELDS.get(key)
    if replace_in is not None and isinstance(value, str):
        return replace_in(names).get(value, value)
    # Messages of the scheduler name nodes and claims.
    return _HIDDEN if key == "message" else value


def _node(names: _Names, value: Any) -> Any:
    return names.nodes.get(value, value) if isinstance(value, str) else value


def _consumer(names: _Names, consumer: Document) -> dict[str, Any]:
    return {
        "name": names.objects.get(str(consumer.get("name")), _HIDDEN),
        "uid": names.uids.get(str(consumer.get("uid")), _HIDDEN),
    }


_FIELDS: Final[Mapping[str, Callable[[_Names], Mapping[str, str]]]] = {
    "nodeName": lambda names: names.nodes,
    "nominatedNodeName": lambda names: names.nodes,
    "pool": lambda names: names.nodes,
    # Values of node selectors: metadata.name and hostname.
    "values": lambda names: names.nodes,
    "podGroupName": lambda names: names.objects,
    "resourceClaimName": lambda names: names.objects,
    "resourceClaimTemplateName": lambda names: names.objects,
}
