"""Requests as the API server gets them."""

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dragoman.claims.actions import (
    CreateClaim,
    DeleteClaim,
    PublishClaims,
    RemoveFinalizer,
    UpdateReservedFor,
)
from dragoman.claims.claimfacts import HolderFacts
from dragoman.claims.creation import plan_pod
from dragoman.claims.reasons import ClaimReason
from dragoman.model.claim import Claim, Consumer
from dragoman.model.pod import Pod
from dragoman.model.template import Template
from tests.unit.dragoman.claims.objects import (
    NAMESPACE,
    claim,
    foreign_consumer,
    pod,
    reservation,
    template,
)
from tests.unit.examples import examples

Json = dict[str, Any]

USER = Pod.parse(pod().using("gpu", template="my-template").document)
ANNOTATION = "resource.kubernetes.io/pod-claim-name"
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=12,
)


def creation(source: Template, user: Pod = USER) -> CreateClaim:
    """Return the creation that is planned for the pod."""
    plan = plan_pod(HolderFacts(holder=user, templates={source.metadata.name: source}))
    return next(action for action in plan.actions if isinstance(action, CreateClaim))


def made(source: Json, api_version: str = "resource.k8s.io/v1") -> Json:
    """Return the claim that is made from a template."""
    return creation(Template.parse(source)).document(api_version)


def test_the_whole_claim() -> None:
    source = template().changed("spec", "metadata", to={"labels": {"a": "b"}}).document
    document = made(source)
    name = document["metadata"].pop("name")
    assert name.startswith("test-pod-gpu-")
    assert document == {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {
            "namespace": NAMESPACE,
            "labels": {"a": "b"},
            "annotations": {ANNOTATION: "gpu"},
            "ownerReferences": [
                {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "name": "test-pod",
                    "uid": "uid-test-pod",
                    "controller": True,
                }
            ],
        },
        "spec": source["spec"]["spec"],
    }


def test_the_claim_is_written_in_the_version_that_its_template_was_read_in() -> None:
    assert made(template().document, "resource.k8s.io/v1beta1")["apiVersion"].endswith("v1beta1")


@settings(max_examples=examples(25), deadline=None)
@given(spec=st.dictionaries(st.text(max_size=5), VALUES, max_size=4))
def test_the_spec_is_copied_whole_with_fields_that_nobody_knows(spec: Json) -> None:
    source = template().changed("spec", "spec", to=spec).document
    assert made(source)["spec"] == spec


@pytest.mark.parametrize(
    ("metadata", "labels", "annotations"),
    [
        pytest.param({}, None, {ANNOTATION: "gpu"}, id="none"),
        pytest.param(
            {"labels": {"größe": "groß", "例": "値"}},
            {"größe": "groß", "例": "値"},
            {ANNOTATION: "gpu"},
            id="labels in any script",
        ),
        pytest.param(
            {"annotations": {"note": "für später"}},
            None,
            {"note": "für später", ANNOTATION: "gpu"},
            id="annotations beside ours",
        ),
        pytest.param(
            {"annotations": {ANNOTATION: "forged"}},
            None,
            {ANNOTATION: "gpu"},
            id="an annotation that pretends to be another entry's",
        ),
    ],
)
def test_labels_and_annotations_come_from_the_template_s_spec(
    metadata: Json, labels: Json | None, annotations: Json
) -> None:
    source = template().changed("spec", "metadata", to=metadata)
    source = source.changed("metadata", "labels", to={"of": "the template itself"})
    document = made(source.document)
    assert document["metadata"].get("labels") == labels
    assert document["metadata"]["annotations"] == annotations


def test_a_template_serves_two_pods_and_stays_as_it_was() -> None:
    body = template().changed("spec", "metadata", to={"annotations": {"a": "b"}}).document
    before = copy.deepcopy(body)
    source = Template.parse(body)
    other = Pod.parse(pod("other").using("nic", template="my-template").document)
    documents = [creation(source, user).document("resource.k8s.io/v1") for user in (USER, other)]
    assert [document["metadata"]["annotations"] for document in documents] == [
        {"a": "b", ANNOTATION: "gpu"},
        {"a": "b", ANNOTATION: "nic"},
    ]
    assert body == before


def test_a_publication_names_the_pod_s_uid_and_the_changed_entries_only() -> None:
    bind = PublishClaims(ClaimReason.BINDING, USER.reference, NAMESPACE, {"gpu": "a", "nic": "b"})
    assert bind.without({"b"}).document() == {
        "metadata": {"uid": "uid-test-pod"},
        "status": {"resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "a"}]},
    }


STORED = Claim.parse(
    claim("mine", uid="uid-mine").allocated().reserved_for(foreign_consumer()).document
)
PRECONDITION = {"uid": "uid-mine", "resourceVersion": "1"}


@pytest.mark.parametrize(
    ("action", "document"),
    [
        pytest.param(
            UpdateReservedFor(
                ClaimReason.POD_SCHEDULED, STORED, (*STORED.consumers, Consumer("pods", "p", "u"))
            ),
            {
                "metadata": PRECONDITION,
                "status": {
                    "reservedFor": [
                        {
                            "apiGroup": "foo.com",
                            "resource": "foos",
                            "name": "foo",
                            "uid": "uid-foo",
                        },
                        {"resource": "pods", "name": "p", "uid": "u"},
                    ]
                },
            },
            id="a reservation keeps the others and names the state that it was planned on",
        ),
        pytest.param(
            UpdateReservedFor(ClaimReason.LAST_CONSUMER_GONE, STORED, (), deallocate=True),
            {"metadata": PRECONDITION, "status": {"reservedFor": None, "allocation": None}},
            id="a release clears both in one write",
        ),
        pytest.param(
            RemoveFinalizer(ClaimReason.NOTHING_TO_PROTECT, STORED),
            {"metadata": {**PRECONDITION, "finalizers": None}},
            id="the finalizer goes from exactly this state",
        ),
        pytest.param(
            DeleteClaim(ClaimReason.OWNER_DONE, STORED),
            {"apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": "uid-mine"}},
            id="a deletion names the UID",
        ),
    ],
)
def test_a_request(
    action: UpdateReservedFor | RemoveFinalizer | DeleteClaim, document: Json
) -> None:
    assert action.document() == document


@pytest.mark.parametrize("reason", list(ClaimReason))
def test_every_reason_explains_itself(reason: ClaimReason) -> None:
    assert reason.meaning.endswith(".")
    assert reason.value.isidentifier()


def test_fields_of_consumers_that_nobody_knows_survive_a_change_of_the_list() -> None:
    newer: Json = {**foreign_consumer(), "shareID": "1", "since": {"a": [None]}}
    stored = claim("mine").allocated().reserved_for(pod("gone"), newer, pod("stays"))
    found = Claim.parse(stored.document)
    action = UpdateReservedFor(ClaimReason.CONSUMERS_GONE, found, found.consumers[1:])
    assert action.document()["status"]["reservedFor"] == [newer, reservation(pod("stays"))]
