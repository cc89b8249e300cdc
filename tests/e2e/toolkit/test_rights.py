"""Users with few rights get an answer, and the list of what they could not see."""

from pathlib import Path

import yaml

from tests.e2e.toolkit.commands import dra
from tests.e2e.toolkit.stage import Stage
from tests.support import manifests as objects
from tests.support.controlplane.api import wait_for
from tests.support.controlplane.plane import ControlPlane
from tests.support.worlds.randomclusters import make

READ = ["get", "list"]
DEVICES = {"apiGroups": ["resource.k8s.io"], "resources": ["resourceslices", "deviceclasses"]}


def test_names_of_other_namespaces_stay_unknown(plane: ControlPlane, stage: Stage) -> None:
    world, other = make(3, prefix="mine"), make(3, prefix="theirs")
    stage.build([world, other])
    try:
        held = [
            one
            for part in (world, other)
            for one in part.simple_pod("secret-name", part_class(part.name))
        ]
        stage.add(held)
        user = plane.user("toolkit-reader", [{**DEVICES, "verbs": READ}])
        role = {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "Role",
            "metadata": {"name": "reader", "namespace": world.name},
            "rules": [
                {"apiGroups": [""], "resources": ["pods"], "verbs": READ},
                {"apiGroups": ["resource.k8s.io"], "resources": ["resourceclaims"], "verbs": READ},
            ],
        }
        stage.api.apply(role)
        binding = {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": {"name": "reader", "namespace": world.name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "reader"},
            "subjects": [
                {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user.name}
            ],
        }
        stage.api.apply(binding)
        arguments = ("--kubeconfig", user.kubeconfig, "-n", world.name)
        wait_for(
            lambda: (
                "outside of namespace" in dra("top", "pods", *arguments, expected=(0, 1, 2)).output
            ),
            message="the role to be in force",
        )
        for command in (("top",), ("top", "pods", "-A"), ("top", "namespaces")):
            said = dra(*command, *arguments, expected=(2,))
            # Classes and drivers may be seen by everybody who may read them.
            assert f"{other.name}/" not in said.output
            assert f"\n{other.name} " not in said.output
            assert "resourceclaims outside of namespace" in said.output
        auth = dra("auth", *arguments, expected=(1,))
        assert "resourceclaims.resource.k8s.io" in auth.output
        access = dra("auth", *arguments, "-o", "json", expected=(1,)).document
        missing = {one["resource"] for one in access["rights"] if not one["everywhere"]}
        assert {"pods", "resourceclaims", "nodes"} <= missing
        assert not {"resourceslices", "deviceclasses"} & missing
    finally:
        stage.remove([world, other])


def part_class(world: str) -> str:
    """Return the first class of a world."""
    return f"{world}-c0"


def test_the_role_that_auth_prints_is_enough(plane: ControlPlane, tmp_path: Path) -> None:
    user = plane.user("toolkit-granted")
    plane.grant(user.name, [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["get"]}])
    before = dra("auth", "--kubeconfig", user.kubeconfig, "-o", "yaml", expected=(1,))
    role = yaml.safe_load(before.output)["clusterRole"]
    _, binding = objects.cluster_role(role["metadata"]["name"], role["rules"], user.name)
    plane.api().apply(role)
    plane.api().apply(binding)
    wait_for(
        lambda: dra("auth", "--kubeconfig", user.kubeconfig, expected=(0, 1)).status == 0,
        message="the rights to be there",
    )
    file = tmp_path / "all.jsonl"
    assert dra("snapshot", "--kubeconfig", user.kubeconfig, "-o", file).status == 0


