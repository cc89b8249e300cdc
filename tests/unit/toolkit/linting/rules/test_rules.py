"""Each rule: manifests that it must find, and the nearest ones that it must leave alone."""

from typing import Any

import pytest

from dragoman_base.versions import KNOWN, NEWEST, name
from dragoman_toolkit.linting.knowledge.api import api_of
from tests.unit.toolkit.linting.builders import (
    check,
    claim,
    device_class,
    ids,
    pod,
    selector,
    several,
)

EXAMPLE = "gpu.example.com"
NVIDIA = 'device.driver == "gpu.nvidia.com" && device.attributes["gpu.nvidia.com"]'
SLICES = """\
apiVersion: resource.k8s.io/v1
kind: ResourceSlice
metadata: {name: node}
spec:
  driver: own.example.com
  nodeName: node
  pool: {name: node, generation: 1, resourceSliceCount: 1}
  devices:
  - {name: d0, attributes: {model: {string: A}, numa: {int: 0}}, capacity: {memory: {value: 8Gi}}}
  - {name: d1, attributes: {model: {string: B}, numa: {int: 1}, fast: {bool: true}}}
"""
TEMPLATED = "[{name: gpu, resourceClaimTemplateName: gpu}]"
OURS = 'device.driver == "gpu.example.com" && device'
OWN = 'device.attributes["own.example.com"]'
TEMPLATE = (
    claim(name="gpu")
    .replace("ResourceClaim\n", "ResourceClaimTemplate\n")
    .replace("spec:\n  devices:", "spec:\n spec:\n  devices:")
)
NETWORK = SLICES.replace("nodeName: node", "allNodes: true")


def rule(spec: str, name: str = "rule") -> str:
    return (
        "apiVersion: resource.k8s.io/v1beta2\nkind: DeviceTaintRule\n"
        f"metadata: {{name: {name}}}\nspec: {spec}\n"
    )


def namespace(labels: str = "{}") -> str:
    return f"apiVersion: v1\nkind: Namespace\nmetadata: {{name: ns, labels: {labels}}}\n"


def old(kind: str, spec: str, version: str = "v1alpha2") -> str:
    return f"apiVersion: resource.k8s.io/{version}\nkind: {kind}\nmetadata: {{name: old}}\n{spec}\n"


def toleration(text: str) -> str:
    return claim(f"deviceClassName: {EXAMPLE}\ntolerations:\n- {text}")


def admin(*tolerations: str) -> str:
    lines = "".join(f"\n- {one}" for one in tolerations)
    return claim(f"deviceClassName: {EXAMPLE}\nadminAccess: true\ntolerations:{lines or ' []'}")


def constraint(text: str) -> str:
    return claim(devices=f"constraints:\n- {text}\n")


def group(version: str, kind: str = "PodGroup") -> str:
    return f"apiVersion: scheduling.k8s.io/{version}\nkind: {kind}\nmetadata: {{name: a}}\n"


