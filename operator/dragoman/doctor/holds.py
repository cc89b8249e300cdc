"""Findings about devices out of service: holds and rules that keep nothing, or for too long."""

from collections.abc import Iterator

from dragoman.allocation import DeviceTaintRule, PoolID
from dragoman.doctor.devices import few
from dragoman.doctor.doctorfacts import DoctorFacts
from dragoman.doctor.finding import Finding, FindingSubject, Id
from dragoman.inventory.inventory import DeviceState
from dragoman.inventory.snapshots.documents import MAINTENANCE, PREEMPTION, Document
from dragoman.model.claim import Claim
from dragoman.model.fields import part

_DAY = 24 * 3600
RULE_PREFIX = "dragoman-"
"""How the names of the rules begin that `kubectl dra drain` and `taint` make."""


def hold_stale(facts: DoctorFacts) -> Iterator[Finding]:
    """A hold, or a rule of a drain, keeps out of service what no longer exists, or for long."""
    for claim in facts.inventory.world.claims.values():
        created = claim.metadata.created
        if claim.is_hold and (why := _too_old(facts, created) or _nothing_held(facts, claim)):
            namespace, name = claim.metadata.namespace, claim.metadata.name
            delete = f"kubectl delete resourceclaim -n {namespace} {name}"
            yield Finding(
                Id.HOLD_STALE,
                facts.claim_subject(claim),
                f"holds {few([str(one.id) for one in claim.devices])}: {why}",
                _owner(facts.claims[claim.key]) or delete,
                created,
            )
    for rule in facts.inventory.world.rules:
        if rule.name.startswith(RULE_PREFIX):
            yield from _rule(facts, rule)


def _rule(facts: DoctorFacts, rule: DeviceTaintRule) -> Iterator[Finding]:
    document = facts.rules.get(rule.name, {})
    created = str(part(document, "metadata").get("creationTimestamp") or "")
    why = (
        _nobody_waits(facts, rule, document, created)
        or _too_old(facts, created)
        or _nothing_selected(facts, rule)
    )
    if why:
        uid = str(part(document, "metadata").get("uid") or "")
        version = str(document.get("apiVersion") or "resource.k8s.io/v1beta2")
        names = (rule.driver, rule.pool, rule.device)
        yield Finding(
            Id.HOLD_STALE,
            FindingSubject(rule.name, "DeviceTaintRule", rule.name, uid=uid, api_version=version),
            f"taints {'/'.join(name for name in names if name) or 'every device'}: {why}",
            _owner(document) or f"kubectl delete devicetaintrule {rule.name}",
            created,
        )


def _nobody_waits(
    facts: DoctorFacts, rule: DeviceTaintRule, document: Document, created: str
) -> str:
    """Say that the pod of a reservation is gone or has a node: mode `on` ended before it ended."""
    uid = part(document, "metadata", "labels").get(PREEMPTION)
    young = facts.age(created) < facts.thresholds.settle
    if not uid or rule.taint.key != PREEMPTION or young or not facts.read("pods"):
        return ""
    found = facts.pods_by_uid.get(str(uid))
    waits = found is not None and not found.pod.node_name and not found.pod.done
    return "" if waits else "reserved for a pod that does not wait any more"


def _owner(document: Document) -> str:
    """Return the command for a hold that a DeviceMaintenance makes again; empty for others."""
    owner = part(document, "metadata", "labels").get(MAINTENANCE)
    return f"kubectl delete devicemaintenance {owner}" if owner else ""


def _too_old(facts: DoctorFacts, created: str) -> str:
    if facts.age(created) < facts.thresholds.held:
        return ""
    return f"for more than {int(facts.thresholds.held) // _DAY} days"


def _nothing_held(facts: DoctorFacts, claim: Claim) -> str:
    """Say that the devices do not exist; a pool without any slice may be published again."""
    states = {facts.inventory.devices[one.id].state for one in claim.devices}
    pools = {PoolID(one.id.driver, one.id.pool) for one in claim.devices}
    known = all(key in facts.inventory.pools for key in pools)
    return "in no slice" if states == {DeviceState.LOST} and known else ""


def _nothing_selected(facts: DoctorFacts, rule: DeviceTaintRule) -> str:
    # Kubernetes 1.36 taints every device for a rule without selector.
    found = not rule.has_selector or any(map(rule.selects, facts.inventory.devices))
    return "" if found else "in no slice"
