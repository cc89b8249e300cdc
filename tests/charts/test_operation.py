"""How the parts run: settings, availability, networks, CRDs and what else may be set."""

import copy
import json
import re
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from dragoman.cli import cli
from tests.charts.matrix import MATRIX
from tests.charts.rendering import CHART, Json, Values, arguments, names, one, pods, render

ROOT = CHART.parents[1]


@pytest.mark.parametrize("values", MATRIX.values(), ids=MATRIX)
def test_every_argument_is_one_that_the_program_has(values: Values) -> None:
    for name, pod in pods(render(values)):
        command, *given = pod["spec"]["containers"][0]["args"]
        known = flags_of(command)
        for flag in given:
            assert flag.partition("=")[0] in known, name


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param({}, [], id="none of it"),
        pytest.param({"catalog": {"enabled": True}}, ["--catalog=all"], id="all of it"),
        pytest.param(
            MATRIX["some of the catalog"],
            [
                "--catalog=dra.net,gpu.nvidia.com",
                "--catalog-mode=gpu.nvidia.com=Warn",
                "--catalog-variable=gpu.nvidia.com:MPSSupport=true",
            ],
            id="two drivers",
        ),
    ],
)
def test_the_operator_is_told_of_the_catalog(values: Values, expected: list[str]) -> None:
    given = [one for one in arguments(render(values), "operator") if "catalog" in one]
    assert given == expected


def test_arguments_of_admins_come_last_and_win() -> None:
    values = {"operator": {"extraArgs": ["--claims=off"]}}
    assert arguments(render(values), "operator")[-1] == "--claims=off"


@pytest.mark.parametrize(
    ("image", "registry", "expected"),
    [
        pytest.param({}, "", "registry.example.com/dragoman:0.1.0", id="a registry"),
        pytest.param({"tag": "main"}, "", "registry.example.com/dragoman:main", id="a tag"),
        pytest.param(
            {"registry": "", "repository": "docker.io/library/dragoman"},
            "",
            "docker.io/library/dragoman:0.1.0",
            id="a repository with its registry",
        ),
        pytest.param(
            {"registry": "registry.example.com", "repository": "dra/dragoman"},
            "",
            "registry.example.com/dra/dragoman:0.1.0",
            id="a registry and a repository",
        ),
        pytest.param(
            {"registry": "registry.example.com", "tag": "main", "digest": f"sha256:{'a' * 64}"},
            "mirror.example.com",
            f"mirror.example.com/dragoman@sha256:{'a' * 64}",
            id="a mirror and a digest",
        ),
    ],
)
def test_all_pods_run_one_image(image: Json, registry: str, expected: str) -> None:
    documents = render({"image": image, "global": {"imageRegistry": registry}})
    images = {pod["spec"]["containers"][0]["image"] for _, pod in pods(documents)}
    assert images == {expected}


def test_pull_secrets_are_names_or_references() -> None:
    documents = render(
        {"global": {"imagePullSecrets": ["shared"]}, "imagePullSecrets": [{"name": "mine"}]}
    )
    for _, pod in pods(documents):
        assert pod["spec"]["imagePullSecrets"] == [{"name": "shared"}, {"name": "mine"}]


@pytest.mark.parametrize(
    ("budget", "replicas", "expected"),
    [
        pytest.param({}, 2, {"maxUnavailable": 1}, id="auto, two replicas"),
        pytest.param({}, 1, None, id="auto, one replica"),
        pytest.param({"enabled": False}, 2, None, id="never"),
        pytest.param({"enabled": True}, 1, {"maxUnavailable": 1}, id="always"),
        pytest.param({"minAvailable": "50%"}, 2, {"minAvailable": "50%"}, id="a percentage"),
        pytest.param({"minAvailable": 0}, 2, {"minAvailable": 0}, id="zero is a number"),
    ],
)
def test_a_disruption_budget_is_there_when_it_cannot_block_a_drain(
    budget: Json, replicas: int, expected: Json | None
) -> None:
    documents = render({"webhook": {"replicas": replicas, "podDisruptionBudget": budget}})
    if expected is None:
        assert names(documents, "PodDisruptionBudget") == []
        return
    spec = one(documents, "PodDisruptionBudget", "dragoman-webhook")["spec"]
    assert spec["unhealthyPodEvictionPolicy"] == "AlwaysAllow"
    assert {key: spec[key] for key in spec.keys() & {"minAvailable", "maxUnavailable"}} == expected


