"""What `kubectl dra migrate` reads of the configs of device plug-ins."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from dragoman_toolkit.anonymous import anonymized
from dragoman_toolkit.migration.companions import reduced
from tests.support.dra import Desk, invoke
from tests.support.worlds.plugins import (
    GPU,
    asking,
    cluster,
    config_map,
    gpus,
    node,
    plugin,
    serving,
)

Json = dict[str, Any]
IMAGE = "nvcr.io/nvidia/k8s-device-plugin:v0.20.0"
A100, T4 = {"nvidia.com/device-plugin.config": "a100"}, {"nvidia.com/device-plugin.config": "t4"}


def shared(strategy: str = "timeSlicing", replicas: int = 4, name: str = GPU, **more: Any) -> str:
    resources = [{"name": name, "replicas": replicas}]
    return yaml.safe_dump(
        {"version": "v1", "sharing": {strategy: {**more, "resources": resources}}}
    )


def reported(folder: Path, *manifests: Json, options: Any = (), status: int = 1) -> Json:
    desk = Desk(folder)
    desk.write(cluster(*manifests))
    found: Json = desk.document("migrate", "report", *options, status=status)
    return found


def told(desk: Desk, *arguments: str) -> str:
    return invoke("migrate", *arguments, "--snapshot", desk.file).output


def resource(found: Json, name: str = GPU) -> Json:
    (row,) = [one for one in found["resources"] if one["name"] == name]
    return {**row, "codes": {one["code"]: one["rank"] for one in row["losses"]}}


def policy(name: str, default: str = "", **spec: Any) -> Json:
    config = {"name": name, "default": default}
    return {
        "apiVersion": "nvidia.com/v1",
        "kind": "ClusterPolicy",
        "metadata": {"name": "cluster-policy"},
        "spec": {"devicePlugin": {"config": config}, **spec},
    }


SHARING = [
    pytest.param([config_map("p", config_yaml=shared())], {}, (4, "time-slicing"), id="only key"),
    pytest.param([config_map("p", config_yaml=shared("mps", 8))], {}, (8, "mps"), id="MPS"),
    pytest.param(
        [config_map("p", a100=shared(replicas=2), t4=shared(replicas=6))],
        A100,
        (2, "time-slicing"),
        id="key by the node's label",
    ),
    pytest.param(
        [config_map("p", a100=shared(replicas=2), default=shared(replicas=6))],
        {},
        (6, "time-slicing"),
        id="the key `default`",
    ),
    pytest.param(
        [config_map("p", a100=shared(replicas=2), t4=shared(replicas=6))],
        {},
        (1, None),
        id="no key without a label",
    ),
    pytest.param(
        [config_map("p", a100=shared(replicas=2), t4="version: v1"), policy("p", "a100")],
        {},
        (2, "time-slicing"),
        id="default of ClusterPolicy",
    ),
    pytest.param(
        [config_map("p", any=shared()), policy("p")],
        {},
        (1, None),
        id="the operator takes no key by itself",
    ),
    pytest.param(
        [config_map("p", any=shared(name="gpu"))],
        {},
        (4, "time-slicing"),
        id="a name without prefix",
    ),
    pytest.param([config_map("p", any="{{ helm }}")], {}, (1, None), id="no YAML"),
    pytest.param([config_map("p", any="sharing: 7")], {}, (1, None), id="no object"),
]


@pytest.mark.parametrize(("objects", "labels", "expected"), SHARING)
def test_pods_share_devices_as_the_config_of_their_node_says(
    tmp_path: Path, objects: list[Json], labels: dict[str, str], expected: tuple[int, str | None]
) -> None:
    daemons = plugin("nvidia", IMAGE, config="p")
    found = resource(
        reported(
            tmp_path,
            serving(),
            daemons,
            *objects,
            node("n", labels, allocatable={GPU: "24"}),
            status=int(expected[0] > 1),
        )
    )
    sharing = found["plugin"]["sharing"]
    assert (sharing["replicas"], sharing["strategy"]) == expected
    assert found["then"] == 24 // expected[0]
    lost = "MpsLost" if expected[1] == "mps" else "ReplicasLost"
    assert (found["codes"].get(lost) == "breaks") == (expected[0] > 1)


def test_labels_of_a_node_decide_and_a_note_names_what_says_otherwise(tmp_path: Path) -> None:
    labels = {"nvidia.com/gpu.replicas": "4", "nvidia.com/gpu.sharing-strategy": "time-slicing"}
    desk = Desk(tmp_path)
    desk.write(
        cluster(
            plugin("nvidia", IMAGE, config="p"),
            config_map("p", any=shared(replicas=8)),
            node("n", labels, allocatable={GPU: "16"}),
        )
    )
    found = desk.document("migrate", "report", status=1)
    assert resource(found)["then"] == 4
    assert (
        "n: its labels say that 4 pods share each device of nvidia.com/gpu, "
        "ConfigMap plugins/p, key any says 8: the labels decide"
    ) in told(desk, "report")


def test_a_resource_is_renamed_with_what_it_shares(tmp_path: Path) -> None:
    found = resource(
        reported(
            tmp_path,
            plugin("nvidia", IMAGE, config="p"),
            config_map("p", any=shared(renameByDefault=True, failRequestsGreaterThanOne=True)),
            node("n", allocatable={f"{GPU}.shared": "8"}),
        ),
        f"{GPU}.shared",
    )
    assert found["then"] == 2
    assert found["codes"]["GreaterThanOneAllowed"] == "note"


FLAGS = [
    pytest.param(plugin("x", IMAGE, MIG_STRATEGY="single"), "single", {}, id="environment"),
    pytest.param(plugin("x", IMAGE, "--mig-strategy=mixed"), "mixed", {}, id="flag"),
    pytest.param(plugin("x", IMAGE, "--mig-strategy", "single"), "single", {}, id="two words"),
    pytest.param(
        plugin("x", IMAGE, "--gdrcopy-enabled", GDS_ENABLED="true", MOFED_ENABLED="false"),
        None,
        {"ExtraMounts": "breaks"},
        id="mounts",
    ),
    pytest.param(plugin("x", IMAGE, IMEX_CHANNEL_IDS="0"), None, {"Imex": "breaks"}, id="IMEX"),
    pytest.param(
        plugin("x", IMAGE, DEVICE_LIST_STRATEGY="envvar"), None, {"CdiNeeded": "note"}, id="no CDI"
    ),
    pytest.param(
        plugin("x", IMAGE, DEVICE_LIST_STRATEGY="envvar,cdi-cri"), None, {}, id="CDI as well"
    ),
    pytest.param(plugin("x", "docker.io/rocm/k8s-device-plugin"), None, {}, id="another vendor"),
    pytest.param(
        policy("", mig={"strategy": "single"}, gds={"enabled": True}),
        "single",
        {"ExtraMounts": "breaks"},
        id="ClusterPolicy",
    ),
]


@pytest.mark.parametrize(("document", "mig", "codes"), FLAGS)
def test_flags_and_environment_of_the_plugin_say_what_ends(
    tmp_path: Path, document: Json, mig: str | None, codes: dict[str, str]
) -> None:
    breaks = "breaks" in codes.values()
    found = resource(
        reported(
            tmp_path, serving(), document, node("n", allocatable={GPU: "2"}), status=int(breaks)
        )
    )
    assert found["plugin"]["mig"] == mig
    assert {k: v for k, v in found["codes"].items() if k != "HealthHandling"} == codes


def test_secrets_in_the_environment_of_a_plugin_are_dropped() -> None:
    secret = {"MIG_STRATEGY": "single", "HTTPS_PROXY": "https://user:password@proxy"}
    daemons, operator = plugin("x", IMAGE, **secret), policy("")
    operator["spec"]["devicePlugin"]["env"] = [{"name": "KEY", "value": "password"}, 7]
    container = daemons["spec"]["template"]["spec"]["containers"][0]
    container["args"] = ["--mig-strategy", "mixed", "--kubeconfig=/password", "--key", "password"]
    assert "single" in str(reduced(daemons))
    assert "--mig-strategy=mixed" in str(reduced(daemons))
    assert "password" not in str((reduced(daemons), reduced(operator)))


def test_a_config_of_a_file_is_for_nodes_with_its_label(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text(shared(replicas=3))
    nodes = [
        node("a", {"pool": "x"}, allocatable={GPU: "6"}),
        node("b", {"pool": "y"}, allocatable={GPU: "6"}),
    ]
    options = ("--plugin-config", f"{file}@pool=x")
    # A selector of a pod keeps the label in the snapshot.
    pod = asking("p", {GPU: "1"}, nodeSelector={"pool": "x"})
    found = reported(tmp_path, serving(), *nodes, pod, options=options)
    assert resource(found)["then"] == 2 + 6


def test_a_file_may_have_the_plugin_and_its_config(tmp_path: Path) -> None:
    odd = {**yaml.safe_load(shared(replicas=3)), "flags": {"plugin": {"deviceListStrategy": 5}}}
    file = tmp_path / "all.yaml"
    documents = [config_map("p", a100=yaml.safe_dump(odd)), plugin("x", IMAGE, config="p")]
    file.write_text(yaml.safe_dump_all(documents))
    unnamed = config_map("q", any=shared())
    del unnamed["metadata"]["name"]
    desk = Desk(tmp_path)
    desk.write(cluster(unnamed, node("n", A100, allocatable={GPU: "6"})))
    options = ("report", "--plugin-config", str(file))
    assert resource(desk.document("migrate", *options, status=1))["then"] == 2
    assert "names no key" not in told(desk, *options)


def test_a_snapshot_without_names_says_that_configs_are_not_in_it(tmp_path: Path) -> None:
    whole = cluster(serving(), plugin("x", IMAGE), node("n", allocatable={GPU: "2"}))
    for made, status in ((whole, 0), (anonymized(whole), 2)):
        desk = Desk(tmp_path)
        desk.write(made)
        desk.document("migrate", "report", status=status)
        assert ("configs of device plug-ins" in told(desk, "report")) == (status == 2)


def test_a_file_that_is_no_config_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("apiVersion: v1\nkind: Secret\n")
    desk = Desk(tmp_path)
    desk.write(cluster(node("n", allocatable={GPU: "6"})))
    text = told(desk, "report", "--plugin-config", str(file))
    assert "no config of a device plug-in" in text


INTEL = "intel/intel-gpu-plugin:0.34.0"


@pytest.mark.parametrize(
    ("document", "then", "codes"),
    [
        (plugin("i", INTEL, "-shared-dev-num=10", "-allocation-policy", "balanced"), 2,
         {"ReplicasLost", "Spreading"}),
        (plugin("i", INTEL, "-enable-monitoring"), 20, set()),
        ({"apiVersion": "deviceplugin.intel.com/v1", "kind": "GpuDevicePlugin",
          "metadata": {"name": "g"}, "spec": {"sharedDevNum": 5}}, 4, {"ReplicasLost"}),
    ],
    ids=["flags", "not shared", "operator"],
)  # fmt: skip
def test_intel_gpus_are_shared_by_a_number(
    tmp_path: Path, document: Json, then: int, codes: set[str]
) -> None:
    xe = "gpu.intel.com/xe"
    class_ = serving("xe", xe)
    found = resource(
        reported(
            tmp_path, class_, document, node("n", allocatable={xe: "20"}), status=int(bool(codes))
        ),
        xe,
    )
    assert found["then"] == then
    assert found["codes"].keys() == codes


SRIOV = json.dumps(
    {
        "resourceList": [
            {"resourceName": "fast", "resourcePrefix": "example.com",
             "selectors": {"vendors": ["15b3"], "pfNames": ["ens1f0"]}},
            {"resourceName": "storage",
             "selectors": [{"vendors": ["15b3"], "isRdma": True, "linkTypes": ["infiniband"]}]},
        ]
    }
)  # fmt: skip


def test_sriov_pools_get_classes_and_policies_of_the_driver(tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    nad = {
        "apiVersion": "k8s.cni.cncf.io/v1",
        "kind": "NetworkAttachmentDefinition",
        "metadata": {
            "name": "net",
            "namespace": "ml",
            "annotations": {"k8s.v1.cni.cncf.io/resourceName": "example.com/fast"},
        },
    }
    desk.write(
        cluster(
            plugin("s", "ghcr.io/k8snetworkplumbingwg/sriov-network-device-plugin", config="s"),
            config_map("s", config_json=SRIOV),
            nad,
            node("n", allocatable={"example.com/fast": "8", "intel.com/storage": "4"}),
            asking("p", {"intel.com/storage": "1"}, nodeName="n"),
        )
    )
    classes = [*yaml.safe_load_all(desk.run("migrate", "classes", status=0))]
    assert [one["spec"]["extendedResourceName"] for one in classes] == [
        "example.com/fast",
        "intel.com/storage",
    ]
    found = desk.document("migrate", "report", status=1)
    assert resource(found, "example.com/fast")["codes"]["MultusAttachment"] == "breaks"
    lost = resource(found, "intel.com/storage")
    assert lost["codes"]["SelectorLost"] == "breaks"
    (workload,) = found["workloads"]
    assert workload["answer"] == "blocked"
    folder = tmp_path / "out"
    desk.run("migrate", "plan", "--output-dir", str(folder), status=1)
    written = [*yaml.safe_load_all((folder / "sriov-policies.yaml").read_text())]
    attributes, policy, *_ = written
    assert attributes["spec"]["attributes"] == {"k8s.cni.cncf.io/resourceName": {"string": "fast"}}
    (config,) = policy["spec"]["configs"]
    assert config["resourceFilters"] == [{"vendors": ["15b3"], "pfNames": ["ens1f0"]}]
    assert config["deviceAttributesSelector"]["matchLabels"].items() <= (
        attributes["metadata"]["labels"].items()
    )


def test_policies_of_the_sriov_operator_are_read(tmp_path: Path) -> None:
    policy = {
        "apiVersion": "sriovnetwork.openshift.io/v1",
        "kind": "SriovNetworkNodePolicy",
        "metadata": {"name": "p", "namespace": "sriov"},
        "spec": {
            "resourceName": "mlxnics",
            "nodeSelector": {"pool": "x"},
            "nicSelector": {"vendor": "15b3", "deviceID": "1017", "rootDevices": ["0000:3b:00.0"]},
            "isRdma": True,
        },
    }
    desk = Desk(tmp_path)
    desk.write(cluster(policy, node("n", allocatable={"openshift.io/mlxnics": "8"})))
    found = desk.document("migrate", "report", status=1)
    assert resource(found, "openshift.io/mlxnics")["codes"] == {
        "NoClass": "blocks",
        "SelectorLost": "breaks",
    }
    desk.run("migrate", "plan", "--output-dir", str(tmp_path / "out"), status=0)
    *_, made = yaml.safe_load_all((tmp_path / "out" / "sriov-policies.yaml").read_text())
    assert made["spec"]["nodeSelector"]["nodeSelectorTerms"] == [
        {"matchExpressions": [{"key": "pool", "operator": "In", "values": ["x"]}]}
    ]
    assert made["spec"]["configs"][0]["resourceFilters"] == [
        {"vendors": ["15b3"], "devices": ["1017"], "rootDevices": ["0000:3b:00.0"]}
    ]


def test_rdma_devices_are_shared_and_stay_on_their_plugin(tmp_path: Path) -> None:
    own = {"resourceName": "hca_shared", "resourcePrefix": "nvidia.com", "rdmaHcaMax": 63}
    text = json.dumps({"configList": [own]})
    name = "nvidia.com/hca_shared"
    found = reported(
        tmp_path,
        plugin("r", "ghcr.io/mellanox/k8s-rdma-shared-dev-plugin:v1.5", config="rdma-devices"),
        config_map("rdma-devices", config_json=text),
        node("n", allocatable={name: "63"}),
        asking("p", {name: "1"}, nodeName="n"),
    )
    row = resource(found, name)
    assert (row["then"], row["plugin"]["sharing"]["replicas"]) == (0, 63)
    assert "ReplicasLost" in row["codes"]
    assert found["workloads"][0]["answer"] == "unknown"


def test_mapped_resources_move_and_their_commands_say_how(tmp_path: Path) -> None:
    fpga = "example.com/fpga"
    own = serving("fpga", "")
    del own["spec"]["extendedResourceName"]
    desk = Desk(tmp_path)
    desk.write(cluster(own, node("n", allocatable={fpga: "2"}), gpus("other", 2)))
    options = ("--map", f"{fpga}=fpga", "--gates", "DRAExtendedResource=true")
    (made,) = yaml.safe_load_all(desk.run("migrate", "classes", *options, status=0))
    assert made["spec"]["extendedResourceName"] == fpga
    assert made["spec"]["selectors"] == own["spec"]["selectors"]
    plan = desk.document("migrate", "plan", *options, status=0)
    commands = [one["wait"]["command"] for one in plan["nodes"][0]["steps"] if one["wait"]]
    commands += [one["command"] for one in plan["cluster"]]
    asked = [one for one in commands if "kubectl dra migrate" in one]
    assert asked
    again = "--gates DRAExtendedResource=true --map example.com/fpga=fpga"
    assert all(again in one for one in asked)
    text = told(desk, "plan", "--map", f"{fpga}=fpgas")
    assert "there is no DeviceClass fpgas; did you mean fpga?" in text


@pytest.mark.parametrize("names", [("eth0", "eth0"), ("eth0", "eth1")])
def test_pools_that_only_kernel_drivers_tell_apart_lose_them(
    tmp_path: Path, names: tuple[str, str]
) -> None:
    rows = [
        {"resourceName": name, "selectors": [{"drivers": [driver], "pfNames": [device]}]}
        for name, driver, device in zip(("a", "b"), ("vfio-pci", "mlx5_core"), names, strict=True)
    ]
    config = config_map("s", config_json=json.dumps({"resourceList": rows}))
    found = reported(tmp_path, config, node("n", allocatable={"intel.com/a": "4"}))
    assert ("SelectorLost" in resource(found, "intel.com/a")["codes"]) == (len({*names}) == 1)
