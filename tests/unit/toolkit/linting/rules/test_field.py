"""Mistakes and false alarms of public repositories, each in several instances."""

import json
from collections.abc import Iterable
from typing import Any

import pytest

from dragoman_toolkit.linting import engine
from dragoman_toolkit.linting.findings.fixes import fixed
from dragoman_toolkit.linting.knowledge.api import api_of
from dragoman_toolkit.linting.knowledge.devices import KnownDevices
from tests.unit.toolkit.linting.builders import (
    check,
    claim,
    device_class,
    ids,
    pod,
    selector,
    several,
)

DRANET = 'device.driver == "dra.net" && '
NIC = 'device.attributes["dra.net"]'
NVIDIA = 'device.attributes["gpu.nvidia.com"]'
MEMORY = 'device.capacity["gpu.nvidia.com"].memory'
LOCAL = "config.kubernetes.io/local-config: 'true'"
TEMPLATED = "[{name: gpu, resourceClaimTemplateName: gpu}]"


def words(text: str, **options: object) -> str:
    found = check(text, **options).findings  # type: ignore[arg-type]
    return "\n".join(f"{one.severity} {one.id}: {one.message}: {one.suggestion}" for one in found)


def unsafely_fixed(text: str) -> str:
    source = engine.read("m.yaml", text)
    checked = engine.check([source], api_of((1, 36)), KnownDevices(), engine.CheckOptions())
    found = checked.fixable.get("m.yaml", [])
    outcome = fixed(text, ((one.object, one.problem) for one in found))
    assert outcome.refused == ()
    return outcome.text


@pytest.mark.parametrize(
    "expression",
    [
        pytest.param(f"{NIC}.rdma == true", id="rdma is set for each device"),
        pytest.param(f"!{NIC}.rdma", id="negated"),
        pytest.param(f'has({NIC}.ifName) && {NIC}.ifName != "eth0"', id="guarded"),
    ],
)
def test_what_each_device_has_needs_no_guard(expression: str) -> None:
    assert ids(selector(DRANET + expression)) == []


@pytest.mark.parametrize(
    ("expression", "advised"),
    [
        (f"{NIC}.numaNode == 0", f"has({NIC}.numaNode) && {NIC}.numaNode == 0"),
        (f'{NIC}.ifName != "eth0"', f'has({NIC}.ifName) && {NIC}.ifName != "eth0"'),
        (f"{NIC}.mtu < 1500", f"has({NIC}.mtu) && {NIC}.mtu < 1500"),
        (f"!{NIC}.virtual", f"has({NIC}.virtual) && !{NIC}.virtual"),
        (f"{NIC}.virtual == false", f"has({NIC}.virtual) && {NIC}.virtual == false"),
        (f'{NIC}.ifName.startsWith("")', f'has({NIC}.ifName) && {NIC}.ifName.startsWith("")'),
        (f"{NIC}.isSriovVf", f"{NIC}.?isSriovVf.orValue(false)"),
        (f'{NIC}.state == "up"', f'{NIC}.?state.orValue("") == "up"'),
        (
            f"!({NIC}.rdma || {NIC}.mtu > 9000)",
            f"has({NIC}.mtu) && !({NIC}.rdma || {NIC}.mtu > 9000)",
        ),
    ],
)
def test_an_advised_guard_keeps_devices_without_the_attribute_out(
    expression: str, advised: str
) -> None:
    assert f"write {advised}" in words(selector(DRANET + expression))
    written = unsafely_fixed(selector(DRANET + expression))
    assert DRANET + advised in written
    assert ids(written) == []


def test_a_guard_stands_beside_its_condition_alone() -> None:
    text = selector(f"{DRANET}({NIC}.rdma || {NIC}.mtu == 0) && {NIC}.virtual == false")
    written = unsafely_fixed(text)
    assert f"({NIC}.rdma || has({NIC}.mtu) && {NIC}.mtu == 0)" in written
    assert f"&& has({NIC}.virtual) && {NIC}.virtual == false" in written


def test_a_condition_that_chooses_is_not_guarded() -> None:
    text = selector(f"{DRANET}({NIC}.mtu == 0 ? {NIC}.rdma : !{NIC}.rdma)")
    assert "guard it with has()" in words(text)
    assert unsafely_fixed(text) == text


