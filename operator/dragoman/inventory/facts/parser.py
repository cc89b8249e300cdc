"""Parses API objects into the facts of an inventory."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, TypeVar

from dragoman.inventory.facts.world import (
    Container,
    Malformed,
    NodeFact,
    PodFact,
    Quota,
    World,
)
from dragoman.inventory.snapshots.documents import Document
from dragoman.inventory.snapshots.snapshot import Snapshot
from dragoman.model.amounts import AmountError, amount
from dragoman.model.claimcontent import parse_claim, parse_template
from dragoman.model.deviceclass import parse_class
from dragoman.model.fields import (
    MalformedObjectError,
    items,
    mapping,
    optional_text,
    text,
)
from dragoman.model.needs import Needs, Room
from dragoman.model.nodes import parse_node
from dragoman.model.pod import Pod
from dragoman.model.slice import parse_slice
from dragoman.model.taints import parse_taint_rule

Fact = TypeVar("Fact")


def parse(snapshot: Snapshot) -> World:
    """Parse all objects of a snapshot; malformed ones are named in the result."""
    malformed: list[Malformed] = []

    def read(plural: str, parser: Callable[[Document], Fact]) -> Iterator[Fact]:
        for document in snapshot.of(plural):
            try:
                yield parser(document)
            except MalformedObjectError as error:
                malformed.append(Malformed(plural, _name(document), str(error)))

    return World(
        now=snapshot.taken,
        kubernetes=snapshot.kubernetes,
        nodes={one.node.name: one for one in read("nodes", node_fact)},
        slices=tuple(read("resourceslices", parse_slice)),
        classes={one.name: one for one in read("deviceclasses", parse_class)},
        rules=tuple(read("devicetaintrules", parse_taint_rule)),
        claims={one.key: one for one in read("resourceclaims", parse_claim)},
        templates={one.key: one for one in read("resourceclaimtemplates", parse_template)},
        pods={one.key: one for one in read("pods", pod_fact)},
        quotas=tuple(one for one in read("resourcequotas", _quota) if one.hard or one.claims),
        listed=frozenset(snapshot.objects),
        unseen=snapshot.unseen,
        malformed=tuple(malformed),
        budgets=snapshot.of("poddisruptionbudgets"),
        namespaces={_name(one): one for one in snapshot.of("namespaces")},
        format=snapshot.format,
    )


def pod_fact(document: Document) -> PodFact:
    """Read a reduced Pod; raise MalformedObjectError naming the field."""
    spec, status = mapping(document, "spec"), mapping(document, "status")
    extended = mapping(status, "extendedResourceClaimStatus", "status.")
    containers = (
        *items(spec, "initContainers", "spec."),
        *items(spec, "containers", "spec."),
    )
    conditions = items(status, "conditions", "status.")
    return PodFact(
        pod=Pod.parse(document, stored=False),
        containers=tuple(map(_container, containers)),
        scheduler=optional_text(spec, "schedulerName", "spec.") or "default-scheduler",
        extended=tuple(
            (str(item.get("containerName")), str(item.get("requestName")))
            for item in items(extended, "requestMappings", "status.extendedResourceClaimStatus.")
        ),
        started=optional_text(status, "startTime", "status.") or "",
        unschedulable=next(filter(_unschedulable, conditions), {}),
        needs=Needs.parse(spec),
        document=document,
    )


def _unschedulable(condition: Document) -> bool:
    return condition.get("type") == "PodScheduled" and condition.get("status") == "False"


def _container(document: Document) -> Container:
    name = text(document, "name", "spec.containers[].")
    resources = mapping(document, "resources", "spec.containers[].")
    within = "spec.containers[].resources."
    mapping(resources, "requests", within)
    mapping(resources, "limits", within)
    claims = items(resources, "claims", within)
    return Container(
        name,
        tuple((str(item.get("name") or ""), str(item.get("request") or "")) for item in claims),
    )


def node_fact(document: Document) -> NodeFact:
    """Read a reduced Node; raise MalformedObjectError naming the field."""
    return NodeFact(parse_node(document), Room.parse(document), document)


_QUOTA_CLAIMS = "count/resourceclaims.resource.k8s.io"
_QUOTA_SUFFIX = ".deviceclass.resource.k8s.io/devices"


def _quota(document: Document) -> Quota:
    spec, status = mapping(document, "spec"), mapping(document, "status")
    metadata = mapping(document, "metadata")
    hard, used = mapping(spec, "hard", "spec."), mapping(status, "used", "status.")
    most, charged = (_count(one.get(_QUOTA_CLAIMS)) for one in (hard, used))
    return Quota(
        name=text(metadata, "name", "metadata."),
        namespace=text(metadata, "namespace", "metadata."),
        hard=_devices(hard),
        used=_devices(used),
        claims=None if most is None else (most, charged or 0),
    )


def _devices(amounts: Document) -> dict[str, int]:
    """Return the entries for devices, by DeviceClass; quantities such as `1k` are numbers too."""
    found = {}
    for name, value in amounts.items():
        if name.endswith(_QUOTA_SUFFIX) and (count := _count(value)) is not None:
            found[name.removesuffix(_QUOTA_SUFFIX)] = count
    return found


def _count(value: Any) -> int | None:
    """Return a whole number of a quota; None for what is none."""
    with suppress(AmountError):
        return amount(str(value)).nanos // 10**9
    return None


def _name(document: Any) -> str:
    metadata = document.get("metadata") if isinstance(document, Mapping) else None
    if not isinstance(metadata, Mapping):
        return ""
    names: Iterable[Any] = (metadata.get("namespace"), metadata.get("name"))
    return "/".join(str(name) for name in names if name)
