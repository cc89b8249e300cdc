"""From templates to claims: what is made, for whom, and with how many writes."""

import time

import pytest

from tests.e2e.setup import ANNOTATION, Setup
from tests.support.controlplane.api import Json, wait_for
from tests.support.controlplane.plane import ControlPlane

ONE_CLAIM = {"create resourceclaims": 1, "patch pods/status": 1}


def with_annotation(pod: Json, value: str) -> Json:
    return pod | {"metadata": pod["metadata"] | {"annotations": {"greeting": value}}}


def test_a_template_pod_costs_one_post_and_one_patch(setup: Setup) -> None:
    setup.apply_file(setup.template(), setup.pod())
    (name,) = setup.published().values()
    assert [*setup.claims()] == [name]
    setup.wrote(ONE_CLAIM)


def test_a_claim_says_whose_it_is_and_what_its_template_says(setup: Setup) -> None:
    metadata = {
        "labels": {"team": "blue", "example.com/tier": "gold"},
        "annotations": {"note": "für Ümläute und 日本語 ☃", ANNOTATION: "somebody-else"},
    }
    setup.apply(
        setup.template(metadata=metadata),
        with_annotation(setup.pod(), "grüß dich, мир"),
    )
    name = setup.published()["a"]
    pod, claim = setup.get("pods", "pod"), setup.claims()[name]
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


def test_a_spec_is_copied_whole_with_fields_that_the_operator_does_not_know(setup: Setup) -> None:
    template = setup.template()
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
    setup.apply(template, setup.pod())
    claim = setup.claim_of("pod")
    assert claim["spec"] == setup.get("resourceclaimtemplates", "template")["spec"]["spec"]
    assert claim["spec"]["devices"]["config"] == template["spec"]["spec"]["devices"]["config"]


def test_three_entries_cost_three_posts_and_one_patch(setup: Setup) -> None:
    entries = {"a": "template", "b": "template", "c": "other"}
    # One after the other: of what is applied at once, the pod may be seen before a template.
    setup.apply(setup.template(), setup.template("other"))
    setup.apply(setup.pod(templates=entries))
    bound = setup.published(entries=[*entries])
    claims = setup.claims()
    assert {
        entry: claims[name]["metadata"]["annotations"][ANNOTATION] for entry, name in bound.items()
    } == {entry: entry for entry in entries}
    setup.wrote({"create resourceclaims": 3, "patch pods/status": 1})


def test_thirty_two_entries_are_served_in_one_publication(setup: Setup) -> None:
    entries = {f"entry-{number}": "template" for number in range(32)}
    setup.apply(setup.template(), setup.pod(templates=entries))
    assert len({*setup.published(entries=[*entries]).values()}) == 32
    setup.wrote({"create resourceclaims": 32, "patch pods/status": 1})


def test_claims_named_by_users_stand_beside_generated_ones(setup: Setup) -> None:
    setup.apply(
        setup.template(),
        setup.claim("mine"),
        setup.pod(templates={"a": "template"}, claims={"b": "mine"}),
    )
    assert [*setup.published()] == ["a"]
    setup.wrote(ONE_CLAIM)


def test_pods_without_templates_cost_nothing(setup: Setup) -> None:
    setup.apply(
        setup.claim("mine"), setup.pod("none", templates={}), setup.pod("own", claims={"b": "mine"})
    )
    setup.seen()
    assert setup.writes() == {}


def test_a_pod_behind_a_scheduling_gate_gets_its_claim_all_the_same(setup: Setup) -> None:
    setup.apply(setup.template(), setup.pod(schedulingGates=[{"name": "example.com/wait"}]))
    assert setup.published()
    setup.wrote(ONE_CLAIM)


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
    setup: Setup, pod: str, entry: str, base: str | None
) -> None:
    setup.apply(setup.template(), setup.pod(pod, templates={entry: "template"}))
    name = setup.published(pod, [entry])[entry]
    assert len(name) <= 63
    assert base is None or (name.startswith(base) and len(name) == len(base) + 5)
    setup.wrote(ONE_CLAIM)


def test_admin_access_is_copied_where_the_namespace_allows_it(
    plane: ControlPlane, setup: Setup
) -> None:
    label = {"resource.kubernetes.io/admin-access": "true"}
    plane.api().patch("namespaces", setup.namespace, None, {"metadata": {"labels": label}})
    template = setup.template()
    template["spec"]["spec"]["devices"]["requests"][0]["exactly"]["adminAccess"] = True
    setup.apply(template, setup.pod())
    claim = setup.claim_of("pod")
    assert claim["spec"]["devices"]["requests"][0]["exactly"]["adminAccess"] is True
    setup.wrote(ONE_CLAIM)


def test_two_events_two_milliseconds_apart_make_one_claim(setup: Setup) -> None:
    setup.apply(setup.template())
    for number in range(20):
        setup.api.create(setup.pod(f"pod-{number}"))
        time.sleep(0.002)
        setup.label("pods", f"pod-{number}", "again")
    for number in range(20):
        setup.published(f"pod-{number}")
    assert len(setup.claims()) == 20
    setup.wrote({"create resourceclaims": 20, "patch pods/status": 20})


def test_a_pod_that_changes_all_the_time_costs_no_more(setup: Setup) -> None:
    setup.apply(setup.template(), setup.pod())
    for number in range(100):
        setup.label("pods", "pod", str(number))
    setup.seen()
    assert len(setup.claims()) == 1
    setup.wrote(ONE_CLAIM)


def test_only_the_template_of_the_same_namespace_counts(plane: ControlPlane, setup: Setup) -> None:
    other = plane.create_namespace("other")
    plane.api().create(
        plane.served(setup.template() | {"metadata": {"name": "template", "namespace": other}})
    )
    setup.apply(setup.pod())
    (event,) = setup.event()
    assert 'resource claim template "template"' in event["note"]
    assert setup.claims() == {}
    plane.clear_namespace(other)


def test_a_template_made_anew_does_not_touch_existing_claims(setup: Setup) -> None:
    setup.apply(setup.template(), setup.pod())
    before = setup.claim_of("pod")
    setup.forget()
    setup.plane.kubectl("delete", "-n", setup.namespace, "resourceclaimtemplate", "template")
    setup.apply(setup.template(device_class="another.example.com"))
    wait_for(lambda: class_of_new_pod(setup) == "another.example.com", 30, "the other template")
    setup.forget()
    setup.apply(setup.pod("later"))
    assert device_class(setup.claim_of("later")) == "another.example.com"
    assert setup.claims()[before["metadata"]["name"]] == before
    setup.wrote(ONE_CLAIM)


def class_of_new_pod(setup: Setup) -> str:
    """Return the device class of a new pod's claim: the watch of templates may lag."""
    name = f"new-{time.monotonic_ns()}"
    setup.api.create(setup.pod(name))
    return device_class(setup.claim_of(name))


def device_class(claim: Json) -> str:
    """Return the device class of a claim's only request."""
    return str(claim["spec"]["devices"]["requests"][0]["exactly"]["deviceClassName"])


def test_idle_is_zero_writes(plane: ControlPlane, setup: Setup) -> None:
    setup.apply(setup.template(), setup.pod())
    setup.published()
    setup.forget()
    since = plane.audit.mark()
    time.sleep(3)
    assert plane.audit.writes(setup.user, since, refused=None) == ()