def test_the_role_for_commands_that_write_is_enough(plane: ControlPlane) -> None:
    user = plane.user("toolkit-writer")
    arguments = ("auth", "--for", "all", "--kubeconfig", user.kubeconfig)
    before = dra(*arguments, "-o", "json", expected=(1,)).document
    wanted = {(one["command"], one["verb"], one["resource"]) for one in before["further"]}
    assert {
        ("drain", "create", "pods/eviction"),
        ("drain", "delete", "pods"),
        ("release", "patch", "resourceclaims/status"),
        ("adopt", "patch", "resourceclaims"),
        ("taint", "create", "devicetaintrules"),
        ("ui", "watch", "resourceslices"),
    } <= wanted
    assert not any(one["allowed"] for one in before["further"])
    role, binding = objects.cluster_role(
        "toolkit-writer", before["clusterRole"]["rules"], user.name
    )
    plane.api().apply(role)
    plane.api().apply(binding)
    wait_for(lambda: dra(*arguments, expected=(0, 1)).status == 0, message="the rights to be there")
    assert "pods/eviction" not in dra("auth", "--kubeconfig", user.kubeconfig).output


def test_impersonation_is_that_of_kubectl(plane: ControlPlane) -> None:
    said = dra("auth", "--kubeconfig", plane.kubeconfig, "--as", "nobody-known", expected=(1,))
    assert " yes " not in said.output.partition("A ClusterRole")[0]
    group = ("--as", "nobody-known", "--as-group", "system:masters")
    assert dra("auth", "--kubeconfig", plane.kubeconfig, *group).status == 0


FALSE = ("No DeviceClass", "No devices", "No findings", "No claims", "No pod ", "No device is")
DEVICE = "gpu.example.com/n/a"
READING = [
    ("top",),
    ("top", "nodes"),
    ("top", "namespaces"),
    ("top", "pods"),
    ("who", DEVICE),
    ("who", "pod/trainer"),
    ("explain", "trainer"),
    ("explain", "claim", "trainer"),
    ("explain", "template", "trainer"),
    ("explain", "class", "gpu"),
    ("explain", "node", "n"),
    ("explain", "device", DEVICE),
    ("doctor",),
    ("holds",),
    ("drain", DEVICE, "--dry-run"),
    ("drain", DEVICE),
    ("hold", DEVICE),
    ("taint", DEVICE, "example.com/x:NoSchedule"),
    ("simulate", "-f", "examples/toolkit/job.yaml"),
]


def test_who_can_list_nothing_reads_no_false_statement(plane: ControlPlane) -> None:
    user = plane.user("toolkit-blind")
    for command in READING:
        said = dra(*command, "--kubeconfig", user.kubeconfig, expected=(2,))
        text = (said.output or said.errors.removeprefix("Error: ")).lower()
        assert text.startswith("cannot tell: you cannot list"), (command, text)
        assert "kubectl dra auth" in text
        assert not [one for one in FALSE if one in said.output + said.errors]


def test_who_can_list_one_namespace_gets_its_answer_behind_a_warning(
    plane: ControlPlane,
) -> None:
    api, namespace = plane.api(), "toolkit-own"
    api.apply(objects.namespace(namespace))
    user = plane.user("toolkit-own")
    group = "rbac.authorization.k8s.io"
    own = {"name": "reader", "namespace": namespace}
    rules = [
        {"apiGroups": [""], "resources": ["pods", "resourcequotas"], "verbs": READ},
        {"apiGroups": ["resource.k8s.io"], "resources": ["*"], "verbs": READ},
    ]
    api.apply({"apiVersion": f"{group}/v1", "kind": "Role", "metadata": own, "rules": rules})
    api.apply(
        {
            "apiVersion": f"{group}/v1",
            "kind": "RoleBinding",
            "metadata": own,
            "roleRef": {"apiGroup": group, "kind": "Role", "name": "reader"},
            "subjects": [{"apiGroup": group, "kind": "User", "name": user.name}],
        }
    )
    arguments = ("--kubeconfig", user.kubeconfig, "-n", namespace)
    wait_for(
        lambda: (
            f"outside of namespace {namespace}"
            in dra("top", "pods", *arguments, expected=(2,)).output
        ),
        message="the role to be in force",
    )
    for command in READING:
        said = dra(*command, *arguments, expected=(2,))
        text = (said.output or said.errors.removeprefix("Error: ")).lower()
        assert text.startswith("cannot tell: you cannot list"), (command, text)
        assert not [one for one in FALSE if one in said.output + said.errors]