BAD: dict[str, list[Any]] = {
    "dra/api-removed": [
        old("ResourceClass", "driverName: gpu.example.com"),
        old("PodSchedulingContext", "spec: {selectedNode: n}"),
        old("ResourceClaimParameters", "driverRequests: []"),
        old("ResourceClassParameters", "filters: []"),
        old("ResourceClaim", "spec: {resourceClassName: gpu, allocationMode: Immediate}"),
        old("ResourceClaim", "spec: {devices: {requests: []}}", "v1alpha3"),
        claim().replace("spec:\n", "spec:\n  allocationMode: WaitForFirstConsumer\n"),
        claim().replace("spec:\n", "spec:\n  parametersRef: {kind: A, name: a}\n"),
        device_class(more="structuredParameters: true"),
        pod("[{name: gpu, source: {resourceClaimTemplateName: gpu}}]"),
        pod("[{name: gpu, source: {resourceClaimName: gpu}}]", kind="Deployment replicas: 1"),
    ],
    "dra/api-old": [
        claim(version="v1beta1"),
        claim(version="v1beta2"),
        device_class().replace("/v1\n", "/v1beta1\n"),
        SLICES.replace("/v1\n", "/v1beta2\n"),
    ],
    "dra/unknown-field": [
        claim().replace("devices:", "deices:"),
        claim(f"deviceClassName: {EXAMPLE}\ncuont: 2"),
        claim().replace("      exactly:\n        deviceClass", "      deviceClass"),
        claim(f"class: {EXAMPLE}"),
        pod("[{name: gpu, resourceClaimTemplate: gpu}]"),
        pod("[{name: gpu, resourceClaimName: gpu}]").replace("resourceClaims", "resourceClaim"),
        device_class(more="config: [{opaqe: {driver: a.example.com, parameters: {}}}]"),
    ],
    "dra/invalid": [
        claim("deviceClassName: ''"),
        claim(f"deviceClassName: {EXAMPLE}\ncount: -1"),
        claim(f"deviceClassName: {EXAMPLE}\ncount: two"),
        claim(f"deviceClassName: {EXAMPLE}\nallocationMode: Some"),
        claim(f"deviceClassName: {EXAMPLE}\nallocationMode: All\ncount: 2"),
        claim(f"deviceClassName: {EXAMPLE}\ncapacity: {{requests: {{memory: 1 GB}}}}"),
        claim().replace("name: gpu\n", "name: GPU\n"),
        claim().replace("name: claim", "name: My_Claim"),
        constraint("{requests: [nosuch], matchAttribute: gpu.example.com/model}"),
        constraint("{requests: [gpu], matchAttribute: model}"),
        constraint("{requests: [gpu]}"),
        claim(devices="config:\n- opaque: {driver: a.example.com, parameters: text}\n"),
        pod("[{name: gpu}]"),
        pod("[{name: gpu, resourceClaimName: a, resourceClaimTemplateName: b}]"),
        pod("[{name: gpu, resourceClaimName: a}, {name: gpu, resourceClaimName: b}]"),
        device_class(more="extendedResourceName: cpu"),
        SLICES.replace("nodeName: node", ""),
        SLICES.replace("string: A", "version: one"),
        SLICES.replace("name: d1", "name: d0"),
        claim().replace("    requests:", "    requests: []\n    requests:"),
    ],
    "dra/cel-invalid": [
        selector("device.driver == "),
        selector("device.driver"),
        selector("device.nosuch == 1"),
        selector('device.attributes["a"].b.exists(x, true)'),
        selector('"a" * 2 == "aa"'),
        selector("true || " + " || ".join(["device.driver == 'a'"] * 600)),
        claim(f"deviceClassName: {EXAMPLE}\nselectors:\n- cel: {{}}"),
        device_class('device.driver.matches("(")'),
    ],
    "dra/cel-unguarded": [
        selector('device.driver == "dra.net" && device.attributes["dra.net"].isSriovVf'),
        selector('device.driver == "dra.cpu" && device.attributes["dra.cpu"].coreType == "p-core"'),
        device_class(f'{NVIDIA}.profile == "1g.10gb"'),
        device_class('device.attributes["gpu.example.com"].model == "x"'),
        selector('device.driver == "dra.net" && (device.attributes["dra.net"].mtu > 1 || true)'),
    ],
    "dra/attribute-unknown": [
        selector(f'{NVIDIA}.productname == "x"'),
        selector(f'{OURS}.attributes["gpu.exmple.com"].index > 0'),
        selector(f'{OURS}.attributes["gpu.example.com"].modle == "a"'),
        selector('device.capacity["gpu.example.com"].vram.compareTo(quantity("1Gi")) > 0'),
        constraint("{matchAttribute: gpu.example.com/modell}"),
        constraint("{matchAttribute: gpu.exampl.com/model}"),
    ],
    "dra/attribute-is-capacity": [
        selector(f"{NVIDIA}.memory > 1"),
        selector('device.attributes["gpu.example.com"].memory == quantity("80Gi")'),
        selector('device.capacity["gpu.example.com"].index.isGreaterThan(quantity("1"))'),
        selector(f'{NVIDIA}.memory == "80Gi"'),
    ],
    "dra/attribute-type": [
        selector('device.attributes["gpu.example.com"].driverVersion == "1.0.0"'),
        selector('device.attributes["gpu.example.com"].index == "0"'),
        selector(f'{NVIDIA}.driverVersion >= "550"'),
        selector(f"{NVIDIA}.type == 1"),
    ],
    "dra/never-matches": [
        selector('device.attributes["gpu.nvidia.com"].profile == "1g.10gb"', "gpu.nvidia.com"),
        selector('device.driver == "a.example.com" && device.driver == "b.example.com"'),
        selector(f'{NVIDIA}.type == "gpo"'),
        selector('device.driver == "gpu.nvidia.con"'),
        several(
            device_class(f'{NVIDIA}.type == "gpu"', name="gpus"),
            selector('device.attributes["gpu.nvidia.com"].type == "mig"', "gpus"),
        ),
    ],
    "dra/reference-missing": [
        pod("[{name: gpu, resourceClaimName: a}]", uses="[{name: gpus}]"),
        several(pod("[{name: gpu, resourceClaimTemplateName: gpo}]"), TEMPLATE),
        several(pod("[{name: gpu, resourceClaimName: gpu}]"), TEMPLATE),
        several(
            pod(TEMPLATED, uses="[{name: gpu, request: gpus}]"),
            TEMPLATE,
        ),
        several(claim("deviceClassName: gpu.exmple.com"), device_class()),
    ],
    "dra/toleration": [
        toleration("{key: example.com/bad, operator: Exists}"),
        toleration("{effect: NoExecute}"),
        toleration("{key: example.com/bad, effect: NoSchedule}"),
        toleration("{key: a, operator: Exists, effect: None}"),
        toleration("{key: a, operator: Exists, effect: NoExecute, tolerationSeconds: 0}"),
        toleration("{key: a, operator: Exists, effect: NoExecute, tolerationSeconds: 10000000000}"),
        toleration("{key: a, operator: Exists, effect: NoExecute, tolerationSeconds: 60}"),
        toleration("{key: a, operator: Exists, effect: NoSchedule, tolerationSeconds: 60}"),
        admin(),
        admin("{key: a, operator: Exists, effect: NoSchedule}"),
    ],
    "dra/shared-claim": [
        pod("[{name: gpu, resourceClaimName: a}]", kind="Deployment replicas: 2"),
        pod("[{name: gpu, resourceClaimName: a}]", kind="StatefulSet replicas: 3"),
        pod("[{name: gpu, resourceClaimName: a}]", kind="Job parallelism: 4"),
        pod("[{name: gpu, resourceClaimName: a}]", kind="Deployment replicas: 300"),
        pod("[{name: gpu, resourceClaimName: a}]", kind="DaemonSet"),
    ],
    "dra/double-request": [
        several(
            pod(TEMPLATED, more="limits: {example.com/gpu: 1}"),
            TEMPLATE,
            device_class(more="extendedResourceName: example.com/gpu"),
        ),
        several(
            pod(
                TEMPLATED,
                more=f"limits: {{deviceclass.resource.kubernetes.io/{EXAMPLE}: 1}}",
            ),
            TEMPLATE,
        ),
        several(
            pod("[{name: gpu, resourceClaimName: claim}]", more="requests: {example.com/gpu: 1}"),
            claim(),
            device_class(more="extendedResourceName: example.com/gpu"),
        ),
        several(
            pod("[{name: gpu, resourceClaimName: claim}]", more="limits: {nvidia.com/gpu: 1}"),
            claim("deviceClassName: gpu.nvidia.com"),
        ),
    ],
    "dra/taint-rule": [
        rule("{deviceSelector: {}, taint: {key: a, effect: NoSchedule}}"),
        rule("{deviceSelector: {driver: null}, taint: {key: a, effect: NoSchedule}}"),
        rule("{deviceSelector: {driver: a.example.com}, taint: {key: a, effect: NoExecute}}"),
        rule("{taint: {key: a, effect: NoSchedule}}"),
    ],
    "dra/admin-access": [
        several(admin("{operator: Exists, effect: NoExecute}"), namespace()),
        several(namespace("{app: a}"), admin("{operator: Exists, effect: NoExecute}")),
        several(
            admin("{operator: Exists, effect: NoExecute}"),
            namespace("{resource.kubernetes.io/admin-access: 'false'}"),
        ),
        several(
            admin("{operator: Exists, effect: NoExecute}"),
            namespace("{resource.k8s.io/admin-access: 'true'}"),
        ),
    ],
    "dra/served-since": [
        group("v1beta1"),
        group("v1alpha3"),
        group("v1beta1", "Workload"),
        group("v1alpha3", "Workload"),
    ],
    "dra/ignore": [
        claim() + "# dragoman.dev/ignore\n",
        claim() + "# dragoman.dev/ignore: dra/api-old\n",
        claim() + "# dragoman.dev/ignore: dra/nosuch: because\n",
        claim().replace("namespace: ns", "annotations: {dragoman.dev/ignore: all}"),
    ],
}