@pytest.mark.parametrize(
    ("expression", "advised"),
    [
        (f'{NVIDIA}.cudaComputeCapability.compareTo(semver("8.0")) >= 0', 'semver("8.0.0")'),
        (f'{NVIDIA}.driverVersion.isGreaterThan(semver("v550"))', 'semver("550.0.0")'),
        ('device.capacity["gpu.nvidia.com"].memory.isGreaterThan(quantity("40GB"))', '"40G"'),
        ('device.capacity["gpu.nvidia.com"].memory.compareTo(quantity("40 GiB")) > 0', '"40Gi"'),
    ],
)
def test_a_constant_that_fails_on_every_device_is_an_error(expression: str, advised: str) -> None:
    text = selector(expression, "gpu.nvidia.com")
    said = words(text)
    assert said.startswith("error dra/cel-invalid")
    assert advised in said
    assert ids(unsafely_fixed(text)) == []


@pytest.mark.parametrize(
    ("name", "advised"),
    [
        ("nvidia.com/gpu", "gpu.nvidia.com"),
        ("amd.com/gpu", "gpu.amd.com"),
        ("gpu.nvidia.com/gpu", ""),
        ("GPU nvidia", ""),
    ],
)
def test_a_driver_name_that_no_driver_can_have_is_found(name: str, advised: str) -> None:
    said = words(device_class(f'device.driver == "{name}"'))
    assert "no driver can have the name" in said
    assert advised in said
    assert "no driver can have" in words(device_class(f'device.driver in ["{name}"]'))


@pytest.mark.parametrize(
    "attribute",
    ["resource.kubernetes.io/pcieroot", "gpu.nvidia.com/pcieRoot", "resource.k8s.io/pcieRoot"],
)
def test_a_standard_attribute_that_is_misspelt_is_named(attribute: str) -> None:
    constraint = f"constraints:\n- {{requests: [gpu], matchAttribute: {attribute}}}"
    text = claim("deviceClassName: gpu.nvidia.com\ncount: 2", devices=constraint)
    assert 'did you mean "resource.kubernetes.io/pcieRoot"?' in words(text)
    assert "matchAttribute: resource.kubernetes.io/pcieRoot" in unsafely_fixed(text)
    domain, _, name = attribute.partition("/")
    read = f'device.attributes["{domain}"].?{name}.orValue("") == "pci0000:00"'
    assert "resource.kubernetes.io/pcieRoot" in words(selector(read, "gpu.nvidia.com"))


@pytest.mark.parametrize("attribute", ["gpu.nvidia.com/parentUUID", "gpu.nvidia.com/profile"])
def test_a_constraint_on_what_other_devices_have_never_holds(attribute: str) -> None:
    constraint = f"constraints:\n- matchAttribute: {attribute}"
    text = claim("deviceClassName: gpu.nvidia.com\ncount: 2", devices=constraint)
    assert ids(text) == ["dra/never-matches"]
    assert ids(text.replace("gpu.nvidia.com\n", "mig.nvidia.com\n")) == []


@pytest.mark.parametrize(
    ("profile", "advised"),
    [
        ("1g.7gb", ""),
        ("3g.10gb", ""),
        ("4c.3g.40gb", ""),
        ("1g.10GB", "1g.10gb"),
        ("2g.20", "2g.20gb"),
    ],
)
def test_a_mig_profile_that_no_gpu_has_is_found(profile: str, advised: str) -> None:
    said = words(selector(f'{NVIDIA}.profile == "{profile}"', "mig.nvidia.com"))
    assert "no known GPU has the MIG profile" in said
    assert advised in said
    limit = pod(TEMPLATED).replace(
        "claims: [", f"limits: {{nvidia.com/mig-{profile}: 1}}\n      claims: ["
    )
    assert "dra/extended-resource" in words(limit)


def test_known_mig_profiles_are_left_alone() -> None:
    for profile in (
        "1g.5gb",
        "1g.10gb+me",
        "7g.141gb",
        "1g.24gb-me",
        "1c.2g.20gb",
        "2g.45gb",
        "7g.288gb",
    ):
        assert ids(selector(f'{NVIDIA}.profile == "{profile}"', "mig.nvidia.com")) == []


