"""Findings on a real control plane: what each rule finds, and what repairs write."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from dragoman.doctor.finding import Id
from dragoman_base.versions import parse
from tests.e2e.toolkit.commands import Answer, dra
from tests.support import manifests as objects
from tests.support.controlplane.api import Api, Json
from tests.support.controlplane.plane import ControlPlane
from tests.support.worlds.doctor import Case, World, cases

ORDER = ("Node", "DeviceClass", "ResourceSlice", "Pod", "ResourceClaim", "ResourceClaimTemplate")
"""Of creation: a template that replaced another is not older than the claim, to the second."""
ADMIN = {"resource.kubernetes.io/admin-access": "true"}
CRD = Path(__file__).parents[3] / "crds/driverconfigschemas.yaml"
NO_AGE = ("--settle-after", 0, "--idle-after", 0)
BAD, GOOD = cases("sick"), cases("well")
WORLDS = [
    (bad, good)
    for bad, good in zip(BAD, GOOD, strict=True)
    # A scheduler has a minute to look at a pod.
    if bad.id not in (Id.WEBHOOK_MISSING, Id.POD_UNSEEN)
]


class Ward:
    """Worlds of findings on a control plane.

    Args:
        plane: Where they are built.
    """

    def __init__(self, plane: ControlPlane) -> None:
        self.plane = plane
        self.api: Api = plane.api()
        self._uids: dict[str, str] = {}

    def admit(self, namespace: str, manifests: Iterable[Mapping[str, Any]]) -> None:
        """Create objects with their statuses, and delete those that are to be deleted."""
        self.api.create(objects.namespace(namespace, ADMIN))
        for manifest in sorted(manifests, key=lambda one: ORDER.index(one["kind"])):
            self.create(manifest)

    def create(self, manifest: Mapping[str, Any]) -> Json:
        """Create one object with its status."""
        text = json.dumps(manifest)
        for mark, uid in self._uids.items():
            text = text.replace(f'"{mark}"', f'"{uid}"')
        whole = json.loads(text)
        metadata = whole["metadata"]
        deleted = metadata.pop("deletionTimestamp", None)
        made = self.api.create(whole)
        if whole["kind"] == "Node":
            self._uids[f"uid-of-node-{metadata['name']}"] = made["metadata"]["uid"]
        if whole["kind"] == "Pod":
            mark = f"uid-of-{metadata['namespace']}-{metadata['name']}"
            self._uids[mark] = made["metadata"]["uid"]
        if "status" in whole and whole["kind"] != "Node":
            made = self.api.update({**made, "status": whole["status"]}, "status")
        if deleted:
            plural = self.api.home(whole).plural
            self.api.delete(plural, metadata["name"], metadata.get("namespace"))
        return made

    def discharge(self, namespace: str, manifests: Iterable[Mapping[str, Any]]) -> None:
        """Remove the objects of a world."""
        self.plane.clear_namespace(namespace)
        for one in manifests:
            if "namespace" not in one["metadata"]:
                self.api.delete(self.api.home(one).plural, one["metadata"]["name"])

    def claim(self, namespace: str) -> Json:
        """Return the claim of a world."""
        return self.api.get("resourceclaims", "claim", namespace)

    def doctor(self, *arguments: object) -> list[Json]:
        """Return all findings."""
        said = dra(
            "doctor", "--kubeconfig", self.plane.kubeconfig, "-o", "json", *arguments,
            expected=(0, 1),
        )  # fmt: skip
        found: list[Json] = said.document["findings"]
        return found


@pytest.fixture(scope="module")
def ward(plane: ControlPlane) -> Iterator[Ward]:
    """Build the worlds of all findings, and the nearest ones that have none."""
    made = Ward(plane)
    pairs = [pair for world in WORLDS for pair in _named(*world)]
    for name, manifests in pairs:
        made.admit(name, manifests)
    yield made
    for name, manifests in pairs:
        made.discharge(name, manifests)


def _named(bad: Case, good: Case) -> Iterator[tuple[str, tuple[Json, ...]]]:
    index = BAD.index(bad)
    yield f"sick{index}", bad.bad
    yield f"well{index}", good.good


@pytest.fixture(scope="module")
def findings(ward: Ward) -> list[Json]:
    """Examine all worlds at once."""
    return ward.doctor(*NO_AGE)


def about(findings: Iterable[Json], world: str) -> list[tuple[str, str]]:
    """Return id and subject of the findings that name a world."""
    marks = (f"{world}/", f"{world}-", f".{world}.")
    return [
        (one["id"], one["object"]["text"])
        for one in findings
        if any(mark in f"{one['object']['text']} {one['message']}" for mark in marks)
    ]


@pytest.mark.parametrize("bad", [bad for bad, _ in WORLDS], ids=lambda case: case.id)
def test_a_finding_is_in_its_world_and_not_in_the_nearest(
    ward: Ward, findings: list[Json], bad: Case
) -> None:
    index = BAD.index(bad)
    # kubernetes#138407 is mended there.
    mended = bad.id is Id.KNOWN_FAULT and parse(ward.plane.version) >= (1, 37)
    assert about(findings, f"sick{index}") == ([] if mended else [(str(bad.id), bad.about)])
    assert about(findings, f"well{index}") == []


def test_a_snapshot_has_the_findings_of_the_cluster(ward: Ward, tmp_path: Path) -> None:
    file = tmp_path / "cluster.jsonl"
    dra("snapshot", "--kubeconfig", ward.plane.kubeconfig, "-o", file)
    kept = dra("doctor", "--snapshot", file, "-o", "json", *NO_AGE, expected=(1,)).document
    live = ward.doctor(*NO_AGE)
    assert kept["findings"] == live
    assert kept["partial"] == {}


def test_schemas_that_nothing_enforces() -> None:
    [bad] = [one for one in cases("lone") if one.id is Id.WEBHOOK_MISSING]
    with ControlPlane(audit=False) as plane:
        ward = Ward(plane)
        arguments = ("--only", "WebhookMissing")
        assert ward.doctor(*arguments) == []  # nobody installed the CRD
        plane.define(yaml.safe_load(CRD.read_text()))
        schema, webhook = bad.good
        schema = {**schema, "spec": {**schema["spec"], "configs": [CONFIG]}}
        plane.kubectl("apply", "-f", "-", input=yaml.safe_dump(schema))
        [finding] = ward.doctor(*arguments)
        assert finding["object"]["text"] == bad.about
        plane.kubectl("apply", "-f", "-", input=yaml.safe_dump(webhook))
        assert ward.doctor(*arguments) == []


CONFIG = {
    "apiVersion": "example.com/v1",
    "kind": "Config",
    "schema": {"openAPIV3Schema": {"type": "object"}},
}


# Repairs ------------------------------------------------------------------------------------------


class Patient:
    """One claim, and the commands that repair it."""

    def __init__(self, ward: Ward, namespace: str) -> None:
        self.ward = ward
        self.world = World(namespace)

    def stored(self, name: str = "claim") -> Json:
        return self.ward.api.get("resourceclaims", name, self.world.name)

    def run(self, command: str, *arguments: object, status: int = 0) -> Answer:
        key = f"{self.world.name}/claim"
        kubeconfig = ("--kubeconfig", self.ward.plane.kubeconfig)
        return dra(command, key, *kubeconfig, *arguments, expected=(status,))


@pytest.fixture
def patient(plane: ControlPlane, namespace: str) -> Patient:
    """A namespace for one claim."""
    return Patient(Ward(plane), namespace)


def test_an_idle_claim_is_released(patient: Patient) -> None:
    patient.ward.create(patient.world.claim("claim", "d0", "d1"))
    before = patient.stored()
    patient.run("release", "--dry-run")
    assert patient.stored() == before
    said = patient.run("release", "-o", "json").document
    assert said["written"] is True
    assert said["message"].startswith("released 2 devices of claim")
    assert "allocation" not in patient.stored().get("status", {})
    assert "holds no devices" in patient.run("release").output


def test_a_claim_in_use_is_not_released(patient: Patient) -> None:
    patient.ward.create(patient.world.pod(claims={"gpu": "claim"}))
    patient.ward.create(patient.world.claim("claim", "d0", users=["pod"]))
    before = patient.stored()
    assert "reserved for pod pod" in patient.run("release", status=1).output
    assert patient.stored() == before
    patient.ward.plane.finish_pod(patient.world.name, "pod")
    patient.run("release")
    assert patient.stored().get("status", {}) == {}


def test_a_stuck_claim_ends_after_two_releases(patient: Patient) -> None:
    manifest = patient.world.claim(
        "claim", "d0", finalizers=["resource.kubernetes.io/delete-protection"]
    )
    patient.ward.create({**manifest, "metadata": {**manifest["metadata"], "deletionTimestamp": ""}})
    patient.ward.api.delete("resourceclaims", "claim", patient.world.name)
    patient.run("release")
    assert "removed finalizer" in patient.run("release").output
    assert patient.ward.api.find("resourceclaims", "claim", patient.world.name) is None


def test_the_pod_that_uses_a_claim_adopts_it(patient: Patient) -> None:
    world = patient.world
    pod = patient.ward.create(world.pod(templates={"gpu": "template"}, published={"gpu": "claim"}))
    claim = world.claim("claim", "d0", users=["pod"])
    claim["metadata"]["annotations"] = {"resource.kubernetes.io/pod-claim-name": "gpu"}
    patient.ward.create(claim)
    patient.run("adopt", "--dry-run")
    assert "ownerReferences" not in patient.stored()["metadata"]
    patient.run("adopt")
    [owner] = patient.stored()["metadata"]["ownerReferences"]
    assert (owner["uid"], owner["controller"]) == (pod["metadata"]["uid"], True)
    before = patient.stored()
    assert "Pod pod owns claim" in patient.run("adopt").output
    assert patient.stored() == before


def test_a_claim_that_does_not_exist(patient: Patient) -> None:
    assert "not found" in patient.run("release", status=2).errors


def test_a_quota_that_keeps_pods_out_is_found_by_a_dry_run(plane: ControlPlane) -> None:
    api, name = plane.api(), "dry-run-pods"
    api.create(objects.namespace(name))
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "few", "namespace": name},
    }
    api.create({**quota, "spec": {"hard": {"pods": "1"}}})
    stored = api.get("resourcequotas", "few", name)
    hard = {"hard": {"pods": "1"}, "used": {"pods": "1"}}
    api.update({**stored, "status": hard}, "status")
    spec = objects.pod("x", name, templates={"gpu": "one"})["spec"]
    spec["restartPolicy"] = "Always"
    template = {"metadata": {"labels": {"app": "x"}}, "spec": spec}
    api.create(
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "train", "namespace": name},
            "spec": {"selector": {"matchLabels": {"app": "x"}}, "template": template},
        }
    )
    try:
        told = ("doctor", "-n", name, "--only", "PodRejected", "--kubeconfig", plane.kubeconfig)
        (found,) = dra(*told, "-o", "json").document["findings"]
        assert found["object"]["text"] == f"Deployment {name}/train"
        assert found["message"].startswith("its pods are not created: exceeded quota: few")
        assert api.list("pods", name) == []
        assert (
            dra("doctor", "-n", name, "--kubeconfig", plane.kubeconfig, "-o", "json").document[
                "findings"
            ]
            == []
        )
    finally:
        plane.clear_namespace(name)