GOOD: dict[str, list[Any]] = {
    "dra/api-removed": [
        claim(),
        device_class(),
        pod(TEMPLATED),
        "apiVersion: gpu.resource.example.com/v1alpha1\nkind: ResourceClass\nmetadata: {name: a}\n",
        claim(f"deviceClassName: {EXAMPLE}\nallocationMode: All"),
    ],
    "dra/api-old": [
        claim(),
        device_class(),
        SLICES,
        rule("{deviceSelector: {driver: a.example.com}, taint: {key: a, effect: NoSchedule}}"),
    ],
    "dra/unknown-field": [
        claim(f"deviceClassName: {EXAMPLE}\ncount: 2"),
        claim(version="v1beta1"),
        pod(TEMPLATED),
        claim(devices="config:\n- opaque: {driver: a.example.com, parameters: {any: thing}}\n"),
        "apiVersion: example.com/v1\nkind: Other\nmetadata: {name: a}\nfree: {fields: 1}\n",
    ],
    "dra/invalid": [
        claim(f"deviceClassName: {EXAMPLE}\nallocationMode: ExactCount\ncount: 32"),
        claim(f"deviceClassName: {EXAMPLE}\ncapacity: {{requests: {{memory: 1Gi}}}}"),
        constraint("{requests: [gpu], matchAttribute: gpu.example.com/model}"),
        device_class(more="extendedResourceName: example.com/gpu"),
        SLICES,
        pod("[{name: gpu, resourceClaimName: gpu.one}]"),
        claim(f"deviceClassName: {EXAMPLE}\ncount: null"),
    ],
    "dra/cel-invalid": [
        selector('device.driver == "gpu.example.com"'),
        selector('device.attributes["gpu.example.com"].?index.orValue(0) in [1, 2]'),
        device_class('device.driver.startsWith("gpu.")'),
        selector('cel.bind(a, device.attributes["gpu.example.com"], has(a.index))'),
    ],
    "dra/cel-unguarded": [
        selector('device.driver == "dra.net" && device.attributes["dra.net"].?rdma.orValue(false)'),
        selector(
            'device.driver == "dra.net" && has(device.attributes["dra.net"].rdma)'
            ' && device.attributes["dra.net"].rdma'
        ),
        selector('"mtu" in device.attributes["dra.net"] && device.attributes["dra.net"].mtu > 1'),
        selector(f'{NVIDIA}.type == "mig" && {NVIDIA}.profile == "1g.10gb"'),
        selector(f'{NVIDIA}.productName == "x"'),
        selector(f'{NVIDIA}.profile == "1g.10gb"', "a-class-in-the-cluster"),
        selector('device.attributes["gpu.nvidia.com"].profile == "1g.10gb"', "mig.nvidia.com"),
        selector('!has(device.attributes["dra.net"].mtu) || device.attributes["dra.net"].mtu > 1'),
        selector('cel.bind(a, device.attributes["dra.net"], has(a.mtu) && a.mtu > 1)'),
        several(
            device_class(f'{NVIDIA}.type == "mig"', name="migs"),
            selector('device.attributes["gpu.nvidia.com"].profile == "1g.10gb"', "migs"),
        ),
    ],
    "dra/attribute-unknown": [
        selector(f'{NVIDIA}.productName == "x"'),
        selector('device.attributes["private.acme.io"].?shape.orValue("") == "x"'),
        constraint("{matchAttribute: gpu.example.com/model}"),
        constraint("{matchAttribute: resource.kubernetes.io/pcieRoot}"),
        selector('device.capacity["gpu.example.com"].memory.compareTo(quantity("1Gi")) > 0'),
    ],
    "dra/attribute-type": [
        selector('device.attributes["gpu.example.com"].index == 0'),
        selector('device.attributes["gpu.example.com"].driverVersion.isLessThan(semver("1.0.0"))'),
        selector(f'{NVIDIA}.type == "gpu"'),
        selector('device.attributes["gpu.acme.example.com"].index == "0"'),
    ],
    "dra/attribute-is-capacity": [
        selector('device.capacity["gpu.example.com"].memory.compareTo(quantity("80Gi")) >= 0'),
        selector('device.attributes["gpu.example.com"].index == 1'),
        selector(
            'device.attributes["gpu.example.com"].driverVersion.compareTo(semver("1.0.0")) >= 0'
        ),
        selector('device.attributes["gpu.example.com"].model != "x"'),
    ],
    "dra/never-matches": [
        selector('device.driver == "gpu.example.com"'),
        selector(f'{NVIDIA}.type == "mig"'),
        selector('device.driver == "a.example.com" || device.driver == "b.example.com"'),
        several(
            device_class(f'{NVIDIA}.type == "gpu"', name="gpus"),
            selector('device.attributes["gpu.nvidia.com"].productName == "x"', "gpus"),
        ),
    ],
    "dra/reference-missing": [
        pod("[{name: gpu, resourceClaimName: a}]"),
        several(pod(TEMPLATED), TEMPLATE),
        several(
            pod(TEMPLATED, uses="[{name: gpu, request: gpu}]"),
            TEMPLATE,
        ),
        several(claim(), device_class()),
        several(pod("[{name: gpu, resourceClaimTemplateName: other-team}]"), TEMPLATE),
    ],
    "dra/toleration": [
        toleration("{key: a, operator: Exists, effect: NoExecute}"),
        toleration("{key: a, value: b, effect: NoSchedule}"),
        toleration("{operator: Exists, effect: NoSchedule}"),
        admin("{operator: Exists, effect: NoExecute}"),
        claim(),
    ],
    "dra/shared-claim": [
        pod("[{name: gpu, resourceClaimTemplateName: a}]", kind="Deployment replicas: 9"),
        pod("[{name: gpu, resourceClaimName: a}]", kind="Deployment replicas: 1"),
        pod("[{name: gpu, resourceClaimName: a}]", kind="Job completions: 5"),
        pod("[{name: gpu, resourceClaimName: a}]"),
        several(
            pod("[{name: gpu, resourceClaimName: claim}]", kind="Deployment replicas: 2"),
            selector('device.driver == "own.example.com"'),
            NETWORK,
        ),
    ],
    "dra/double-request": [
        several(pod(TEMPLATED, more="limits: {cpu: 1}"), TEMPLATE),
        several(
            pod(TEMPLATED, more="limits: {other.com/gpu: 1}"),
            TEMPLATE,
        ),
        pod(TEMPLATED, more="limits: {nvidia.com/gpu: 1}"),
        several(
            pod(TEMPLATED, more="limits: {nvidia.com/gpu: 1}"),
            TEMPLATE,
        ),
    ],
    "dra/taint-rule": [
        rule("{deviceSelector: {driver: a.example.com}, taint: {key: a, effect: NoSchedule}}"),
        rule("{deviceSelector: {pool: a, device: b}, taint: {key: a, effect: NoSchedule}}"),
        rule("{deviceSelector: {device: b}, taint: {key: a, value: b, effect: None}}"),
        rule("{deviceSelector: {pool: a/b}, taint: {key: a.b/c, effect: None}}"),
    ],
    "dra/admin-access": [
        several(
            admin("{operator: Exists, effect: NoExecute}"),
            namespace("{resource.kubernetes.io/admin-access: 'true'}"),
        ),
        several(claim(), namespace()),
        claim(),
        several(claim("deviceClassName: gpu.example.com\nadminAccess: false"), namespace()),
    ],
    "dra/served-since": [
        group("v1alpha2"),
        group("v1alpha2", "Workload"),
        group("v1", "PriorityClass"),
        claim(),
    ],
    "dra/ignore": [
        claim(),
        claim() + "# dragoman.dev/ignore: dra/api-old: the cluster is 1.33\n",
        claim().replace("namespace: ns", "annotations: {dragoman.dev/ignore: 'dra/invalid: why'}"),
        claim() + "# nothing to see\n",
    ],
}


