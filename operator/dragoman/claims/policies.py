"""Policies of entries: what one entry of a pod or PodGroup still needs, and why.

Following kubernetes/pkg/controller/resourceclaim (syncPod, handleClaim), without its faults.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from dragoman.claims.actions import CreateClaim
from dragoman.claims.claimfacts import HolderFacts, LiveRead, Pending
from dragoman.claims.naming import claim_name
from dragoman.claims.reasons import ClaimReason
from dragoman.model.claim import Claim
from dragoman.model.holder import ClaimEntry, ClaimHolder
from dragoman.model.pod import Pod
from dragoman.model.podgroup import PodGroup
from dragoman.model.template import Template

NAME_ATTEMPTS = 32
"""How many names are tried for one claim. Each is taken by chance once in 14 million."""

MISSING_CLAIM_GRACE = 30.0
"""Seconds for which a user's claim may be missing before the pod gets an Event about it."""

WATCH_LAG = 2.0
"""Seconds for which a template or PodGroup may be missing only because its watch is behind."""


@dataclass(frozen=True, slots=True)
class Decision:
    """What is to be done about one entry."""

    bind_to: str | None = None
    create: CreateClaim | None = None
    pending: tuple[Pending, ...] = ()
    live_reads: tuple[LiveRead, ...] = ()


Policy = Callable[[HolderFacts, ClaimEntry], Decision | None]
SETTLED = Decision()


def _unneeded(facts: HolderFacts, entry: ClaimEntry) -> Decision | None:
    """Do nothing where the status says that no claim is needed."""
    return SETTLED if facts.holder.needs_no_claim(entry) else None


def _made_by_user(facts: HolderFacts, entry: ClaimEntry) -> Decision | None:
    """Leave named claims to their users; say so when one is missing for long."""
    if entry.claim_name is None:
        return None
    if entry.claim_name in facts.claims:
        return SETTLED
    message = f'{_kind(facts)} {entry.name}: resource claim "{entry.claim_name}" not found'
    wait = _missing(facts, entry, ClaimReason.CLAIM_MISSING, message, MISSING_CLAIM_GRACE)
    return Decision(pending=(wait,))


def _missing(
    facts: HolderFacts, entry: ClaimEntry, reason: ClaimReason, message: str, grace: float
) -> Pending:
    """Report only what is still missing when the holder has this age."""
    if facts.age < grace:
        return Pending(reason, entry.name, message, after=grace - facts.age)
    return Pending(reason, entry.name, message, report=True)


def _of_unknown_form(facts: HolderFacts, entry: ClaimEntry) -> Decision | None:
    """Leave entries of a newer API alone: their meaning is unknown."""
    if entry.template_name is not None:
        return None
    message = f"{_kind(facts)} {entry.name}: names neither a claim nor a template"
    wait = Pending(ClaimReason.ENTRY_UNSUPPORTED, entry.name, message, report=True)
    return Decision(pending=(wait,))


def _of_group(facts: HolderFacts, entry: ClaimEntry) -> Decision | None:
    """Give the pod the claim of its PodGroup where the entry stands for that one."""
    pod = facts.holder
    if not isinstance(pod, Pod) or pod.group_name is None or facts.groups is None:
        return None
    group = facts.groups.get(pod.group_name)
    if group is None:
        message = f'PodResourceClaim {entry.name}: podgroup "{pod.group_name}" not found'
        wait = _missing(facts, entry, ClaimReason.GROUP_MISSING, message, WATCH_LAG)
        return Decision(pending=(wait,))
    if not group.shares(entry):
        return None
    claim = _claim_of_group(facts, group, entry)
    if claim is not None:
        return Decision(bind_to=claim)
    message = f'PodResourceClaim {entry.name}: waits for the claim of podgroup "{pod.group_name}"'
    return Decision(pending=(Pending(ClaimReason.GROUP_CLAIM_PENDING, entry.name, message),))


def _claim_of_group(facts: HolderFacts, group: PodGroup, entry: ClaimEntry) -> str | None:
    bound = group.published_name(entry)
    for claim in _generated_for(facts, group, entry):
        if bound in {None, claim.metadata.name}:
            return claim.metadata.name
    return None


def _bound(facts: HolderFacts, entry: ClaimEntry) -> Decision | None:
    """Keep a valid binding, whatever else there is.

    A name in the status whose claim is not known may only mean that the claim's event is on its
    way: the API server is read before anything else is made. A claim of the pod's PodGroup is as
    good as its own.
    """
    name = facts.holder.published_name(entry)
    if name is None:
        return None
    if name not in facts.claims:
        read = LiveRead("resourceclaims", facts.holder.metadata.namespace, name)
        if read not in facts.live:
            return Decision(live_reads=(read,))
    claim = _stored(facts, name)
    if claim is None or not _is_valid_for(facts, claim):
        return None
    used = _used_twin(facts, entry, claim)
    return SETTLED if used is None else Decision(bind_to=used.metadata.name)


def _used_twin(facts: HolderFacts, entry: ClaimEntry, named: Claim) -> Claim | None:
    """Return the claim whose devices the holder has, where the status names an unused twin of it.

    Two controllers may have made one each; the later publication wins, after the scheduler has
    reserved the claim that was named before. A kubelet that prepares the pod again would find a
    claim without devices.
    """
    if named.allocated or named.consumers:
        return None
    uid = facts.holder.metadata.uid
    twins = _generated_for(facts, facts.holder, entry)
    return next((one for one in twins if any(user.uid == uid for user in one.consumers)), None)


