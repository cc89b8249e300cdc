"""Which pods `doctor --dry-run-pods` tries, and what it says of the answers."""

import copy
from typing import Any

import pytest

from dragoman_toolkit.doctor.podtries import PodTry, refused, stripped, tries
from tests.support.worlds.inventory import pod

Json = dict[str, Any]


def workload(kind: str = "Deployment", *, status: Json | None = None, **spec: Any) -> Json:
    template = {"metadata": {"labels": {"app": "x"}}, "spec": pod(templates={"gpu": "one"})["spec"]}
    return {
        "apiVersion": "batch/v1" if kind == "Job" else "apps/v1",
        "kind": kind,
        "metadata": {"name": "train", "namespace": "ml", "uid": "u"},
        "spec": {"template": template, **spec},
        "status": status or {},
    }


def tried(made: Json) -> PodTry:
    (one,) = tries(made)
    return one


def test_the_pod_is_that_of_the_template() -> None:
    one = tried(workload(replicas=2, status={"replicas": 2}))
    assert one.path == "/api/v1/namespaces/ml/pods"
    assert one.pod["metadata"]["labels"] == {"app": "x"}
    assert one.pod["spec"]["resourceClaims"][0]["name"] == "gpu"
    assert not one.lacking


def test_what_wants_no_devices_or_is_suspended_is_not_tried() -> None:
    plain = workload()
    plain["spec"]["template"]["spec"] = {"containers": [{"name": "a"}]}
    assert not [*tries(plain), *tries(workload("Job", suspend=True))]
    classic = {"limits": {"nvidia.com/gpu": "1"}}
    plain["spec"]["template"]["spec"]["containers"][0]["resources"] = classic
    assert len([*tries(plain)]) == 1


QUOTA = (
    'pods "x" is forbidden: exceeded quota: gpus, requested: requests.cpu=1, used: 2, limited: 2'
)


@pytest.mark.parametrize(
    ("made", "lacking"),
    [
        (workload(replicas=2, status={"replicas": 1}), True),
        (workload(replicas=2, status={"replicas": 2}), False),
        (workload("Job", parallelism=2, status={"active": 1}), True),
        (
            workload("Job", parallelism=2, completions=3, status={"active": 1, "succeeded": 2}),
            False,
        ),
        (workload("Job", status={"conditions": [{"type": "Complete", "status": "True"}]}), False),
        (
            workload(
                "DaemonSet", status={"desiredNumberScheduled": 2, "currentNumberScheduled": 2}
            ),
            False,
        ),
    ],
)
def test_a_quota_that_is_used_up_matters_where_pods_are_lacking(made: Json, lacking: bool) -> None:
    found = refused(tried(made), QUOTA)
    assert (found is not None) is lacking
    if found:
        assert found.message.startswith("its pods are not created: exceeded quota: gpus, ")
        assert found.remedy.endswith("kubectl describe resourcequota -n ml")


def test_a_webhook_that_rejects_is_named() -> None:
    said = 'admission webhook "pods.policy.example.com" denied the request: no claims here'
    found = refused(tried(workload()), said)
    assert found is not None
    assert "webhook pods.policy.example.com rejects them: no claims here" in found.message


def test_missing_rights_say_nothing_about_the_workload() -> None:
    said = 'pods is forbidden: User "me" cannot create resource "pods" in API group ""'
    assert refused(tried(workload()), said) is None


@pytest.mark.parametrize(
    ("path", "lost"),
    [
        (("resourceClaims",), "spec.resourceClaims[gpu]"),
        (("containers", 0, "resources"), "spec.containers[main].resources.claims[gpu]"),
    ],
)
def test_what_a_webhook_strips_is_named(path: tuple[Any, ...], lost: str) -> None:
    one = tried(workload())
    returned: Any = copy.deepcopy(one.pod)
    assert stripped(one, returned) is None
    holder = returned["spec"]
    for step in path[:-1]:
        holder = holder[step]
    del holder[path[-1]]
    found = stripped(one, returned)
    assert found is not None
    assert f"created without {lost}" in found.message
    assert found.subject.text == "Deployment ml/train"


def test_a_pod_has_the_volumes_that_its_statefulset_adds() -> None:
    made = workload("StatefulSet", volumeClaimTemplates=[{"metadata": {"name": "data"}}, {}])
    template = made["spec"]["template"]["spec"]
    template["volumes"] = [{"name": "data", "emptyDir": {}}, {"name": "tmp", "emptyDir": {}}]
    data, other = tried(made).pod["spec"]["volumes"]
    assert (data["name"], other) == ("data", {"name": "tmp", "emptyDir": {}})
    assert "persistentVolumeClaim" in data


def test_the_name_of_the_pod_is_valid_for_each_name_of_a_workload() -> None:
    made = workload()
    made["metadata"]["name"] = f"{'a' * 39}.b"
    assert tried(made).pod["metadata"]["generateName"] == f"{'a' * 39}-dragoman-dry-run-"


def test_a_pod_whose_init_container_alone_wants_devices_is_tried() -> None:
    made = workload()
    limits = {"resources": {"limits": {"nvidia.com/gpu": "1"}}}
    made["spec"]["template"]["spec"] = {
        "containers": [{"name": "a"}],
        "initContainers": [{"name": "b", **limits}],
    }
    assert len([*tries(made)]) == 1
