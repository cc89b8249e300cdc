"""The chart, installed by helm: what it promises holds with its own accounts and roles alone."""

import re
import time
from collections.abc import Iterator
from functools import partial

import pytest

from dragoman.process.health import METRICS_AGE
from tests.e2e.chart.conftest import CONFIGURATIONS, CRD, KEPT, NAMESPACE, Cluster, left_behind
from tests.e2e.chart.helm import RELEASE
from tests.e2e.chart.kubelet import fetched
from tests.e2e.chart.traffic import BAD, GOOD, answer, claim, device_class
from tests.e2e.running import faults_in
from tests.support import manifests as objects
from tests.support.controlplane.api import Api, ApiError, Json, wait_for

VALUES = {
    "claims": {"mode": "own"},
    "catalog": {
        "enabled": True,
        "drivers": {"gpu.nvidia.com": {"variables": {"TimeSlicingSettings": True}}},
    },
    "webhook": {"excludedNamespaces": ["legacy"]},
    "logs": {"level": "debug"},
}
ACCOUNT = f"system:serviceaccount:{NAMESPACE}:dragoman"

PAGED = "reads pages where the API server streams no lists (KEP-3157), or the stream breaks"
LIVE = "looked up where watches may be behind: a conflict, or another controller's work"
NOT_SERVED = "scheduling.k8s.io is not served here; where it is, PodGroups have claims as pods do"
NO_POOL_STATUS = "ResourcePoolStatusRequests are not served here; where they are, they are answered"
EXPLAINED = {
    "operator": {
        **dict.fromkeys(
            [
                f"{verb} {resource}.resource.k8s.io"
                for verb in ("get", "list", "watch")
                for resource in (
                    "devicetaintrules",
                    "resourcepoolstatusrequests",
                    "resourceslices",
                )
            ],
            NO_POOL_STATUS,
        ),
        "update resourcepoolstatusrequests/status.resource.k8s.io": NO_POOL_STATUS,
        "get resourceclaimtemplates.resource.k8s.io": LIVE,
        "list nodes": PAGED,
        "get pods": LIVE,
        "get resourceclaims.resource.k8s.io": LIVE,
        "list pods": PAGED,
        "list resourceclaims.resource.k8s.io": PAGED,
        "list resourceclaimtemplates.resource.k8s.io": PAGED,
        "list deviceclasses.resource.k8s.io": PAGED,
        "list driverconfigschemas.dragoman.dev": PAGED,
        "get driverconfigschemas.dragoman.dev": LIVE,
        "get podgroups.scheduling.k8s.io": NOT_SERVED,
        "list podgroups.scheduling.k8s.io": NOT_SERVED,
        "watch podgroups.scheduling.k8s.io": NOT_SERVED,
        "patch podgroups/status.scheduling.k8s.io": NOT_SERVED,
        "create driverconfigschemas.dragoman.dev": (
            "asked for beside `patch` where server-side apply makes an object that is not there yet"
        ),
        "patch resourceclaims/binding.resource.k8s.io": (
            "nothing that is called: since Kubernetes 1.36 the API server asks for this where "
            "an allocation or a reservation is patched in resourceclaims/status"
        ),
    },
    "webhook": {
        "list driverconfigschemas.dragoman.dev": PAGED,
        "list secrets": PAGED,
        "list validatingwebhookconfigurations.admissionregistration.k8s.io": PAGED,
    },
}
"""What the chart grants although the log of these tests does not show it, and why."""


@pytest.fixture(scope="module")
def release(cluster: Cluster) -> Iterator[str]:
    """Install; give what helm said."""
    for name in ("legacy", "tenant"):
        cluster.plane.api().create(objects.namespace(name))
    yield cluster.helm.install(VALUES)
    if cluster.plane.api().list("deployments", NAMESPACE):
        cluster.helm.uninstall()


@pytest.fixture
def api(cluster: Cluster, release: str) -> Api:
    """Give an administrator's client, once the catalog is in force."""
    assert "STATUS: deployed" in release
    client = cluster.plane.api()
    bad = device_class(BAD)
    wait_for(lambda: answer(client, bad) == "denied", message="the catalog to be in force")
    return client


def test_its_pods_run_where_pod_security_takes_restricted_ones_alone(api: Api) -> None:
    # Pods of a release that another test has uninstalled may still be ending.
    running = [
        one["metadata"]["name"]
        for one in api.list("pods", NAMESPACE)
        if "deletionTimestamp" not in one["metadata"]
    ]
    assert len([name for name in running if "webhook" in name]) == 2
    assert len([name for name in running if "operator" in name]) == 1
    careless = objects.pod("careless", NAMESPACE)
    with pytest.raises(ApiError, match="violates PodSecurity"):
        api.create(careless, dryRun="All")