@pytest.mark.parametrize("name", ["dragoman-delete-webhooks", "dragoman-verify"])
def test_pods_of_hooks_take_labels_and_annotations_and_are_hooks_still(name: str) -> None:
    labels = {"sidecar.istio.io/inject": "false", "app.kubernetes.io/component": "mine"}
    annotations = {"example.com/pod": "hook"}
    documents = render({"hooks": {"podLabels": labels, "podAnnotations": annotations}})
    pod = dict(pods(documents))[name]["metadata"]
    assert pod["labels"]["sidecar.istio.io/inject"] == "false"
    assert pod["labels"]["app.kubernetes.io/component"] == name.removeprefix("dragoman-")
    assert pod["annotations"]["example.com/pod"] == "hook"
    (hook,) = [
        one
        for one in documents
        if one["kind"] in {"Job", "Pod"} and one["metadata"]["name"] == name
    ]
    assert hook["metadata"]["annotations"]["helm.sh/hook"] in {"pre-delete", "test"}


@pytest.mark.parametrize("name", ["dragoman-delete-webhooks", "dragoman-verify"])
def test_a_failed_hook_leaves_its_pod_and_no_permissions(name: str) -> None:
    hooks = [one for one in render() if one["metadata"]["name"] == name]
    policies = {
        one["kind"]: one["metadata"]["annotations"]["helm.sh/hook-delete-policy"] for one in hooks
    }
    kept = {kind for kind, policy in policies.items() if "hook-failed" not in policy.split(",")}
    assert kept == policies.keys() & {"Job", "Pod"}
    assert {"ServiceAccount", "ClusterRole", "ClusterRoleBinding"} <= policies.keys() - kept


def test_pods_of_one_generation_spread_over_nodes_and_zones() -> None:
    for name, pod in pods([d for d in render() if d["kind"] == "Deployment"]):
        constraints = pod["spec"]["topologySpreadConstraints"]
        keys = [one["topologyKey"] for one in constraints]
        assert keys == ["kubernetes.io/hostname", "topology.kubernetes.io/zone"], name
        for constraint in constraints:
            assert constraint["matchLabelKeys"] == ["pod-template-hash"]
            chosen = constraint["labelSelector"]["matchLabels"]
            assert chosen.items() <= pod["metadata"]["labels"].items()


@pytest.mark.parametrize("part", ["operator", "webhook"])
def test_pods_are_replaced_one_by_one_and_stop_in_order(part: str) -> None:
    spec = one(render(), "Deployment", f"dragoman-{part}")["spec"]
    assert spec["strategy"]["rollingUpdate"] == {"maxSurge": 1, "maxUnavailable": 0}
    (container,) = spec["template"]["spec"]["containers"]
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        port = container[probe]["httpGet"]["port"]
        assert port in [one["name"] for one in container["ports"]]
    assert container["startupProbe"]["httpGet"]["path"] == "/livez"
    assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"


def test_the_webhook_is_ready_when_it_answers_over_tls_and_goes_on_while_it_is_still_called() -> (
    None
):
    deployment = one(render(), "Deployment", "dragoman-webhook")
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert container["readinessProbe"]["httpGet"] == {
        "path": "/readyz",
        "port": "webhook",
        "scheme": "HTTPS",
    }
    assert container["lifecycle"] == {"preStop": {"sleep": {"seconds": 5}}}


@pytest.mark.parametrize("plural", ["driverconfigschemas", "clusterresourceclaimtemplates"])
def test_the_crds_are_those_of_the_repository_and_stay(plural: str) -> None:
    source = yaml.safe_load((ROOT / f"crds/{plural}.yaml").read_text())
    documents = render({"clusterTemplates": {"enabled": True}})
    definition = one(documents, "CustomResourceDefinition", source["metadata"]["name"])
    assert definition["spec"] == source["spec"]
    assert definition["metadata"]["annotations"] == {"helm.sh/resource-policy": "keep"}


