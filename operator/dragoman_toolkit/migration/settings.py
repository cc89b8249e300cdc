"""What the configs of device plug-ins say: which pods share devices, and what ends with them.

A node's own facts come first, then --plugin-config, then flags of the plug-in, which beat its file,
then the ConfigMap that it names. Sources: NVIDIA/k8s-device-plugin api/config/v1 and its
config-manager, NVIDIA/gpu-operator ClusterPolicy, intel-device-plugins-for-kubernetes,
sriov-network-device-plugin, sriov-network-operator and k8s-rdma-shared-dev-plugin.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from dragoman.model.fields import NOTHING, Document, part, parts
from dragoman_base.words import listed
from dragoman_toolkit.migration.companions import MULTUS, Companions
from dragoman_toolkit.migration.counterparts import SHARED
from dragoman_toolkit.migration.losses import Code

CONFIG_LABEL = "nvidia.com/device-plugin.config"
"""Label of nodes that names the key of the plug-in's ConfigMap."""
_NVIDIA, _INTEL, _SRIOV, _RDMA = "nvidia.com", "gpu.intel.com", "intel.com", "rdma"
_MOUNTS = {"gdrcopyEnabled": "GDRCopy", "gdsEnabled": "GPUDirect Storage", "mofedEnabled": "MOFED"}
_NO_COUNTERPART = (
    *("linkTypes", "ddpProfiles", "pKeys", "needVhostNet", "vdpaType", "isRdma"),
    *("auxTypes", "acpiIndexes"),
)
"""Fields of the SR-IOV device plug-in that the driver lacks."""
_FILTERS = ("vendors", "devices", "pfNames", "pciAddresses", "rootDevices")
"""Fields of it that SriovResourcePolicy has as well."""
_MOST = 10**6


@dataclass(frozen=True, slots=True)
class Share:
    """How pods share devices of a resource."""

    replicas: int  # Pods a device
    strategy: str  # `time-slicing`, `mps`, `shared-dev-num` or `rdmaHcaMax`


@dataclass(frozen=True)
class Config:
    """What one config says, for the nodes that it is for."""

    origin: str  # Such as `ConfigMap gpu-operator/plugin, key a100`
    prefix: str  # Of the plug-in's resources
    labels: Mapping[str, str] = field(default_factory=dict)  # That its nodes have
    mig: str = ""  # NVIDIA's `migStrategy`
    shares: Mapping[str, Share] = field(default_factory=dict)  # By resource
    codes: Mapping[Code, str] = field(default_factory=dict)  # Further losses, with a sentence each
    of: str = ""  # The resource that `codes` are about; all of the prefix without
    keyed: tuple[str, str, str] = ("", "", "")  # ConfigMap, its key, and the key without a label

    def uses(self, labels: Document) -> bool:
        """Whether a node with these labels uses it."""
        if any(str(labels.get(key)) != value for key, value in self.labels.items()):
            return False
        _, key, default = self.keyed
        return not key or (str(labels.get(CONFIG_LABEL) or "") or default) == key


@dataclass(frozen=True, slots=True)
class Pool:
    """Devices that the SR-IOV device plug-in calls by one resource."""

    name: str  # Of the resource, without its prefix
    prefix: str  # Empty where any is meant
    filters: tuple[Mapping[str, tuple[str, ...]], ...]  # Each with names of SriovResourcePolicy
    lost: tuple[str, ...]  # Fields without a counterpart
    nodes: Mapping[str, str] = field(default_factory=dict)  # Labels of its nodes

    def publishes(self, resource: str) -> bool:
        """Whether a resource is of this pool."""
        prefix, _, name = resource.partition("/")
        return name == self.name and self.prefix in ("", prefix)


