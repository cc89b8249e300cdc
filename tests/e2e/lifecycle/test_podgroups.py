"""PodGroups (KEP-5729): one claim for a group, which its pods share. Since 1.36."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.scene import ANNOTATION, Scene
from tests.e2e.versions import HAS_POD_GROUPS, NO_POD_GROUPS, POD_GROUPS
from tests.support.controlplane.api import Json, wait_for
from tests.support.controlplane.components import UNTHROTTLED
from tests.support.controlplane.plane import CLAIM_CONTROLLER, ControlPlane

pytestmark = pytest.mark.skipif(not HAS_POD_GROUPS, reason=NO_POD_GROUPS)
GATES = {"GenericWorkload": True, "DRAWorkloadResourceClaims": True}
GROUP_CLAIM = {"create resourceclaims": 1, "patch podgroups/status": 1}


@pytest.fixture(scope="module")
def plane() -> Iterator[ControlPlane]:
    """Run a control plane that serves PodGroups."""
    served = {POD_GROUPS: True}
    with ControlPlane(scheduler=True, feature_gates=GATES, runtime_config=served) as running:
        yield running


def group(scene: Scene, name: str = "group", **templates: str) -> Json:
    """Return a PodGroup with these entries; without any, entry `a` is from `template`."""
    entries = [
        {"name": entry, "resourceClaimTemplateName": template}
        for entry, template in (templates or {"a": "template"}).items()
    ]
    return {
        "apiVersion": POD_GROUPS,
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": scene.namespace},
        "spec": {"schedulingPolicy": {"basic": {}}, "resourceClaims": entries},
    }


def member(scene: Scene, name: str, of: str = "group", **more: Any) -> Json:
    """Return a pod of a group; without `templates` its entry `a` stands for the group's."""
    return scene.pod(name, schedulingGroup={"podGroupName": of}, **more)


def group_claim(scene: Scene, name: str = "group", entry: str = "a") -> str:
    """Wait until the status of a group names its claim; returns the name."""

    def named() -> str | None:
        statuses = scene.get("podgroups", name).get("status", {}).get("resourceClaimStatuses")
        found = {one["name"]: one.get("resourceClaimName") for one in statuses or []}
        return found.get(entry)

    return wait_for(named, message=f"status of PodGroup {name} to name a claim for {entry}")


def test_a_group_gets_one_claim_which_its_pods_share(scene: Scene) -> None:
    pods = ["first", "second", "third"]
    scene.apply(scene.template(), group(scene), *(member(scene, name) for name in pods))
    claim = group_claim(scene)
    assert [scene.published(name) for name in pods] == [{"a": claim}] * 3
    assert [*scene.claims()] == [claim]
    assert scene.counts() == GROUP_CLAIM | {"patch pods/status": 3}


def test_the_claim_of_a_group_says_whose_it_is(scene: Scene) -> None:
    scene.apply(scene.template(metadata={"labels": {"team": "blue"}}), group(scene))
    claim = scene.get("resourceclaims", group_claim(scene))
    (owner,) = claim["metadata"]["ownerReferences"]
    uid = scene.get("podgroups", "group")["metadata"]["uid"]
    assert (owner["kind"], owner["name"], owner["uid"]) == ("PodGroup", "group", uid)
    assert owner["apiVersion"] == POD_GROUPS
    assert claim["metadata"]["annotations"][ANNOTATION] == "a"
    assert claim["metadata"]["labels"] == {"team": "blue"}
    assert claim["metadata"]["name"].startswith("group-a-")
    assert scene.writes() == GROUP_CLAIM


def test_an_entry_that_the_group_does_not_share_is_the_pods_own(scene: Scene) -> None:
    scene.apply(
        scene.template(),
        scene.template("other"),
        group(scene),
        member(scene, "pod", templates={"a": "template", "b": "other", "c": "template"}),
    )
    bound = scene.published(entries=["a", "b", "c"])
    assert bound["a"] == group_claim(scene)
    assert len({*bound.values()}) == 3
    assert scene.writes()["create resourceclaims"] == 3


def test_the_same_entry_from_another_template_is_the_pods_own(scene: Scene) -> None:
    scene.apply(
        scene.template(),
        scene.template("other"),
        group(scene),
        member(scene, "pod", templates={"a": "other"}),
    )
    assert scene.published()["a"] != group_claim(scene)
    assert len(scene.claims()) == 2