@pytest.mark.parametrize(
    ("document", "expected"),
    [
        pytest.param(device_class(BAD), "denied", id="a class with a bad config"),
        pytest.param(device_class(GOOD), "let in", id="a class with a good config"),
        pytest.param(claim(BAD, "tenant"), "denied", id="a claim with a bad config"),
        pytest.param(claim(GOOD, "tenant"), "let in", id="a claim with a good config"),
        pytest.param(claim(BAD, "legacy"), "let in", id="a bad claim in an excluded namespace"),
        pytest.param(claim(BAD, "kube-system"), "let in", id="a bad claim in kube-system"),
        pytest.param(claim(BAD, NAMESPACE), "let in", id="a bad claim in the own namespace"),
    ],
)
def test_the_api_server_asks_the_webhook_through_its_service(
    api: Api, document: Json, expected: str
) -> None:
    assert answer(api, document) == expected


def test_nobody_excludes_a_namespace_by_a_label(api: Api) -> None:
    labels = {"kubernetes.io/metadata.name": "kube-system", "dragoman.dev/exclude": "true"}
    api.patch("namespaces", "tenant", None, {"metadata": {"labels": labels}})
    assert answer(api, claim(BAD, "tenant")) == "denied"


def test_what_has_no_config_or_says_nothing_new_costs_no_call(cluster: Cluster, api: Api) -> None:
    stored = api.create(claim(GOOD, "tenant", "stored"))
    before = reviews(cluster)
    assert answer(api, claim(None, "tenant")) == "let in"
    for number in range(3):
        api.patch(
            "resourceclaims", "stored", "tenant", {"metadata": {"labels": {"n": f"{number}"}}}
        )
    assert reviews(cluster) == before
    assert answer(api, claim(GOOD, "tenant")) == "let in"
    assert reviews(cluster) == before + 1
    api.delete("resourceclaims", stored["metadata"]["name"], "tenant")


def test_claims_live_and_go_with_the_roles_of_the_chart_alone(cluster: Cluster, api: Api) -> None:
    namespace = cluster.plane.create_namespace()
    api.create(objects.device_class("gpu", "gpu.example.com"))
    cluster.plane.add_node("gpus", 1, "gpu.example.com")
    api.create(objects.template("gpu", namespace, "gpu"))
    api.create(objects.pod("first", namespace, templates={"gpu": "gpu"}))
    api.create(objects.pod("second", namespace, templates={"gpu": "gpu"}))
    api.create(objects.pod("lost", namespace, templates={"gpu": "no-such-template"}))

    placed = wait_for(lambda: holding(api, namespace), message="a pod to have the only device")
    waiting = "second" if placed == "first" else "first"
    cluster.plane.finish_pod(namespace, placed)
    wait_for(lambda: holding(api, namespace) == waiting, message="the device to be given on")
    events = wait_for(
        lambda: api.list(
            "events.events.k8s.io", namespace, fieldSelector="reason=FailedResourceClaimCreation"
        )
    )
    assert events[0]["regarding"]["name"] == "lost"
    cluster.plane.finish_pod(namespace, waiting)
    wait_for(lambda: not api.list("resourceclaims", namespace), message="no claim to be left")
    said = cluster.kubelet.said("operator")
    assert faults_in(said) == []
    assert "403" not in re.findall(r'"code": ?(\d+)', said)


def test_helm_test_passes_and_leaves_no_rights_behind(cluster: Cluster, api: Api) -> None:
    said = cluster.helm("test", "dragoman", "--timeout=60s")
    assert "Phase:          Succeeded" in said
    assert "Failed" not in said
    tried = cluster.kubelet.said("verify")
    assert "ok  a DriverConfigSchema that does not compile was rejected" in tried
    assert "config that driver gpu.nvidia.com does not know was rejected" in tried
    assert api.find("clusterroles", "dragoman-verify") is None
    assert api.find("pods", "dragoman-verify", NAMESPACE) is None


@pytest.mark.slow
def test_a_helm_test_that_fails_leaves_its_log_and_no_rights_behind(
    cluster: Cluster, api: Api
) -> None:
    stored = api.get(CONFIGURATIONS, RELEASE)["webhooks"]
    nothing = {"matchLabels": {"matches": "nothing"}}
    blind = [{**webhook, "objectSelector": nothing} for webhook in stored]
    api.patch(CONFIGURATIONS, RELEASE, None, {"webhooks": blind})
    try:
        bad = device_class(BAD)
        wait_for(lambda: answer(api, bad) == "let in", message="the webhook to see nothing")
        said = cluster.helm("test", "dragoman", "--timeout=60s", check=False)
    finally:
        api.patch(CONFIGURATIONS, RELEASE, None, {"webhooks": stored})
    assert "Phase:          Failed" in said
    for kind in ("clusterroles", "clusterrolebindings"):
        assert api.find(kind, "dragoman-verify") is None
    assert api.find("serviceaccounts", "dragoman-verify", NAMESPACE) is None
    assert api.find("pods", "dragoman-verify", NAMESPACE) is not None
    cluster.plane.delete_pod(NAMESPACE, "dragoman-verify")


