"""Objects beside nodes, pods and devices that `kubectl dra migrate` reads, and their fields.

They are plug-ins with their configs, and what counts or bounds extended resources: autoscalers,
LimitRanges and networks. All but the named fields are dropped where objects come in; of ConfigMaps
the parsed configs of plug-ins alone are kept.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from dragoman.inventory.snapshots.documents import Tree, pruned
from dragoman.inventory.snapshots.snapshot import API_VERSION, MIGRATION, MIGRATION_OBJECT, Snapshot
from dragoman.model.fields import Document, part, parts
from dragoman_base.files import UnreadableError
from dragoman_base.files.documents import parts as documents

MULTUS = "k8s.v1.cni.cncf.io/resourceName"
NODE_GROUP = "capacity.cluster-autoscaler.kubernetes.io/"
"""Prefix of annotations by which Cluster API states what a node of a group has."""
_METADATA: Tree = {
    "name": True,
    "namespace": True,
    "annotations": {MULTUS: True, f"{NODE_GROUP}gpu-type": True, f"{NODE_GROUP}dra-driver": True},
}
_ENV: Tree = [{"name": True, "value": True}]
_FLAGS = (
    *("mig-strategy", "device-list-strategy", "shared-devices-allocation-policy"),
    *("gdrcopy-enabled", "gds-enabled", "mofed-enabled", "imex-channel-ids"),
    *("shared-dev-num", "allocation-policy", "resource-prefix"),
)
"""What is read of the arguments of plug-ins; values of others may be secret."""
_VARIABLES = frozenset(
    {one.upper().replace("-", "_") for one in _FLAGS} | {"DEFAULT_CONFIG", "FALLBACK_STRATEGIES"}
)
"""What is read of their environment."""
_METRIC: Tree = {"metric": {"name": True}}
_NAME: Tree = {"name": True}
_CONTAINERS: Tree = [{"image": True, "args": True, "command": True, "env": _ENV}]
_SWITCH: Tree = {"strategy": True, "enabled": True}
_SHARING: Tree = {
    "renameByDefault": True,
    "failRequestsGreaterThanOne": True,
    "resources": [{"name": True, "replicas": True}],
}


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind."""

    group: str  # API group
    versions: tuple[str, ...]  # That are understood, the best first
    plural: str  # In URLs
    kind: str  # In objects

    @property
    def name(self) -> str:
        """What `kubectl get` calls it."""
        return f"{self.plural}.{self.group}" if self.group else self.plural


_POD: Tree = {
    "nodeSelector": True,
    "containers": _CONTAINERS,
    "initContainers": _CONTAINERS,
    "volumes": [{"configMap": _NAME}],
}
_SPECS: Mapping[tuple[str, str, str], Mapping[str, Tree]] = {
    ("apps/v1", "daemonsets", "DaemonSet"): {"template": {"spec": _POD}},
    ("nvidia.com/v1", "clusterpolicies", "ClusterPolicy"): {
        "devicePlugin": {"config": True, "env": _ENV},
        **dict.fromkeys(("mig", "gds", "gdrcopy"), _SWITCH),
    },
    ("deviceplugin.intel.com/v1", "gpudeviceplugins", "GpuDevicePlugin"): dict.fromkeys(
        ("sharedDevNum", "preferredAllocationPolicy", "nodeSelector"), True
    ),
    (
        *("sriovnetwork.openshift.io/v1", "sriovnetworknodepolicies"),
        "SriovNetworkNodePolicy",
    ): dict.fromkeys(
        (
            *("resourceName", "nodeSelector", "nicSelector", "deviceType", "isRdma"),
            *("needVhostNet", "vdpaType"),
        ),
        True,
    ),
    (
        *("k8s.cni.cncf.io/v1", "network-attachment-definitions"),
        "NetworkAttachmentDefinition",
    ): {},
    ("karpenter.sh/v1,v1beta1", "nodepools", "NodePool"): {"limits": True},
    ("karpenter.sh/v1,v1beta1", "nodeclaims", "NodeClaim"): {"resources": {"requests": True}},
    ("cluster.x-k8s.io/v1beta2,v1beta1", "machinedeployments", "MachineDeployment"): {},
    ("autoscaling/v2", "horizontalpodautoscalers", "HorizontalPodAutoscaler"): {
        "metrics": [
            {
                **dict.fromkeys(("pods", "object", "external"), _METRIC),
                **dict.fromkeys(("resource", "containerResource"), _NAME),
            }
        ]
    },
    ("keda.sh/v1alpha1", "scaledobjects", "ScaledObject"): {
        "triggers": [{"metadata": {"query": True, "metricName": True}}]
    },
    ("v1", "limitranges", "LimitRange"): {"limits": True},
}
"""Fields of `spec` that are kept, by group and versions (the best first), plural and kind."""
KINDS = tuple(
    Kind(version.rpartition("/")[0], tuple(version.rpartition("/")[2].split(",")), plural, kind)
    for version, plural, kind in _SPECS
)
_TREES = {(kind.group, kind.kind): spec for kind, spec in zip(KINDS, _SPECS.values(), strict=True)}
_CONFIG: Mapping[str, Tree] = {
    # NVIDIA/k8s-device-plugin api/config/v1
    "version": True,
    "flags": {
        **dict.fromkeys(("migStrategy", "gdrcopyEnabled", "gdsEnabled", "mofedEnabled"), True),
        "plugin": dict.fromkeys(("deviceListStrategy", "sharedDevicesAllocationPolicy"), True),
    },
    "sharing": dict.fromkeys(("timeSlicing", "mps"), _SHARING),
    "imex": {"channelIDs": True},
    # k8snetworkplumbingwg/sriov-network-device-plugin and Mellanox/k8s-rdma-shared-dev-plugin
    "resourceList": [
        dict.fromkeys(("resourceName", "resourcePrefix", "deviceType", "selectors"), True)
    ],
    "configList": [dict.fromkeys(("resourceName", "resourcePrefix", "rdmaHcaMax"), True)],
}


