"""What Volcano and KAI report of their queues, and what the pods of these hold."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from dragoman.inventory.facts.world import PodFact
from dragoman.inventory.inventory import Inventory
from dragoman.inventory.snapshots.queuekinds import KAI_LABEL
from dragoman.model.fields import part
from dragoman_toolkit.queues.amounts import amounts, nanos
from dragoman_toolkit.queues.facts import Document, Queues, key_of, labels_of
from dragoman_toolkit.queues.held import Code, Holders
from dragoman_toolkit.queues.managers import KAI, VOLCANO, Manager
from dragoman_toolkit.queues.usage import (
    Difference,
    Quota,
    Row,
    Rows,
    Side,
    is_device,
    manager_of,
    without_queue,
)


class VolcanoRows:
    """Rows of Volcano's queues."""

    def __init__(self, queues: Queues, inventory: Inventory, manager: Manager) -> None:
        self.queues = queues
        self.inventory = inventory
        self.manager = manager
        keys: set[str] = set()
        for queue in queues.volcano_queues.values():
            for found in (*_limits(queue), part(queue, "status", "allocated")):
                keys |= {str(key) for key in found}
        self.keys = frozenset(key for key in keys if is_device(key, manager))
        self.holders = Holders(inventory, manager, self.keys)
        self.made = Rows(VOLCANO)
        self.owners: dict[tuple[str, str], str] = {}  # Queue that a claim's device is HELD in

    def rows(self) -> Iterable[Row]:
        """Return all of them."""
        for name, queue in self.queues.volcano_queues.items():
            self._quota(name, queue)
        placed: defaultdict[str, list[PodFact]] = defaultdict(list)
        waiting: defaultdict[str, list[PodFact]] = defaultdict(list)
        beside: list[PodFact] = []
        for _, pod in sorted(self.inventory.world.pods.items()):
            group = self.queues.group_of(pod)
            if pod.pod.done:
                continue
            if group is None:
                beside.append(pod)
            else:
                (placed if pod.pod.node_name else waiting)[queue_of_group(group)].append(pod)
        for name in sorted(placed):
            for pod in placed[name]:
                self._holds(name, pod)
        self._waiting(waiting)
        self._beside(beside)
        return self.made.found.values()

    def _beside(self, pods: Iterable[PodFact]) -> None:
        """Count what is held in the queues' namespaces by pods of no queue."""
        names: defaultdict[str, set[str]] = defaultdict(set)
        for key, group in self.queues.pod_groups.items():
            names[key.partition("/")[0]].add(queue_of_group(group))
        for pod in pods:
            near = sorted(names.get(pod.pod.metadata.namespace, ()))
            if near and manager_of(self.queues, pod) in ("", VOLCANO):
                held = self.holders.of(pod)
                self.made.beside(near, held, Code.NO_QUEUE, without_queue(pod))

    def _quota(self, name: str, queue: Document) -> None:
        capability, deserved, guarantee = map(amounts, _limits(queue))
        charged = amounts(part(queue, "status").get("allocated"))
        for key in sorted({*capability, *deserved, *guarantee, *charged} & self.keys):
            row = self.made.of(name, key)
            row.charged = charged.get(key, 0)
            row.quota = Quota(
                capability.get(key), deserved=deserved.get(key), guarantee=guarantee.get(key)
            )

    def _holds(self, queue: str, pod: PodFact) -> None:
        for one in self.holders.of(pod):
            if not self.made.first(queue, one):
                continue
            place = one.key, f"{one.claim} {one.device}"
            owner = self.owners.setdefault(place, queue) if one.claim else queue
            subject = f"claim {one.claim}" if one.claim else pod.key
            code, side = one.code, Side.HELD
            if code is Code.ADMIN_ACCESS:
                side = Side.NEITHER
            elif owner != queue:
                # A claim of pods in several queues is charged in each, and held once.
                code, side = (Code.SHARED_CLAIM, Side.CHARGED) if code is None else (None, side)
            else:
                self.made.of(queue, one.key).held += one.amount
                if code is None and pod.pod.metadata.deleting:
                    code, subject = Code.EVICTED, pod.key
            if code is not None:
                self.made.add(queue, one.key, Difference(code, one.amount, subject, side))

    def _waiting(self, pods: Mapping[str, list[PodFact]]) -> None:
        seen: set[str] = set()
        for queue, found in pods.items():
            for pod in found:
                group = self.queues.group_of(pod)
                subject = key_of(group) if group else pod.key
                seen.add(subject)
                spec = part(pod.document, "spec")
                wanted = self.holders.wanted(pod.pod.metadata.namespace, spec)
                for key, amount in wanted.items():
                    if is_device(key, self.manager):
                        waits = self.made.of(queue, key).waiting
                        waits[subject] = waits.get(subject, 0) + amount
        for key, group in self.queues.pod_groups.items():
            pending = part(group, "status").get("phase") in (None, "", "Pending")
            if key in seen or not pending:
                continue
            for resource, amount in amounts(part(group, "spec").get("minResources")).items():
                name = resource.removeprefix("requests.")
                if is_device(name, self.manager):
                    self.made.of(queue_of_group(group), name).waiting[key] = amount


def queue_of_group(group: Document) -> str:
    """Return the queue of a PodGroup of Volcano."""
    return str(part(group, "spec").get("queue") or "default")


def _limits(queue: Document) -> tuple[Document, Document, Document]:
    """Return capability, deserved and guarantee of a Queue of Volcano."""
    spec = part(queue, "spec")
    return part(spec, "capability"), part(spec, "deserved"), part(spec, "guarantee", "resource")


_KAI_RESOURCE = "gpu"


def kai_rows(queues: Queues, inventory: Inventory, manager: Manager) -> Iterator[Row]:
    """Yield what KAI reports, with what is held beside it: nothing is computed for it."""
    held: defaultdict[str, int] = defaultdict(int)
    holders = Holders(inventory, manager, frozenset())
    seen: set[tuple[str, str]] = set()
    for pod in inventory.world.pods.values():
        name = str(labels_of(pod).get(KAI_LABEL) or "")
        for one in holders.of(pod) if name and not pod.pod.done else ():
            place = one.claim, one.device
            if one.code is Code.ADMIN_ACCESS or (one.claim and place in seen):
                continue
            seen.add(place)
            held[name] += one.amount
    for name, queue in queues.kai_queues.items():
        limit = part(queue, "spec", "resources", _KAI_RESOURCE)
        quota = limit.get("quota")
        unlimited = not isinstance(quota, int | float) or quota < 0
        status = amounts(part(queue, "status").get("allocated"))
        wanted = amounts(part(queue, "status").get("requested"))
        charged = sum(value for key, value in status.items() if _is_gpu(key))
        waits = sum(value for key, value in wanted.items() if _is_gpu(key)) - charged
        yield Row(
            KAI,
            name,
            _KAI_RESOURCE,
            Quota(None if unlimited else nanos(quota)),
            charged=charged,
            held=held[name],
            waiting={name: waits} if waits > 0 else {},
            computed=False,
        )


def _is_gpu(key: str) -> bool:
    return key == _KAI_RESOURCE or key.endswith("/gpu")