def test_whoever_may_view_may_see_schemas_and_nobody_else_may_change_them(api: Api) -> None:
    def schema_verbs(role: str) -> set[str]:
        rules = api.get("clusterroles", role)["rules"]
        return {
            verb
            for rule in rules
            if "dragoman.dev" in rule.get("apiGroups", ())
            for verb in rule["verbs"]
        }

    for role in ("view", "edit", "admin"):  # each is aggregated by itself
        wait_for(partial(schema_verbs, role), message=f"the role {role} to be aggregated")
        assert schema_verbs(role) == {"get", "list", "watch"}


@pytest.mark.parametrize("part", EXPLAINED)
def test_every_right_that_the_chart_grants_is_used_or_explained(
    cluster: Cluster, api: Api, part: str
) -> None:
    used = {
        f"{one.verb} {resource(one.group, one.resource, one.subresource)}"
        for one in cluster.plane.audit.requests(f"{ACCOUNT}-{part}")
    }
    granted, explained = set(rights(api, part)), EXPLAINED[part].keys()
    assert granted - used - explained == set(), "neither used nor explained"
    assert explained - granted == set(), "explained, and not granted any more"


def test_an_uninstallation_removes_the_webhook_first_and_leaves_what_users_made(
    cluster: Cluster, api: Api
) -> None:
    mark = cluster.plane.audit.mark()
    kept = {one["metadata"]["name"] for one in api.list(CRD)}
    assert "gpu.nvidia.com" in kept
    cluster.helm.uninstall()

    deleted = cluster.plane.audit.writes(since=mark, verb="delete")
    order = [one.resource for one in deleted if one.name.startswith(RELEASE)]
    assert order.index(CONFIGURATIONS) < order.index("deployments")
    hook = f"{ACCOUNT}-delete-webhooks"
    assert [one.what for one in deleted if one.user == hook] == [f"delete {CONFIGURATIONS}"]
    assert left_behind(api) == KEPT
    assert {one["metadata"]["name"] for one in api.list(CRD)} == kept
    bad = device_class(BAD)
    wait_for(lambda: answer(api, bad) == "let in", message="no webhook to be asked any more")


def holding(api: Api, namespace: str) -> str:
    """Return the pod that has a node and has not finished, or nothing."""
    pods = api.list("pods", namespace)
    names: list[str] = [
        one["metadata"]["name"]
        for one in pods
        if one["spec"].get("nodeName") and one["status"]["phase"] == "Pending"
    ]
    return names[0] if names else ""


def reviews(cluster: Cluster) -> int:
    """Return how many reviews all webhook pods have answered."""
    time.sleep(METRICS_AGE + 0.1)  # a page of metrics is cached for so long
    pods = [
        one
        for one in cluster.plane.api().list("pods", NAMESPACE)
        if "webhook" in one["metadata"]["name"]
    ]
    count = 0.0
    for pod in pods:
        text = fetched(cluster.kubelet.network, pod["status"]["podIP"], 8080, "/metrics")
        for line in text.splitlines():
            if line.startswith("dragoman_webhook_reviews_total{"):
                count += float(line.rpartition(" ")[2])
    return int(count)


def rights(api: Api, part: str) -> Iterator[str]:
    """Yield verb and resource of everything that the roles of a part's account grant."""
    for kind, namespace in (("clusterrole", None), ("role", NAMESPACE)):
        for binding in api.list(f"{kind}bindings", namespace):
            names = [one.get("name") for one in binding.get("subjects", ())]
            if f"dragoman-{part}" not in names:
                continue
            for rule in api.get(f"{kind}s", binding["roleRef"]["name"], namespace)["rules"]:
                for group in rule["apiGroups"]:
                    for what in rule["resources"]:
                        for verb in rule["verbs"]:
                            yield f"{verb} {resource(group, *what.split('/'))}"


def resource(group: str, plural: str, subresource: str = "") -> str:
    """Spell a resource as `resourceclaims/status.resource.k8s.io`."""
    what = f"{plural}/{subresource}" if subresource else plural
    return f"{what}.{group}" if group else what
