"""PodGroups (KEP-5729): one claim for a group, which its pods share. Since 1.36."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.setup import ANNOTATION, Setup
from tests.e2e.toolkit.commands import dra
from tests.e2e.versions import HAS_POD_GROUPS, NO_POD_GROUPS, POD_GROUPS, VERSION
from tests.support.controlplane.api import Json, wait_for
from tests.support.controlplane.components import UNTHROTTLED
from tests.support.controlplane.plane import CLAIM_CONTROLLER, SCHEDULER, ControlPlane

pytestmark = pytest.mark.skipif(not HAS_POD_GROUPS, reason=NO_POD_GROUPS)
GATES = {"GenericWorkload": True, "DRAWorkloadResourceClaims": True}
HOST = "kubernetes.io/hostname"
GROUP_CLAIM = {"create resourceclaims": 1, "patch podgroups/status": 1}


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    """Run a control plane that serves PodGroups."""
    served = {POD_GROUPS: True}
    with ControlPlane(scheduler=True, feature_gates=GATES, runtime_config=served) as running:
        yield running


def group(setup: Setup, name: str = "group", **templates: str) -> Json:
    """Return a PodGroup with these entries; without any, entry `a` is from `template`."""
    entries = [
        {"name": entry, "resourceClaimTemplateName": template}
        for entry, template in (templates or {"a": "template"}).items()
    ]
    return {
        "apiVersion": POD_GROUPS,
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": setup.namespace},
        "spec": {"schedulingPolicy": {"basic": {}}, "resourceClaims": entries},
    }


def member(setup: Setup, name: str, of: str = "group", **more: Any) -> Json:
    """Return a pod of a group; without `templates` its entry `a` stands for the group's."""
    return setup.pod(name, schedulingGroup={"podGroupName": of}, **more)


def group_claim(setup: Setup, name: str = "group", entry: str = "a") -> str:
    """Wait until the status of a group names its claim; returns the name."""

    def named() -> str | None:
        statuses = setup.get("podgroups", name).get("status", {}).get("resourceClaimStatuses")
        found = {one["name"]: one.get("resourceClaimName") for one in statuses or []}
        return found.get(entry)

    return wait_for(named, message=f"status of PodGroup {name} to name a claim for {entry}")


def test_a_group_gets_one_claim_which_its_pods_share(setup: Setup) -> None:
    pods = ["first", "second", "third"]
    setup.apply(setup.template(), group(setup), *(member(setup, name) for name in pods))
    claim = group_claim(setup)
    assert [setup.published(name) for name in pods] == [{"a": claim}] * 3
    assert [*setup.claims()] == [claim]
    setup.wrote(GROUP_CLAIM | {"patch pods/status": 3})


def test_the_claim_of_a_group_says_whose_it_is(setup: Setup) -> None:
    setup.apply(setup.template(metadata={"labels": {"team": "blue"}}), group(setup))
    claim = setup.get("resourceclaims", group_claim(setup))
    (owner,) = claim["metadata"]["ownerReferences"]
    uid = setup.get("podgroups", "group")["metadata"]["uid"]
    assert (owner["kind"], owner["name"], owner["uid"]) == ("PodGroup", "group", uid)
    assert owner["apiVersion"] == POD_GROUPS
    assert claim["metadata"]["annotations"][ANNOTATION] == "a"
    assert claim["metadata"]["labels"] == {"team": "blue"}
    assert claim["metadata"]["name"].startswith("group-a-")
    setup.wrote(GROUP_CLAIM)


def test_an_entry_that_the_group_does_not_share_is_the_pods_own(setup: Setup) -> None:
    setup.apply(
        setup.template(),
        setup.template("other"),
        group(setup),
        member(setup, "pod", templates={"a": "template", "b": "other", "c": "template"}),
    )
    bound = setup.published(entries=["a", "b", "c"])
    assert bound["a"] == group_claim(setup)
    assert len({*bound.values()}) == 3
    setup.wrote({"create resourceclaims": 3}, others=True)


def test_the_same_entry_from_another_template_is_the_pods_own(setup: Setup) -> None:
    setup.apply(
        setup.template(),
        setup.template("other"),
        group(setup),
        member(setup, "pod", templates={"a": "other"}),
    )
    assert setup.published()["a"] != group_claim(setup)
    assert len(setup.claims()) == 2


def test_a_pod_waits_for_its_group_and_is_woken_by_it(setup: Setup) -> None:
    setup.apply(setup.template(), member(setup, "pod"))
    (event,) = setup.event()
    assert event["note"] == 'PodResourceClaim a: podgroup "group" not found'
    assert setup.claims() == {}
    setup.apply(group(setup))
    assert setup.published() == {"a": group_claim(setup)}
    setup.wrote(GROUP_CLAIM | {"create events": 1, "patch pods/status": 1})


