"""Which version of a queue manager runs, which of its gates are on, and what it charges.

Sources: Kueue pkg/features/kube_features.go and pkg/dra/claims.go of v0.14 to v0.19; Volcano
pkg/scheduler/plugins/capacity of v1.15.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from dragoman.inventory.snapshots.queuekinds import MANAGERS
from dragoman.inventory.snapshots.snapshot import Snapshot
from dragoman.model.fields import part, parts
from dragoman_base.files import UnreadableError
from dragoman_base.files.yamltext import read
from dragoman_toolkit.queues.amounts import amounts, quantity_text

Document = Mapping[str, Any]
Version = tuple[int, int]

KUEUE, VOLCANO, KAI = "kueue", "volcano", "kai"
TITLES: Mapping[str, str] = {KUEUE: "Kueue", VOLCANO: "Volcano", KAI: "KAI"}
_CONFIGS = ("controller_manager_config.yaml", "volcano-scheduler.conf")
_DEPLOYMENTS = {"kueue-controller-manager": KUEUE, "volcano-scheduler": VOLCANO}
_VERSION = re.compile(r"v?(\d{1,4})\.(\d{1,4})")


@dataclass(frozen=True, slots=True)
class Mapped:
    """The name under which Kueue charges a DeviceClass."""

    name: str  # Key of the quota
    counters: tuple[str, ...] = ()  # Counters whose values are charged in place of devices
    capacities: tuple[str, ...] = ()  # Capacities whose requests are charged in place of devices


@dataclass(frozen=True, slots=True)
class Manager:
    """A queue manager, as far as it can be read."""

    name: str  # `kueue`, `volcano` or `kai`
    version: Version | None = None  # None where its Deployment was not read
    gates: Mapping[str, bool] = field(default_factory=dict)  # As its configuration sets them
    classes: Mapping[str, Mapped] = field(default_factory=dict)  # Kueue: by DeviceClass
    configured: bool = False  # Whether its configuration was read
    # Kueue: by extended resource, what is charged for one of it, in units of 10^-9
    transformed: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    excluded: tuple[str, ...] = ()  # Kueue: prefixes of resources that are not charged

    def _gate(self, since: Mapping[Version, tuple[str, bool]]) -> bool | None:
        """Return whether a gate is on, which versions name and default differently.

        Args:
            since: Name and default by the first version that has them.
        """
        if self.version is None:
            return None
        known = [one for version, one in sorted(since.items()) if version <= self.version]
        name, default = known[-1] if known else ("", False)
        return self.gates.get(name, default)

    @property
    def charges_claims(self) -> bool | None:
        """Whether claims are charged; None where the version is not known."""
        if self.name == VOLCANO:
            return self._gate({(1, 15): ("capacity.DynamicResourceAllocationEnable", True)})
        return self._gate(
            {
                (0, 14): ("DynamicResourceAllocation", False),
                (0, 18): ("KueueDRAIntegration", True),
            }
        )

    @property
    def refuses(self) -> bool:
        """Whether what is not charged waits indefinitely, rather than being admitted."""
        return self.name == KUEUE and self.version is not None and self.version >= (0, 18)

    @property
    def maps_resources(self) -> bool | None:
        """Whether an extended resource is charged under the name of its class."""
        return self._gate(
            {
                (0, 17): ("DRAExtendedResources", False),
                (0, 18): ("KueueDRAIntegrationExtendedResource", False),
                (0, 19): ("KueueDRAIntegrationExtendedResource", True),
            }
        )

    @property
    def charges_dimensions(self) -> bool:
        """Whether Volcano charges what claims consume of a capacity."""
        return self.gates.get("capacity.DRAConsumableCapacityEnable", False)

    def charged_as(self, device_class: str) -> Mapped | None:
        """Return what Kueue charges for a class, with the sources whose gates are on."""
        found = self.classes.get(device_class)
        if found is None:
            return None
        partitions = self._gate(
            {
                (0, 18): ("KueueDRAIntegrationPartitionableDevices", False),
                (0, 19): ("KueueDRAIntegrationPartitionableDevices", True),
            }
        )
        shares = self.gates.get("KueueDRAIntegrationConsumableCapacity", False)
        return Mapped(
            found.name,
            found.counters if partitions is not False else (),
            found.capacities if shares else (),
        )

    def notes(self) -> Iterator[str]:
        """Yield what users have to know of this version."""
        title = TITLES[self.name]
        for name, found in sorted(self.transformed.items()):
            charged = " and ".join(f"{quantity_text(each)} of {key}" for key, each in found.items())
            yield f"{name} is renamed by a transformation: one is charged as {charged or 'nothing'}"
        if self.name == KAI:
            yield "KAI's quotas are shown as it reports them; nothing is computed for them"
        elif self.version is None:
            yield (
                f"the version of {title} is not known: reasons are left out where they depend on it"
            )
        elif self.charges_claims is False and self.name == KUEUE:
            known = "KueueDRAIntegration" if self.refuses else "DynamicResourceAllocation"
            why = f"{known} is off" if self.version >= (0, 14) else "it can since v0.14"
            yield f"Kueue v{self.version[0]}.{self.version[1]} does not charge claims ({why})"
        elif self.charges_claims is False:
            version = f"v{self.version[0]}.{self.version[1]}"
            yield f"Volcano {version} does not charge claims (since v1.15, by its capacity plug-in)"


def managers(snapshot: Snapshot) -> dict[str, Manager]:
    """Return the queue managers that have queues, by name."""
    found = {}
    for key in ("clusterqueues.kueue.x-k8s.io", "queues.scheduling.volcano.sh"):
        name = MANAGERS[key.partition(".")[2]]
        if snapshot.of(key) or any(one.plural == key for one in snapshot.unseen):
            found[name] = _manager(snapshot, name)
    if snapshot.of("queues.scheduling.run.ai"):
        found[KAI] = Manager(KAI)
    return found


def _manager(snapshot: Snapshot, name: str) -> Manager:
    version: Version | None = None
    gates: dict[str, bool] = {}
    for one in snapshot.of("deployments.apps"):
        if _DEPLOYMENTS.get(str(part(one, "metadata").get("name") or "")) == name:
            version = _version(one) or version
            gates |= dict(_arguments(one))
    config = next(
        (
            _tree(str(text))
            for one in snapshot.of("configmaps")
            for key, text in part(one, "data").items()
            if key == _CONFIGS[name == VOLCANO]
        ),
        {},
    )
    if name == VOLCANO:
        gates |= _volcano_arguments(config)
        if config and not _plugins(config).get("capacity"):
            gates["capacity.DynamicResourceAllocationEnable"] = False
        return Manager(name, version, gates, configured=bool(config))
    chosen = part(config, "featureGates")
    gates = {**{str(key): value is True for key, value in chosen.items()}, **gates}
    excluded = tuple(map(str, _listed(part(config, "resources"), "excludeResourcePrefixes")))
    renamed = dict(_transformations(config))  # after others are excluded: workload.go
    return Manager(
        *(name, version, gates, dict(_mappings(config)), bool(config)),
        transformed={one: renamed[one] for one in renamed if not one.startswith(excluded)},
        excluded=excluded,
    )


def _transformations(config: Document) -> Iterator[tuple[str, dict[str, int]]]:
    """Yield what Kueue charges for one of a resource; without a strategy it is retained."""
    for one in parts(config, "resources", "transformations"):
        name = str(one.get("input") or "")
        kept = {} if one.get("strategy") == "Replace" else {name: 10**9}
        yield name, {**kept, **amounts(one.get("outputs"))}


def _tree(text: str) -> Document:
    """Return a configuration; empty where it is none that can be read."""
    try:
        tree = next((found[0] for found in read(text)), None)
    except UnreadableError:
        return {}
    return tree if isinstance(tree, Mapping) else {}


def _version(deployment: Document) -> Version | None:
    """Return the version of a Deployment: its label, else the tag of its image."""
    labels = part(part(deployment, "metadata"), "labels")
    texts = [str(labels.get("app.kubernetes.io/version") or "")]
    texts += [str(one.get("image") or "").partition("@")[0] for one in _containers(deployment)]
    for text in texts:
        tag = text.rpartition(":")[2] if "/" in text or ":" in text else text
        if found := _VERSION.match(tag):
            return int(found[1]), int(found[2])
    return None


def _containers(deployment: Document) -> list[Document]:
    return [*parts(deployment, "spec", "template", "spec", "containers")]


def _arguments(deployment: Document) -> Iterator[tuple[str, bool]]:
    """Yield the gates of `--feature-gates`."""
    for container in _containers(deployment):
        words = [*map(str, _listed(container, "args")), ""]
        for one, following in pairwise(words):
            flag, equals, gates = one.partition("=")
            if flag == "--feature-gates":
                gates = gates if equals else following
                for gate in gates.split(","):
                    key, _, value = gate.partition("=")
                    yield key, value.lower() == "true"


def _mappings(config: Document) -> Iterator[tuple[str, Mapped]]:
    for one in parts(config, "resources", "deviceClassMappings"):
        sources = parts(one, "sources")
        mapped = Mapped(
            str(one.get("name") or ""),
            tuple(str(part(s, "counter").get("name")) for s in sources if "counter" in s),
            tuple(str(part(s, "capacity").get("name")) for s in sources if "capacity" in s),
        )
        for device_class in _listed(one, "deviceClassNames"):
            yield str(device_class), mapped


def _listed(document: Document, field: str) -> list[Any]:
    """Return a list; empty for what is none."""
    found = document.get(field)
    return found if isinstance(found, list) else []


def _plugins(config: Document) -> dict[str, Document]:
    return {
        str(plugin.get("name")): plugin
        for tier in parts(config, "tiers")
        for plugin in parts(tier, "plugins")
    }


def _volcano_arguments(config: Document) -> dict[str, bool]:
    capacity = _plugins(config).get("capacity") or {}
    return {
        str(key): str(value).lower() == "true" for key, value in part(capacity, "arguments").items()
    }
