"""Objects at the edge: what is read out of them, and what is said about those that cannot be."""

import copy
from typing import Any

import pytest

from dragoman.model.claim import Claim, Consumer
from dragoman.model.fields import MalformedObjectError
from dragoman.model.pod import Pod
from dragoman.model.podgroup import PodGroup
from dragoman.model.template import Template

Json = dict[str, Any]

METADATA = {"name": "a", "namespace": "ns", "uid": "u", "resourceVersion": "7"}
OWNER = {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "up", "controller": True}


def document(**parts: Any) -> Json:
    """Return an object; `metadata` is added to what every object has."""
    metadata = {**METADATA, **parts.pop("metadata", {})}
    return {"apiVersion": "scheduling.k8s.io/v1alpha2", "metadata": metadata, **parts}


def test_a_pod_is_read() -> None:
    pod = Pod.parse(
        document(
            spec={
                "nodeName": "node",
                "schedulingGroup": {"podGroupName": "team"},
                "resourceClaims": [
                    {"name": "gpu", "resourceClaimTemplateName": "t"},
                    {"name": "nic", "resourceClaimName": "c"},
                    {"name": "future", "somethingNew": {"a": 1}},
                ],
            },
            status={
                "phase": "Running",
                "resourceClaimStatuses": [{"name": "gpu", "resourceClaimName": "a-gpu"}],
                "extendedResourceClaimStatus": {"resourceClaimName": "extended"},
            },
        )
    )
    assert (pod.phase, pod.node_name, pod.group_name) == ("Running", "node", "team")
    assert list(pod.claim_names()) == ["a-gpu", "c", "extended"]
    assert list(pod.template_names()) == ["t"]
    assert not pod.done


def test_the_schedulers_claim_for_an_extended_resource_is_read() -> None:
    annotations = {"resource.kubernetes.io/extended-resource-claim": "true"}
    claim = Claim.parse({"metadata": {"name": "c", "uid": "u", "annotations": annotations}})
    assert (claim.entry, claim.extended) == (None, True)


def test_a_claim_is_read() -> None:
    claim = Claim.parse(
        document(
            metadata={
                "annotations": {
                    "resource.kubernetes.io/pod-claim-name": "gpu",
                    "resource.kubernetes.io/extended-resource-claim": "true",
                },
                "finalizers": ["resource.kubernetes.io/delete-protection", "a/b"],
                "ownerReferences": [{**OWNER, "controller": False}, OWNER],
                "deletionTimestamp": "2026-01-01T00:00:00Z",
            },
            status={
                "allocation": {},
                "reservedFor": [{"resource": "pods", "name": "p", "uid": "up"}],
            },
        )
    )
    # A template may carry the annotation of the scheduler's own claims; an entry decides.
    assert (claim.entry, claim.extended, claim.allocated) == ("gpu", False, True)
    assert claim.protected
    assert claim.metadata.deleting
    assert claim.is_for("up")
    assert claim.consumers == (Consumer("pods", "p", "up"),)


@pytest.mark.parametrize(
    ("references", "uid"),
    [
        pytest.param([], None, id="none"),
        pytest.param([{**OWNER, "controller": False}], None, id="an owner that is no controller"),
        pytest.param([OWNER], "up", id="a controller"),
    ],
)
def test_only_a_controller_owns_a_claim(references: list[Json], uid: str | None) -> None:
    owner = Claim.parse(document(metadata={"ownerReferences": references})).metadata.owner
    assert (owner.uid if owner else None) == uid


@pytest.mark.parametrize("empty", [{}, None], ids=["absent", "null"])
def test_what_is_absent_or_null_is_empty(empty: Json | None) -> None:
    body = document() if empty == {} else document(spec=None, status=None)
    pod, claim, template = Pod.parse(body), Claim.parse(body), Template.parse(body)
    assert (pod.entries, pod.published, pod.group_name) == ((), {}, None)
    assert (claim.consumers, claim.allocated, claim.metadata.owner) == ((), False, None)
    assert (template.labels, template.spec, template.admin_access) == ({}, {}, False)


def _spec(**spec: Any) -> Json:
    return document(spec=spec)


def _status(**status: Any) -> Json:
    return document(status=status)