@dataclass(frozen=True)
class Settings:
    """Everything that configs say."""

    configs: tuple[Config, ...] = ()  # The first that says something decides
    pools: tuple[Pool, ...] = ()
    multus: frozenset[str] = frozenset()  # Resources that NetworkAttachmentDefinitions name
    missing: Mapping[str, Sequence[str]] = field(default_factory=dict)  # Keys of each ConfigMap

    @classmethod
    def of(cls, companions: Companions) -> "Settings":
        """Read objects."""
        reader = _Reader(companions)
        nets = companions.of("NetworkAttachmentDefinition")
        names = (str(part(one, "metadata", "annotations").get(MULTUS) or "") for one in nets)
        configs = tuple(reader.configs())
        return cls(
            configs,
            tuple(_told_apart([*reader.pools()])),
            frozenset(names) - {""},
            {one.keyed[0]: reader.keys[one.keyed[0]] for one in configs if one.keyed[0]},
        )

    def on(self, labels: Document) -> tuple[Config, ...]:
        """Return the configs that a node with these labels uses."""
        key = tuple(str(labels.get(one) or "") for one in self._relevant)
        if key not in self._known:
            self._known[key] = tuple(one for one in self.configs if one.uses(labels))
        return self._known[key]

    @cached_property
    def _relevant(self) -> tuple[str, ...]:
        return tuple(sorted({CONFIG_LABEL, *(key for one in self.configs for key in one.labels)}))

    @cached_property
    def _known(self) -> dict[tuple[str, ...], tuple[Config, ...]]:
        return {}

    def mig(self, labels: Document) -> str:
        """Return NVIDIA's `migStrategy` on a node; empty where nothing says it."""
        told = (one.mig for one in self.on(labels))
        return str(labels.get("nvidia.com/mig.strategy") or next(filter(None, told), ""))

    def share(self, resource: str, labels: Document) -> Share | None:
        """Return how pods share a resource on a node; None where each device has one pod."""
        if (own := _labelled(resource, labels)) is not None:
            return own if own.replicas > 1 else None
        return self.configured(resource, labels)[0]

    def configured(self, resource: str, labels: Document) -> tuple[Share | None, str]:
        """Return what configs say of sharing on a node, and which one does."""
        for one in self.on(labels):
            if found := one.shares.get(resource):
                return found, one.origin
        return None, ""

    def disagreement(self, resource: str, labels: Document) -> str:
        """Say what a node and its config say differently; empty where they do not."""
        own, (told, origin) = _labelled(resource, labels), self.configured(resource, labels)
        if own is None or told is None or own.replicas == told.replicas:
            return ""
        return (
            f"its labels say that {own.replicas} pods share each device of {resource}, {origin} "
            f"says {told.replicas}: the labels decide"
        )

    def codes(self, resource: str, labels: Document) -> Iterator[tuple[Code, str]]:
        """Yield what else ends for a resource on a node, with a sentence each."""
        prefix = resource.partition("/")[0]
        for one in self.on(labels):
            if one.prefix == prefix and one.of in ("", resource):
                yield from one.codes.items()

    def pool(self, resource: str) -> Pool | None:
        """Return what all SR-IOV pools of a resource select and lose."""
        found = [one for one in self.pools if one.publishes(resource)]
        if not found:
            return None
        filters = dict.fromkeys(tuple(one.items()) for pool in found for one in pool.filters)
        lost = {one for pool in found for one in pool.lost}
        return replace(found[0], filters=tuple(map(dict, filters)), lost=tuple(sorted(lost)))

    def unconfigured(self, labels: Document) -> str:
        """Return the ConfigMap that lacks the key which a node names; empty for none."""
        key = str(labels.get(CONFIG_LABEL) or "")
        lacking = [name for name, keys in self.missing.items() if key not in keys]
        return lacking[0] if key and lacking and len(lacking) == len(self.missing) else ""

    @cached_property
    def shared(self) -> frozenset[str]:
        """Resources by which any number of pods use RDMA devices."""
        return frozenset(
            name
            for one in self.configs
            for name, share in one.shares.items()
            if share.strategy == "rdmaHcaMax"
        )


NOTHING_SAID = Settings()
"""Where there are no configs."""


def _labelled(resource: str, labels: Document) -> Share | None:
    """Return how a node shares a resource by labels of gpu-feature-discovery; None without any."""
    if not resource.startswith(f"{_NVIDIA}/"):
        return None
    base = resource.removesuffix(SHARED)
    text = str(labels.get(f"{base}.replicas") or "")
    if not (text.isascii() and text.isdigit() and len(text) < 7):
        return None
    strategy = str(labels.get(f"{base}.sharing-strategy") or "")
    return Share(max(int(text), 1), "mps" if strategy == "mps" else "time-slicing")