def cases(table: dict[str, list[Any]]) -> list[Any]:
    return [
        pytest.param(name, text, id=f"{name} {index}")
        for name, texts in table.items()
        for index, text in enumerate(texts)
    ]


@pytest.mark.parametrize(("name", "text"), cases(BAD))
def test_what_a_rule_must_find(name: str, text: str) -> None:
    assert name in ids(text)


@pytest.mark.parametrize(("name", "text"), cases(GOOD))
def test_what_a_rule_must_leave_alone(name: str, text: str) -> None:
    assert name not in ids(text)


@pytest.mark.parametrize("table", [BAD, GOOD], ids=["bad", "good"])
def test_every_rule_has_at_least_four_cases(table: dict[str, list[Any]]) -> None:
    assert {name for name, texts in table.items() if len(texts) < 4} == set()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(selector(f'{OWN}.model == "A"'), set(), id="true for one device"),
        pytest.param(selector(f'{OWN}.model == "C"'), {"dra/never-matches"}, id="true for none"),
        pytest.param(selector(f"{OWN}.fast"), {"dra/cel-unguarded"}, id="an error on one device"),
        pytest.param(selector(f"{OWN}.?fast.orValue(false)"), set(), id="guarded"),
        pytest.param(
            selector(f"{OWN}.fats"), {"dra/attribute-unknown", "dra/cel-unguarded"}, id="typo"
        ),
        pytest.param(
            selector('device.attributes["ow.example.com"].?a.hasValue()'),
            {"dra/attribute-unknown", "dra/never-matches"},
            id="an unknown domain",
        ),
        pytest.param(
            several(
                device_class(f'{OWN}.model == "A"', name="a"), selector(f'{OWN}.model == "B"', "a")
            ),
            {"dra/never-matches"},
            id="a class that contradicts",
        ),
    ],
)
def test_given_slices_decide(text: str, expected: set[str]) -> None:
    assert set(ids(text, slices=SLICES)) == expected


