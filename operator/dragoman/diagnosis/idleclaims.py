"""Allocated claims that the scheduler takes the devices from, because a pod cannot use them.

Source: PostFilter of the plugin DynamicResources of kube-scheduler. Where a pod fits on no node,
and an allocated claim was all that it missed on one of them, a claim that no other pod has
reserved is deallocated, one for each attempt. The next attempt allocates it where the pod fits.
A reservation for the PodGroup of the pod is removed before, while no pod of the group has a node.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from dragoman.allocation import Claim, Cluster
from dragoman.diagnosis.answers import Answer, Explanation
from dragoman.diagnosis.filters import placed
from dragoman.diagnosis.nearness import NOT_HERE, NodeAnswer
from dragoman.diagnosis.subject import Subject, Wanted
from dragoman.inventory.facts.world import PodFact, World


def idle_claim(world: World, explanation: Explanation) -> Claim | None:
    """Return the claim that the scheduler deallocates as it is of no use; None for none.

    Of several the scheduler takes any; here the first one counts. Claims whose devices did not get
    ready are deallocated as well, but what their drivers say then is not known.
    """
    if explanation.answer is not Answer.DOES_NOT_FIT:
        return None
    subject = explanation.subject
    missed = {name for one in explanation.nodes if _only_claims_miss(one) for name in one.pinned}
    idle = (
        claim
        for claim in subject.allocated
        if claim.name in missed and _reserved_by_no_other(world, subject, claim)
    )
    return next(idle, None)


def _only_claims_miss(node: NodeAnswer) -> bool:
    """Whether the scheduler got as far as to the allocated claims of the pod."""
    return not node.lacks and getattr(node.outcome, "message", "") == NOT_HERE


def _reserved_by_no_other(world: World, subject: Subject, claim: Claim) -> bool:
    pod = subject.pod.pod
    match claim.consumers:
        case ():
            return True
        case (user,) if user.is_pod_group:
            return user.name == pod.group_name and not _has_places(world, subject.pod)
        case (user,):
            return bool(pod.metadata.uid) and user.uid == pod.metadata.uid
    return False


def _has_places(world: World, pod: PodFact) -> bool:
    """Whether the scheduler has chosen a node for a pod of the same PodGroup."""
    group = (pod.pod.metadata.namespace, pod.pod.group_name)
    return any(
        (one.pod.metadata.namespace, one.pod.group_name) == group
        for pods in placed(world, besides=pod.key).values()
        for one in pods
    )


def without_devices(subject: Subject, claim: Claim) -> Subject:
    """Return the subject once a claim of it is deallocated."""
    entries = [one.name for one in subject.pod.pod.entries]
    wanted = Wanted(replace(claim, held=None), _entry(subject, claim))
    in_order = sorted((*subject.wanted, wanted), key=lambda one: entries.index(one.entry))
    return replace(
        subject,
        wanted=tuple(in_order),
        allocated=tuple(one for one in subject.allocated if one is not claim),
    )


def _entry(subject: Subject, claim: Claim) -> str:
    named = (
        one.name
        for one in subject.pod.pod.entries
        if subject.pod.pod.published_name(one) == claim.name
    )
    return next(named, "")


@contextmanager
def removed(cluster: Cluster, claims: Iterable[Claim]) -> Iterator[None]:
    """Let claims hold nothing for the time of a block."""
    there = [cluster.claims[one.key] for one in claims if one.key in cluster.claims]
    for one in there:
        cluster.remove_claim(one.key)
    try:
        yield
    finally:
        for one in there:
            cluster.put_claim(one)