@pytest.mark.parametrize("part", ["nvidia.com/", "NVIDIA", "gpu_"])
def test_a_part_that_no_drivers_name_has_never_matches(part: str) -> None:
    assert "dra/never-matches" in ids(device_class(f'device.driver.startsWith("{part}")'))
    assert ids(device_class('device.driver.startsWith("gpu.")')) == []


def test_domain_and_name_in_one_key_are_taken_apart() -> None:
    text = selector('device.attributes["gpu.nvidia.com/brand"].string == "Tesla"')
    assert f"{NVIDIA}.brand" in words(text)


@pytest.mark.parametrize("name", ["x", "a b/c"])
def test_a_finalizer_is_a_name_of_a_domain(name: str) -> None:
    text = claim().replace("name: claim,", f"name: claim, finalizers: ['{name}'],")
    assert ids(text) == ["dra/invalid"]
    assert ids(text.replace(f"'{name}'", "example.com/protect")) == []
    assert ids(text.replace(f"'{name}'", "orphan")) == []
    assert ids(text.replace(f"'{name}'", "null")) == ["dra/invalid"]


@pytest.mark.parametrize("name", ["gpu.nvidia.com", "gpu", "mig.nvidia.com"])
def test_a_class_is_no_resource(name: str) -> None:
    text = pod("[]", uses="[]", more="").replace("claims: []", f"limits: {{{name}: 1}}")
    said = words(text)
    assert "must be a standard resource type or fully qualified" in said
    assert "deviceclass.resource.kubernetes.io" in said or "." not in name


@pytest.mark.parametrize("owner", ["uid: ''", "controller: true"])
def test_an_owner_without_uid_is_refused(owner: str) -> None:
    owners = f"ownerReferences: [{{apiVersion: v1, kind: Pod, name: a, {owner}}}]"
    text = claim().replace("namespace: ns}", f"namespace: ns, {owners}}}")
    assert "uid must not be empty" in words(text)


@pytest.mark.parametrize(
    ("body", "gate"),
    [
        ("tolerations: [{key: a, operator: Exists, effect: NoSchedule}]", "DRADeviceTaints"),
        ("capacity: {requests: {memory: 1Gi}}", "DRAConsumableCapacity"),
    ],
)
def test_a_field_whose_gate_is_off_by_default_is_named(body: str, gate: str) -> None:
    text = claim(f"deviceClassName: gpu.example.com\n{body}")
    assert gate in words(text, kubernetes=(1, 34))
    assert gate not in words(text, kubernetes=(1, 37))
    assert gate not in words(text, kubernetes=(1, 34), gates={gate: True})


@pytest.mark.parametrize("version", ["v1beta1", "v1beta2"])
def test_a_beta_version_is_off_by_default(version: str) -> None:
    text = claim(version=version)
    assert words(text).startswith("error dra/api-old")
    assert f"--runtime-config=resource.k8s.io/{version}=true" in words(text)
    served = frozenset({f"resource.k8s.io/{version}"})
    assert words(text, served=served).startswith("warning dra/api-old")


@pytest.mark.parametrize(
    ("expression", "advised"),
    [
        ('device.capacity["gpu.nvidia.com"].memory >= quantity("40Gi")', "compareTo(quantity"),
        ('quantity("40Gi") <= device.capacity["gpu.nvidia.com"].memory', ">= 0"),
        (f'{NVIDIA}.driverVersion >= semver("550.1")', 'compareTo(semver("550.1.0")) >= 0'),
        (f'{NVIDIA}.brand.string() == "Tesla"', f'{NVIDIA}.brand == "Tesla"'),
        ('device.attributes["gpu.nvidia.com/brand"] == "Tesla"', f'{NVIDIA}.brand == "Tesla"'),
        ('device.attributes[gpu.nvidia.com].brand == "Tesla"', f'{NVIDIA}.brand == "Tesla"'),
        (f'{NVIDIA}.brand == "Tesla" and true', f'{NVIDIA}.brand == "Tesla" && true'),
        (f'{NVIDIA}.brand == "a===b" and true', f'{NVIDIA}.brand == "a===b" && true'),
        (f'{NVIDIA}.brand === "Tesla"', f'{NVIDIA}.brand == "Tesla"'),
        (f'{NVIDIA}.productName =~ "A100.*"', f'{NVIDIA}.productName.matches("A100.*")'),
        (f'{NVIDIA}.productName LIKE "%A100%"', f'{NVIDIA}.productName.contains("A100")'),
        (f'{NVIDIA}.productName LIKE "A%"', f'{NVIDIA}.productName.startsWith("A")'),
        (f'{NVIDIA}.brand.toLowerCase() == "tesla"', f'{NVIDIA}.brand.lowerAscii() == "tesla"'),
        (f'{NVIDIA}.productName.startswith("A")', f'{NVIDIA}.productName.startsWith("A")'),
        (f'{NVIDIA}.productName.includes("A")', f'{NVIDIA}.productName.contains("A")'),
        (f"{MEMORY} >= 40Gi", f'{MEMORY}.compareTo(quantity("40Gi")) >= 0'),
        (f'{MEMORY}.compareTo("40 GiB") >= 0', f'{MEMORY}.compareTo(quantity("40Gi")) >= 0'),
    ],
)
def test_the_words_of_the_compiler_have_a_remedy(expression: str, advised: str) -> None:
    text = selector(expression, "gpu.nvidia.com")
    assert ids(text) == ["dra/cel-invalid"]
    written = unsafely_fixed(text)
    assert advised in written
    assert ids(written) == []