def test_the_crds_may_be_installed_by_somebody_else_or_go_with_the_release() -> None:
    assert names(render({"crds": {"enabled": False}}), "CustomResourceDefinition") == []
    definitions = [
        one
        for one in render({"crds": {"keep": False}, "clusterTemplates": {"enabled": True}})
        if one["kind"] == "CustomResourceDefinition"
    ]
    assert len(definitions) == 2
    assert not [one for one in definitions if "annotations" in one["metadata"]]


def test_maintenances_have_their_crd_flags_and_reviews_where_they_are_carried_out() -> None:
    documents = render({"maintenance": {"enabled": True}})
    source = yaml.safe_load((ROOT / "crds/devicemaintenances.yaml").read_text())
    name = source["metadata"]["name"]
    assert one(documents, "CustomResourceDefinition", name)["spec"] == source["spec"]
    configuration = one(documents, "ValidatingWebhookConfiguration", "dragoman")
    reviewed = {
        plural
        for webhook in configuration["webhooks"]
        for rule in webhook["rules"]
        for plural in rule["resources"]
    }
    assert {"devicemaintenances", "devicetaintrules"} <= reviewed
    flags = {"dragoman-operator": "--maintenance", "dragoman-webhook": "--review-targets"}
    for deployment, flag in flags.items():
        pod = one(documents, "Deployment", deployment)["spec"]["template"]["spec"]
        assert flag in pod["containers"][0]["args"]
    assert "devicemaintenances" not in str(render())


def test_reports_of_preemption_have_their_crd_and_flags() -> None:
    limits = {"maxVictims": 3}
    documents = render({"preemption": {"mode": "report", "minGap": 5, "limits": limits}})
    source = yaml.safe_load((ROOT / "crds/devicepreemptions.yaml").read_text())
    name = source["metadata"]["name"]
    assert one(documents, "CustomResourceDefinition", name)["spec"] == source["spec"]
    pod = one(documents, "Deployment", "dragoman-operator")["spec"]["template"]["spec"]
    flags = {
        "--preemption=report",
        "--preemption-min-gap=5",
        "--preemption-max-victims=3",
        "--preemption-protected-namespaces=kube-system",
        "--preemption-schedulers=default-scheduler",
    }
    assert flags <= set(pod["containers"][0]["args"])
    assert "preemption" not in str(render())


def test_without_cluster_templates_their_crd_and_their_reviews_are_left_out() -> None:
    documents = render()
    assert names(documents, "CustomResourceDefinition") == ["driverconfigschemas.dragoman.dev"]
    configuration = one(documents, "ValidatingWebhookConfiguration", "dragoman")
    assert "clusterresourceclaimtemplates" not in str(configuration)
    (container,) = one(documents, "Deployment", "dragoman-operator")["spec"]["template"]["spec"][
        "containers"
    ]
    assert "--cluster-templates" not in container["args"]


def test_network_policies_admit_the_api_server_and_monitoring_as_far_as_they_can() -> None:
    documents = render(MATRIX["fenced in"])
    webhook = one(documents, "NetworkPolicy", "dragoman-webhook")["spec"]
    operator = one(documents, "NetworkPolicy", "dragoman-operator")["spec"]
    api_server = [{"ipBlock": {"cidr": "192.0.2.0/28"}}]
    monitoring = {
        "ports": [{"port": "health", "protocol": "TCP"}],
        "from": [{"namespaceSelector": {"matchLabels": {"name": "monitoring"}}}],
    }
    reviews = {"ports": [{"port": "webhook", "protocol": "TCP"}], "from": api_server}
    assert webhook["ingress"] == [reviews, monitoring]
    assert operator["ingress"] == [monitoring]
    for policy in (webhook, operator):
        assert policy["policyTypes"] == ["Ingress", "Egress"]
        requests, names_of_hosts = policy["egress"]
        assert requests["to"] == api_server
        assert {one["port"] for one in requests["ports"]} == {443, 6443}
        assert {one["port"] for one in names_of_hosts["ports"]} == {53}


