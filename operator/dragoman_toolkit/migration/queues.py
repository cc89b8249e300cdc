"""Whether Kueue admits pods whose extended resources are served by DRA, or converted to claims.

Source: Kueue pkg/dra of v0.17 to v0.19.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from dragoman.inventory.snapshots.snapshot import Snapshot
from dragoman.model.fields import Document, part, parts
from dragoman_base.words import listed
from dragoman_toolkit.migration.losses import Code
from dragoman_toolkit.queues.facts import QUEUE_LABEL, key_of, name_of
from dragoman_toolkit.queues.managers import KUEUE, Manager, managers

KINDS = (
    *("clusterqueues.kueue.x-k8s.io", "localqueues.kueue.x-k8s.io"),
    *("deployments.apps", "configmaps"),
)
"""What is read for it, as plurals of snapshots."""
_PREFIX = "kueue.x-k8s.io/"


def queue_of(metadata: Document) -> str | None:
    """Return the LocalQueue of an object; empty where only that there is one is known."""
    labels, annotations = part(metadata, "labels"), part(metadata, "annotations")
    known = any(str(one).startswith(_PREFIX) for one in (*labels, *annotations))
    return str(labels.get(QUEUE_LABEL) or "") if known else None


@dataclass(frozen=True)
class Queues:
    """Kueue, as far as it can be read."""

    manager: Manager | None = None  # None in a cluster without Kueue
    # Resources that each ClusterQueue covers
    covers: Mapping[str, frozenset[str]] = field(default_factory=dict)
    locals: Mapping[str, str] = field(default_factory=dict)  # ClusterQueue by `namespace/name`

    @classmethod
    def of(cls, snapshot: Snapshot) -> "Queues":
        """Read objects."""
        covers = {
            name_of(one): frozenset(
                str(resource)
                for group in parts(one, "spec", "resourceGroups")
                if isinstance(covered := group.get("coveredResources"), list)
                for resource in covered
            )
            for one in snapshot.of(KINDS[0])
        }
        own = {
            key_of(one): str(part(one, "spec").get("clusterQueue") or "")
            for one in snapshot.of(KINDS[1])
        }
        return cls(managers(snapshot).get(KUEUE), covers, own)

    def served(
        self, resource: str, device_class: str, namespace: str, queue: str | None
    ) -> Iterator[tuple[Code, str]]:
        """Yield why Kueue does not admit a pod whose resource a class serves.

        Args:
            resource: That the pod asks for.
            device_class: That serves it.
            namespace: Of the pod.
            queue: Its LocalQueue; empty for one of the namespace, None for no queue.
        """
        if queue is None or self.manager is None or not self.manager.maps_resources:
            return
        charged = self.manager.charged_as(device_class)
        if charged is None:
            return
        if sources := (*charged.counters, *charged.capacities):
            yield (
                Code.KUEUE_COUNTERS,
                (
                    f"class {device_class} is charged by {listed(sources, 3)}, and Kueue rejects "
                    f"{resource} then"
                ),
            )
        lacking = sorted(
            name
            for name in self._queues(namespace, queue)
            if resource in (covers := self.covers.get(name, frozenset()))
            and charged.name not in covers
        )
        if charged.name != resource and lacking:
            yield (
                Code.KUEUE_KEY_CHANGES,
                (
                    f"Kueue charges {resource} as {charged.name} once class {device_class} serves "
                    f"it, which ClusterQueue {listed(lacking, 3)} does not cover"
                ),
            )

    def _queues(self, namespace: str, queue: str) -> set[str]:
        """Return the ClusterQueues that a pod may be charged to."""
        if queue and (found := self.locals.get(f"{namespace}/{queue}")):
            return {found}
        own = {name for key, name in self.locals.items() if key.startswith(f"{namespace}/")}
        return own or {*self.covers}

    def converted(self, device_class: str, spec: Document) -> Iterator[tuple[Code, str]]:
        """Yield why Kueue does not admit a pod with a claim of a class in place of limits."""
        if self.manager is None:
            return
        if self.manager.configured and device_class not in self.manager.classes:
            yield (
                Code.KUEUE_NOT_MAPPED,
                f"class {device_class} is not in deviceClassMappings, so that Kueue "
                + ("rejects its claims" if self.manager.refuses else "does not charge its claims"),
            )
        found = (one.get("resourceClaimName") for one in parts(spec, "resourceClaims"))
        names = [str(one) for one in found if one]
        if names and self.manager.refuses:
            yield (
                Code.KUEUE_CLAIM_REF,
                f"it names claim {listed(names, 3)}, and Kueue charges claims of templates alone",
            )
