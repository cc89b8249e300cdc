"""What Kueue charges its ClusterQueues, and what the pods of their workloads hold."""

from collections import defaultdict
from collections.abc import Iterable

from dragoman.inventory.facts.world import PodFact
from dragoman.inventory.inventory import Inventory
from dragoman.model.fields import part, parts
from dragoman_toolkit.queues.amounts import amounts, nanos
from dragoman_toolkit.queues.cohorts import Cohorts, cohort_of, flavors, reserved
from dragoman_toolkit.queues.facts import Document, PodSet, Queues, Workload
from dragoman_toolkit.queues.held import Code, Held, Holders
from dragoman_toolkit.queues.managers import KUEUE, Manager
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

_OF_CLAIMS = (Code.ALTERNATIVES, Code.ALL_DEVICES, Code.CLAIM_BY_NAME)


class KueueRows:
    """Rows of Kueue's ClusterQueues."""

    def __init__(self, queues: Queues, inventory: Inventory, manager: Manager) -> None:
        self.queues = queues
        self.inventory = inventory
        keys = {
            str(resource.get("name"))
            for queue in queues.cluster_queues.values()
            for group in parts(queue, "spec", "resourceGroups")
            for flavor in parts(group, "flavors")
            for resource in parts(flavor, "resources")
        }
        charged = {
            key
            for one in queues.workloads.values()
            for podset in one.podsets
            for key in podset.charged
        }
        self.keys = frozenset(key for key in keys | charged if is_device(key, manager))
        self.holders = Holders(inventory, manager, self.keys)
        self.manager = manager
        self.made = Rows(KUEUE)
        self.cohorts = Cohorts(queues)
        self.pods = queues.pods

    def rows(self) -> Iterable[Row]:
        """Return all of them."""
        for name, queue in self.queues.cluster_queues.items():
            self._quota(name, queue)
        for workload in self.queues.workloads.values():
            admitted = str(workload.admission.get("clusterQueue") or "")
            if admitted and not workload.finished:
                self._admitted(admitted, workload)
            else:
                name = admitted or self.queues.cluster_queue(workload.queue)
                for podset in workload.podsets if name else ():
                    for pod in self._started(workload, podset):
                        self._uncharged(name, pod, Code.EVICTED, workload.subject)
                if workload.waits and name:
                    self._waiting(name, workload)
        self._beside()
        return self.made.found.values()

    def _quota(self, name: str, queue: Document) -> None:
        charged, nominal = reserved(queue), dict(flavors(queue))
        local = tuple(
            sorted(
                key
                for key, one in self.queues.local_queues.items()
                if part(one, "spec").get("clusterQueue") == name
            )
        )
        for flavor, key in sorted({*charged, *nominal}):
            if key not in self.keys:
                continue
            row = self.made.of(name, key)
            row.cohort, row.local_queues = cohort_of(queue), local
            one = nominal.get((flavor, key), {})
            has, used = nanos(one.get("nominalQuota", 0)), charged.get((flavor, key), 0)
            row.flavors[flavor] = has, used
            row.charged += used
            borrows = self.cohorts.borrowable(name, flavor, key)
            if one.get("borrowingLimit") is not None:
                borrows = nanos(one["borrowingLimit"])
            row.quota = Quota((row.quota.nominal or 0) + has, row.quota.borrowable + borrows)

    def _started(self, workload: Workload, podset: PodSet) -> list[PodFact]:
        """Return the pods that have a node or devices, those that end last."""
        pods = self.pods.get(workload.key, {}).get(podset.name, ())
        found = [one for one in pods if not one.pod.done and (one.pod.node_name or self._has(one))]
        return sorted(found, key=lambda one: (one.pod.metadata.deleting, one.key))

    def _has(self, pod: PodFact) -> bool:
        """Whether a pod without a node has a claim that is reserved for it."""
        claims = self.inventory.world.claims
        namespace, uid = pod.pod.metadata.namespace, pod.pod.metadata.uid
        found = (claims.get(f"{namespace}/{name}") for name in pod.pod.claim_names())
        return any(one is not None and one.held and one.is_reserved_for(uid) for one in found)

    def _admitted(self, queue: str, workload: Workload) -> None:
        """Compare what a workload is charged with what its pods hold, one PodSet at a time."""
        over: dict[str, int] = {}
        for podset in workload.podsets:
            over_here = self._podset(queue, workload, podset)
            for key, amount in over_here.items():
                over[key] = over.get(key, 0) + amount
        # One key is charged and not held, another one is held and not charged: the class changed.
        more = [key for key, amount in sorted(over.items()) if amount > 0]
        less = [key for key, amount in sorted(over.items()) if amount < 0]
        for key, other in zip(more, less, strict=False):
            moved = min(over[key], -over[other])
            subject = workload.subject
            self.made.add(queue, key, Difference(Code.CLASS_MOVED, moved, subject, Side.CHARGED))
            self.made.add(queue, other, Difference(Code.CLASS_MOVED, moved, subject, Side.HELD))
            over[other] += moved
        for key, amount in over.items():
            row, code = self.made.of(queue, key), None
            if not row.flavors and not row.charged:
                code = Code.NO_QUOTA
            elif self.manager.version is None:
                code = Code.UNKNOWN_VERSION
            if amount < 0 and code is not None:
                new = Difference(code, -amount, workload.subject, Side.HELD)
                self.made.add(queue, key, new)

    def _podset(self, queue: str, workload: Workload, podset: PodSet) -> dict[str, int]:
        """Return, by key, what is charged beyond every reason; negative for what is held."""
        pods = self.pods.get(workload.key, {}).get(podset.name, ())
        started = self._started(workload, podset)
        for pod in started[podset.count :]:
            self._uncharged(queue, pod, Code.EVICTED, workload.subject)
        started = started[: podset.count]
        ended = max(sum(one.pod.done for one in pods) - podset.reclaimed, 0)
        ended = min(ended or self._ended(workload, podset), podset.count - len(started))
        missing = podset.count - len(started) - ended
        over: defaultdict[str, int] = defaultdict(int)
        for key, amount in podset.charged.items():
            if key not in self.keys:
                continue
            each = amount // max(podset.count, 1)
            over[key] += amount - (missing + ended) * each
            self.made.of(queue, key)
            for code, count in ((Code.NOT_STARTED, missing), (Code.ENDED, ended)):
                subject = workload.subject
                self.made.add(queue, key, Difference(code, count * each, subject, Side.CHARGED))
        for pod in started:
            for one in self.holders.of(pod):
                if self._take(queue, one, workload.subject) and one.code is None:
                    over[one.key] -= one.amount
        for pod in pods:
            # It waits although claims of it are still allocated, for no one.
            if not pod.pod.done and pod not in started and not pod.pod.node_name:
                self._uncharged(queue, pod, Code.IDLE_CLAIM, "")
        return over

    def _ended(self, workload: Workload, podset: PodSet) -> int:
        """Return how many pods of a Job have ended, where they are not there any more."""
        uid = str(workload.owner.get("uid") or "")
        job = self.queues.jobs.get(uid)
        if job is None or len(workload.podsets) > 1:
            return 0
        status = part(job, "status")
        done = sum(one for name in ("succeeded", "failed") if type(one := status.get(name)) is int)
        return max(done - podset.reclaimed, 0)

    def _take(self, queue: str, one: Held, subject: str) -> bool:
        """Count what a pod of a queue holds; return whether it was not counted before."""
        if not self.made.first(queue, one):
            return False
        if one.code is Code.ADMIN_ACCESS:
            self.made.add(queue, one.key, Difference(one.code, one.amount, subject, Side.NEITHER))
            return False
        self.made.of(queue, one.key).held += one.amount
        if one.code is not None:
            named = f"claim {one.claim}" if one.code in _OF_CLAIMS else subject
            self.made.add(queue, one.key, Difference(one.code, one.amount, named, Side.HELD))
        return True

    def _uncharged(self, queue: str, pod: PodFact, code: Code, subject: str) -> None:
        """Count what a pod holds that no admission of its workload is charged for."""
        for one in self.holders.of(pod):
            if one.code is Code.ADMIN_ACCESS or not self.made.first(queue, one):
                continue
            self.made.of(queue, one.key).held += one.amount
            named = subject or f"claim {one.claim}"
            self.made.add(queue, one.key, Difference(code, one.amount, named, Side.HELD))

    def _waiting(self, queue: str, workload: Workload) -> None:
        """Count what a workload without a reservation asks for: by its status, else computed."""
        status = parts(workload.document, "status", "resourceRequests")
        asked: defaultdict[str, int] = defaultdict(int)
        for one in status:
            for key, amount in amounts(one.get("resources")).items():
                asked[key] += amount
        for podset in workload.podsets:
            if not status:
                each = self.holders.wanted(workload.namespace, podset.spec)
                for key, amount in each.items():
                    asked[key] += amount * podset.count
            claims = self.holders.wanted_of_claims(workload.namespace, podset.spec)
            for key, _, code in claims:
                if code is not None and self.manager.refuses:
                    self.made.of(queue, key).refused[workload.subject] = code
                    self.made.of(queue, key).waiting.setdefault(workload.subject, 0)
        for key, amount in asked.items():
            if amount and is_device(key, self.manager):
                self.made.of(queue, key).waiting[workload.subject] = amount

    def _beside(self) -> None:
        """Count what is held in the queues' namespaces by pods of no queue, and by no one."""
        names: defaultdict[str, list[str]] = defaultdict(list)
        for name in sorted(self.queues.cluster_queues):
            for namespace in self.queues.namespaces(name):
                names[namespace].append(name)
        for pod in self.inventory.world.pods.values():
            near = names.get(pod.pod.metadata.namespace, ())
            if near and not pod.pod.done and self._is_free(pod):
                held = self.holders.of(pod)
                self.made.beside(near, held, Code.NO_QUEUE, without_queue(pod))
        for claim in self.inventory.world.claims.values():
            near = names.get(claim.namespace, ())
            if near and claim.held is not None and not (claim.consumers or claim.is_hold):
                held = self.holders.of_claim(claim)
                self.made.beside(near, held, Code.IDLE_CLAIM, f"claim {claim.key}")

    def _is_free(self, pod: PodFact) -> bool:
        """Whether a pod is of no queue of any manager, or of a Workload that is not there."""
        manager = manager_of(self.queues, pod)
        return manager in ("", KUEUE) and self.queues.workload_of(pod) is None