def test_the_operator_gets_seats_of_its_own_at_the_api_server() -> None:
    documents = render({"flowControl": {"enabled": True}})
    schema = one(documents, "FlowSchema", "dragoman-operator")["spec"]
    level = one(documents, "PriorityLevelConfiguration", "dragoman-operator")
    assert schema["priorityLevelConfiguration"]["name"] == level["metadata"]["name"]
    (subject,) = schema["rules"][0]["subjects"]
    assert subject["serviceAccount"] == {
        "name": "dragoman-operator",
        "namespace": "dragoman-system",
    }
    assert schema["matchingPrecedence"] < 9000


def test_objects_of_admins_may_use_templates() -> None:
    documents = render(MATRIX["everything set"])
    assert {"extra", "dragoman-text"} <= set(names(documents, "ConfigMap"))


def test_a_parent_chart_may_change_resources_and_places_of_pods() -> None:
    values: dict[str, Any] = {
        "webhook": {
            "resources": {"limits": {"memory": "1Gi"}},
            "nodeSelector": {"kubernetes.io/os": "linux", "pool": "system"},
            "tolerations": [{"operator": "Exists"}],
            "priorityClassName": "system-cluster-critical",
        }
    }
    deployment = one(render(values), "Deployment", "dragoman-webhook")
    spec = deployment["spec"]["template"]["spec"]
    assert spec["containers"][0]["resources"]["limits"] == {"memory": "1Gi"}
    assert spec["nodeSelector"]["pool"] == "system"
    assert spec["tolerations"] == [{"operator": "Exists"}]
    assert spec["priorityClassName"] == "system-cluster-critical"


def test_the_chart_is_of_the_version_that_it_installs() -> None:
    meta = yaml.safe_load((CHART / "Chart.yaml").read_text())
    project = (ROOT / "pyproject.toml").read_text()
    assert f'\nversion = "{meta["appVersion"]}"\n' in project


def flags_of(command: str) -> set[str]:
    """Return the flags that `dragoman <command>` knows."""
    told = CliRunner().invoke(cli, [command, "--help"])
    assert told.exit_code == 0
    return set(re.findall(r"--[a-z-]+", told.output))


def test_a_namespace_of_its_own_is_used_throughout() -> None:
    documents = render(
        {"namespaceOverride": "dra-control", "networkPolicy": {"enabled": True}},
        namespace="applications",
    )
    assert "applications" not in json.dumps(documents)
    assert {one["metadata"].get("namespace") for one in documents} == {None, "dra-control"}


def test_settings_of_pods_and_services_reach_them() -> None:
    values = copy.deepcopy(dict(MATRIX["everything set"]))
    sidecar = {"name": "sidecar", "image": "registry.example.com/sidecar"}
    values["operator"]["extraContainers"] = [sidecar]
    documents = render(values)
    deployment = one(documents, "Deployment", "dragoman-operator")
    assert deployment["metadata"]["annotations"]["example.com/reloader"] == "yes"
    assert deployment["spec"]["revisionHistoryLimit"] == 2
    spec = deployment["spec"]["template"]["spec"]
    assert [container["name"] for container in spec["containers"]] == ["operator", "sidecar"]
    assert spec["dnsConfig"] == {"options": [{"name": "ndots", "value": "2"}]}
    assert spec["hostAliases"][0]["hostnames"] == ["kubernetes.example.com"]
    assert spec["runtimeClassName"] == "gvisor"
    service = one(documents, "Service", "dragoman-webhook")
    assert service["metadata"]["annotations"]["example.com/service"] == "yes"
    assert service["spec"]["ipFamilyPolicy"] == "SingleStack"
    assert service["spec"]["ipFamilies"] == ["IPv4"]


def test_labels_of_metrics_win_where_they_are_to() -> None:
    monitors = [one for one in render(MATRIX["pods watched"]) if one["kind"] == "PodMonitor"]
    assert all(
        endpoint["honorLabels"]
        for monitor in monitors
        for endpoint in monitor["spec"]["podMetricsEndpoints"]
    )
    assert monitors