@pytest.mark.parametrize(
    ("expression", "advised"),
    [
        ('device.name == "gpu-0"', "uuid"),
        ('device.nodeName == "node-1"', "nodeSelector"),
        ('device.attributes["memory"].quantity().value() >= 24', "a domain comes first"),
        ('device.attributes.productName == "A100"', "a domain comes first"),
        (f'{NVIDIA}.brand.stringValue == "Tesla"', "plain value"),
    ],
)
def test_what_has_no_certain_remedy_is_explained(expression: str, advised: str) -> None:
    text = selector(expression, "gpu.nvidia.com")
    assert advised in words(text)
    assert unsafely_fixed(text) == text


@pytest.mark.parametrize(
    ("written", "meant"), [("6 GiB", "6Gi"), ("40GB", "40G"), ("1 Gi", "1Gi"), ("10gib", "10Gi")]
)
def test_an_amount_with_another_unit_is_named(written: str, meant: str) -> None:
    text = (
        "apiVersion: resource.k8s.io/v1\nkind: ResourceSlice\nmetadata: {name: n}\nspec:\n"
        "  driver: a.example.com\n  nodeName: n\n"
        "  pool: {name: n, generation: 1, resourceSliceCount: 1}\n"
        f"  devices: [{{name: d, capacity: {{memory: {{value: '{written}'}}}}}}]\n"
    )
    assert f"write {meant}" in words(text)
    assert f"value: '{meant}'" in unsafely_fixed(text)


@pytest.mark.parametrize(
    "text",
    [
        "apiVersion: poolboy.gpte.redhat.com/v1\nkind: ResourceClaim\nmetadata: {name: a}\n",
        "apiVersion: devmgmtproto.k8s.io/v1alpha1\nkind: DeviceClass\nmetadata: {name: a}\n",
        "apiVersion: gpu.acme.io/v1\nkind: ResourceClaimTemplate\nmetadata: {name: a}\n",
    ],
)
def test_kinds_of_other_groups_are_left_alone(text: str) -> None:
    report = check(text)
    assert report.findings == ()
    assert report.left_alone == {"of other kinds": 1}


def test_an_object_of_another_group_is_not_the_one_that_a_pod_names() -> None:
    other = (
        "apiVersion: gpu.acme.io/v1\nkind: ResourceClaim\nmetadata: {name: gpu, namespace: ns}\n"
    )
    text = several(other, pod("[{name: gpu, resourceClaimName: gpus}]"))
    assert ids(text) == []


@pytest.mark.parametrize(
    "name",
    [
        *("${APP}-gpu", "{{ .Release.Name }}-gpu", "<YOUR-NAME>", "$APP-gpu", "$(APP)-gpu"),
        *("@APP@", "__APP__", "<%= app %>", "((app))", "(( grab meta.app ))"),
        *("FILLED_BY_VALIDATOR", "REPLACE_ME", "YOUR_NAME", "NAME_PLACEHOLDER"),
    ],
)
def test_values_with_placeholders_are_left_alone(name: str) -> None:
    text = claim().replace("name: claim,", f"name: '{name}',")
    report = check(text)
    assert report.findings == ()
    assert report.left_alone == {"value with a placeholder": 1}
    wrong = text.replace("deviceClassName:", "allocationMode: Sometimes\n        deviceClassName:")
    assert ids(wrong) == ["dra/invalid"]