MATCH = """\
apiVersion: resource.k8s.io/v1
kind: ResourceClaim
metadata: {name: two}
spec:
  devices:
    requests:
    - name: a
      exactly:
        deviceClassName: x
        selectors: [{cel: {expression: 'device.attributes["own.example.com"].model == "A"'}}]
    - name: b
      exactly:
        deviceClassName: x
        selectors: [{cel: {expression: 'device.attributes["own.example.com"].model == "B"'}}]
    constraints: [{requests: [a, b], matchAttribute: own.example.com/NAME}]
"""


def test_devices_that_share_no_value_never_match() -> None:
    assert ids(MATCH.replace("NAME", "numa"), slices=SLICES) == ["dra/never-matches"]
    same = SLICES.replace("{int: 1}", "{int: 0}")
    assert ids(MATCH.replace("NAME", "numa"), slices=same) == []


def test_an_ignored_finding_is_counted_and_not_shown() -> None:
    old = device_class().replace("/v1\n", "/v1beta1\n")
    above = several(device_class(name="other"), f"# dragoman.dev/ignore: dra/api-old: why\n{old}")
    beside = old.replace("/v1beta1\n", "/v1beta1  # dragoman.dev/ignore: dra/api-old: why\n")
    object_ = old.replace(
        "metadata: {", "metadata: {annotations: {dragoman.dev/ignore: 'dra/api-old: x'}, "
    )
    for text in (above, beside, object_):
        report = check(text)
        assert (report.findings, report.ignored) == ((), 1)
    assert ids(old + "# dragoman.dev/ignore: dra/api-old: too far below\n") == ["dra/api-old"]


