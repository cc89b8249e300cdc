"""Allocated claims that the scheduler takes the devices from, because a pod cannot use them.

Source: PostFilter of the plugin DynamicResources of kube-scheduler. Where a pod fits on no node,
and an allocated claim was all that it missed on one of them, a claim that no other pod has
reserved is deallocated, one for each attempt. The next attempt allocates it where the pod fits.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from dragoman.allocation import Claim, Cluster
from dragoman.diagnosis.answers import NOT_HERE, Answer, Explanation, NodeAnswer
from dragoman.diagnosis.subject import Subject, Wanted
from dragoman.inventory.facts.objects import ClaimFact


def idle_claim(explanation: Explanation) -> ClaimFact | None:
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
        if claim.devices.name in missed and _reserved_by_no_other(subject, claim)
    )
    return next(idle, None)


def _only_claims_miss(node: NodeAnswer) -> bool:
    """Whether the scheduler got as far as to the allocated claims of the pod."""
    return not node.filtered and getattr(node.outcome, "message", "") == NOT_HERE


def _reserved_by_no_other(subject: Subject, claim: ClaimFact) -> bool:
    uid = subject.pod.pod.metadata.uid
    users = [one.uid for one in claim.claim.consumers]
    return not users or (bool(uid) and users == [uid])


def without_devices(subject: Subject, claim: ClaimFact) -> Subject:
    """Return the subject once a claim of it is deallocated."""
    entries = [one.name for one in subject.pod.pod.entries]
    wanted = Wanted(replace(claim.devices, held=None), _entry(subject, claim))
    in_order = sorted((*subject.wanted, wanted), key=lambda one: entries.index(one.entry))
    return replace(
        subject,
        wanted=tuple(in_order),
        allocated=tuple(one for one in subject.allocated if one is not claim),
    )


def _entry(subject: Subject, claim: ClaimFact) -> str:
    named = (
        one.name
        for one in subject.pod.pod.entries
        if subject.pod.pod.published_name(one) == claim.devices.name
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
