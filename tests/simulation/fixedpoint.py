"""What must hold once nobody writes any more."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tests.simulation import maintenance
from tests.simulation.invariants import lives
from tests.simulation.objects import (
    FINALIZER,
    Json,
    Key,
    claim_name,
    deleting,
    devices_of,
    done,
    entries_of,
    entry_of,
    is_for,
    owner_of,
    reserved_for,
    tainted,
    uid_of,
)

if TYPE_CHECKING:
    from tests.simulation.replica import Replica
    from tests.simulation.simulation import Simulation

Fault = tuple[str, str]
"""Kind and sentence."""
STORED = ("pods", "resourceclaims", "resourceclaimtemplates")
YOUNG = 60.0
"""Seconds that a process has to fill its stores."""


def check(sim: "Simulation") -> None:
    """Note what does not hold."""
    for kind, text in _faults(sim):
        sim.violate(kind, text)


def _faults(sim: "Simulation") -> Iterator[Fault]:
    yield from _of_pods(sim)
    yield from _of_claims(sim)
    if "evictions" in sim.rows:
        yield from _of_evictions(sim)
    if "clustertemplates" in sim.rows:
        yield from _of_cluster_templates(sim)
    if "maintenance" in sim.rows:
        yield from maintenance.final(sim)
    for replica in sim.live:
        yield from _of_process(sim, replica)
    for text in sim.loop.failures:
        yield "exception", text[:300]
    for text in sim.logs.errors:
        yield "logged", text


def _of_pods(sim: "Simulation") -> Iterator[Fault]:
    """Every live pod has one claim for each entry, named and, with a node, reserved."""
    for key, pod in sorted(sim.server.of("pods").items()):
        if done(pod) or deleting(pod):
            continue
        for entry in entries_of(pod):
            yield from _of_entry(sim, key, pod, entry)


def _of_entry(sim: "Simulation", key: Key, pod: Json, entry: Json) -> Iterator[Fault]:
    claims, where = sim.server.of("resourceclaims"), f"{key[1]}/{entry['name']}"
    bound = claims.get((key[0], claim_name(pod, entry)))
    users = {one["uid"] for one in reserved_for(bound)} if bound is not None else set()
    has_devices = bound is not None and devices_of(bound) and not deleting(bound)
    if pod["spec"].get("nodeName") and has_devices and uid_of(pod) not in users:
        yield "final-unreserved", f"the claim of {where} is not reserved for its bound pod"
    template = entry.get("resourceClaimTemplateName")
    if not template:
        return
    made = [
        place[1]
        for place, one in sorted(claims.items())
        if place[0] == key[0]
        and is_for(one, pod)
        and entry_of(one) == entry["name"]
        and not deleting(one)
    ]
    if not made and bound is not None and is_for(bound, pod) and reserved_for(bound):
        return  # deleted by a user; it stays until the pod has ended
    exists = sim.server.find("resourceclaimtemplates", key[0], template) is not None
    if not made and exists:
        yield "final-missing", f"{where} has no claim"
    elif len(made) > 1 and not sim.config.built_in:
        yield "final-twins", f"{where}: {made}"
    elif made and claim_name(pod, entry) not in made:
        yield "final-unpublished", f"{where}: {made[0]} is not in the status"
    elif made and bound is not None and not reserved_for(bound):
        reserved = [one for one in made if reserved_for(claims[key[0], one])]
        if reserved and pod["spec"].get("nodeName"):
            yield "final-stranded", f"{where} names a twin of {reserved}, which has its devices"


def _of_claims(sim: "Simulation") -> Iterator[Fault]:
    """No reservation and no claim of pods that are done; no finalizer without devices."""
    pods = sim.server.of("pods")
    for key, claim in sorted(sim.server.of("resourceclaims").items()):
        reserved = reserved_for(claim)
        stale = [
            one["name"]
            for one in reserved
            if one["resource"] == "pods" and not lives(pods, key[0], one)
        ]
        runs = any(one["uid"] in k.running for one in reserved for k in sim.kubelets.values())
        if stale and not (sim.safe and runs):
            yield "final-reserved", f"{key[1]} is still reserved for {stale}"
        if reserved:
            continue
        owner = owner_of(claim)
        pod = pods.get((key[0], owner["name"])) if owner else None
        protected = FINALIZER in (claim["metadata"].get("finalizers") or ())
        if deleting(claim):
            yield "final-stuck", f"{key[1]} is being deleted and stays"
        elif owner and (pod is None or uid_of(pod) != owner["uid"] or done(pod)):
            yield "final-leftover", f"{key[1]} of {owner['name']} stays"
        elif protected and not (claim.get("status") or {}).get("allocation"):
            yield "final-protected", f"{key[1]} has no devices and keeps the finalizer"


def _of_evictions(sim: "Simulation") -> Iterator[Fault]:
    """No pod stays on tainted devices, and each rule says that nothing is going on."""
    server = sim.server
    claims, rules = server.of("resourceclaims"), server.of("devicetaintrules")
    bad = tainted(server.of("resourceslices").values(), rules.values())
    for key, pod in sorted(server.of("pods").items()):
        if done(pod) or deleting(pod) or not pod["spec"].get("nodeName"):
            continue
        for entry in entries_of(pod):
            claim = claims.get((key[0], claim_name(pod, entry))) or {}
            reserved = any(one["uid"] == uid_of(pod) for one in reserved_for(claim))
            if reserved and bad & set(devices_of(claim)):
                yield "final-tainted", f"{key[1]} stays on {devices_of(claim)}"
    for key, rule in sorted(rules.items()):
        conditions = (rule.get("status") or {}).get("conditions") or ()
        found = next((one for one in conditions if one["type"] == "EvictionInProgress"), None)
        generation = rule["metadata"]["generation"]
        settled = found is not None and found["status"] == "False"
        if found is None or not settled or found["observedGeneration"] != generation:
            yield "final-condition", f"{key[1]} at generation {generation}: {found}"


def _of_cluster_templates(sim: "Simulation") -> Iterator[Fault]:
    """Every namespace that is selected has the template, no other one has a copy of it."""
    server = sim.server
    wanted = server.of("clusterresourceclaimtemplates")
    templates = server.of("resourceclaimtemplates")
    for (_, name), one in sorted(wanted.items()):
        team = (one["spec"]["namespaceSelector"].get("matchLabels") or {}).get("team")
        observed = (one.get("status") or {}).get("observedGeneration")
        if observed != one["metadata"]["generation"]:
            yield "final-status", f"{name} has observed generation {observed}"
        for (_, namespace), found in sorted(server.of("namespaces").items()):
            selected = team in (None, (found["metadata"].get("labels") or {}).get("team"))
            copy = templates.get((namespace, name))
            if selected and copy is None:
                yield "final-copy", f"{namespace} has no copy of {name}"
            elif selected and copy and _is_copy(copy) and _spec(copy) != one["spec"]["template"]:
                yield "final-copy", f"{namespace} has an old copy of {name}"
            elif not selected and copy is not None and _is_copy(copy):
                yield "final-copy", f"{namespace} keeps a copy of {name}"
    for (namespace, name), copy in sorted(templates.items()):
        if _is_copy(copy) and ("", name) not in wanted:
            yield "final-copy", f"{namespace} keeps {name}, whose original is gone"


def _is_copy(template: Json) -> bool:
    return any("dragoman.dev" in key for key in template["metadata"].get("labels") or {})


def _spec(template: Json) -> Json:
    return {key: value for key, value in template["spec"].items() if key != "metadata"}


def _of_process(sim: "Simulation", replica: "Replica") -> Iterator[Fault]:
    """The stores of each process, followers too, equal etcd; nothing is kept of what is gone."""
    operator = replica.operator
    if operator is None or replica.paused or sim.now - replica.born < YOUNG:
        return
    found = {one.resource.plural: one for one in operator.informers._found.values()}
    for plural in STORED:
        informer = found.get(plural)
        if informer is None:
            continue
        stored = {
            (fact.metadata.namespace, fact.metadata.name): fact.metadata.resource_version
            for fact in informer.store
        }
        actual = {
            key: one["metadata"]["resourceVersion"]
            for key, one in sim.server.of(plural).items()
            if plural != "pods" or entries_of(one)
        }
        if stored.keys() != actual.keys():
            differ = sorted(stored.keys() ^ actual.keys())[:4]
            yield "cache", f"{replica.name} {plural}: {differ} differ"
        elif plural != "resourceclaimtemplates" and stored != actual:
            wrong = [key for key in stored if stored[key] != actual[key]]
            yield "cache", f"{replica.name} {plural}: old versions of {wrong[:4]}"
    yield from _of_memory(sim, replica, found["resourceclaims"].observers)


def _of_memory(sim: "Simulation", replica: "Replica", observers: list[Any]) -> Iterator[Fault]:
    owners = (getattr(one, "__self__", None) for one in observers)
    handlers = next(
        (one for one in owners if hasattr(one, "state") and hasattr(one, "queue")), None
    )
    if handlers is None:
        return
    queue = handlers.queue
    if queue._failures and queue._open:
        kept = sorted(queue._failures)[:3]
        yield "memory", f"{replica.name} never forgets the back-off of {kept}"
    server = sim.server
    uids = {uid_of(one) for name in ("pods", "resourceclaims") for one in server.of(name).values()}
    extra = set(handlers.state.times._since) - uids
    if extra:
        yield "memory", f"{replica.name} remembers the states of {len(extra)} objects that are gone"
