"""A cluster, and the keys that its changes wake."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from dragoman.cluster.cluster import ClusterStores
from dragoman.controllers.claims.enqueue import EventHandlers, ObjectKey, lane
from dragoman.controllers.claims.othercontroller import OtherController
from dragoman.kube.workqueue import WorkQueue
from dragoman.model.claim import Claim
from dragoman.model.pod import Pod
from dragoman.model.podgroup import PodGroup
from dragoman.model.template import Template
from tests.unit.dragoman.claims.objects import Object, fact
from tests.unit.dragoman.controllers.claims.simulation import SERVED

Fact = Pod | Claim | Template | PodGroup


class Collected(WorkQueue[ObjectKey]):
    """Keeps what is added."""

    def __init__(self) -> None:
        super().__init__("test", lane)
        self.keys: set[ObjectKey] = set()

    def add(self, key: ObjectKey) -> None:
        self.keys.add(key)


@dataclass
class Waking:
    """A cluster, and the keys that it woke."""

    cluster: ClusterStores
    intake: EventHandlers
    queue: Collected

    def tell(self, kind: str, found: Object | Fact) -> set[ObjectKey]:
        """Tell of an object that was `changed` or `deleted`; returns the keys."""
        self.queue.keys.clear()
        known = fact(found) if isinstance(found, Object) else found
        names = {Pod: "pods", Claim: "claims", Template: "templates", PodGroup: "groups"}
        informer = getattr(self.cluster, names[type(known)])
        take: Callable[[Fact], None] = getattr(informer, kind)
        take(known)
        return set(self.queue.keys)


def waking(*before: Object) -> Waking:
    """Return a cluster that has these objects, and has settled."""
    client: Any = None
    cluster, queue = ClusterStores(client, SERVED), Collected()
    other = OtherController(cluster.state, lambda _: None, lambda *_: None)
    made = Waking(cluster, EventHandlers(cluster.state, queue, other), queue)
    made.intake.observe(cluster)
    for found in before:
        made.tell("changed", found)
    return made


def later(found: Object) -> Object:
    """Return the object at a later version."""
    return found.changed("metadata", "resourceVersion", to="2")


def stub(found: Object) -> Object:
    """Return what is left of an object that vanished during an outage."""
    whole = found.document
    kept = {key: whole["metadata"][key] for key in ("name", "namespace", "uid")}
    document = {"apiVersion": whole["apiVersion"], "kind": whole["kind"], "metadata": kept}
    return Object(document)