def test_a_pod_waits_for_its_group_and_is_woken_by_it(scene: Scene) -> None:
    scene.apply(scene.template(), member(scene, "pod"))
    (event,) = scene.event()
    assert event["note"] == 'PodResourceClaim a: podgroup "group" not found'
    assert scene.claims() == {}
    scene.apply(group(scene))
    assert scene.published() == {"a": group_claim(scene)}
    assert scene.writes() == GROUP_CLAIM | {"create events": 1, "patch pods/status": 1}


def test_a_group_waits_for_its_template_and_is_woken_by_it(scene: Scene) -> None:
    scene.apply(group(scene), member(scene, "pod"))
    (event,) = scene.event()
    assert event["regarding"]["kind"] == "PodGroup"
    assert event["note"].startswith('PodGroupResourceClaim a: resource claim template "template"')
    scene.apply(scene.template())
    assert scene.published() == {"a": group_claim(scene)}
    assert scene.writes() == GROUP_CLAIM | {"create events": 1, "patch pods/status": 1}


def test_the_claim_stays_reserved_for_the_group_until_the_group_is_gone(scene: Scene) -> None:
    scene.apply(scene.template(device_class=scene.devices()), group(scene))
    claim = group_claim(scene)
    scene.apply(member(scene, "first"), member(scene, "second"))
    scene.reserved(claim, "group")
    for name in ("first", "second"):
        wait_for(lambda name=name: scene.node_of(name), message=f"pod {name} to be scheduled")  # type: ignore[misc]
    scene.forget()
    scene.finish("first")
    scene.delete_pods("second")
    scene.seen()
    assert scene.consumers(claim) == ["group"]
    assert scene.writes() == {}
    scene.plane.kubectl("delete", "-n", scene.namespace, "podgroup", "group", "--wait=false")
    scene.api.patch("podgroups", "group", scene.namespace, {"metadata": {"finalizers": None}})
    wait_for(lambda: not scene.allocated(claim), message="the claim's devices to be free")
    assert scene.writes()["patch resourceclaims/status"] == 1


def test_a_deleted_claim_of_a_group_is_made_anew(scene: Scene) -> None:
    scene.apply(scene.template(), group(scene), member(scene, "pod"))
    claim = group_claim(scene)
    before = scene.claim_of("pod")["metadata"]["uid"]
    scene.forget()
    scene.plane.kubectl("delete", "-n", scene.namespace, "resourceclaim", claim)
    wait_for(
        lambda: [one["metadata"]["uid"] for one in scene.claims().values()] not in ([], [before]),
        message="another claim",
    )
    assert scene.writes()["create resourceclaims"] == 1
    assert scene.published() == {"a": group_claim(scene)}


def test_a_status_that_names_a_claim_of_another_owner_is_corrected(scene: Scene) -> None:
    """kube-controller-manager 1.36.3 ends with a nil dereference on the same pod."""
    scene.apply(scene.claim("others"))
    pod = scene.api.create(scene.pod())
    statuses = [{"name": "a", "resourceClaimName": "others"}]
    scene.api.patch(
        "pods",
        pod["metadata"]["name"],
        scene.namespace,
        {"status": {"resourceClaimStatuses": statuses}},
        subresource="status",
    )
    assert ends_the_stock_controller(scene.plane)
    scene.apply(scene.template())
    wait_for(
        lambda: scene.published()["a"] != "others", message="the status to name the pod's own claim"
    )
    assert scene.claim_of("pod")["metadata"]["ownerReferences"][0]["name"] == "pod"
    assert scene.event("ForeignResourceClaim")


def ends_the_stock_controller(plane: ControlPlane) -> bool:
    """Run the built-in controller; return whether it ends by itself, by a nil dereference."""
    plane.start_stock_controller(UNTHROTTLED)
    process = plane.processes[CLAIM_CONTROLLER]
    try:
        wait_for(lambda: process.pid is None, 20, "the built-in controller to end")
    except TimeoutError:
        return False
    finally:
        plane.stop_part(CLAIM_CONTROLLER)
    return "nil pointer dereference" in process.log.read_text()
