"""From templates to claims: what is made, for whom, and with how many writes."""

import time

import pytest

from tests.e2e.scene import ANNOTATION, Scene
from tests.support.controlplane.api import Json
from tests.support.controlplane.plane import ControlPlane

ONE_CLAIM = {"create resourceclaims": 1, "patch pods/status": 1}


def with_annotation(pod: Json, value: str) -> Json:
    return pod | {"metadata": pod["metadata"] | {"annotations": {"greeting": value}}}


def test_a_template_pod_costs_one_post_and_one_patch(scene: Scene) -> None:
    scene.apply(scene.template(), scene.pod())
    (name,) = scene.published().values()
    assert [*scene.claims()] == [name]
    assert scene.writes() == ONE_CLAIM


def test_a_claim_says_whose_it_is_and_what_its_template_says(scene: Scene) -> None:
    metadata = {
        "labels": {"team": "blue", "example.com/tier": "gold"},
        "annotations": {"note": "für Ümläute und 日本語 ☃", ANNOTATION: "somebody-else"},
    }
    scene.apply(
        scene.template(metadata=metadata),
        with_annotation(scene.pod(), "grüß dich, мир"),
    )
    name = scene.published()["a"]
    pod, claim = scene.get("pods", "pod"), scene.claims()[name]
    assert claim["metadata"]["labels"] == metadata["labels"]
    assert claim["metadata"]["annotations"] == metadata["annotations"] | {ANNOTATION: "a"}
    assert claim["metadata"]["ownerReferences"] == [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "name": "pod",
            "uid": pod["metadata"]["uid"],
            "controller": True,
        }
    ]
    assert "finalizers" not in claim["metadata"]
    assert claim["metadata"]["name"].startswith("pod-a-")


def test_a_spec_is_copied_whole_with_fields_that_the_operator_does_not_know(scene: Scene) -> None:
    template = scene.template()
    template["spec"]["spec"]["devices"] = {
        "requests": [
            {
                "name": "gpu",
                "firstAvailable": [
                    {
                        "name": "large",
                        "deviceClassName": "large.example.com",
                        "selectors": [{"cel": {"expression": "device.driver == 'x.example.com'"}}],
                        "tolerations": [{"key": "k", "operator": "Exists", "effect": "NoSchedule"}],
                    },
                    {"name": "any", "deviceClassName": "any.example.com", "count": 2},
                ],
            },
            {
                "name": "nic",
                "exactly": {
                    "deviceClassName": "nic.example.com",
                    "capacity": {"requests": {"bandwidth": "1G"}},
                },
            },
        ],
        "constraints": [{"requests": ["nic", "gpu"], "matchAttribute": "x.example.com/numa"}],
        "config": [
            {
                "requests": ["nic"],
                "opaque": {
                    "driver": "x.example.com",
                    "parameters": {"kind": "Nic", "deep": {"wert": ["ü", 1.5, None, {}]}},
                },
            }
        ],
    }
    scene.apply(template, scene.pod())
    claim = scene.claim_of("pod")
    assert claim["spec"] == scene.get("resourceclaimtemplates", "template")["spec"]["spec"]
    assert claim["spec"]["devices"]["config"] == template["spec"]["spec"]["devices"]["config"]


def test_three_entries_cost_three_posts_and_one_patch(scene: Scene) -> None:
    entries = {"a": "template", "b": "template", "c": "other"}
    # One after the other: of what is applied at once, the pod may be seen before a template.
    scene.apply(scene.template(), scene.template("other"))
    scene.apply(scene.pod(templates=entries))
    bound = scene.published(entries=[*entries])
    claims = scene.claims()
    assert {
        entry: claims[name]["metadata"]["annotations"][ANNOTATION] for entry, name in bound.items()
    } == {entry: entry for entry in entries}
    assert scene.writes() == {"create resourceclaims": 3, "patch pods/status": 1}


def test_thirty_two_entries_are_served_in_one_publication(scene: Scene) -> None:
    entries = {f"entry-{number}": "template" for number in range(32)}
    scene.apply(scene.template(), scene.pod(templates=entries))
    assert len({*scene.published(entries=[*entries]).values()}) == 32
    assert scene.writes() == {"create resourceclaims": 32, "patch pods/status": 1}


def test_claims_named_by_users_stand_beside_generated_ones(scene: Scene) -> None:
    scene.apply(
        scene.template(),
        scene.claim("mine"),
        scene.pod(templates={"a": "template"}, claims={"b": "mine"}),
    )
    assert [*scene.published()] == ["a"]
    assert scene.writes() == ONE_CLAIM