def test_a_complete_input_must_hold_every_name() -> None:
    text = pod("[{name: gpu, resourceClaimTemplateName: elsewhere}]")
    assert ids(text) == []
    assert ids(text, complete=True) == ["dra/reference-missing"]


def test_the_kubernetes_version_decides_what_is_served() -> None:
    text = rule("{deviceSelector: {driver: a.example.com}, taint: {key: a, effect: NoSchedule}}")
    assert ids(text, kubernetes=(1, 34)) == ["dra/api-removed"]
    older = text.replace("v1beta2", "v1alpha3")
    on = {"served": {"resource.k8s.io/v1alpha3"}, "gates": {"DRADeviceTaintRules": True}}
    assert ids(older, kubernetes=(1, 34), **on) == []
    assert ids(older) == ["dra/api-old", "dra/off-by-default"]


DERIVED = claim().replace(
    "deviceClassName:", "derivedAttributes: [{name: a, expression: '1'}]\n        deviceClassName:"
)


def test_a_field_of_newer_versions_is_said_once_where_the_version_is_not_chosen() -> None:
    text = several(DERIVED, DERIVED.replace("name: gpu", "name: other"))
    report = check(text, kubernetes=(1, 37), any_version=True)
    [finding] = [one for one in report.findings if one.id == "dra/served-since"]
    assert finding.path == "spec.devices.requests[0].exactly.derivedAttributes"
    assert finding.message.endswith("derivedAttributes is served since Kubernetes 1.37")
    assert "dra/served-since" not in ids(text, kubernetes=(1, 37))
    assert "dra/served-since" not in ids(claim(), kubernetes=(1, 37), any_version=True)