@pytest.mark.parametrize(
    ("tool", "text"),
    [
        ("ytt", "#@ load('@ytt:data', 'data')\n" + claim()),
        ("ytt", claim().replace("name: claim,", "name: #@ data.values.name\n ,")),
        ("Helm", "{{- if .Values.gpu }}\n" + claim() + "{{- end }}\n"),
        ("Helm", '{{ "a" | quote }}: {{ include "x" . }}\n'),
        ("template", "{% for one in nodes %}\n" + claim() + "{% endfor %}\n"),
        ("template", "<% if gpu %>\n" + claim() + "<% end %>\n"),
        ("template", claim().replace("name: claim,", "name: #{app}#\n ,")),
        ("template", claim().replace("name: claim,", "name: @APP@,")),
        ("template", claim().replace("name: claim,", "name: [[ .Name ]],")),
        ("template", '{"kind": "ResourceClaim", "count": ${COUNT}}'),
    ],
)
def test_a_file_that_a_tool_completes_is_skipped(tool: str, text: str) -> None:
    report = check(text)
    assert report.findings == ()
    assert report.failures == ()
    (reason,) = report.skipped or {}
    assert tool in reason


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (
            claim().replace("name: claim,", f"name: claim, annotations: {{{LOCAL}}},"),
            "local object of a tool",
        ),
        (claim() + "sops: {mac: 'ENC[AES256_GCM,data:a]'}\n", "object encrypted by SOPS"),
        (claim() + "$setElementOrder/requests: []\n", "kustomize patch"),
    ],
)
def test_what_no_server_gets_as_it_is_is_left_alone(text: str, left: str) -> None:
    wrong = text.replace("deviceClassName:", "allocationMode: Sometimes\n        deviceClassName:")
    report = check(wrong)
    assert report.findings == ()
    assert report.left_alone == {left: 1}


def test_values_of_a_chart_are_no_manifest() -> None:
    containers = "  containers: [{name: a, resources: {claims: [{name: g}]}}]\n"
    text = f"decode:\n{containers}  resourceClaims: []\n"
    report = check(text)
    assert report.findings == ()
    assert report.left_alone == {"that is no manifest": 1}
    lost = (
        "metadata: {name: a}\nspec:\n  containers: [{name: a, resources: {claims: [{name: g}]}}]\n"
    )
    assert "dra/unknown-kind" in ids(lost)


def workers(kind: str) -> str:
    spec = (
        "{containers: [{name: a, image: b, resources: {claims: [{name: g}]}}],"
        " resourceClaims: [{name: g, resourceClaimName: eight}]}"
    )
    return {
        "LeaderWorkerSet": "apiVersion: leaderworkerset.x-k8s.io/v1\nkind: LeaderWorkerSet\n"
        "metadata: {name: a}\nspec:\n  replicas: 2\n  leaderWorkerTemplate:\n    size: 4\n"
        f"    workerTemplate: {{spec: {spec}}}\n",
        "RayCluster": "apiVersion: ray.io/v1\nkind: RayCluster\nmetadata: {name: a}\nspec:\n"
        f"  headGroupSpec: {{template: {{spec: {spec}}}}}\n"
        f"  workerGroupSpecs: [{{groupName: w, replicas: 7, template: {{spec: {spec}}}}}]\n",
    }[kind]


@pytest.mark.parametrize("kind", ["LeaderWorkerSet", "RayCluster"])
def test_replicas_of_operators_share_one_claim(kind: str) -> None:
    assert "8 pods share one claim" in words(workers(kind))


def test_virtual_machines_use_claims_by_their_devices() -> None:
    text = (
        "apiVersion: kubevirt.io/v1\nkind: VirtualMachine\nmetadata: {name: a}\nspec:\n"
        f"  template:\n    spec:\n      resourceClaims: {TEMPLATED}\n"
        "      domain: {devices: {gpus: [{name: g, claimName: CLAIM, requestName: r}]}}\n"
    )
    assert ids(text.replace("CLAIM", "gpu")) == []
    assert "Not found" in words(text.replace("CLAIM", "gpus"))


