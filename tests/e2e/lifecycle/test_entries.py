"""Each entry of a pod for itself: what fails, waits or is not needed never delays the others."""

import pytest

from tests.e2e.setup import ANNOTATION, Setup
from tests.support import manifests as objects
from tests.support.controlplane.api import Json
from tests.support.controlplane.plane import ControlPlane

ONE_CLAIM = {"create resourceclaims": 1, "patch pods/status": 1}


def set_statuses(setup: Setup, pod: str, entries: dict[str, str | None]) -> None:
    """Write `resourceClaimStatuses` by hand."""
    listed = [
        {"name": entry} | ({"resourceClaimName": name} if name else {})
        for entry, name in entries.items()
    ]
    body = {"status": {"resourceClaimStatuses": listed}}
    setup.api.patch("pods", pod, setup.namespace, body, subresource="status")


def generated(setup: Setup, name: str, pod: Json, entry: str = "a") -> Json:
    """Return a claim as another controller, or an earlier run, would have made it."""
    return setup.claim(
        name,
        annotations={ANNOTATION: entry},
        ownerReferences=[objects.owner_reference(pod)],
    )


def test_an_entry_whose_template_is_missing_does_not_delay_the_other(setup: Setup) -> None:
    setup.apply(setup.template("there"))
    setup.seen()
    setup.apply(setup.pod(templates={"a": "late", "b": "there"}))
    assert [*setup.published(entries=["b"])] == ["b"]
    (event,) = setup.event()
    assert event["note"].startswith('PodResourceClaim a: resource claim template "late": ')
    setup.wrote(ONE_CLAIM | {"create events": 1})


def test_a_file_with_templates_and_their_pods_costs_one_publication_a_pod(setup: Setup) -> None:
    entries = [f"entry-{number}" for number in range(8)]
    pods = [f"pod-{number}" for number in range(20)]
    templates = {entry: f"of-{entry}" for entry in entries}
    setup.apply_file(
        *(setup.template(name) for name in templates.values()),
        *(setup.pod(name, templates=templates) for name in pods),
    )
    for name in pods:
        setup.published(name, entries=entries)
    made = len(entries) * len(pods)
    setup.wrote({"create resourceclaims": made, "patch pods/status": len(pods)})


def test_a_template_that_comes_late_completes_the_pod(setup: Setup) -> None:
    setup.apply(setup.template("there"))
    setup.seen()
    setup.apply(setup.pod(templates={"a": "late", "b": "there"}))
    first = setup.published(entries=["b"])["b"]
    setup.event()
    setup.forget()
    setup.apply(setup.template("late"))
    assert setup.published(entries=["a", "b"])["b"] == first
    setup.wrote(ONE_CLAIM)


def test_a_template_that_comes_late_wakes_exactly_its_waiting_pods(setup: Setup) -> None:
    waiting = [f"waiting-{number}" for number in range(5)]
    others = [f"other-{number}" for number in range(5)]
    setup.apply(
        *(setup.pod(name, templates={"a": "late"}) for name in waiting),
        *(setup.pod(name, templates={"a": "later"}) for name in others),
    )
    setup.event(count=10)
    setup.forget()
    setup.apply(setup.template("late"))
    for name in waiting:
        setup.published(name)
    assert [setup.statuses(name) for name in others] == [{}] * 5
    setup.wrote({"create resourceclaims": 5, "patch pods/status": 5})


def test_a_missing_template_is_told_once_however_often_the_pod_changes(setup: Setup) -> None:
    setup.apply(setup.pod())
    (event,) = setup.event()
    for number in range(20):
        setup.label("pods", "pod", str(number))
    setup.seen()
    assert event["regarding"]["uid"] == setup.get("pods", "pod")["metadata"]["uid"]
    assert (event["type"], event["regarding"]["kind"]) == ("Warning", "Pod")
    setup.wrote({"create events": 1})