@dataclass(frozen=True)
class _Reader:
    """Reads configs and pools out of objects."""

    companions: Companions

    def configs(self) -> Iterator[Config]:
        """Yield configs, those that decide first."""
        named = list(self._named)
        for one in self.companions.files:
            labels = {**part(one, "labels")}
            origin = _origin(one)
            if one.get("kind") == "ConfigMap":
                configs = part(one, "configs")
                for key, tree in configs.items():
                    keyed = (origin, key, _default(configs)) if key else ("", "", "")
                    text = f"{origin}, key {key}" if key else origin
                    yield from _of_tree(tree, text, labels, keyed)
            else:
                yield from self._flags(one, origin, labels)
        for one in self.companions.objects:
            yield from self._flags(one, _origin(one), {})
        for one in self._maps:
            name, origin = str(part(one, "metadata").get("name")), _origin(one)
            configs = part(one, "configs")
            known = [(default, falls) for found, default, falls in named if found == name]
            default = next((one for one, _ in known if one), "")
            default = default or (_default(configs) if all(falls for _, falls in known) else "")
            for key, tree in configs.items():
                yield from _of_tree(tree, f"{origin}, key {key}", {}, (origin, key, default))

    @cached_property
    def _maps(self) -> list[Document]:
        return [one for one in self.companions.objects if one.get("kind") == "ConfigMap"]

    @cached_property
    def keys(self) -> Mapping[str, Sequence[str]]:
        """Return the keys of NVIDIA's configs by their ConfigMap or file."""
        found: dict[str, list[str]] = {}
        for one in (*self._maps, *self.companions.files):
            found.setdefault(_origin(one), []).extend(part(one, "configs"))
        return found

    @property
    def _named(self) -> Iterator[tuple[str, str, bool]]:
        """Yield ConfigMaps of plug-ins: their names, default keys, and whether others stand in."""
        for one in self.companions.of("ClusterPolicy"):
            config = part(one, "spec", "devicePlugin", "config")
            yield str(config.get("name") or ""), str(config.get("default") or ""), False
        for one in self.companions.of("DaemonSet"):
            spec = part(one, "spec", "template", "spec")
            told = dict(_environment(spec))
            falls = "empty" not in told.get("FALLBACK_STRATEGIES", "")
            for volume in parts(spec, "volumes"):
                if name := part(volume, "configMap").get("name"):
                    yield str(name), told.get("DEFAULT_CONFIG", ""), falls

    def _flags(self, one: Document, origin: str, labels: Mapping[str, str]) -> Iterator[Config]:
        """Yield what flags, environment and fields of an object say."""
        spec = part(one, "spec")
        match one.get("kind"):
            case "DaemonSet":
                pod = part(spec, "template", "spec")
                where = {**labels, **_texts(part(pod, "nodeSelector"))}
                prefix = _vendor(pod)
                flags = dict((*_environment(pod), *_arguments(pod)))
                if prefix == _NVIDIA:
                    yield _nvidia(_from_flags(flags), origin, where)
                elif prefix == _INTEL:
                    number = flags.get("shared-dev-num", "")
                    yield _intel(number, flags.get("allocation-policy", ""), origin, where)
            case "ClusterPolicy":
                plugin = part(spec, "devicePlugin")
                pairs = [_pair(entry) for entry in parts(plugin, "env")]
                flags = {"mig-strategy": str(part(spec, "mig").get("strategy") or "")}
                for name in ("gds", "gdrcopy"):
                    flags[f"{name}-enabled"] = str(part(spec, name).get("enabled")).lower()
                yield _nvidia(_from_flags({**flags, **dict(pairs)}), origin, labels)
            case "GpuDevicePlugin":
                where = {**labels, **_texts(part(spec, "nodeSelector"))}
                policy = str(spec.get("preferredAllocationPolicy") or "")
                yield _intel(str(spec.get("sharedDevNum")), policy, origin, where)

    def pools(self) -> Iterator[Pool]:
        """Yield SR-IOV pools."""
        prefixes = [
            dict(_arguments(part(one, "spec", "template", "spec"))).get("resource-prefix", "")
            for one in self.companions.of("DaemonSet")
        ]
        prefix = next(filter(None, prefixes), _SRIOV)
        for one in self.companions.of("ConfigMap"):
            for tree in part(one, "configs").values():
                for row in parts(tree, "resourceList"):
                    found = row.get("selectors")
                    several = found if isinstance(found, list) else [found or {}]
                    own = str(row.get("resourcePrefix") or prefix)
                    more = {"deviceType": row.get("deviceType")}
                    yield _pool(str(row.get("resourceName")), own, several, more)
        for one in self.companions.of("SriovNetworkNodePolicy"):
            spec = part(one, "spec")
            nic = part(spec, "nicSelector")
            selector = {
                "vendors": [nic["vendor"]] if nic.get("vendor") else [],
                "devices": [nic["deviceID"]] if nic.get("deviceID") else [],
                **{key: nic.get(key) or [] for key in ("pfNames", "rootDevices")},
                "linkTypes": [nic["netFilter"]] if nic.get("netFilter") else [],
            }
            yield _pool(
                str(spec.get("resourceName")),
                "",
                [selector],
                {key: spec.get(key) for key in ("isRdma", "needVhostNet", "vdpaType")},
                _texts(part(spec, "nodeSelector")),
            )