def test_a_machine_without_grace_leaves_its_pod_some() -> None:
    text = (
        "apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstance\nmetadata: {name: a}\nspec:\n"
        f"  terminationGracePeriodSeconds: 0\n  resourceClaims: {TEMPLATED}\n"
        "  domain: {devices: {gpus: [{name: g, claimName: gpu, requestName: gpu}]}}\n"
    )
    assert ids(text) == []
    assert ids(text.replace("metadata: {", "metadata: {finalizers: [x], ")) == []


@pytest.mark.parametrize("devices", ["gpus", "hostDevices"])
def test_an_instance_of_a_virtual_machine_uses_them_too(devices: str) -> None:
    text = (
        "apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstance\nmetadata: {name: a}\nspec:\n"
        "  resourceClaims: [{name: nic, resourceClaimName: nics}]\n"
        f"  domain: {{devices: {{{devices}: [{{name: n, claimName: CLAIM, requestName: r}}]}}}}\n"
    )
    assert ids(text.replace("CLAIM", "nic")) == []
    assert "Not found" in words(text.replace("CLAIM", "nics"))


@pytest.mark.parametrize(
    ("kind", "above"),
    [
        ("serving.kserve.io/v1beta1 InferenceService", "predictor"),
        ("serving.kserve.io/v1alpha1 LLMInferenceService", "template"),
        ("argoproj.io/v1alpha1 Rollout", "template.spec"),
    ],
)
def test_a_claim_that_pods_of_another_shape_do_not_declare_is_found(kind: str, above: str) -> None:
    version, _, name = kind.partition(" ")
    spec: dict[str, Any] = {
        "resourceClaims": [{"name": "gpu", "resourceClaimTemplateName": "one"}],
        "containers": [{"name": "main", "image": "a", "resources": {"claims": [{"name": "gpus"}]}}],
    }
    for step in reversed(above.split(".")):
        spec = {step: spec}
    tree = {"apiVersion": version, "kind": name, "metadata": {"name": "a"}, "spec": spec}
    assert 'Not found: "gpus"' in words(json.dumps(tree))


def drivers(*names: str) -> Iterable[str]:
    for name in names:
        yield several(
            device_class(f'device.driver == "{name}"', name="c"),
            claim("deviceClassName: c", name="one"),
            pod("[{name: gpu, resourceClaimName: one}]", kind="Deployment replicas: 2"),
        )


def test_all_on_one_node_is_said_only_of_devices_of_nodes() -> None:
    local, shared, unknown = drivers("gpu.nvidia.com", "compute-domain.nvidia.com", "a.acme.io")
    assert "all on one node" in words(local)
    assert "2 pods share one claim" in words(shared)
    assert "all on one node" not in words(shared) + words(unknown)


@pytest.mark.parametrize("amount", ["1.5", "500m", "0.1", "-1"])
def test_a_part_of_an_extended_resource_is_refused(amount: str) -> None:
    text = pod(TEMPLATED).replace(
        "claims: [", f"limits: {{nvidia.com/gpu: {amount}}}\n      claims: ["
    )
    assert "Invalid value" in words(text)
    assert ids(text.replace(amount, "2000m")) == []
    assert ids(text.replace(amount, "'-0'")) == []


def test_a_pod_that_names_a_claim_twice_shares_it_with_nobody() -> None:
    twice = "[{name: gpu, resourceClaimName: a}, {name: again, resourceClaimName: a}]"
    assert "dra/shared-claim" not in ids(pod(twice, uses="[{name: gpu}, {name: again}]"))


def test_what_a_server_drops_is_not_judged() -> None:
    text = device_class('device.driver == "a.example.com"', more="extendedResourceName: gpu")
    assert ids(text, kubernetes=(1, 34)) == ["dra/off-by-default"]
    assert ids(text, kubernetes=(1, 37)) == ["dra/invalid"]


@pytest.mark.parametrize("kind", ["matchAttribute", "distinctAttribute"])
def test_the_domain_of_a_constraint_is_in_lower_case_since_1_37(kind: str) -> None:
    text = claim("deviceClassName: a.example.com\ncount: 2",
                 devices=f"constraints: [{{{kind}: UPPER.example/model}}]")  # fmt: skip
    assert "dra/invalid" not in ids(text, kubernetes=(1, 36))
    assert "prefix: " in words(text, kubernetes=(1, 37))