@pytest.mark.parametrize(
    ("kind", "body", "message"),
    [
        pytest.param(
            Pod, {"metadata": {"name": "a"}}, "metadata.uid: expected a string", id="no UID"
        ),
        pytest.param(
            Pod, {"metadata": {"uid": "u"}}, "metadata.name: expected a string", id="no name"
        ),
        pytest.param(Pod, {"metadata": "x"}, "metadata: expected an object", id="text metadata"),
        pytest.param(Claim, document(spec=3), "spec: expected an object, found int", id="spec"),
        pytest.param(
            Pod,
            _spec(resourceClaims={"name": "gpu"}),
            "spec.resourceClaims: expected a list of objects, found dict",
            id="entries that are no list",
        ),
        pytest.param(
            Pod,
            _spec(resourceClaims=[{"name": "gpu"}, "nic"]),
            "spec.resourceClaims[1]: expected an object, found str",
            id="an entry that is text",
        ),
        pytest.param(
            Pod,
            _spec(resourceClaims=[{"name": "gpu"}, {"resourceClaimName": "c"}]),
            "spec.resourceClaims[1].name: expected a string, found nothing",
            id="an entry without a name",
        ),
        pytest.param(
            PodGroup,
            _spec(resourceClaims=[{"name": "gpu", "resourceClaimTemplateName": 1}]),
            "spec.resourceClaims[0].resourceClaimTemplateName: expected a string, found int",
            id="a template's name that is a number",
        ),
        pytest.param(
            Pod, _spec(nodeName=["n"]), "spec.nodeName: expected a string, found list", id="node"
        ),
        pytest.param(
            Pod,
            _spec(schedulingGroup="team"),
            "spec.schedulingGroup: expected an object, found str",
            id="a group that is text",
        ),
        pytest.param(
            Pod,
            _status(resourceClaimStatuses=[{"name": None}]),
            "status.resourceClaimStatuses[0].name: expected a string, found nothing",
            id="a status without a name",
        ),
        pytest.param(
            Claim,
            _status(reservedFor=[{"resource": "pods", "name": "p", "uid": 4}]),
            "status.reservedFor[0].uid: expected a string, found int",
            id="a consumer's UID that is a number",
        ),
        pytest.param(
            Claim,
            document(metadata={"finalizers": ["a", 5]}),
            "metadata.finalizers[1]: expected a string, found int",
            id="a finalizer that is a number",
        ),
        pytest.param(
            Claim,
            document(metadata={"ownerReferences": [{"controller": True}]}),
            "metadata.ownerReferences[0].apiVersion: expected a string",
            id="an owner without a version",
        ),
        pytest.param(
            Template,
            _spec(metadata={"labels": ["x"]}),
            "spec.metadata.labels: expected an object, found list",
            id="labels that are a list",
        ),
        pytest.param(
            Template, _spec(spec="x"), "spec.spec: expected an object, found str", id="spec.spec"
        ),
        pytest.param(
            PodGroup,
            {"metadata": METADATA},
            "apiVersion: expected a string, found nothing",
            id="a group without a version",
        ),
    ],
)
def test_a_malformed_object_names_the_field_and_what_was_expected(
    kind: type[Pod | Claim | Template | PodGroup], body: Json, message: str
) -> None:
    with pytest.raises(MalformedObjectError) as caught:
        kind.parse(body)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("devices", "asks"),
    [
        pytest.param({}, False, id="no requests"),
        pytest.param({"requests": [{"exactly": {"adminAccess": True}}]}, True, id="v1"),
        pytest.param({"requests": [{"adminAccess": True}]}, True, id="v1beta1"),
        pytest.param({"requests": [{"exactly": {"adminAccess": False}}]}, False, id="refused"),
        pytest.param({"requests": [{"exactly": {"adminAccess": None}}]}, False, id="null"),
        pytest.param(
            {"requests": [{"exactly": {}}, {"exactly": {"adminAccess": True}}]},
            True,
            id="the second of two",
        ),
        pytest.param(
            {"requests": [{"firstAvailable": [{"adminAccess": True}]}]},
            False,
            id="an alternative never counts",
        ),
    ],
)
def test_admin_access_is_seen_in_every_version(devices: Json, asks: bool) -> None:
    assert Claim.parse(_spec(devices=devices)).admin_access is asks
    assert Template.parse(_spec(spec={"devices": devices})).admin_access is asks


@pytest.mark.parametrize(
    ("phase", "deleting", "node", "done"),
    [
        pytest.param("Pending", False, "", False, id="a pending pod"),
        pytest.param("Running", True, "node", False, id="a running pod that is being deleted"),
        pytest.param("Pending", True, "", True, id="deleted before it had a node"),
        pytest.param("Succeeded", False, "node", True, id="succeeded"),
        pytest.param("Failed", False, "", True, id="failed without a node"),
        pytest.param("Unknown", False, "node", False, id="a node that does not answer"),
        pytest.param("", False, "", False, id="no phase yet"),
    ],
)
def test_a_pod_is_done_when_it_will_use_no_devices(
    phase: str, deleting: bool, node: str, done: bool
) -> None:
    stamp = {"deletionTimestamp": "2026-01-01T00:00:00Z"} if deleting else {}
    body = document(metadata=stamp, spec={"nodeName": node}, status={"phase": phase})
    assert Pod.parse(body).done is done


def test_parsing_changes_nothing() -> None:
    body = document(
        spec={"metadata": {"labels": {"größe": "groß"}}, "spec": {"new": [1, None]}},
        status={"reservedFor": None},
    )
    before = copy.deepcopy(body)
    Template.parse(body)
    Claim.parse(body)
    assert body == before