def _pool(
    name: str,
    prefix: str,
    selectors: Iterable[Any],
    more: Mapping[str, Any],
    nodes: Mapping[str, str] = NOTHING,
) -> Pool:
    filters, lost = [], {key for key in _NO_COUNTERPART if more.get(key)}
    if more.get("deviceType") in ("accelerator", "auxNetDevice"):
        lost.add(f"deviceType {more['deviceType']}")
    for one in selectors:
        fields = one if isinstance(one, dict) else {}
        lost |= {key for key in _NO_COUNTERPART if fields.get(key)}
        filters.append(
            {
                key: tuple(map(str, found))
                for key in _FILTERS
                if isinstance(found := fields.get(key), list) and found
            }
        )
        if not filters[-1] and fields.get("drivers"):
            lost.add("drivers")
    return Pool(name, prefix, tuple(filters), tuple(sorted(lost)), nodes)


def _told_apart(pools: Sequence[Pool]) -> Iterator[Pool]:
    """Yield pools; those whose kernel drivers alone tell them from others lose that field."""
    for one in pools:
        alike = len(pools) > 1_000 or any(  # Of more pools each counts as like another
            one.filters == other.filters
            and (one.name, one.prefix) != (other.name, other.prefix)
            and not (one.nodes and other.nodes and one.nodes != other.nodes)
            for other in pools
        )
        yield replace(one, lost=tuple(sorted({*one.lost, *["drivers"] * alike})))


def _of_tree(
    tree: Document, origin: str, labels: Mapping[str, str], keyed: tuple[str, str, str]
) -> Iterator[Config]:
    for row in parts(tree, "configList"):
        name = f"{row.get('resourcePrefix') or _RDMA}/{row.get('resourceName')}"
        most = _number(row.get("rdmaHcaMax"))
        shares = {name: Share(most, "rdmaHcaMax")}
        yield Config(origin, name.partition("/")[0], labels, shares=shares)
    if any(key in tree for key in ("version", "flags", "sharing", "imex")):
        yield _nvidia(tree, origin, labels, keyed)


def _nvidia(
    tree: Document,
    origin: str,
    labels: Mapping[str, str],
    keyed: tuple[str, str, str] = ("", "", ""),
) -> Config:
    """Read a config of NVIDIA's plug-in."""
    flags, codes = part(tree, "flags"), {}
    shares: dict[str, Share] = {}
    for key, strategy in (("mps", "mps"), ("timeSlicing", "time-slicing")):
        sharing = part(tree, "sharing", key)
        rows = parts(sharing, "resources")
        for row in rows:
            name = str(row.get("name") or "")
            name = name if "/" in name else f"{_NVIDIA}/{name}"
            number = _number(row.get("replicas"))
            if number > 1:
                suffix = SHARED if sharing.get("renameByDefault") is True else ""
                shares.setdefault(name + suffix, Share(number, strategy))
        fails = sharing.get("failRequestsGreaterThanOne")
        if rows and (fails is True or (key == "mps" and fails is not False)):
            codes[Code.GREATER_THAN_ONE_ALLOWED] = (
                "pods that ask for more than one shared device are rejected today, and run with DRA"
            )
    if mounts := [title for flag, title in _MOUNTS.items() if flags.get(flag) is True]:
        codes[Code.EXTRA_MOUNTS] = f"the plug-in puts {listed(mounts, 3)} into containers"
    channels = part(tree, "imex").get("channelIDs")
    if isinstance(channels, list) and channels:
        codes[Code.IMEX] = "the plug-in puts IMEX channels into containers"
    strategies = part(flags, "plugin").get("deviceListStrategy") or []
    strategies = strategies if isinstance(strategies, list) else [strategies]
    if strategies and not any(str(one).startswith("cdi") for one in strategies):
        names = listed([*map(str, strategies)], 3)
        codes[Code.CDI_NEEDED] = f"devices are injected by {names} today, with DRA by CDI alone"
    if policy := part(flags, "plugin").get("sharedDevicesAllocationPolicy"):
        codes[Code.SPREADING] = f"the plug-in chooses among shared devices: {policy}"
    mig = str(flags.get("migStrategy") or "")
    return Config(origin, _NVIDIA, labels, mig, shares, codes, keyed=keyed)


