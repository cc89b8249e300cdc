"""Mistakes that people make: each is found by its rule, said once, with advice that helps."""

import pytest

from tests.unit.toolkit.linting.builders import (
    check,
    claim,
    device_class,
    ids,
    pod,
    selector,
    several,
)

TEMPLATED = "[{name: gpu, resourceClaimTemplateName: gpu}]"
TEMPLATE = (
    claim(name="gpu")
    .replace("ResourceClaim\n", "ResourceClaimTemplate\n")
    .replace("spec:\n  devices:", "spec:\n spec:\n  devices:")
)
NVIDIA = 'device.attributes["gpu.nvidia.com"]'


def slices(device: str, more: str = "", name: str = "node") -> str:
    return (
        f"apiVersion: resource.k8s.io/v1\nkind: ResourceSlice\nmetadata: {{name: {name}}}\nspec:\n"
        "  driver: gpu.example.com\n  nodeName: node\n"
        f"  pool: {{name: node, generation: 1, resourceSliceCount: {2 if more else 1}}}\n"
        + (f"  devices:\n  - {device}\n" if device else f"  {more}\n")
    )


def config(driver: str, requests: str = "[gpu]", class_name: str = "gpu.nvidia.com") -> str:
    entry = f"config:\n- requests: {requests}\n  opaque: {{driver: {driver}, parameters: {{}}}}\n"
    return claim(f"deviceClassName: {class_name}", devices=entry)


def custom(spec: str, kind: str = "RayCluster") -> str:
    body = "".join(f"      {line}\n" for line in spec.splitlines())
    return (
        f"apiVersion: ray.io/v1\nkind: {kind}\nmetadata: {{name: ray, namespace: ns}}\nspec:\n"
        f"  workerGroupSpecs:\n  - template:\n     spec:\n{body}"
    )


