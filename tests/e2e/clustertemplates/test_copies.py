"""ClusterResourceClaimTemplates: copies come, change and go as people expect."""

import time

import pytest

from tests.e2e.clustertemplates.worlds import HASH, LABEL, PLURAL, World, cluster_template
from tests.e2e.setup import NO_CLASS
from tests.support import manifests as objects
from tests.support.controlplane.api import ApiError, Json, wait_for

OTHER_CLASS = "other.example.com"


def test_selected_namespaces_get_a_copy_and_others_none(world: World) -> None:
    inside = world.add_namespaces(3)
    (outside,) = world.add_namespaces(1, team="another")
    labels = {"labels": {"from": "cluster"}}
    world.api.create(cluster_template(world.name, NO_CLASS, world.name, metadata=labels))
    status = world.distributed(3)
    assert (status["outdated"], status["conflicts"]) == (0, [])
    assert world.copy(outside) is None
    copies = world.copies()
    assert sorted(copies) == sorted(inside)
    one = copies[inside[0]]
    assert one["spec"]["metadata"] == labels
    assert one["spec"]["spec"]["devices"]["requests"][0]["exactly"]["deviceClassName"] == NO_CLASS
    assert one["metadata"]["labels"] == {LABEL: world.name}
    assert one["metadata"]["ownerReferences"][0]["name"] == world.name


def test_a_namespace_and_its_pod_in_one_apply_get_a_claim(world: World) -> None:
    world.api.create(cluster_template(world.name, NO_CLASS, world.name))
    world.distributed(0)
    (namespace,) = world.add_namespaces(1)
    world.api.create(objects.pod("pod", namespace, templates={"gpu": world.name}))
    assert claim_of(world, namespace, "pod")["metadata"]["ownerReferences"][0]["name"] == "pod"
    world.distributed(1)


def test_a_change_replaces_copies_and_leaves_claims(world: World) -> None:
    (namespace,) = world.add_namespaces(1)
    world.api.create(cluster_template(world.name, NO_CLASS, world.name))
    world.distributed(1)
    world.api.create(objects.pod("before", namespace, templates={"gpu": world.name}))
    claim = claim_of(world, namespace, "before")
    first = world.copies()[namespace]
    world.change(OTHER_CLASS)
    world.distributed(1)
    second = world.copies()[namespace]
    assert second["metadata"]["uid"] != first["metadata"]["uid"]
    assert second["metadata"]["annotations"][HASH] != first["metadata"]["annotations"][HASH]
    world.api.create(objects.pod("after", namespace, templates={"gpu": world.name}))
    assert class_of(claim_of(world, namespace, "after")) == OTHER_CLASS
    assert world.api.get("resourceclaims", claim["metadata"]["name"], namespace) == claim


def test_a_namespace_that_loses_its_label_loses_the_copy_and_keeps_claims(world: World) -> None:
    staying, leaving = world.add_namespaces(2)
    world.api.create(cluster_template(world.name, NO_CLASS, world.name))
    world.distributed(2)
    world.api.create(objects.pod("pod", leaving, templates={"gpu": world.name}))
    claim = claim_of(world, leaving, "pod")["metadata"]["name"]
    world.label(leaving, "another")
    world.distributed(1)
    assert list(world.copies()) == [staying]
    assert world.api.find("resourceclaims", claim, leaving) is not None
    world.label(leaving, world.name)
    world.distributed(2)


def test_a_deleted_object_takes_its_copies_along(world: World) -> None:
    world.add_namespaces(2)
    world.api.create(cluster_template(world.name, NO_CLASS, world.name))
    world.distributed(2)
    world.api.delete(PLURAL, world.name)
    wait_for(lambda: not world.copies(), message="the copies to be deleted")


def test_a_deleted_copy_comes_back(world: World) -> None:
    (namespace,) = world.add_namespaces(1)
    world.api.create(cluster_template(world.name, NO_CLASS, world.name))
    world.distributed(1)
    uid = world.copies()[namespace]["metadata"]["uid"]
    world.api.delete("resourceclaimtemplates", world.name, namespace)
    wait_for(
        lambda: (copy := world.copy(namespace)) and copy["metadata"]["uid"] != uid,
        message="another copy",
    )


def test_a_template_of_people_stays_and_is_reported_until_it_is_deleted(world: World) -> None:
    mine, free = world.add_namespaces(2)
    own = world.api.create(objects.template(world.name, mine, OTHER_CLASS))
    world.api.create(cluster_template(world.name, NO_CLASS, world.name))
    wait_for(lambda: world.ready().get("reason") == "TemplateConflict", message="the conflict")
    assert world.status()["conflicts"] == [mine]
    assert mine in world.ready()["message"]
    assert world.copy(mine) == own
    wait_for(lambda: world.copy(free), message="the copy beside the conflict")
    wait_for(lambda: events(world, "TemplateConflict"), message="an Event about the conflict")
    world.api.delete("resourceclaimtemplates", world.name, mine)
    world.distributed(2)


