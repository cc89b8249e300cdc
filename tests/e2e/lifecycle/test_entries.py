"""Each entry of a pod for itself: what fails, waits or is not needed never delays the others."""

import pytest

from tests.e2e.scene import ANNOTATION, Scene
from tests.support.controlplane import objects
from tests.support.controlplane.api import Json
from tests.support.controlplane.plane import ControlPlane

ONE_CLAIM = {"create resourceclaims": 1, "patch pods/status": 1}


def set_statuses(scene: Scene, pod: str, entries: dict[str, str | None]) -> None:
    """Write `resourceClaimStatuses` by hand."""
    listed = [
        {"name": entry} | ({"resourceClaimName": name} if name else {})
        for entry, name in entries.items()
    ]
    body = {"status": {"resourceClaimStatuses": listed}}
    scene.api.patch("pods", pod, scene.namespace, body, subresource="status")


def generated(scene: Scene, name: str, pod: Json, entry: str = "a") -> Json:
    """Return a claim as another controller, or an earlier run, would have made it."""
    return scene.claim(
        name,
        annotations={ANNOTATION: entry},
        ownerReferences=[objects.owner_reference(pod)],
    )


def test_an_entry_whose_template_is_missing_does_not_delay_the_other(scene: Scene) -> None:
    scene.apply(scene.template("there"))
    scene.seen()
    scene.apply(scene.pod(templates={"a": "late", "b": "there"}))
    assert [*scene.published(entries=["b"])] == ["b"]
    (event,) = scene.event()
    assert event["note"].startswith('PodResourceClaim a: resource claim template "late": ')
    assert scene.writes() == ONE_CLAIM | {"create events": 1}


def test_a_file_with_templates_and_their_pods_costs_one_publication_a_pod(scene: Scene) -> None:
    entries = [f"entry-{number}" for number in range(8)]
    pods = [f"pod-{number}" for number in range(20)]
    templates = {entry: f"of-{entry}" for entry in entries}
    scene.apply(
        *(scene.template(name) for name in templates.values()),
        *(scene.pod(name, templates=templates) for name in pods),
    )
    for name in pods:
        scene.published(name, entries=entries)
    made = len(entries) * len(pods)
    assert scene.writes() == {"create resourceclaims": made, "patch pods/status": len(pods)}


def test_a_template_that_comes_late_completes_the_pod(scene: Scene) -> None:
    scene.apply(scene.template("there"))
    scene.seen()
    scene.apply(scene.pod(templates={"a": "late", "b": "there"}))
    first = scene.published(entries=["b"])["b"]
    scene.event()
    scene.forget()
    scene.apply(scene.template("late"))
    assert scene.published(entries=["a", "b"])["b"] == first
    assert scene.writes() == ONE_CLAIM


def test_a_template_that_comes_late_wakes_exactly_its_waiting_pods(scene: Scene) -> None:
    waiting = [f"waiting-{number}" for number in range(5)]
    others = [f"other-{number}" for number in range(5)]
    scene.apply(
        *(scene.pod(name, templates={"a": "late"}) for name in waiting),
        *(scene.pod(name, templates={"a": "later"}) for name in others),
    )
    scene.event(count=10)
    scene.forget()
    scene.apply(scene.template("late"))
    for name in waiting:
        scene.published(name)
    assert [scene.statuses(name) for name in others] == [{}] * 5
    assert scene.writes() == {"create resourceclaims": 5, "patch pods/status": 5}


def test_a_missing_template_is_told_once_however_often_the_pod_changes(scene: Scene) -> None:
    scene.apply(scene.pod())
    (event,) = scene.event()
    for number in range(20):
        scene.label("pods", "pod", str(number))
    scene.seen()
    assert event["regarding"]["uid"] == scene.get("pods", "pod")["metadata"]["uid"]
    assert (event["type"], event["regarding"]["kind"]) == ("Warning", "Pod")
    assert scene.writes() == {"create events": 1}