def test_a_kind_of_newer_versions_is_said_where_the_version_is_not_chosen() -> None:
    rule = "apiVersion: resource.k8s.io/v1\nkind: DeviceTaintRule\nmetadata: {name: a}\nspec: {}\n"
    report = check(rule, kubernetes=(1, 37), any_version=True)
    messages = [one.message for one in report.findings if one.id == "dra/served-since"]
    assert messages == ["resource.k8s.io/v1 DeviceTaintRule is served since Kubernetes 1.37"]


@pytest.mark.parametrize(
    ("kubernetes", "text"),
    [
        pytest.param((1, 36), DERIVED, id="a newer version"),
        pytest.param(
            (1, 37),
            "apiVersion: resource.k8s.io/v1\nkind: ResourceSlice\nmetadata: {name: a}\nspec:\n"
            "  devices: [{name: d, nodeAllocatableResourceMappings: {}}]\n",
            id="an older version",
        ),
    ],
)
def test_an_unknown_field_that_another_version_has_names_that_version(
    kubernetes: tuple[int, int], text: str
) -> None:
    report = check(text, kubernetes=kubernetes)
    [advice] = [one.suggestion for one in report.findings if one.id == "dra/unknown-field"]
    other = "1.36" if kubernetes == (1, 37) else name(NEWEST)
    assert advice == f"Kubernetes {other} has it: --kubernetes {other}"


def test_every_known_version_has_its_own_api() -> None:
    assert [api_of(one).version for one in KNOWN] == list(KNOWN)
    assert api_of((1, 99)).version == NEWEST


def test_a_toleration_without_effect_is_ignored_up_to_1_37() -> None:
    text = toleration("{key: example.com/bad, operator: Exists}")
    assert ids(text, kubernetes=(1, 37)) == ["dra/toleration"]
    assert ids(text, kubernetes=(1, 38)) == []


def test_advice_names_the_version_that_has_a_gate_on() -> None:
    sharing = claim(f"deviceClassName: {EXAMPLE}\ncapacity: {{requests: {{memory: 1Gi}}}}")
    (found,) = check(sharing, kubernetes=(1, 34)).findings
    assert found.suggestion.endswith("; it is on by default in 1.36")
    alpha = check(DERIVED, kubernetes=(1, 37)).findings
    assert alpha
    assert "it is" not in str([one.suggestion for one in alpha])
