"""What counts or bounds extended resources beside kube-scheduler, and reads other numbers with DRA.

Sources: Karpenter nodeclaim/lifecycle/initialization.go; cluster-autoscaler's provider for Cluster
API; dcgm-exporter; Kubernetes' LimitRanger.
"""

from collections.abc import Iterable, Iterator

from dragoman.model.fields import Document, part, parts
from dragoman_base.words import listed
from dragoman_toolkit.migration.companions import NODE_GROUP, Companions
from dragoman_toolkit.migration.losses import Code, Loss, Rank

_NAMED = 3
_POOL = "karpenter.sh/nodepool"


def scaled(resource: str, nodes: Iterable[Document], companions: Companions) -> Iterator[Loss]:
    """Yield which autoscaler does not know nodes where DRA serves a resource.

    Args:
        resource: Its name.
        nodes: Labels of nodes that have it.
        companions: What else was read.
    """
    pools = {str(one[_POOL]) for one in nodes if one.get(_POOL)}
    for one in companions.of("NodePool"):
        if resource in part(one, "spec", "limits"):
            pools.add(_name(one))
    claims = [
        _name(one)
        for one in companions.of("NodeClaim")
        if resource in part(one, "spec", "resources", "requests")
    ]
    groups = [
        _name(one)
        for one in companions.of("MachineDeployment")
        if (own := part(one, "metadata", "annotations")).get(f"{NODE_GROUP}gpu-type") == resource
        and f"{NODE_GROUP}dra-driver" not in own
    ]
    if pools or claims:
        names = [f"NodePool {one}" for one in sorted(pools)]
        names += [f"NodeClaim {one}" for one in sorted(claims)]
        yield Loss(
            Code.AUTOSCALER_WAITS,
            Rank.BREAKS,
            names[0],
            f"Karpenter initializes no node of {listed(names, _NAMED)} until its allocatable has "
            f"{resource}",
        )
    if groups:
        yield Loss(
            Code.AUTOSCALER_WAITS,
            Rank.BREAKS,
            f"MachineDeployment {groups[0]}",
            f"cluster-autoscaler scales {listed(groups, _NAMED)} from zero for {resource} alone: "
            "their templates name no DRA driver",
        )


def measured(resources: Iterable[str], companions: Companions) -> Iterator[Loss]:
    """Yield what scales by numbers of nodes or by metrics of dcgm-exporter."""
    spelled = [
        (one, one.replace("/", "_").replace(".", "_").replace("-", "_")) for one in resources
    ]
    for one in companions.of("HorizontalPodAutoscaler", "ScaledObject"):
        texts = [*_metrics(one)]
        who = f"{one.get('kind')} {part(one, 'metadata').get('namespace')}/{_name(one)}"
        if any("DCGM_FI_" in text for text in texts):
            yield Loss(
                Code.MONITORING_LABELS,
                Rank.CHANGES,
                who,
                f"{who} scales by metrics of dcgm-exporter, whose labels of pods come from claims "
                "with DRA",
            )
        counted = [
            name for name, plain in spelled if any(name in text or plain in text for text in texts)
        ]
        if counted or any("node_status_allocatable" in text for text in texts):
            yield Loss(
                Code.NODE_COUNTS,
                Rank.CHANGES,
                who,
                f"{who} scales by {listed(counted, _NAMED) or 'status.allocatable of nodes'}, of "
                "which nodes have none with DRA",
            )


def _metrics(one: Document) -> Iterator[str]:
    for metric in parts(one, "spec", "metrics"):
        for kind in ("pods", "object", "external"):
            yield str(part(metric, kind, "metric").get("name") or "")
        for kind in ("resource", "containerResource"):
            yield str(part(metric, kind).get("name") or "")
    for trigger in parts(one, "spec", "triggers"):
        yield from map(str, part(trigger, "metadata").values())


def bounded(resource: str, namespace: str, companions: Companions) -> Iterator[tuple[Code, str]]:
    """Yield what LimitRanges of a namespace do to pods converted to claims."""
    for one in companions.of("LimitRange"):
        own = part(one, "metadata").get("namespace")
        rows = [*parts(one, "spec", "limits")]
        if own != namespace:
            continue
        if any(resource in part(row, key) for row in rows for key in ("default", "defaultRequest")):
            yield (
                Code.LIMIT_RANGE_INJECTS,
                (
                    f"LimitRange {own}/{_name(one)} gives containers {resource} by default: the "
                    "converted pod would ask twice"
                ),
            )
        elif any(
            resource in part(row, key)
            for row in rows
            for key in ("min", "max", "maxLimitRequestRatio")
        ):
            yield (
                Code.LIMIT_RANGE_IGNORED,
                f"LimitRange {own}/{_name(one)} bounds {resource}, and does not bound claims",
            )


def _name(document: Document) -> str:
    return str(part(document, "metadata").get("name") or "")