SHAPE = "containers:\n- name: main\n  resources: {claims: [{name: NAME}]}\nresourceClaims: CLAIMS\n"


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        *(
            pytest.param(
                claim().replace("ResourceClaim\n", f"{kind}\n"), "dra/unknown-kind", id=kind
            )
            for kind in ("ResourceClaims", "resourceClaim", "Claim", "ResourceClassTemplate")
        ),
        *(
            pytest.param(claim().replace("resource.k8s.io/v1", group), "dra/unknown-kind", id=group)
            for group in (
                "resource.k8s.io", "resource/v1", "v1", "resources.k8s.io/v1", "storage.k8s.io/v1",
            )
        ),
        pytest.param(
            pod(TEMPLATED, kind="Deployment").replace("apps/v1", "v1"), "dra/unknown-kind",
            id="a Deployment of v1",
        ),
        pytest.param(
            claim(f"deviceClassName: a\ncount: {33}"), "dra/too-many-devices", id="33 devices"
        ),
        pytest.param(pod(TEMPLATED, uses="[]"), "dra/claim-unused", id="an unused claim"),
        pytest.param(pod(TEMPLATED, more="").replace("spec:\n", "spec:\n  nodeName: node\n"),
                     "dra/node-name", id="a pod with a node"),
        pytest.param(config("nvidia.com"), "dra/config-unused", id="another driver"),
        pytest.param(
            several(device_class('device.driver == "own.example.com"', name="own"),
                    config("gpu.example.com", class_name="own")),
            "dra/config-unused", id="another driver than that of a class of the input",
        ),
        pytest.param(slices("{name: a, bindsToNode: true}"), "dra/no-effect", id="binds to node"),
        pytest.param(
            slices("{name: a, taints: [{key: a/b, effect: NoSchedule, value: x},"
                   " {key: a/b, effect: NoSchedule}]}"),
            "dra/no-effect", id="two taints",
        ),
        pytest.param(
            slices("{name: a, consumesCounters: [{counterSet: b, counters: {c: {value: 1}}}]}"),
            "dra/no-effect", id="counters of no slice",
        ),
        pytest.param(
            several(
                slices("{name: a, consumesCounters: [{counterSet: b, counters: {c: {value: 1}}}]}"),
                slices("", "sharedCounters: [{name: d, counters: {c: {value: 1}}}]", "counters"),
            ),
            "dra/no-effect", id="counters of another set",
        ),
        pytest.param(
            claim("deviceClassName: a\ncapacity: {requests: {memory: -1Gi}}"), "dra/no-effect",
            id="less than no capacity",
        ),
        pytest.param(selector(f"{NVIDIA}.productName"), "dra/cel-invalid", id="text as condition"),
        pytest.param(
            selector("device.attributes['nvidia.com'].productName == 'A'", "gpu.nvidia.com"),
            "dra/attribute-unknown", id="the end of a domain",
        ),
        pytest.param(
            selector("device.attributes['foo_bar'].model == 'A'", "gpu.example.com"),
            "dra/attribute-unknown", id="a domain that no driver can have",
        ),
        pytest.param(
            selector("device.attributes['a.example.com']['b-c'] == 'A'", "a.example.com"),
            "dra/attribute-unknown", id="a name that no attribute can have",
        ),
        pytest.param(
            claim("deviceClassName: gpu.nvidia.com\ncount: 2",
                  devices="constraints: [{matchAttribute: gpu.nvidia.com/uuid}]"),
            "dra/never-matches", id="two devices of one uuid",
        ),
        pytest.param(
            several(TEMPLATE.replace("namespace: ns", "namespace: other"), pod(TEMPLATED)),
            "dra/reference-missing", id="a template of another namespace",
        ),
        pytest.param(
            custom(SHAPE.replace("NAME", "gpus").replace("CLAIMS", TEMPLATED)),
            "dra/reference-missing", id="a pod template in another kind",
        ),
        pytest.param(
            custom(SHAPE.replace("NAME", "gpu").replace(
                "CLAIMS", "[{name: gpu, source: {resourceClaimName: a}}]")),
            "dra/api-removed", id="source in another kind",
        ),
        pytest.param(
            pod(TEMPLATED).replace("spec:\n", "spec:\n  resources: {claims: [{name: gpu}]}\n"),
            "dra/invalid", id="claims of the whole pod",
        ),
        pytest.param(
            pod("[]", uses="[]").replace(
                "claims: []", "{requests: {a.example.com/b: 1}, limits: {a.example.com/b: 2}}"
            ),
            "dra/invalid", id="an extended resource with another limit",
        ),
        pytest.param(
            TEMPLATE.replace("spec:\n spec:", "spec:\n metadata: {name: mine}\n spec:"),
            "dra/invalid", id="a name for the claims of a template",
        ),
    ],
)  # fmt: skip
def test_a_mistake_is_found_once(text: str, rule: str) -> None:
    assert ids(text) == [rule]


def test_a_group_takes_four_claims() -> None:
    entries = ", ".join(f"{{name: c{i}, resourceClaimName: c{i}}}" for i in range(5))
    text = (
        "apiVersion: scheduling.k8s.io/v1alpha2\nkind: PodGroup\nmetadata: {name: g}\n"
        f"spec: {{schedulingPolicy: {{basic: {{}}}}, resourceClaims: [{entries}]}}\n"
    )
    [found] = check(text, served=frozenset({"scheduling.k8s.io/v1alpha2"})).findings
    assert "Too many: 5: must have at most 4 items" in found.message


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(claim("deviceClassName: a\ncount: 32"), id="32 devices"),
        pytest.param(
            pod("[{name: nic, resourceClaimTemplateName: rdma}]", uses="[]"), id="of the network"
        ),
        pytest.param(config("gpu.nvidia.com"), id="the driver of the class"),
        pytest.param(config("any.example.com", class_name="unknown"), id="an unknown class"),
        pytest.param(
            several(TEMPLATE, pod(TEMPLATED)), id="a template of the pod's namespace"
        ),
        pytest.param(
            several(TEMPLATE.replace(", namespace: ns", ""), pod(TEMPLATED)), id="of no namespace"
        ),
        pytest.param(
            several(
                slices("{name: a, consumesCounters: [{counterSet: b, counters: {c: {value: 1}}}]}"),
                slices("", "sharedCounters: [{name: b, counters: {c: {value: 1}}}]", "counters"),
            ),
            id="counters of another slice",
        ),
        pytest.param(
            slices("{name: a, consumesCounters: [{counterSet: b, counters: {c: {value: 1}}}]}")
            .replace("Count: 1", "Count: 2"),
            id="counters of a slice that is not in the input",
        ),
        pytest.param(
            custom(SHAPE.replace("NAME", "gpu").replace("CLAIMS", TEMPLATED)), id="another kind"
        ),
        pytest.param(
            "apiVersion: example.com/v1\nkind: Other\nspec: {containers: {a: 1}}\n", id="no pods"
        ),
    ],
)  # fmt: skip
def test_what_is_right_has_no_finding(text: str) -> None:
    assert ids(text) == []