def test_an_entry_with_a_null_name_is_left_alone_and_the_others_are_served(scene: Scene) -> None:
    scene.apply(scene.pod(templates={"a": "late", "b": "late"}))
    scene.event(count=2)
    set_statuses(scene, "pod", {"a": None})
    scene.forget()
    scene.apply(scene.template("late"))
    scene.published(entries=["b"])
    assert scene.statuses()["a"] is None
    assert scene.writes() == ONE_CLAIM


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_has_finished_gets_no_claims(scene: Scene, phase: str) -> None:
    scene.apply(scene.pod())
    scene.event()
    scene.finish("pod", phase=phase)
    scene.forget()
    scene.apply(scene.template())
    scene.label("pods", "pod", "again")
    scene.seen()
    assert scene.writes() == {}
    assert scene.claims() == {}


def test_a_pod_that_is_being_deleted_gets_no_claims(scene: Scene) -> None:
    scene.apply(scene.pod())
    held = {"metadata": {"finalizers": ["example.com/held"]}}
    scene.api.patch("pods", "pod", scene.namespace, held)
    scene.event()
    scene.delete_pods("pod")
    scene.forget()
    scene.apply(scene.template())
    scene.seen()
    assert scene.get("pods", "pod")["metadata"]["deletionTimestamp"]
    assert scene.writes() == {}
    scene.api.patch("pods", "pod", scene.namespace, {"metadata": {"finalizers": None}})


def test_a_claim_that_exists_but_is_not_in_the_status_is_adopted(scene: Scene) -> None:
    scene.apply(scene.pod())
    scene.event()
    scene.forget()
    scene.api.create(scene.plane.served(generated(scene, "made", scene.get("pods", "pod"))))
    assert scene.published() == {"a": "made"}
    assert scene.writes() == {"patch pods/status": 1}


def test_a_claim_without_owner_or_for_another_entry_is_not_adopted(scene: Scene) -> None:
    scene.apply(scene.pod())
    scene.event()
    pod = scene.get("pods", "pod")
    scene.forget()
    for claim in (
        scene.claim("nobodys", annotations={ANNOTATION: "a"}),
        generated(scene, "for-b", pod, "b"),
    ):
        scene.api.create(scene.plane.served(claim))
    scene.seen()
    assert scene.statuses() == {}
    assert scene.writes() == {}


def test_a_foreign_claim_in_the_status_is_replaced_there_and_left_alone(scene: Scene) -> None:
    scene.apply(scene.claim("foreign"), scene.pod())
    scene.event()
    set_statuses(scene, "pod", {"a": "foreign"})
    before = scene.get("resourceclaims", "foreign")
    scene.forget()
    scene.apply(scene.template())
    (event,) = scene.event("ForeignResourceClaim")
    assert '"foreign" belongs to another owner' in event["note"]
    made = {*scene.claims()} - {"foreign"}
    assert {scene.claim_of("pod")["metadata"]["name"]} == made
    assert scene.get("resourceclaims", "foreign") == before
    assert scene.writes() == ONE_CLAIM | {"create events": 1}


def test_a_deleted_claim_of_a_live_pod_is_made_anew(scene: Scene) -> None:
    scene.apply(scene.template(), scene.pod())
    before = scene.claim_of("pod")
    scene.forget()
    name = before["metadata"]["name"]
    scene.plane.kubectl("delete", "-n", scene.namespace, "resourceclaim", name)
    scene.seen()
    assert scene.writes()["create resourceclaims"] == 1
    assert scene.claim_of("pod")["metadata"]["uid"] != before["metadata"]["uid"]


def test_a_lost_claim_of_many_does_not_make_the_status_flap(scene: Scene) -> None:
    entries = ("a", "b", "c")
    scene.apply(scene.template(), scene.pod(templates=dict.fromkeys(entries, "template")))
    names = scene.published(entries=entries)
    scene.forget()
    scene.plane.kubectl("delete", "-n", scene.namespace, "resourceclaim", names["b"])
    scene.seen()
    writes = scene.writes()
    assert writes["create resourceclaims"] == 1
    assert writes["patch pods/status"] <= 1
    assert {key: scene.statuses()[key] for key in ("a", "c")} == {
        key: names[key] for key in ("a", "c")
    }
    assert sorted(scene.claims()) == sorted(name for name in scene.statuses().values() if name)


def test_a_missing_claim_of_a_user_is_left_to_the_user(plane: ControlPlane, scene: Scene) -> None:
    scene.apply(scene.pod(claims={"a": "not-yet"}))
    scene.seen()
    scene.apply(scene.claim("not-yet"))
    scene.seen()
    assert plane.audit.writes(scene.user, namespace=scene.namespace, refused=None) == ()
