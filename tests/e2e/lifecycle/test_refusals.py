"""What the API server refuses is told once, tried again, and holds nothing else up."""

from collections.abc import Iterator

import pytest

from tests.e2e.scene import Scene
from tests.support.controlplane.api import Json, wait_for
from tests.support.controlplane.plane import ControlPlane

COUNT = "count/resourceclaims.resource.k8s.io"
ONE_CLAIM = {"create resourceclaims": 1, "patch pods/status": 1}


def set_quota(scene: Scene, hard: int) -> None:
    """Limit the number of claims; the status is written as the quota controller would."""
    hards = {COUNT: str(hard)}
    manifest = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "claims", "namespace": scene.namespace},
        "spec": {"hard": hards},
    }
    scene.apply(manifest)
    body = {"status": {"hard": hards, "used": {COUNT: "0"}}}
    scene.api.patch("resourcequotas", "claims", scene.namespace, body, subresource="status")
    probe = scene.claim("probe")
    wait_for(lambda: refused(scene, probe), message="the quota to be in force")


def refused(scene: Scene, manifest: Json) -> str:
    """Return why the API server would not take a manifest, or nothing."""
    try:
        scene.api.create(scene.plane.served(manifest), dryRun="All")
    except Exception as error:  # noqa: BLE001 — the reason is what is asked for
        return str(error)
    return ""


@pytest.fixture
def policy(plane: ControlPlane, scene: Scene) -> Iterator[str]:
    """Let a ValidatingAdmissionPolicy refuse claims for entries that begin with `no`."""
    name = f"policy-{scene.namespace}"
    group = "admissionregistration.k8s.io"
    entry = "object.metadata.?annotations[?'resource.kubernetes.io/pod-claim-name'].orValue('')"
    rule = {
        "apiGroups": ["resource.k8s.io"],
        "apiVersions": ["*"],
        "resources": ["resourceclaims"],
        "operations": ["CREATE"],
    }
    only = {"matchLabels": {"kubernetes.io/metadata.name": scene.namespace}}
    spec = {
        "matchConstraints": {"resourceRules": [rule]},
        "validations": [{"expression": f"!{entry}.startsWith('no')", "message": "not this one"}],
    }
    binding = {
        "policyName": name,
        "validationActions": ["Deny"],
        "matchResources": {"namespaceSelector": only},
    }
    common = {"apiVersion": f"{group}/v1", "metadata": {"name": name}}
    scene.apply(
        {**common, "kind": "ValidatingAdmissionPolicy", "spec": spec},
        {**common, "kind": "ValidatingAdmissionPolicyBinding", "spec": binding},
    )
    probe = scene.claim("probe", annotations={"resource.kubernetes.io/pod-claim-name": "no"})
    wait_for(lambda: refused(scene, probe), message="the policy to be in force")
    yield name
    plane.api().delete("validatingadmissionpolicybindings", name)
    plane.api().delete("validatingadmissionpolicies", name)


def test_a_claim_over_quota_is_told_once_and_made_when_the_quota_is_lifted(scene: Scene) -> None:
    set_quota(scene, 0)
    scene.apply(scene.template(), scene.pod())
    (event,) = scene.event()
    wait_for(lambda: scene.counts(refused=True)["create resourceclaims"] >= 6, message="retries")
    assert event["note"].startswith("PodResourceClaim a: create ResourceClaim ")
    assert "exceeded quota: claims" in event["note"]
    assert scene.counts() == {"create events": 1}
    scene.plane.kubectl("delete", "-n", scene.namespace, "resourcequota", "claims")
    scene.published()
    assert scene.writes() == ONE_CLAIM | {"create events": 1}


def test_a_refusal_is_told_once_however_often_the_pod_changes(scene: Scene) -> None:
    set_quota(scene, 0)
    scene.apply(scene.template(), scene.pod())
    scene.event()
    for number in range(20):
        scene.label("pods", "pod", str(number))
    scene.seen()
    assert len(scene.events()) == 1
    assert scene.counts() == {"create events": 1}


def test_pods_of_other_namespaces_do_not_wait_for_a_refused_one(scene: Scene) -> None:
    set_quota(scene, 0)
    scene.apply(scene.template(), *(scene.pod(f"pod-{number}") for number in range(50)))
    scene.event(count=50)
    scene.seen()
    assert scene.claims() == {}


@pytest.mark.usefixtures("policy")
def test_an_entry_that_a_policy_refuses_does_not_delay_the_others(scene: Scene) -> None:
    entries = dict.fromkeys(["yes", "no", "indeed", "nowhere"], "template")
    scene.apply(scene.template(), scene.pod(templates=entries))
    assert sorted(scene.published(entries=["yes", "indeed"])) == ["indeed", "yes"]
    notes = sorted(event["note"] for event in scene.event(count=2))
    assert [note.partition(":")[0] for note in notes] == [
        "PodResourceClaim no",
        "PodResourceClaim nowhere",
    ]
    assert all("not this one" in note for note in notes)
    assert scene.counts() == {
        "create resourceclaims": 2,
        "patch pods/status": 1,
        "create events": 2,
    }


def test_a_policy_that_is_lifted_lets_the_claim_through(scene: Scene, policy: str) -> None:
    scene.apply(scene.template(), scene.pod(templates={"no": "template"}))
    scene.event()
    scene.plane.kubectl("delete", "validatingadmissionpolicybinding", policy)
    scene.published(entries=["no"])
    assert scene.writes() == ONE_CLAIM | {"create events": 1}


def test_admin_access_that_the_namespace_does_not_allow_any_more_is_told(scene: Scene) -> None:
    label = "resource.kubernetes.io/admin-access"
    namespaces = (scene.namespace, None)
    scene.api.patch("namespaces", *namespaces, {"metadata": {"labels": {label: "true"}}})
    template = scene.template()
    template["spec"]["spec"]["devices"]["requests"][0]["exactly"]["adminAccess"] = True
    scene.apply(template)
    scene.api.patch("namespaces", *namespaces, {"metadata": {"labels": {label: None}}})
    probe = scene.claim("probe")
    probe["spec"] = template["spec"]["spec"]
    wait_for(lambda: refused(scene, probe), message="the namespace to allow it no more")
    scene.apply(scene.pod())
    (event,) = scene.event()
    assert "PodResourceClaim a: create ResourceClaim" in event["note"]
    assert "admin" in event["note"]
    scene.api.patch("namespaces", *namespaces, {"metadata": {"labels": {label: "true"}}})
    scene.published()
    assert scene.writes() == ONE_CLAIM | {"create events": 1}


def test_a_namespace_that_is_being_deleted_is_no_reason_for_events(
    plane: ControlPlane, scene: Scene
) -> None:
    scene.apply(scene.template(), scene.pod())
    claim = scene.claim_of("pod")["metadata"]["name"]
    scene.forget()
    plane.kubectl("delete", "namespace", scene.namespace, "--wait=false")
    scene.api.delete("resourceclaims", claim, scene.namespace)
    wait_for(lambda: scene.counts(refused=True)["create resourceclaims"], message="a refusal")
    scene.seen()
    assert scene.counts() == {}
    assert scene.events() == []