def test_an_entry_with_a_null_name_is_left_alone_and_the_others_are_served(setup: Setup) -> None:
    setup.apply(setup.pod(templates={"a": "late", "b": "late"}))
    setup.event(count=2)
    set_statuses(setup, "pod", {"a": None})
    setup.forget()
    setup.apply(setup.template("late"))
    setup.published(entries=["b"])
    assert setup.statuses()["a"] is None
    setup.wrote(ONE_CLAIM)


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
def test_a_pod_that_has_finished_gets_no_claims(setup: Setup, phase: str) -> None:
    setup.apply(setup.pod())
    setup.event()
    setup.finish("pod", phase=phase)
    setup.forget()
    setup.apply(setup.template())
    setup.label("pods", "pod", "again")
    setup.seen()
    assert setup.writes() == {}
    assert setup.claims() == {}


def test_a_pod_that_is_being_deleted_gets_no_claims(setup: Setup) -> None:
    setup.apply(setup.pod())
    held = {"metadata": {"finalizers": ["example.com/held"]}}
    setup.api.patch("pods", "pod", setup.namespace, held)
    setup.event()
    setup.delete_pods("pod")
    setup.forget()
    setup.apply(setup.template())
    setup.seen()
    assert setup.get("pods", "pod")["metadata"]["deletionTimestamp"]
    assert setup.writes() == {}
    setup.api.patch("pods", "pod", setup.namespace, {"metadata": {"finalizers": None}})


def test_a_claim_that_exists_but_is_not_in_the_status_is_adopted(setup: Setup) -> None:
    setup.apply(setup.pod())
    setup.event()
    setup.forget()
    setup.api.create(setup.plane.served(generated(setup, "made", setup.get("pods", "pod"))))
    assert setup.published() == {"a": "made"}
    setup.wrote({"patch pods/status": 1})


def test_a_claim_without_owner_or_for_another_entry_is_not_adopted(setup: Setup) -> None:
    setup.apply(setup.pod())
    setup.event()
    pod = setup.get("pods", "pod")
    setup.forget()
    for claim in (
        setup.claim("nobodys", annotations={ANNOTATION: "a"}),
        generated(setup, "for-b", pod, "b"),
    ):
        setup.api.create(setup.plane.served(claim))
    setup.seen()
    assert setup.statuses() == {}
    assert setup.writes() == {}


def test_a_foreign_claim_in_the_status_is_replaced_there_and_left_alone(setup: Setup) -> None:
    setup.apply(setup.claim("foreign"), setup.pod())
    setup.event()
    set_statuses(setup, "pod", {"a": "foreign"})
    before = setup.get("resourceclaims", "foreign")
    setup.forget()
    setup.apply(setup.template())
    (event,) = setup.event("ForeignResourceClaim")
    assert '"foreign" belongs to another owner' in event["note"]
    made = setup.replaced(before)["metadata"]["name"]
    assert {*setup.claims()} == {"foreign", made}
    assert setup.get("resourceclaims", "foreign") == before
    setup.wrote(ONE_CLAIM | {"create events": 1})


def test_a_deleted_claim_of_a_live_pod_is_made_anew(setup: Setup) -> None:
    setup.apply(setup.template(), setup.pod())
    before = setup.claim_of("pod")
    setup.forget()
    name = before["metadata"]["name"]
    setup.plane.kubectl("delete", "-n", setup.namespace, "resourceclaim", name)
    setup.replaced(before)
    setup.wrote({"create resourceclaims": 1}, others=True)


def test_a_lost_claim_of_many_does_not_make_the_status_flap(setup: Setup) -> None:
    entries = ("a", "b", "c")
    setup.apply(setup.template(), setup.pod(templates=dict.fromkeys(entries, "template")))
    names = setup.published(entries=entries)
    before = setup.get("resourceclaims", names["b"])
    setup.forget()
    setup.plane.kubectl("delete", "-n", setup.namespace, "resourceclaim", names["b"])
    setup.replaced(before, entry="b")
    writes = setup.writes()
    assert writes["create resourceclaims"] == 1
    assert writes["patch pods/status"] <= 1
    assert {key: setup.statuses()[key] for key in ("a", "c")} == {
        key: names[key] for key in ("a", "c")
    }
    assert sorted(setup.claims()) == sorted(name for name in setup.statuses().values() if name)


def test_a_missing_claim_of_a_user_is_left_to_the_user(plane: ControlPlane, setup: Setup) -> None:
    setup.apply(setup.pod(claims={"a": "not-yet"}))
    setup.seen()
    setup.apply(setup.claim("not-yet"))
    setup.seen()
    assert plane.audit.writes(setup.user, namespace=setup.namespace, refused=None) == ()