def test_pods_without_templates_cost_nothing(scene: Scene) -> None:
    scene.apply(
        scene.claim("mine"), scene.pod("none", templates={}), scene.pod("own", claims={"b": "mine"})
    )
    scene.seen()
    assert scene.writes() == {}


def test_a_pod_behind_a_scheduling_gate_gets_its_claim_all_the_same(scene: Scene) -> None:
    scene.apply(scene.template(), scene.pod(schedulingGates=[{"name": "example.com/wait"}]))
    assert scene.published()
    assert scene.writes() == ONE_CLAIM


@pytest.mark.parametrize(
    ("pod", "entry", "base"),
    [
        pytest.param(
            "node-agent-ip-10-0-12-34.us-west-2.compute.internal.abcde",
            "nic",
            "node-agent-ip-10-0-12-34.us-west-2.compute.internal-ni",
            id="a cut right after a dot",
        ),
        pytest.param("web.example.com", "gpu", "web.example.com-gpu-", id="dots that stay"),
        pytest.param("a" * 253, "a", "a" * 56 + "-", id="253 characters and an entry of one"),
        pytest.param(
            ".".join(["b" * 62] * 4) + "b", "e" * 63, None, id="252 with dots and an entry of 63"
        ),
        pytest.param("p" * 27, "e" * 29, "p" * 26 + "-" + "e" * 28, id="just too long together"),
    ],
)
def test_long_and_dotted_names_get_valid_claims(
    scene: Scene, pod: str, entry: str, base: str | None
) -> None:
    scene.apply(scene.template(), scene.pod(pod, templates={entry: "template"}))
    name = scene.published(pod, [entry])[entry]
    assert len(name) <= 63
    assert base is None or (name.startswith(base) and len(name) == len(base) + 5)
    assert scene.writes() == ONE_CLAIM


def test_admin_access_is_copied_where_the_namespace_allows_it(
    plane: ControlPlane, scene: Scene
) -> None:
    label = {"resource.kubernetes.io/admin-access": "true"}
    plane.api().patch("namespaces", scene.namespace, None, {"metadata": {"labels": label}})
    template = scene.template()
    template["spec"]["spec"]["devices"]["requests"][0]["exactly"]["adminAccess"] = True
    scene.apply(template, scene.pod())
    claim = scene.claim_of("pod")
    assert claim["spec"]["devices"]["requests"][0]["exactly"]["adminAccess"] is True
    assert scene.writes() == ONE_CLAIM


def test_two_events_two_milliseconds_apart_make_one_claim(scene: Scene) -> None:
    scene.apply(scene.template())
    for number in range(20):
        scene.api.create(scene.pod(f"pod-{number}"))
        time.sleep(0.002)
        scene.label("pods", f"pod-{number}", "again")
    for number in range(20):
        scene.published(f"pod-{number}")
    assert len(scene.claims()) == 20
    assert scene.writes() == {"create resourceclaims": 20, "patch pods/status": 20}


def test_a_pod_that_changes_all_the_time_costs_no_more(scene: Scene) -> None:
    scene.apply(scene.template(), scene.pod())
    for number in range(100):
        scene.label("pods", "pod", str(number))
    scene.seen()
    assert len(scene.claims()) == 1
    assert scene.writes() == ONE_CLAIM


def test_only_the_template_of_the_same_namespace_counts(plane: ControlPlane, scene: Scene) -> None:
    other = plane.create_namespace("other")
    plane.api().create(
        plane.served(scene.template() | {"metadata": {"name": "template", "namespace": other}})
    )
    scene.apply(scene.pod())
    (event,) = scene.event()
    assert 'resource claim template "template"' in event["note"]
    assert scene.claims() == {}
    plane.clear_namespace(other)


def test_a_template_made_anew_does_not_touch_existing_claims(scene: Scene) -> None:
    scene.apply(scene.template(), scene.pod())
    before = scene.claim_of("pod")
    scene.forget()
    scene.plane.kubectl("delete", "-n", scene.namespace, "resourceclaimtemplate", "template")
    scene.apply(scene.template(device_class="another.example.com"))
    scene.apply(scene.pod("later"))
    after = scene.claim_of("later")
    assert (
        after["spec"]["devices"]["requests"][0]["exactly"]["deviceClassName"]
        == "another.example.com"
    )
    assert scene.claims()[before["metadata"]["name"]] == before
    assert scene.writes() == ONE_CLAIM


def test_idle_is_zero_writes(plane: ControlPlane, scene: Scene) -> None:
    scene.apply(scene.template(), scene.pod())
    scene.published()
    scene.forget()
    since = plane.audit.mark()
    time.sleep(3)
    assert plane.audit.writes(scene.user, since, refused=None) == ()