@dataclass(frozen=True, slots=True)
class Companions:
    """What was read."""

    objects: tuple[Document, ...] = ()  # Reduced, by kind and name
    rejected: tuple[str, ...] = ()  # What could not be listed, such as `daemonsets.apps`
    files: tuple[Document, ...] = field(default=())  # Of --plugin-config: they come first

    def of(self, *kinds: str) -> Iterator[Document]:
        """Yield objects of kinds, those of files first."""
        for one in (*self.files, *self.objects):
            if one.get("kind") in kinds:
                yield one

    def lines(self) -> tuple[Document, ...]:
        """Return the lines of a snapshot."""
        head = {"apiVersion": API_VERSION, "kind": MIGRATION_OBJECT}
        found = [{**head, "object": one} for one in self.objects]
        return (*found, *({**head, "rejected": one} for one in self.rejected))


def of_snapshot(snapshot: Snapshot) -> Companions:
    """Return what a snapshot has of them."""
    lines = snapshot.of(MIGRATION)
    found = (one["object"] for one in lines if isinstance(one.get("object"), Mapping))
    return Companions(
        tuple(made for one in found if (made := reduced(one))),
        tuple(str(one["rejected"]) for one in lines if "rejected" in one),
    )


def reduced(document: Document) -> dict[str, Any] | None:
    """Return the fields of an object that are read; None for one that says nothing here."""
    group = str(document.get("apiVersion") or "").rpartition("/")[0]
    kind = str(document.get("kind") or "")
    head = {"apiVersion": document.get("apiVersion"), "kind": kind}
    metadata = pruned({"metadata": part(document, "metadata")}, {"metadata": _METADATA})
    if kind == "ConfigMap" and not group:
        configs = dict(_configs(document))
        return {**head, **metadata, "configs": configs} if configs else None
    tree = _TREES.get((group, kind))
    if tree is None:
        return None
    made = {**head, **metadata, **pruned(document, {"spec": tree})}
    kinds = ("initContainers", "containers")
    containers = (one for key in kinds for one in parts(made, "spec", "template", "spec", key))
    for one in (part(made, "spec", "devicePlugin"), *containers):
        if isinstance(one, dict) and "env" in one:
            one["env"] = [row for row in parts(one, "env") if str(row.get("name")) in _VARIABLES]
        if isinstance(one, dict) and ("args" in one or "command" in one):
            words = [*_words(one.pop("command", None)), *_words(one.pop("args", None))]
            one["args"] = [f"--{name}={value}" for name, value in _given(words)]
    return made


def _words(found: Any) -> list[str]:
    return [*map(str, found)] if isinstance(found, list) else []


def _given(words: list[str]) -> Iterator[tuple[str, str]]:
    """Yield known flags: `-a=1`, `--a 1`, and `true` for one without a value."""
    for word, following in pairwise([*words, ""]):
        name, equals, value = word.lstrip("-").partition("=")
        if word.startswith("-") and name in _FLAGS:
            given = following if following and not following.startswith("-") else "true"
            yield name, value if equals else given


def _configs(document: Document) -> Iterator[tuple[str, Any]]:
    """Yield the configs of a ConfigMap by key."""
    for key, text in part(document, "data").items():
        try:
            tree = next((one[0] for one in documents(str(text))), None)
        except UnreadableError:
            continue
        if found := config(tree):
            yield str(key), found
    for key, tree in part(document, "configs").items():
        if found := config(tree):
            yield str(key), found


def config(tree: Any) -> dict[str, Any]:
    """Return what is read of a plug-in's config; empty for what is none."""
    found = pruned(tree, _CONFIG) if isinstance(tree, dict) else {}
    known = ("flags", "sharing", "resourceList", "configList", "imex")
    return found if any(found.get(one) for one in known) or found.get("version") == "v1" else {}


def of_files(trees: Iterable[tuple[str, Any, Mapping[str, str]]]) -> Iterator[Document]:
    """Yield the objects of files; a bare config becomes a ConfigMap of its own.

    Args:
        trees: Name and content of each document, and the labels of the nodes that it is for.

    Raises:
        ValueError: Something is neither a config nor an object that is known.
    """
    for name, tree, labels in trees:
        found = reduced(tree) if isinstance(tree, dict) and "kind" in tree else None
        if found is None and (own := config(tree)):
            found = {"kind": "ConfigMap", "metadata": {"name": name}, "configs": {"": own}}
        if found is None:
            raise ValueError(
                f"{name}: no config of a device plug-in: expected one such as `version: v1` with "
                "`flags` or `sharing`, `resourceList`, `configList`, or an object with one: "
                "ConfigMap, DaemonSet, ClusterPolicy, GpuDevicePlugin or SriovNetworkNodePolicy"
            )
        yield {**found, "file": name, "labels": dict(labels)}
