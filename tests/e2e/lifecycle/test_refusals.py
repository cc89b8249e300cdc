"""What the API server refuses is told once, tried again, and holds nothing else up."""

from collections.abc import Iterator

import pytest

from tests.e2e.setup import Setup
from tests.support.controlplane.api import Json, wait_for
from tests.support.controlplane.plane import ControlPlane

COUNT = "count/resourceclaims.resource.k8s.io"
ONE_CLAIM = {"create resourceclaims": 1, "patch pods/status": 1}


def set_quota(setup: Setup, hard: int) -> None:
    """Limit the number of claims; the status is written as the quota controller would."""
    hards = {COUNT: str(hard)}
    manifest = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "claims", "namespace": setup.namespace},
        "spec": {"hard": hards},
    }
    setup.apply(manifest)
    body = {"status": {"hard": hards, "used": {COUNT: "0"}}}
    setup.api.patch("resourcequotas", "claims", setup.namespace, body, subresource="status")
    probe = setup.claim("probe")
    # Before the API server has seen the status, it refuses all claims for another reason.
    wait_for(lambda: "exceeded quota" in refused(setup, probe), 30, "the quota to be in force")


def refused(setup: Setup, manifest: Json) -> str:
    """Return why the API server would not take a manifest, or nothing."""
    try:
        setup.api.create(setup.plane.served(manifest), dryRun="All")
    except Exception as error:  # noqa: BLE001 — the reason is what is asked for
        return str(error)
    return ""


@pytest.fixture
def policy(plane: ControlPlane, setup: Setup) -> Iterator[str]:
    """Let a ValidatingAdmissionPolicy refuse claims for entries that begin with `no`."""
    name = f"policy-{setup.namespace}"
    group = "admissionregistration.k8s.io"
    entry = "object.metadata.?annotations[?'resource.kubernetes.io/pod-claim-name'].orValue('')"
    rule = {
        "apiGroups": ["resource.k8s.io"],
        "apiVersions": ["*"],
        "resources": ["resourceclaims"],
        "operations": ["CREATE"],
    }
    only = {"matchLabels": {"kubernetes.io/metadata.name": setup.namespace}}
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
    setup.apply(
        {**common, "kind": "ValidatingAdmissionPolicy", "spec": spec},
        {**common, "kind": "ValidatingAdmissionPolicyBinding", "spec": binding},
    )
    probe = setup.claim("probe", annotations={"resource.kubernetes.io/pod-claim-name": "no"})
    wait_for(lambda: "not this one" in refused(setup, probe), 30, "the policy to be in force")
    yield name
    plane.api().delete("validatingadmissionpolicybindings", name)
    plane.api().delete("validatingadmissionpolicies", name)


def test_a_claim_over_quota_is_told_once_and_made_when_the_quota_is_lifted(setup: Setup) -> None:
    set_quota(setup, 0)
    setup.apply(setup.template(), setup.pod())
    (event,) = setup.event()
    wait_for(lambda: setup.counts(refused=True)["create resourceclaims"] >= 6, message="retries")
    assert event["note"].startswith("PodResourceClaim a: create ResourceClaim ")
    assert "exceeded quota: claims" in event["note"]
    setup.wrote({"create events": 1})
    setup.plane.kubectl("delete", "-n", setup.namespace, "resourcequota", "claims")
    setup.published()
    setup.wrote(ONE_CLAIM | {"create events": 1})


def test_a_refusal_is_told_once_however_often_the_pod_changes(setup: Setup) -> None:
    set_quota(setup, 0)
    setup.apply(setup.template(), setup.pod())
    setup.event()
    for number in range(20):
        setup.label("pods", "pod", str(number))
    setup.seen()
    assert len(setup.events()) == 1
    setup.wrote({"create events": 1})


def test_pods_of_other_namespaces_do_not_wait_for_a_refused_one(setup: Setup) -> None:
    set_quota(setup, 0)
    setup.apply(setup.template(), *(setup.pod(f"pod-{number}") for number in range(50)))
    setup.event(count=50)
    setup.seen()
    assert setup.claims() == {}


@pytest.mark.usefixtures("policy")
def test_an_entry_that_a_policy_refuses_does_not_delay_the_others(setup: Setup) -> None:
    entries = dict.fromkeys(["yes", "no", "indeed", "nowhere"], "template")
    setup.apply(setup.template(), setup.pod(templates=entries))
    assert sorted(setup.published(entries=["yes", "indeed"])) == ["indeed", "yes"]
    notes = sorted(event["note"] for event in setup.event(count=2))
    assert [note.partition(":")[0] for note in notes] == [
        "PodResourceClaim no",
        "PodResourceClaim nowhere",
    ]
    assert all("not this one" in note for note in notes)
    setup.wrote(
        {
            "create resourceclaims": 2,
            "patch pods/status": 1,
            "create events": 2,
        }
    )


def test_a_policy_that_is_lifted_lets_the_claim_through(setup: Setup, policy: str) -> None:
    setup.apply(setup.template(), setup.pod(templates={"no": "template"}))
    setup.event()
    setup.plane.kubectl("delete", "validatingadmissionpolicybinding", policy)
    setup.published(entries=["no"])
    setup.wrote(ONE_CLAIM | {"create events": 1})


def test_admin_access_that_the_namespace_does_not_allow_any_more_is_told(setup: Setup) -> None:
    label = "resource.kubernetes.io/admin-access"
    namespaces = (setup.namespace, None)
    setup.api.patch("namespaces", *namespaces, {"metadata": {"labels": {label: "true"}}})
    template = setup.template()
    template["spec"]["spec"]["devices"]["requests"][0]["exactly"]["adminAccess"] = True
    setup.apply(template)
    setup.api.patch("namespaces", *namespaces, {"metadata": {"labels": {label: None}}})
    probe = setup.claim("probe")
    probe["spec"] = template["spec"]["spec"]
    wait_for(lambda: refused(setup, probe), message="the namespace to allow it no more")
    setup.apply(setup.pod())
    (event,) = setup.event()
    assert "PodResourceClaim a: create ResourceClaim" in event["note"]
    assert "admin" in event["note"]
    setup.api.patch("namespaces", *namespaces, {"metadata": {"labels": {label: "true"}}})
    setup.published()
    setup.wrote(ONE_CLAIM | {"create events": 1})


def test_a_namespace_that_is_being_deleted_is_no_reason_for_events(
    plane: ControlPlane, setup: Setup
) -> None:
    setup.apply(setup.template(), setup.pod())
    claim = setup.claim_of("pod")["metadata"]["name"]
    setup.forget()
    plane.kubectl("delete", "namespace", setup.namespace, "--wait=false")
    setup.api.delete("resourceclaims", claim, setup.namespace)
    wait_for(lambda: setup.counts(refused=True)["create resourceclaims"], message="a refusal")
    setup.seen()
    assert setup.counts() == {}
    assert setup.events() == []
