"""Which stored facts a planner gets to see."""

from dataclasses import replace

import pytest

from dragoman.claims.actions import CreateClaim, PublishClaims
from dragoman.cluster.clusterstate import ClusterState
from dragoman.controllers.claims.enqueue import ObjectKey
from dragoman.controllers.claims.gather import Gatherer
from dragoman.controllers.claims.livereads import LiveReads
from dragoman.model.claim import Claim
from dragoman.model.template import Template
from tests.unit.dragoman.controllers.claims.builders import NAMESPACE, claim_of, pod_with

pytestmark = pytest.mark.hostile("forged objects")

TEMPLATE = Template.parse(
    {
        "metadata": {"namespace": NAMESPACE, "name": "template", "uid": "template-uid"},
        "spec": {},
    }
)
POD = ObjectKey("pod", NAMESPACE, "pod")


def in_namespace(claim: Claim, namespace: str) -> Claim:
    return replace(claim, metadata=replace(claim.metadata, namespace=namespace))


def state(*claims: Claim) -> ClusterState:
    """Return a pod whose entries ask for claims from a template, and these claims."""
    made = ClusterState()
    made.pods.put(pod_with({}))
    made.templates.put(TEMPLATE)
    for claim in claims:
        made.claims.put(claim)
    return made


def published(made: ClusterState) -> dict[str, str]:
    plan = Gatherer(made).plan(POD, LiveReads())
    assert plan is not None
    (publication,) = (one for one in plan.actions if isinstance(one, PublishClaims))
    return dict(publication.published)


def test_a_claim_of_the_pods_namespace_that_was_never_published_is_adopted() -> None:
    made = claim_of("pod", "pod-uid", "a", name="made")
    assert published(state(made))["a"] == "made"


def test_a_claim_of_another_namespace_that_names_the_pods_uid_is_not_adopted() -> None:
    forged = in_namespace(claim_of("pod", "pod-uid", "a", name="evil"), "elsewhere")
    made = state(forged)
    plan = Gatherer(made).plan(POD, LiveReads())
    assert plan is not None
    created = {one.entry for one in plan.actions if isinstance(one, CreateClaim)}
    assert created == {"a", "b"}
    assert "evil" not in published(made).values()


def test_a_claim_of_another_namespace_is_no_sibling_of_the_pods_claim() -> None:
    ours = claim_of("pod", "pod-uid", "a", name="ours")
    forged = in_namespace(claim_of("pod", "pod-uid", "a", name="evil"), "elsewhere")
    made = state(ours, forged)
    assert made.claims.find("owner", (NAMESPACE, "pod-uid")) == [ours]
