"""Manifests that `kubectl dra migrate convert` prints: claims in place of limits."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from dragoman.allocation.extendedresources import requested
from dragoman_toolkit.stored import pod_spec
from dragoman_toolkit.workloads import workload
from tests.support.dra import Desk, invoke
from tests.support.worlds.plugins import GPU, cluster, gpus, node, serving

MIG = "nvidia.com/mig-1g.10gb"


def converted(
    folder: Path, text: str, *manifests: Any, options: Any = (), status: int = 0
) -> tuple[str, str]:
    """Return what both streams got."""
    desk = Desk(folder)
    desk.write(cluster(*(manifests or (serving(), node("n", allocatable={GPU: "8"})))))
    file = folder / "in.yaml"
    file.write_text(text)
    result = invoke(
        *("migrate", "convert", "-f", file, "--claims", "--snapshot", desk.file), *options
    )
    assert result.exit_code == status, result.output
    return result.stdout, result.stderr


def pod(*containers: Any, initial: Any = (), **spec: Any) -> Any:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        "spec": {"containers": [*containers], "initContainers": [*initial], **spec},
    }


def wanting(name: str, **limits: Any) -> Any:
    amounts = {
        key.replace("_", "/", 1).replace("nvidia/", "nvidia.com/"): v for key, v in limits.items()
    }
    return {"name": name, "image": "i", "resources": {"limits": amounts}}


def devices(documents: list[Any]) -> dict[str, int]:
    """Return how many devices each container of the last document may use."""
    counts: dict[tuple[str, str], int] = {}
    for one in documents:
        if one["kind"] == "ResourceClaimTemplate":
            for request in one["spec"]["spec"]["devices"]["requests"]:
                counts[one["metadata"]["name"], request["name"]] = request["exactly"]["count"]
    spec = documents[-1]["spec"]
    templates = {
        one["name"]: one["resourceClaimTemplateName"] for one in spec.get("resourceClaims", ())
    }
    return {
        container["name"]: sum(
            count
            for (template, request), count in counts.items()
            for use in container.get("resources", {}).get("claims", ())
            if templates[use["name"]] == template and use.get("request", request) == request
        )
        for container in (*spec.get("initContainers", ()), *spec["containers"])
    }


SHAPES = [
    pytest.param([("a", 2)], [], {"a": 2}, 1, id="one container"),
    pytest.param([("a", 1), ("b", 2)], [], {"a": 1, "b": 2}, 2, id="two containers"),
    pytest.param([("m", 2)], [("i", 1)], {"m": 2, "i": 2}, 1, id="a smaller init container"),
    pytest.param([("m", 2)], [("i", 4)], {"m": 2, "i": 4}, 2, id="a larger init container"),
    pytest.param([("a", 1), ("b", 2)], [("i", 2)], {"a": 1, "b": 2, "i": 3}, 2, id="one uses both"),
    pytest.param(
        [("a", 1), ("b", 1), ("c", 1)],
        [("i", 2)],
        {"a": 1, "b": 1, "c": 1, "i": 2},
        3,
        id="one uses two of three",
    ),
    pytest.param([("m", 1), ("idle", 0)], [], {"m": 1, "idle": 0}, 1, id="one that uses none"),
    pytest.param([("m", 1)], [("i", 3), ("j", 4)], {"m": 1, "i": 4, "j": 4}, 2, id="two of them"),
]


@pytest.mark.parametrize(("containers", "initial", "counts", "requests"), SHAPES)
def test_each_container_has_the_devices_of_its_limits(
    tmp_path: Path, containers: Any, initial: Any, counts: dict[str, int], requests: int
) -> None:
    made = pod(
        *(wanting(name, **{"nvidia_gpu": n} if n else {}) for name, n in containers),
        initial=[wanting(name, nvidia_gpu=n) for name, n in initial],
    )
    text, _ = converted(tmp_path, yaml.safe_dump(made))
    documents = list(yaml.safe_load_all(text))
    assert devices(documents) == counts
    templates = [one for one in documents if one["kind"] == "ResourceClaimTemplate"]
    found = [one for made in templates for one in made["spec"]["spec"]["devices"]["requests"]]
    assert len(found) == requests
    # Two entries with one name are rejected by server-side apply.
    spec = documents[-1]["spec"]
    for container in (*spec["containers"], *spec["initContainers"]):
        names = [use["name"] for use in container["resources"].get("claims", ())]
        assert len(names) == len(set(names))
    assert requested({"spec": pod_spec(spec)}) == {}


BLOCK = """\
# Serves the model.
apiVersion: apps/v1
kind: Deployment
metadata:
  name: serve   # as the Service has it
  namespace: ml
