"""Why Cluster Autoscaler or Karpenter adds no node for a pod, as far as they have said it.

Sources: cluster-autoscaler clusterstate/api/types.go and processors/status; Karpenter
pkg/apis/v1/nodeclaim_status.go and controllers/nodeclaim/lifecycle.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice

from dragoman.inventory.ages import age
from dragoman.inventory.facts.world import PodFact
from dragoman.model.fields import Document, part, parts
from dragoman.model.timestamps import seconds
from dragoman_base.files import UnreadableError
from dragoman_base.files.yamltext import read
from dragoman_base.words import counted, listed

STATUS = "cluster-autoscaler-status"
"""ConfigMap of Cluster Autoscaler in namespace kube-system; its text is under the key `status`."""
INSTANCE_TYPE = "node.kubernetes.io/instance-type"
REQUESTED_DRIVERS = "karpenter.sh/requested-dra-drivers"
_OF_CA = ("TriggeredScaleUp", "NotTriggerScaleUp")
_OF_KARPENTER = ("Nominated", "FailedScheduling")
_KEYS = {"autoscalerStatus", "clusterWide", "nodeGroups"}
_CONDITIONS = ("Launched", "Registered", "Initialized")
_RESOURCE = re.compile(r'[Rr]esource "([^"]{1,200})"')
_GROUPS = re.compile(r"\{([^{}]*?) (\d+)->(\d+)(?: \(max: (\d+)\))?\}")
_TIME = re.compile(r"\d{4}-\d\d-\d\d|\d\d:\d\d:\d\d")
STALE = 180
"""Seconds after which a status, which is written each minute, counts as old."""
SILENT = 300
"""Seconds for which a pod waits before it is said that nothing was said about it."""
EXPENDABLE = -10
"""Priority below which Cluster Autoscaler ignores pods (--expendable-pods-priority-cutoff)."""
SHOWN = 5
LONGEST = 400
"""Letters of a foreign message."""


@dataclass(frozen=True, slots=True)
class AutoscalerFacts:
    """What autoscalers have written."""

    now: str = ""  # When it was read, as an API timestamp
    events: tuple[Document, ...] = ()  # Of pods, NodeClaims and NodePools
    status: str | None = None  # Text of Cluster Autoscaler's ConfigMap; None where there is none
    claims: tuple[Document, ...] = ()  # NodeClaims
    pools: tuple[Document, ...] = ()  # NodePools
    unread: tuple[str, ...] = ()  # What could not be read, such as `nodeclaims.karpenter.sh`

    @property
    def there(self) -> bool:
        """Whether there is an autoscaler at all."""
        return bool(self.status is not None or self.claims or self.pools or self.events)

    @property
    def groups(self) -> tuple[Document, ...]:
        """Node groups of the status."""
        return tuple(parts(_tree(self.status or ""), "nodeGroups"))

    def events_of(self, uid: str, reasons: Iterable[str] = ()) -> list[Document]:
        """Return the Events of an object, the newest first."""
        wanted = set(reasons)
        found = [
            one
            for one in self.events
            if part(one, "involvedObject").get("uid") == uid
            and (not wanted or one.get("reason") in wanted)
        ]
        return sorted(found, key=when, reverse=True)

    def machines(self, known: Iterable[str]) -> Iterator[tuple[str, bool]]:
        """Yield machine types that an autoscaler can add, and whether it has none of them yet.

        Args:
            known: Machine types that have a shape.
        """
        named: set[str] = set()
        for pool in self.pools:
            for one in parts(pool, "spec", "template", "spec", "requirements"):
                if one.get("key") == INSTANCE_TYPE and one.get("operator") == "In":
                    values = one.get("values")
                    named |= {str(value) for value in values} if isinstance(values, list) else set()
        names = [(_plain(str(one.get("name") or "")), _registered(one) == 0) for one in self.groups]
        for machine in sorted(known):
            empty = [none for name, none in names if _plain(machine) in name]
            if empty or machine in named:
                yield machine, bool(empty) and all(empty)


def _plain(text: str) -> str:
    """Return a name as node groups spell it: with dashes alone, between dashes."""
    return f"-{re.sub(r'[^a-z0-9]+', '-', text.lower()).strip('-')}-"


def _tree(text: str) -> Document:
    """Return a status; empty for what is not in YAML, as before Cluster Autoscaler 1.30."""
    try:
        found = next((one[0] for one in read(text)), None)
    except UnreadableError:
        return {}
    return found if isinstance(found, Mapping) and found.keys() & _KEYS else {}


def _number(document: Document, *names: str) -> int:
    found = part(document, *names[:-1]).get(names[-1])
    return found if type(found) is int else 0


def _registered(group: Document) -> int:
    return _number(group, "health", "nodeCounts", "registered", "total")


def when(event: Document) -> str:
    """Return when an Event was last seen."""
    series = part(event, "series").get("lastObservedTime")
    return str(series or event.get("lastTimestamp") or event.get("eventTime") or "")


def said(document: Document) -> str:
    """Return a message in one line of bounded length."""
    text = " ".join(str(document.get("message") or "").split())
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def of_pod(facts: AutoscalerFacts, pod: PodFact, *, held: bool = False) -> Iterator[str]:
    """Yield what autoscalers say about a pod that waits, and about themselves.

    Args:
        facts: What they have written.
        pod: The pod.
        held: Whether a scheduling gate holds it.
    """
    uid = pod.pod.metadata.uid
    if facts.status is not None or facts.events_of(uid, _OF_CA):
        yield from _scaled(facts, pod, held=held)
    if facts.pools or facts.claims:
        for one in facts.events_of(uid, _OF_KARPENTER)[:1]:
            yield f"Karpenter, {age(facts.now, when(one))} ago: {said(one)}"
        asks = bool(pod.pod.entries)
        dra = any(REQUESTED_DRIVERS in part(one, "metadata", "annotations") for one in facts.claims)
        if asks and not dra:
            yield "Karpenter: it ignores claims of pods unless IGNORE_DRA_REQUESTS=false is set"
    yield from of_themselves(facts)


def _scaled(facts: AutoscalerFacts, pod: PodFact, *, held: bool) -> Iterator[str]:
    found = facts.events_of(pod.pod.metadata.uid, _OF_CA)
    if found:
        since = age(facts.now, when(found[0]))
        if found[0].get("reason") == "NotTriggerScaleUp":
            yield f"cluster-autoscaler, {since} ago: {said(found[0])}"
            return
        for name, old, new, most in _GROUPS.findall(str(found[0].get("message") or "")):
            limit = f", of at most {most}" if most else ""
            yield (
                f"cluster-autoscaler: node group {name} grows from {old} to {new}{limit}, "
                f"since {since}"
            )
        return
    created = str(part(pod.document, "metadata").get("creationTimestamp") or "")
    if "events" in facts.unread or (seconds(facts.now, created) or 0) < SILENT:
        return
    spec = part(pod.document, "spec")
    why = ["its scheduling gates hold the pod back"] if held else []
    priority = spec.get("priority")
    if type(priority) is int and priority < EXPENDABLE:
        why.append(f"its priority {priority} is below {EXPENDABLE}, from which on pods count")
    scheduler = str(spec.get("schedulerName") or "default-scheduler")
    if scheduler != "default-scheduler":
        why.append(f"the pod is placed by {scheduler}")
    reasons = f": {'; '.join(why)}" if why else ""
    yield f"cluster-autoscaler has said nothing about the pod{reasons}"


def of_themselves(facts: AutoscalerFacts) -> Iterator[str]:
    """Yield what keeps autoscalers from adding nodes, whichever pod it is for."""
    for found in (_of_status(facts), _of_claims(facts), _of_pools(facts)):
        lines = list(found)
        yield from lines[:SHOWN]
        if len(lines) > SHOWN:
            yield f"and {counted(len(lines) - SHOWN, 'more such line')}"
    if facts.unread:
        yield f"not read: {listed(facts.unread, SHOWN)}"


def _of_status(facts: AutoscalerFacts) -> Iterator[str]:
    tree = _tree(facts.status or "")
    if facts.status is None:
        return
    if not tree:
        yield "cluster-autoscaler: its status is not in YAML, as since version 1.30, and not read"
        return
    written = "T".join(_TIME.findall(str(tree.get("time") or ""))[:2]) + "Z"
    if (seconds(facts.now, written) or 0) > STALE:
        yield (
            f"cluster-autoscaler: its status was last written {age(facts.now, written)} ago: "
            "it does not run"
        )
    state = str(tree.get("autoscalerStatus") or "Running")
    if state != "Running":
        yield f"cluster-autoscaler: it is {state}"
    for group in facts.groups:
        yield from _of_group(group)


def _of_group(group: Document) -> Iterator[str]:
    title = f"cluster-autoscaler: node group {group.get('name')}"
    health, scaling = part(group, "health"), part(group, "scaleUp")
    target, most = _number(health, "cloudProviderTarget"), health.get("maxSize")
    if type(most) is int and target >= most:
        yield f"{title} has its maximum of {counted(most, 'node')}"
    if scaling.get("status") == "Backoff":
        info = part(scaling, "backoffInfo")
        code = str(info.get("errorCode") or "")
        message = said({"message": info.get("errorMessage")})
        why = ": ".join(one for one in (code, message) if one)
        yield f"{title} is in backoff{f': {why}' if why else ''}"
    if health.get("status") == "Unhealthy":
        yield f"{title} is unhealthy: {_registered(group)} of {target} nodes have registered"
    waits = _number(health, "nodeCounts", "registered", "unready", "resourceUnready")
    if waits:
        yield (
            f"{title}: {counted(waits, 'node')} without a resource that cluster-autoscaler waits "
            "for; with DRA in place of a plug-in it does not come unless it knows the driver"
        )


def _of_claims(facts: AutoscalerFacts) -> Iterator[str]:
    for one in facts.claims:
        metadata = part(one, "metadata")
        held = {str(row.get("type")): row for row in parts(one, "status", "conditions")}
        open_ = (kind for kind in _CONDITIONS if held.get(kind, {}).get("status") != "True")
        kind = next(open_, "")
        if not kind or metadata.get("deletionTimestamp"):
            continue
        title = f"Karpenter: NodeClaim {metadata.get('name')}"
        row = held.get(kind, {})
        since = str(row.get("lastTransitionTime") or metadata.get("creationTimestamp") or "")
        why = ": ".join(filter(None, (_reason(row), said(row))))
        text = f"{title} is not {kind.lower()} since {age(facts.now, since)}"
        yield f"{text}{f': {why}' if why else ''}{_missing(row)}"
        for event in islice(facts.events_of(str(metadata.get("uid") or "")), 1):
            if event.get("type") == "Warning":
                yield f"{title}, {event.get('reason')}: {said(event)}"


def _reason(row: Document) -> str:
    """Return the reason of a condition where it says more than its type."""
    reason = str(row.get("reason") or "")
    return "" if reason in (row.get("type"), "AwaitingReconciliation") else reason


def _missing(row: Document) -> str:
    if row.get("reason") != "ResourceNotRegistered":
        return ""
    found = _RESOURCE.search(str(row.get("message") or ""))
    name = found[1] if found else "a resource"
    return f". It waits for {name} in status.allocatable, which no DRA driver fills"


def _of_pools(facts: AutoscalerFacts) -> Iterator[str]:
    for one in facts.pools:
        title = f"Karpenter: NodePool {part(one, 'metadata').get('name')}"
        for row in parts(one, "status", "conditions"):
            if row.get("status") == "False" and row.get("type") != "Ready":
                why = ": ".join(filter(None, (_reason(row), said(row))))
                yield f"{title}: {row.get('type')} is False{f': {why}' if why else ''}"
        uid = str(part(one, "metadata").get("uid") or "")
        for event in islice(facts.events_of(uid, ("NoCompatibleInstanceTypes",)), 1):
            yield f"{title}: {said(event)}"
