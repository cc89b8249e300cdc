"""The objects of documents, and the parts of them that rules look at."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from dragoman_toolkit.linting.manifests.documents import ManifestDocument
from dragoman_toolkit.workloads import PodSpec, mapping, reach, sequence, workload

GROUP = "resource.k8s.io"
__all__ = ["GROUP", "Object", "mapping", "objects", "reach", "sequence", "text"]
_MAX_LIST = 100_000

Steps = tuple[str | int, ...]

FLAT_FIELDS = frozenset(
    {
        *("deviceClassName", "selectors", "allocationMode", "count"),
        *("adminAccess", "tolerations", "capacity"),
    }
)
"""Fields of a request that stand beside its name in v1beta1 and below `exactly` later."""


def text(value: Any) -> str:
    """Return a string, an empty one for anything else."""
    return value if isinstance(value, str) else ""


def expression_of(selector: Any) -> str | None:
    """Return the expression of a selector, an empty one where it is missing below `cel`."""
    cel = mapping(selector).get("cel")
    if not isinstance(cel, dict):
        return None
    expression = cel.get("expression", "")
    return expression if isinstance(expression, str) else "" if expression is None else None


@dataclass(frozen=True, slots=True)
class ManifestRequest:
    """A request of a claim, or one of its alternatives."""

    name: str  # `main`, or `main/sub` for an alternative
    steps: Steps  # Where its fields stand: the class name, selectors and so on
    body: dict[str, Any]  # These fields

    @property
    def class_name(self) -> str:
        """Name the DeviceClass; empty without one."""
        return text(self.body.get("deviceClassName"))


@dataclass(frozen=True)
class Object:
    """One object of a document."""

    file: str  # Name of its file
    document: ManifestDocument  # The document that holds it
    root: Steps  # Where it stands in the document: `()`, or below `items` of a list
    tree: dict[str, Any] = field(repr=False)  # The object itself

    @cached_property
    def api_version(self) -> str:
        """The apiVersion; empty where it is no string."""
        return text(self.tree.get("apiVersion"))

    @cached_property
    def kind(self) -> str:
        """The kind; empty where it is no string."""
        return text(self.tree.get("kind"))

    @property
    def group(self) -> str:
        """The API group; empty for core kinds."""
        return self.api_version.rpartition("/")[0]

    @property
    def version(self) -> str:
        """The version within the group."""
        return self.api_version.rpartition("/")[2]

    @property
    def metadata(self) -> dict[str, Any]:
        """The metadata; empty where there is none."""
        return mapping(self.tree.get("metadata"))

    @property
    def name(self) -> str:
        """The name; empty where there is none."""
        return text(self.metadata.get("name"))

    @property
    def namespace(self) -> str:
        """The namespace; empty where the manifest leaves it to the client."""
        return text(self.metadata.get("namespace"))

    @property
    def title(self) -> str:
        """Kind, namespace and name for people."""
        name = self.name or text(self.metadata.get("generateName")) or "(no name)"
        return f"{self.kind} {self.namespace}/{name}" if self.namespace else f"{self.kind} {name}"

    @property
    def in_group(self) -> bool:
        """Whether the object is of resource.k8s.io."""
        return self.group == GROUP

    @cached_property
    def claim_steps(self) -> Steps | None:
        """Where `devices` of a claim or template stands; None for other kinds."""
        if not self.in_group:
            return None
        places: dict[str, Steps] = {
            "ResourceClaim": ("spec", "devices"),
            "ResourceClaimTemplate": ("spec", "spec", "devices"),
        }
        return places.get(self.kind)

    @cached_property
    def devices(self) -> dict[str, Any]:
        """`devices` of a claim or template; empty for other kinds."""
        return mapping(reach(self.tree, self.claim_steps)) if self.claim_steps else {}

    @cached_property
    def requests(self) -> tuple[ManifestRequest, ...]:
        """The requests of a claim or template, alternatives instead of their request."""
        return tuple(self._requests())

    def _requests(self) -> Iterator[ManifestRequest]:
        if self.claim_steps is None:
            return
        for index, one in enumerate(sequence(self.devices.get("requests"))):
            request = mapping(one)
            steps = (*self.claim_steps, "requests", index)
            name = text(request.get("name"))
            alternatives = sequence(request.get("firstAvailable"))
            for number, sub in enumerate(alternatives):
                body = mapping(sub)
                place = (*steps, "firstAvailable", number)
                yield ManifestRequest(f"{name}/{text(body.get('name'))}", place, body)
            if isinstance(request.get("exactly"), dict):
                yield ManifestRequest(name, (*steps, "exactly"), request["exactly"])
            elif not alternatives:
                yield ManifestRequest(name, steps, request)

    @cached_property
    def pod_specs(self) -> tuple[PodSpec, ...]:
        """The specs of all pods that this object is or makes, in any kind."""
        found = None if self.in_group else workload(self.tree)
        return found.pods if found else ()

    def selectors(self) -> Iterator[tuple[Steps, str]]:
        """Yield the CEL selectors with their paths."""
        for steps, holder in self.selector_lists():
            for index, selector in enumerate(holder):
                expression = expression_of(selector)
                if expression is not None:
                    yield (*steps, index, "cel", "expression"), expression

    def selector_lists(self) -> Iterator[tuple[Steps, list[Any]]]:
        """Yield the lists of selectors with their paths."""
        if self.in_group and self.kind == "DeviceClass":
            yield ("spec", "selectors"), sequence(reach(self.tree, ("spec", "selectors")))
        for request in self.requests:
            yield (*request.steps, "selectors"), sequence(request.body.get("selectors"))


def is_manifest(obj: Object) -> bool:
    """Tell whether an object is meant for an API server: it says its kind, or has the parts of one.

    Values of a chart may have the shape of pods, and are nothing that a server gets.
    """
    tree = obj.tree
    said = ("apiVersion" in tree) + ("kind" in tree)
    parts = isinstance(tree.get("metadata"), dict), isinstance(tree.get("spec"), dict)
    return said == 2 or (said == 1 and any(parts)) or (bool(obj.name) and all(parts))


def objects(file: str, document: ManifestDocument) -> Iterator[Object]:
    """Yield the objects of a document, those of lists one by one."""
    yield from _expanded(file, document, document.tree, ())


def _expanded(file: str, document: ManifestDocument, tree: Any, root: Steps) -> Iterator[Object]:
    if not isinstance(tree, dict):
        return
    kind, items = tree.get("kind"), tree.get("items")
    if isinstance(kind, str) and kind.endswith("List") and isinstance(items, list):
        for index, item in enumerate(items[:_MAX_LIST]):
            typed = _typed(item, kind, tree)
            yield from _expanded(file, document, typed, (*root, "items", index))
    else:
        yield Object(file, document, root, tree)


def _typed(item: Any, kind: str, parent: dict[str, Any]) -> Any:
    """Give items of a typed list, such as ResourceClaimList, the kind that they may leave out."""
    implied = {"apiVersion": parent.get("apiVersion"), "kind": kind.removesuffix("List")}
    if (
        not isinstance(item, dict)
        or not implied["kind"]
        or ("kind" in item and "apiVersion" in item)
    ):
        return item
    return {**implied, **item}