spec:
  template:
    spec:
      # One container only
      containers:
      - name: main
        image: a
        resources:
          limits:
            cpu: 8
            nvidia.com/gpu: 2  # two
"""


def test_comments_and_order_stay(tmp_path: Path) -> None:
    text, said = converted(tmp_path, BLOCK)
    template, _, rest = text.partition("---\n")
    assert yaml.safe_load(template)["metadata"] == {"name": "serve-devices", "namespace": "ml"}
    assert rest == (
        BLOCK.replace("            nvidia.com/gpu: 2  # two\n", "")
        + "          claims: [{name: devices}]\n"
        + "      resourceClaims: [{name: devices, resourceClaimTemplateName: serve-devices}]\n"
    )
    assert said == ("serve: nvidia.com/gpu: 2 of container main -> request gpu of serve-devices\n")


LAYOUTS = [
    pytest.param(BLOCK, id="block style"),
    pytest.param(BLOCK.replace("\n", "\r\n"), id="CRLF"),
    pytest.param(BLOCK.rstrip("\n"), id="no last line break"),
    pytest.param(json.dumps(yaml.safe_load(BLOCK)), id="JSON on one line"),
    pytest.param(json.dumps(yaml.safe_load(BLOCK), indent=2), id="JSON"),
    pytest.param(yaml.safe_dump(yaml.safe_load(BLOCK), default_flow_style=True), id="flow style"),
    pytest.param(
        BLOCK.replace(
            "          limits:\n            cpu: 8\n            nvidia.com/gpu: 2  # two\n",
            "          limits: {nvidia.com/gpu: 2}\n          requests:\n"
            "            cpu: 8\n            nvidia.com/gpu: 2\n",
        ),
        id="requests and limits",
    ),
    pytest.param(
        BLOCK.replace(
            "      # One", "      tolerations: []\n      resourceClaims: null\n      # One"
        ),
        id="empty fields",
    ),
    pytest.param(
        f"apiVersion: v1\nkind: List\nitems:\n- {json.dumps(yaml.safe_load(BLOCK))}\n", id="a List"
    ),
    pytest.param(
        BLOCK.replace("resources:\n          limits:", "resources: &r\n          limits:")
        + "      - name: other\n        image: b\n        resources: *r\n",
        id="an alias",
    ),
]


@pytest.mark.parametrize("text", LAYOUTS)
def test_every_layout_is_converted_and_twice_is_as_once(tmp_path: Path, text: str) -> None:
    once, _ = converted(tmp_path, text)
    twice, said = converted(tmp_path, once)
    assert (twice.replace("\r", ""), said) == (once.replace("\r", ""), "")
    documents = list(yaml.safe_load_all(once))
    kept = documents[-1]["items"][0] if documents[-1]["kind"] == "List" else documents[-1]
    (pods,) = workload(kept).pods  # type: ignore[union-attr]  # it is one
    assert pods.spec["resourceClaims"] == [
        {"name": "devices", "resourceClaimTemplateName": "serve-devices"}
    ]
    assert requested({"spec": pod_spec(pods.plain())}) == {}


UNCHANGED = [
    "# nothing\n\n---\napiVersion: v1\nkind: ConfigMap\ndata: {a: '{{.}}'}\n",
    "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers: [ {name: a} ]  # x\n",
]


@pytest.mark.parametrize("text", UNCHANGED, ids=["no workload", "no devices"])
def test_what_asks_for_no_devices_stays_byte_for_byte(tmp_path: Path, text: str) -> None:
    assert converted(tmp_path, text.replace("{{.}}", "x")) == (text.replace("{{.}}", "x"), "")


def test_manifests_that_classes_serve_stay_unless_asked(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    desk.write(cluster(serving(), node("n", allocatable={GPU: "8"})))
    file = tmp_path / "in.yaml"
    file.write_text(BLOCK)
    result = invoke("migrate", "convert", "-f", file, "--snapshot", desk.file)
    assert (result.stdout, result.exit_code) == (BLOCK, 0)
    assert "--claims converts them all the same" in result.stderr
    result = invoke(
        *("migrate", "convert", "-f", file, "--snapshot", desk.file, "--profile", "1.35")
    )
    assert "resourceClaims" in result.stdout


def test_several_resources_become_requests_of_one_claim(tmp_path: Path) -> None:
    made = pod(wanting("a", nvidia_gpu=1, amd_gpu=2))
    made["spec"]["containers"][0]["resources"]["limits"]["amd.com/gpu"] = made["spec"][
        "containers"
    ][0]["resources"]["limits"].pop("amd/gpu")
    text, said = converted(tmp_path, yaml.safe_dump(made))
    template, _ = yaml.safe_load_all(text)
    names = [one["name"] for one in template["spec"]["spec"]["devices"]["requests"]]
    assert names == ["amd-com-gpu", "nvidia-com-gpu"]
    assert "class gpu.amd.com has to be made" in said


KINDS = [
    pytest.param(
        {
            "apiVersion": "leaderworkerset.x-k8s.io/v1",
            "kind": "LeaderWorkerSet",
            "spec": {
                "leaderWorkerTemplate": {
                    "size": 2,
                    "leaderTemplate": {"spec": {"containers": [wanting("l", nvidia_gpu=1)]}},
                    "workerTemplate": {"spec": {"containers": [wanting("w", nvidia_gpu=2)]}},
                }
            },
        },
        ["x-leader-devices", "x-worker-devices"],
        id="LeaderWorkerSet",
    ),
    pytest.param(
        {
            "apiVersion": "jobset.x-k8s.io/v1alpha2",
            "kind": "JobSet",
            "spec": {
                "replicatedJobs": [
                    {
                        "name": name,
                        "template": {
                            "spec": {
                                "template": {"spec": {"containers": [wanting("c", nvidia_gpu=1)]}}
                            }
                        },
                    }
                    for name in ("a", "b")
                ]
            },
        },
        ["x-a-devices"],
        id="JobSet of equal pods",
    ),
    pytest.param(
        {
            "apiVersion": "batch/v1",
            "kind": "CronJob",
            "spec": {
                "jobTemplate": {
                    "spec": {"template": {"spec": {"containers": [wanting("c", nvidia_gpu=1)]}}}
                }
            },
        },
        ["x-devices"],
        id="CronJob",
    ),
]


@pytest.mark.parametrize(("manifest", "templates"), KINDS)
def test_every_pod_template_is_found(tmp_path: Path, manifest: Any, templates: list[str]) -> None:
    text, _ = converted(tmp_path, yaml.safe_dump({**manifest, "metadata": {"name": "x"}}))
    documents = list(yaml.safe_load_all(text))
    found = [one["metadata"]["name"] for one in documents if one["kind"] == "ResourceClaimTemplate"]
    assert found == templates
    pods = workload(documents[-1]).pods  # type: ignore[union-attr]  # it is one
    assert all(one.spec["resourceClaims"] for one in pods)


def test_what_a_pod_has_already_is_kept(tmp_path: Path) -> None:
    made = pod(
        {
            **wanting("a", nvidia_gpu=1),
            "resources": {"limits": {GPU: 1}, "claims": [{"name": "nic"}]},
        },
        resourceClaims=[{"name": "nic", "resourceClaimName": "n"}],
        tolerations=[{"key": "x", "operator": "Exists"}],
    )
    tainted = node("n", allocatable={GPU: "8"})
    tainted["spec"] = {"taints": [{"key": GPU, "effect": "NoSchedule"}]}
    text, said = converted(tmp_path, yaml.safe_dump(made), serving(), tainted)
    spec = list(yaml.safe_load_all(text))[-1]["spec"]
    assert [one["name"] for one in spec["resourceClaims"]] == ["nic", "devices"]
    assert spec["containers"][0]["resources"] == {"claims": [{"name": "nic"}, {"name": "devices"}]}
    assert spec["tolerations"][1] == {"key": GPU, "operator": "Exists", "effect": "NoSchedule"}
    assert "toleration of nvidia.com/gpu added" in said


@pytest.mark.parametrize(
    ("given", "added"),
    [
        ([{"key": GPU, "operator": "Equal", "value": "x"}], True),
        ([{"key": GPU}], True),
        ([{"key": GPU, "operator": "Exists"}], False),
        ([{"operator": "Exists", "effect": "NoSchedule"}], False),
    ],
)
def test_a_toleration_of_one_value_does_not_stand_for_that_of_admission(
    tmp_path: Path, given: Any, added: bool
) -> None:
    tainted = node("n", allocatable={GPU: "8"})
    tainted["spec"] = {"taints": [{"key": GPU, "effect": "NoSchedule"}]}
    made = pod(wanting("a", nvidia_gpu=1), tolerations=given)
    text, _ = converted(tmp_path, yaml.safe_dump(made), serving(), tainted)
    found = list(yaml.safe_load_all(text))[-1]["spec"]["tolerations"]
    own = {"key": GPU, "operator": "Exists", "effect": "NoSchedule"}
    assert found == [*given, *([own] if added else [])]


LEFT = [
    pytest.param({"limits": {GPU: 33}}, "TooManyDevices", id="33 devices"),
    pytest.param({"limits": {"example.com/fpga": 1}}, "UnknownResource", id="no driver"),
    pytest.param({"limits": {"aws.amazon.com/neuroncore": 1}}, "FractionOfDevice", id="a part"),
]


@pytest.mark.parametrize(("resources", "code"), LEFT)
def test_what_no_claim_can_hold_stays_and_is_said(
    tmp_path: Path, resources: Any, code: str
) -> None:
    text = yaml.safe_dump(pod({"name": "a", "image": "i", "resources": resources}))
    found, said = converted(tmp_path, text, status=1)
    assert found == text
    assert code in said


def request(text: str) -> Any:
    (template, _) = yaml.safe_load_all(text)
    (found,) = template["spec"]["spec"]["devices"]["requests"]
    return found["exactly"]


def test_a_class_without_a_name_that_selects_the_same_devices_is_used(tmp_path: Path) -> None:
    chart = serving()
    del chart["spec"]["extendedResourceName"]
    text, _ = converted(tmp_path, BLOCK, chart, node("n"), gpus("n", 2))
    assert request(text)["deviceClassName"] == "gpu.nvidia.com"


def test_a_profile_is_selected_from_the_class_of_all_profiles(tmp_path: Path) -> None:
    chart = serving("mig.nvidia.com", kind="mig")
    del chart["spec"]["extendedResourceName"]
    text, _ = converted(
        tmp_path,
        BLOCK.replace(GPU, MIG),
        chart,
        node("n"),
        gpus("n", 1, "mig", profile="1g.10gb"),
        node("m"),
        gpus("m", 1, "mig", profile="2g.20gb"),
    )
    found = request(text)
    assert found["deviceClassName"] == "mig.nvidia.com"
    assert "profile == '1g.10gb'" in found["selectors"][0]["cel"]["expression"]


def test_monitoring_becomes_admin_access(tmp_path: Path) -> None:
    text, _ = converted(tmp_path, BLOCK.replace(GPU + ": 2", "gpu.intel.com/xe_monitoring: 1"))
    found = request(text)
    assert (found["allocationMode"], found["adminAccess"]) == ("All", True)


def test_labels_of_nodes_become_selectors_of_devices(tmp_path: Path) -> None:
    labelled = BLOCK.replace(
        "      # One",
        "      nodeSelector: {nvidia.com/gpu.product: NVIDIA-L4-SHARED, zone: a}\n      # One",
    )
    slices = gpus("n", 1, productName="NVIDIA L4")
    text, _ = converted(tmp_path, labelled, serving(), node("n"), slices, options=["--selectors"])
    assert request(text)["selectors"][0]["cel"]["expression"].endswith("productName == 'NVIDIA L4'")
    assert list(yaml.safe_load_all(text))[-1]["spec"]["template"]["spec"]["nodeSelector"] == {
        "zone": "a"
    }
    kept, _ = converted(tmp_path, labelled, serving(), node("n"), slices)
    assert "NVIDIA-L4-SHARED" in kept


def test_a_template_of_helm_is_rejected_with_the_way_to_render_it(tmp_path: Path) -> None:
    text = BLOCK.replace("nvidia.com/gpu: 2", "nvidia.com/gpu: {{ .Values.gpus }}")
    _, said = converted(tmp_path, text, status=2)
    assert "helm template … | kubectl dra migrate convert -f -" in said


def test_a_quota_that_claims_escape_is_named(tmp_path: Path) -> None:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q", "namespace": "ml"},
        "spec": {"hard": {f"requests.{GPU}": "4"}},
    }
    _, said = converted(tmp_path, BLOCK, serving(), quota, node("n"), options=["--profile", "1.35"])
    assert "QuotaUncharged: ResourceQuota ml/q limits requests.nvidia.com/gpu" in said