def test_replace_replaces_a_template_of_people(world: World) -> None:
    (namespace,) = world.add_namespaces(1)
    own = world.api.create(objects.template(world.name, namespace, OTHER_CLASS))
    world.api.create(cluster_template(world.name, NO_CLASS, world.name, conflict="Replace"))
    world.distributed(1)
    copy = world.copies()[namespace]
    assert copy["metadata"]["uid"] != own["metadata"]["uid"]


def test_a_refused_change_keeps_the_old_copies_and_is_reported(world: World) -> None:
    (namespace,) = world.add_namespaces(1)
    world.api.create(cluster_template(world.name, NO_CLASS, world.name))
    world.distributed(1)
    before = world.copies()[namespace]
    world.change("Not A Name")
    wait_for(lambda: world.ready().get("reason") == "CopyRefused", message="the refusal")
    assert "deviceClassName" in world.ready()["message"]
    assert f'"{world.name}" is invalid' in world.ready()["message"]
    assert world.status()["outdated"] == 1
    assert world.copies()[namespace] == before
    told = world.api.get(PLURAL, world.name)
    time.sleep(5)
    assert world.api.get(PLURAL, world.name) == told, "retries changed the status"
    wait_for(lambda: events(world, "CopyRefused"), 30, "an Event about the refusal")
    assert len(events(world, "CopyRefused")) == 1
    world.change(OTHER_CLASS)
    world.distributed(1)


def test_a_misspelled_field_is_refused_and_not_dropped(world: World) -> None:
    (namespace,) = world.add_namespaces(1)
    manifest = cluster_template(world.name, NO_CLASS, world.name)
    (request,) = manifest["spec"]["template"]["spec"]["devices"]["requests"]
    request["exactly"]["selector"] = [{"cel": {"expression": "false"}}]
    world.api.create(manifest)
    wait_for(lambda: world.ready().get("reason") == "CopyRefused", message="the refusal")
    assert (
        'unknown field "spec.spec.devices.requests[0].exactly.selector"'
        in (world.ready()["message"])
    )
    assert world.copy(namespace) is None


def test_a_template_made_from_a_copy_under_another_name_stays(world: World) -> None:
    (namespace,) = world.add_namespaces(1)
    world.api.create(cluster_template(world.name, NO_CLASS, world.name))
    world.distributed(1)
    mine = world.copies()[namespace]
    mine["metadata"] = {
        key: value
        for key, value in mine["metadata"].items()
        if key in {"namespace", "labels", "annotations", "ownerReferences"}
    } | {"name": "mine"}
    made = world.api.create(mine)
    world.api.delete("resourceclaimtemplates", world.name, namespace)
    wait_for(lambda: world.copy(namespace), message="another copy")
    world.distributed(1)
    assert world.api.get("resourceclaimtemplates", "mine", namespace) == made


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        pytest.param("a" * 64, {}, "at most 63 characters", id="long name"),
        pytest.param("a", {"template": {}}, "spec.template.spec: Required", id="no spec"),
        pytest.param("a", {"namespaceSelector": None}, "namespaceSelector", id="no selector"),
        pytest.param(
            "a",
            {"namespaceSelector": {"matchExpressions": [{"key": "k", "operator": "In"}]}},
            "In and NotIn need values",
            id="In without values",
        ),
        pytest.param(
            "a",
            {"namespaceSelector": {"matchExpressions": [{"key": "no key", "operator": "Exists"}]}},
            r"matchExpressions\[0\].key",
            id="a key that no label has",
        ),
    ],
)
def test_the_definition_refuses(world: World, name: str, change: Json, message: str) -> None:
    manifest = cluster_template(name, NO_CLASS, world.name)
    manifest["spec"] |= change
    with pytest.raises(ApiError, match=message):
        world.api.create(manifest)


def claim_of(world: World, namespace: str, pod: str) -> Json:
    """Wait until a pod's status names its claim; return the claim."""
    published = wait_for(
        lambda: world.api.get("pods", pod, namespace)["status"].get("resourceClaimStatuses"),
        message=f"the claim of {namespace}/{pod}",
    )
    return world.api.get("resourceclaims", published[0]["resourceClaimName"], namespace)


def class_of(claim: Json) -> str:
    """Return the device class that a claim asks for."""
    name: str = claim["spec"]["devices"]["requests"][0]["exactly"]["deviceClassName"]
    return name


def events(world: World, reason: str) -> list[Json]:
    """Return the Events on the object with a reason."""
    return [
        one
        for one in world.api.list("events.events.k8s.io", "default")
        if one["reason"] == reason and one["regarding"]["name"] == world.name
    ]