def test_a_group_waits_for_its_template_and_is_woken_by_it(setup: Setup) -> None:
    setup.apply(group(setup), member(setup, "pod"))
    (event,) = setup.event()
    assert event["regarding"]["kind"] == "PodGroup"
    assert event["note"].startswith('PodGroupResourceClaim a: resource claim template "template"')
    setup.apply(setup.template())
    assert setup.published() == {"a": group_claim(setup)}
    setup.wrote(GROUP_CLAIM | {"create events": 1, "patch pods/status": 1})


def test_the_claim_stays_reserved_for_the_group_until_the_group_is_gone(setup: Setup) -> None:
    setup.apply(setup.template(device_class=setup.devices()), group(setup))
    claim = group_claim(setup)
    setup.apply(member(setup, "first"), member(setup, "second"))
    setup.reserved(claim, "group")
    for name in ("first", "second"):
        wait_for(lambda name=name: setup.node_of(name), message=f"pod {name} to be scheduled")  # type: ignore[misc]
    setup.forget()
    setup.finish("first")
    setup.delete_pods("second")
    setup.seen()
    assert setup.consumers(claim) == ["group"]
    assert setup.writes() == {}
    setup.plane.kubectl("delete", "-n", setup.namespace, "podgroup", "group", "--wait=false")
    setup.api.patch("podgroups", "group", setup.namespace, {"metadata": {"finalizers": None}})
    wait_for(lambda: not setup.allocated(claim), message="the claim's devices to be free")
    setup.wrote({"patch resourceclaims/status": 1}, others=True)


def test_explain_follows_the_scheduler_that_frees_the_claim_of_a_group(
    setup: Setup, tmp_path: Path
) -> None:
    """Its pods have no node any more: the scheduler takes its devices, which are elsewhere."""
    plane, here = setup.plane, setup.devices(1)
    there = f"{here}-other"
    plane.add_node(there, 1, f"{here}.example.com")
    try:
        setup.apply(setup.template(device_class=here), group(setup))
        claim = group_claim(setup)
        setup.apply(member(setup, "first", nodeSelector={HOST: here}))
        wait_for(lambda: setup.node_of("first"), message="pod first to be scheduled")
        wanted = member(setup, "second", nodeSelector={HOST: there})
        plane.stop_part(SCHEDULER)
        setup.apply(wanted)
        setup.published("second")
        answers = {"beside first": explained(setup, tmp_path / "beside")}
        setup.delete_pods("first")
        answers["alone"] = explained(setup, tmp_path / "alone")
        plane.revive(SCHEDULER)
        wait_for(lambda: setup.node_of("second") == there, message="pod second to be scheduled")
        assert answers == {"beside first": ("DoesNotFit", []), "alone": ("Fits", [claim])}
    finally:
        plane.remove_node(there, f"{here}.example.com")


def explained(setup: Setup, file: Path) -> tuple[str, list[str]]:
    """Return what `explain` says about pod second, and which claims are deallocated for it."""
    dra("snapshot", "--kubeconfig", setup.plane.kubeconfig, "-o", file)
    pod = ("pod", "second", "-n", setup.namespace)
    said = dra("explain", *pod, "--snapshot", file, "-o", "json", expected=(0, 1)).document
    return said["answer"], said["deallocated"]


def test_a_deleted_claim_of_a_group_is_made_anew(setup: Setup) -> None:
    setup.apply(setup.template(), group(setup), member(setup, "pod"))
    claim = group_claim(setup)
    before = setup.claim_of("pod")
    setup.forget()
    setup.plane.kubectl("delete", "-n", setup.namespace, "resourceclaim", claim)
    setup.replaced(before)
    setup.wrote({"create resourceclaims": 1}, others=True)
    assert setup.published() == {"a": group_claim(setup)}


def test_a_status_that_names_a_claim_of_another_owner_is_corrected(setup: Setup) -> None:
    """kube-controller-manager 1.36 ends with a nil dereference on the same pod."""
    setup.apply(setup.claim("others"))
    pod = setup.api.create(setup.pod())
    statuses = [{"name": "a", "resourceClaimName": "others"}]
    setup.api.patch(
        "pods",
        pod["metadata"]["name"],
        setup.namespace,
        {"status": {"resourceClaimStatuses": statuses}},
        subresource="status",
    )
    assert ends_the_stock_controller(setup.plane) == (VERSION < (1, 37))
    setup.apply(setup.template())
    wait_for(
        lambda: setup.published()["a"] != "others", message="the status to name the pod's own claim"
    )
    assert setup.claim_of("pod")["metadata"]["ownerReferences"][0]["name"] == "pod"
    assert setup.event("ForeignResourceClaim")


def ends_the_stock_controller(plane: ControlPlane) -> bool:
    """Run the built-in controller; return whether it ends by itself, by a nil dereference."""
    patience = 60 if VERSION < (1, 37) else 20
    with suppress(RuntimeError):  # it may end before it is ready
        plane.start_stock_controller(UNTHROTTLED)
    process = plane.processes[CLAIM_CONTROLLER]
    try:
        wait_for(lambda: process.pid is None, patience, "the built-in controller to end")
    except TimeoutError:
        return False
    finally:
        plane.stop_part(CLAIM_CONTROLLER)
    return "nil pointer dereference" in process.log.read_text()