def _is_valid_for(facts: HolderFacts, claim: Claim) -> bool:
    holder, owner = facts.holder, claim.metadata.owner
    if claim.is_for(holder.metadata.uid):
        return True
    if not isinstance(holder, Pod) or facts.groups is None or owner is None:
        return False
    return owner.is_pod_group and owner.name == holder.group_name


def _orphaned(facts: HolderFacts, entry: ClaimEntry) -> Decision | None:
    """Adopt a claim that was made for the entry but never published."""
    orphans = _generated_for(facts, facts.holder, entry)
    if not orphans:
        return None
    return Decision(bind_to=orphans[0].metadata.name, pending=_foreign_notice(facts, entry))


def _generated_for(facts: HolderFacts, holder: ClaimHolder, entry: ClaimEntry) -> list[Claim]:
    """Return the claims made for an entry, the one to adopt first."""
    uid = holder.metadata.uid
    claims = [
        claim
        for claim in facts.by_entry.get(entry.name, ())
        if claim.is_for(uid) and not claim.extended and not claim.metadata.deleting
    ]
    return sorted(claims, key=_adoption_order)


def _adoption_order(claim: Claim) -> tuple[bool, bool, str, str]:
    return (not claim.consumers, not claim.allocated, claim.metadata.created, claim.metadata.name)


def _lost(facts: HolderFacts, entry: ClaimEntry) -> Decision | None:
    """Replace a lost claim only for a holder that still exists.

    A claim that is deleted with its pod is often reported deleted before the pod is.
    """
    holder = facts.holder
    if holder.published_name(entry) is None:
        return None
    resource: Literal["pods", "podgroups"] = "pods" if isinstance(holder, Pod) else "podgroups"
    read = LiveRead(resource, holder.metadata.namespace, holder.metadata.name)
    if read not in facts.live:
        return Decision(live_reads=(read,))
    live = facts.live[read]
    if live is None or live.metadata.uid != holder.metadata.uid or live.metadata.deleting:
        return SETTLED
    return SETTLED if isinstance(live, Pod) and live.done else None


def _from_template(facts: HolderFacts, entry: ClaimEntry) -> Decision:
    """Make a claim from the template.

    The watch of pods may be ahead of that of templates, when both are applied at once.
    """
    assert entry.template_name is not None
    read = LiveRead("resourceclaimtemplates", facts.holder.metadata.namespace, entry.template_name)
    template = facts.templates.get(entry.template_name) or facts.live.get(read)
    if not isinstance(template, Template):
        if read not in facts.live and facts.age < WATCH_LAG:
            return Decision(live_reads=(read,))
        message = (
            f'{_kind(facts)} {entry.name}: resource claim template "{entry.template_name}": '
            f'resourceclaimtemplate.resource.k8s.io "{entry.template_name}" not found'
        )
        return Decision(
            pending=(_missing(facts, entry, ClaimReason.TEMPLATE_MISSING, message, WATCH_LAG),)
        )
    name = _free_name(facts, entry)
    if name is None:
        message = f"{_kind(facts)} {entry.name}: all {NAME_ATTEMPTS} names for the claim are taken"
        wait = Pending(ClaimReason.NAMES_TAKEN, entry.name, message, report=True)
        return Decision(pending=(wait,))
    holder = facts.holder
    creation = CreateClaim(
        reason=_creation_reason(facts, entry),
        namespace=holder.metadata.namespace,
        name=name,
        entry=entry.name,
        owner=holder.reference,
        template=template,
    )
    return Decision(bind_to=name, create=creation, pending=_foreign_notice(facts, entry))


def _free_name(facts: HolderFacts, entry: ClaimEntry) -> str | None:
    metadata = facts.holder.metadata
    for attempt in range(NAME_ATTEMPTS):
        name = claim_name(
            owner=metadata.name, owner_uid=metadata.uid, entry=entry.name, attempt=attempt
        )
        if name not in facts.claims:
            return name
    return None


def _creation_reason(facts: HolderFacts, entry: ClaimEntry) -> ClaimReason:
    name = facts.holder.published_name(entry)
    if name is None:
        return ClaimReason.TEMPLATE
    return ClaimReason.CLAIM_FOREIGN if _stored(facts, name) is not None else ClaimReason.CLAIM_LOST


def _foreign_notice(facts: HolderFacts, entry: ClaimEntry) -> tuple[Pending, ...]:
    """Report that the status named a claim of another owner."""
    name = facts.holder.published_name(entry)
    if name is None or _stored(facts, name) is None:
        return ()
    message = f'{_kind(facts)} {entry.name}: resource claim "{name}" belongs to another owner'
    return (Pending(ClaimReason.CLAIM_FOREIGN, entry.name, message, report=True),)


def _stored(facts: HolderFacts, name: str) -> Claim | None:
    found = facts.claims.get(name)
    if found is None:
        live = facts.live.get(LiveRead("resourceclaims", facts.holder.metadata.namespace, name))
        found = live if isinstance(live, Claim) else None
    return found


def _kind(facts: HolderFacts) -> str:
    return "PodResourceClaim" if isinstance(facts.holder, Pod) else "PodGroupResourceClaim"


POLICIES: tuple[Policy, ...] = (
    _unneeded,
    _made_by_user,
    _of_unknown_form,
    _bound,
    _of_group,
    _orphaned,
    _lost,
    _from_template,
)
"""In this order; the first that answers decides."""