@pytest.mark.parametrize(
    ("text", "advice"),
    [
        pytest.param(claim().replace("ResourceClaim\n", "resourceclaim\n"),
                     'did you mean "ResourceClaim"?', id="a kind in lower case"),
        pytest.param(claim().replace("k8s.io/v1", "k8s.io"), "write resource.k8s.io/v1",
                     id="a group without version"),
        pytest.param(claim().replace("ResourceClaim\n", "ResourceClaimTemplate\n"),
                     "a template wraps the spec of the claim", id="a template without inner spec"),
        pytest.param(TEMPLATE.replace("ResourceClaimTemplate", "ResourceClaim"),
                     "only a ResourceClaimTemplate has a spec in its spec", id="an inner spec"),
        pytest.param(pod(TEMPLATED).replace("claims: [{name: gpu}]",
                                            "limits: {claims: [{name: gpu}]}"),
                     "move them to resources.claims", id="claims as limits"),
        pytest.param(pod(TEMPLATED, uses="[gpu]"), "write `- name: gpu`", id="claims as names"),
        pytest.param(pod("[{name: gpu, deviceClassName: a}]"), "names the class",
                     id="a class in the pod"),
        pytest.param(claim("deviceClassName: a\nselectors: [{expression: 'true'}]"),
                     "write it below cel", id="an expression without cel"),
        pytest.param(slices("{name: a, basic: {attributes: {m: {string: A}}}}"),
                     "only v1beta1 has basic", id="basic"),
        pytest.param(selector("device.attributes['productName'] == 'x'"),
                     'a domain comes first: device.attributes["<driver>"].productName',
                     id="no domain"),
        pytest.param(selector("device.capacity['gpu.nvidia.com'].memory >= '40Gi'"),
                     '.compareTo(quantity("40Gi")) >= 0', id="a quantity compared"),
        pytest.param(selector(f'{NVIDIA}.type = "a=b" and true'), "== in place of =, && in place",
                     id="operators of other languages"),
        pytest.param(selector(f'{NVIDIA}.memory >= "40Gi"', "gpu.nvidia.com"),
                     'quantity("40Gi")', id="the number that was written"),
        pytest.param(selector(f'{NVIDIA}.driverVersion >= "550"', "gpu.nvidia.com"),
                     'semver("550.0.0")', id="a whole version"),
    ],
)  # fmt: skip
def test_advice_says_what_was_meant(text: str, advice: str) -> None:
    [found] = check(text).findings
    assert advice in found.suggestion


def test_an_attribute_that_no_two_devices_share_is_named() -> None:
    matched = "constraints: [{matchAttribute: gpu.nvidia.com/uuid}]"
    [found] = check(claim("deviceClassName: gpu.nvidia.com\ncount: 2", devices=matched)).findings
    assert "each device has its own gpu.nvidia.com/uuid" in found.message


def test_basic_is_taken_out_by_fix() -> None:
    [found] = check(slices("{name: a, basic: {attributes: {m: {string: A}}}}")).findings
    assert found.fixable