def _from_flags(flags: Mapping[str, str]) -> dict[str, Any]:
    """Return flags of NVIDIA's plug-in, or their environment variables, in the form of a config."""
    found = {key.lower().replace("_", "-"): value for key, value in flags.items()}
    mounts = {
        flag: True
        for flag in _MOUNTS
        if found.get(f"{flag.removesuffix('Enabled')}-enabled", "").lower() in ("true", "1")
    }
    listing = [one for one in found.get("device-list-strategy", "").split(",") if one]
    channels = [one for one in found.get("imex-channel-ids", "").split(",") if one]
    policy = found.get("shared-devices-allocation-policy", "")
    return {
        "flags": {
            "migStrategy": found.get("mig-strategy", ""),
            **mounts,
            "plugin": {"deviceListStrategy": listing, "sharedDevicesAllocationPolicy": policy},
        },
        "imex": {"channelIDs": channels},
    }


def _intel(number: str, policy: str, origin: str, labels: Mapping[str, str]) -> Config:
    replicas, codes = _number(number), {}
    shares = {}
    if replicas > 1:
        names = (f"{_INTEL}/i915", f"{_INTEL}/xe")
        shares = dict.fromkeys(names, Share(replicas, "shared-dev-num"))
        if policy and policy != "none":
            codes[Code.SPREADING] = f"the plug-in chooses among shared devices: {policy}"
    return Config(origin, _INTEL, labels, shares=shares, codes=codes)


def _vendor(pod: Document) -> str:
    """Return the prefix of the resources of the plug-in that a pod runs; empty for no plug-in."""
    for one in parts(pod, "containers"):
        image = str(one.get("image") or "").partition("@")[0].lower()
        name = image.rpartition("/")[2].partition(":")[0]
        if name == "k8s-device-plugin":
            return "amd.com" if "rocm" in image or "amd" in image else _NVIDIA
        for last, prefix in _IMAGES.items():
            if name.endswith(last):
                return prefix
    return ""


_IMAGES = {
    "intel-gpu-plugin": _INTEL,
    "sriov-network-device-plugin": _SRIOV,
    "k8s-rdma-shared-dev-plugin": _RDMA,
}
PLUGIN = re.compile(r"(?:device|gpu|dev)-plugin(?:[:@]|\Z)")
"""In the image of a device plug-in."""


def _origin(one: Document) -> str:
    """Return where a config is from: its file, or kind, namespace and name."""
    found = (part(one, "metadata").get(key) for key in ("namespace", "name"))
    return str(one.get("file") or f"{one.get('kind')} {'/'.join(map(str, filter(None, found)))}")


def _default(configs: Document) -> str:
    """Return the key of nodes without a label where none is named: `default`, or the only one."""
    return "default" if "default" in configs else next(iter(configs)) if len(configs) == 1 else ""


def _environment(pod: Document) -> list[tuple[str, str]]:
    found = [one for kind in ("initContainers", "containers") for one in parts(pod, kind)]
    return [_pair(entry) for one in found for entry in parts(one, "env")]


def _pair(entry: Document) -> tuple[str, str]:
    return str(entry.get("name") or ""), str(entry.get("value") or "")


def _arguments(pod: Document) -> Iterator[tuple[str, str]]:
    """Yield flags without their dashes, as `companions` keeps them."""
    for one in parts(pod, "containers"):
        for word in one.get("args") or ():
            name, _, value = str(word).lstrip("-").partition("=")
            yield name, value


def _number(value: Any) -> int:
    text = str(value)
    good = text.isascii() and text.isdigit() and len(text) < len(str(_MOST))
    return max(int(text), 1) if good else 1


def _texts(labels: Document) -> dict[str, str]:
    return {str(key): str(value) for key, value in labels.items()}
