"""Where pods would fit, now and with changes."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support import manifests as objects
from tests.support.dra import Desk, invoke
from tests.support.worlds.inventory import CLASS, DRIVER, claim, device_class, held, pod, pool

Json = dict[str, Any]


def job(count: int = 1, **spec: Any) -> list[Json]:
    """Return a workload whose pods want devices, and its template."""
    return [
        objects.template("template", "ns", CLASS, count),
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": "job", "namespace": "ns"},
            "spec": {"template": {"spec": pod(templates={"gpu": "template"}, **spec)["spec"]}},
        },
    ]


def cluster() -> list[Json]:
    user = pod("user", claims={"gpu": "claim"}, node="n")
    return [
        objects.node("n"),
        objects.node("m"),
        device_class(),
        pool("n", 4),
        pool("m", 1),
        held(claim(), ("n", "device-0"), ("n", "device-1"), pods=[user]),
        user,
    ]


class Shop(Desk):
    """A desk that has a job in a file."""

    def simulate(self, *arguments: object, status: int = 0, manifests: Any = None) -> Any:
        """Simulate the job."""
        file = self.folder / "job.yaml"
        file.write_text(yaml.safe_dump_all(manifests or job()))
        return self.document("simulate", "-f", file, *arguments, status=status)


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path, *cluster())


def counts(document: Json) -> dict[str, tuple[int | None, int]]:
    return {one["name"]: (one["now"], one["then"]) for one in document["nodes"]}


def test_replicas(shop: Shop) -> None:
    document = shop.simulate("--replicas", 5, status=1)
    assert (document["placed"], document["notPlaced"]) == (3, ["job-3", "job-4"])
    assert counts(document) == {"m": (None, 1), "n": (None, 2)}
    assert document["moreNodes"] == {"like": "n", "count": 1}


def test_devices_are_named_in_their_order(shop: Shop) -> None:
    nodes = shop.simulate("--replicas", 2, "--without-node", "m")["nodes"]
    node = next(one for one in nodes if one["name"] == "n")
    assert [one["devices"] for one in node["pods"]] == [
        [f"{DRIVER}/n/device-2"],
        [f"{DRIVER}/n/device-3"],
    ]


def test_a_pod_that_ends_leaves_its_devices(shop: Shop) -> None:
    document = shop.simulate("--replicas", 5, "--without-pod", "ns/user")
    assert (document["placedNow"], document["placed"]) == (3, 5)
    assert counts(document) == {"m": (1, 1), "n": (2, 4)}


def test_a_users_claim_stays_when_its_pod_ends(shop: Shop) -> None:
    heir = [pod("heir", claims={"gpu": "claim"})]
    document = shop.simulate("--without-pod", "ns/user", "--without-node", "n", manifests=heir)
    (node,) = document["nodes"]
    assert [one["devices"] for one in node["pods"]] == [[f"{DRIVER}/m/device-0"]]


def test_a_copy_of_one_node_of_a_pool_of_several_has_a_whole_pool(tmp_path: Path) -> None:
    slices = [pool("n", ["a"]), pool("m", ["b"])]
    for one in slices:
        one["spec"]["pool"] = {"name": "ann", "generation": 1, "resourceSliceCount": 2}
    shop = Shop(tmp_path, objects.node("n"), objects.node("m"), device_class(), *slices)
    document = shop.simulate("--replicas", 3, "--add-node", "like=n")
    assert document["placed"] == 3
    (made,) = (one for one in document["virtual"] if one["kind"] == "ResourceSlice")
    assert made["spec"]["pool"]["name"] == "ann-n-virtual-1"


def test_virtual_nodes_have_devices_of_their_own(shop: Shop) -> None:
    document = shop.simulate("--replicas", 9, "--add-node", "like=n,count=2", status=0)
    assert counts(document) == {
        "m": (1, 1),
        "n": (2, 2),
        "n-virtual-1": (None, 4),
        "n-virtual-2": (None, 2),
    }
    kinds = [(one["kind"], one["metadata"]["name"]) for one in document["virtual"]]
    assert kinds == [
        ("Node", "n-virtual-1"),
        ("ResourceSlice", f"n-virtual-1-{DRIVER}-0"),
        ("Node", "n-virtual-2"),
        ("ResourceSlice", f"n-virtual-2-{DRIVER}-0"),
    ]


def test_nodes_of_a_file_have_the_slices_of_the_file(shop: Shop) -> None:
    file = shop.folder / "node.yaml"
    file.write_text(yaml.safe_dump_all([objects.node("new"), pool("new", 3)]))
    document = shop.simulate("--replicas", 7, "--add-node", file, status=1)
    assert (document["placedNow"], document["placed"]) == (3, 6)
    assert counts(document) == {"m": (1, 1), "n": (2, 2), "new": (None, 3)}
    kinds = [(one["kind"], one["metadata"]["name"]) for one in document["virtual"]]
    assert kinds == [("Node", "new"), ("ResourceSlice", f"new-{DRIVER}-0")]
    both = shop.simulate("--replicas", 9, "--add-node", file, "--add-node", "like=m", status=1)
    assert both["placed"] == 7


@pytest.mark.parametrize(
    ("manifests", "message"),
    [
        pytest.param([pool("new", 3)], "the file has no Node", id="no node"),
        pytest.param(
            [objects.node("new"), pool("m", 3)],
            "has no spec.nodeName of a node in the file (new)",
            id="slice of another node",
        ),
        pytest.param(
            [objects.node("m")],
            "node m is there already; --without-node m replaces it",
            id="node is there",
        ),
        pytest.param(
            [objects.node("new"), {**pool("new", 1), "spec": {"driver": 1}}],
            "resourceslices new-",
            id="malformed slice",
        ),
    ],
)
def test_a_file_of_other_nodes_is_refused(shop: Shop, manifests: list[Json], message: str) -> None:
    file, nodes = shop.folder / "job.yaml", shop.folder / "node.yaml"
    file.write_text(yaml.safe_dump_all(job()))
    nodes.write_text(yaml.safe_dump_all(manifests))
    result = invoke("simulate", "-f", file, "--add-node", nodes, "--snapshot", shop.file)
    assert result.exit_code == 2
    assert message in result.stderr


def test_a_node_is_added_once(shop: Shop) -> None:
    file, node = shop.folder / "job.yaml", shop.folder / "node.yaml"
    file.write_text(yaml.safe_dump_all(job()))
    node.write_text(yaml.safe_dump_all([objects.node("new"), pool("new", 3)]))
    twice = ("--add-node", node, "--add-node", node)
    result = invoke("simulate", "-f", file, *twice, "--snapshot", shop.file)
    assert result.exit_code == 2
    assert "node new is there already" in result.stderr


def test_tainted_devices_do_not_count(shop: Shop) -> None:
    document = shop.simulate("--fill", "--taint", f"{DRIVER}/n/device-2=broken:NoSchedule")
    assert (document["placedNow"], document["placed"]) == (3, 2)


def test_fill_ends_with_the_first_refusal(shop: Shop) -> None:
    document = shop.simulate("--fill")
    assert (document["placed"], document["notPlaced"]) == (3, [])
    printed = shop.run("simulate", "-f", shop.folder / "job.yaml", "--fill")
    assert "3 more pods fit. Before them 3 devices are free; the largest claim" in printed
    assert "on one node has 2." in printed


def test_fill_says_why_the_next_pod_fits_nowhere(shop: Shop) -> None:
    shop.simulate("--fill")
    printed = shop.run("simulate", "-f", shop.folder / "job.yaml", "--fill")
    assert "The next one fits nowhere." in printed
    assert "in use: " in printed


def test_fill_that_places_no_pod_says_why(shop: Shop) -> None:
    template, made = job()
    request = template["spec"]["spec"]["devices"]["requests"][0]
    request["exactly"]["deviceClassName"] = "unknown"
    file = shop.folder / "unknown.yaml"
    file.write_text(yaml.safe_dump_all([template, made]))
    result = invoke("simulate", "-f", file, "--fill", "--snapshot", shop.file)
    assert result.exit_code == 1
    assert "device class unknown does not exist" in result.stdout


def test_other_resources_and_selectors_of_nodes_count(shop: Shop) -> None:
    local = job(nodeSelector={"kubernetes.io/hostname": "m"})
    assert counts(shop.simulate("--fill", manifests=local)) == {"m": (None, 1)}
    hungry = job()
    container = hungry[1]["spec"]["template"]["spec"]["containers"][0]
    container["resources"]["requests"] = {"cpu": "600"}
    assert counts(shop.simulate("--fill", manifests=hungry)) == {"m": (None, 1), "n": (None, 1)}


def test_the_largest_claim_is_one_that_the_pod_can_have(tmp_path: Path) -> None:
    cordoned = objects.node("cordoned") | {"spec": {"unschedulable": True}}
    nodes = (objects.node("n"), cordoned)
    shop = Shop(tmp_path, *nodes, device_class(), pool("n", 2), pool("cordoned", 8))
    shop.simulate("--fill")
    printed = shop.run("simulate", "-f", shop.folder / "job.yaml", "--fill")
    assert "on one node has 2." in printed


def test_nodes_that_refused_a_pod_are_tried_again_when_a_shared_claim_is_there(
    tmp_path: Path,
) -> None:
    """The first pod needs two devices of one node, each later one needs one anywhere."""
    shared = objects.claim("shared", "ns", "net")
    network = pool("x", ["wire"], driver="net.example.com")
    del network["spec"]["nodeName"]
    network["spec"]["allNodes"] = True
    shop = Shop(
        tmp_path,
        *(objects.node("n"), objects.node("o")),
        *(device_class(), device_class("net", "net.example.com")),
        *(network, pool("n", 1), pool("o", 2)),
    )
    user = pod("web", claims={"wire": "shared"}, templates={"gpu": "template"})
    document = shop.simulate("--fill", manifests=[shared, job()[0], user])
    assert counts(document) == {"n": (None, 1), "o": (None, 2)}


def test_a_list_says_how_many_pods(shop: Shop) -> None:
    template, made = job()
    made["spec"]["parallelism"] = 3
    manifests = [{"apiVersion": "v1", "kind": "List", "items": [template, made]}]
    assert shop.simulate(manifests=manifests)["placed"] == 3


def test_pods_that_share_a_claim_go_to_its_node(shop: Shop) -> None:
    shared = objects.claim("shared", "ns", CLASS)
    manifests = [shared, pod("web", claims={"gpu": "shared"})]
    document = shop.simulate("--replicas", 4, manifests=manifests)
    assert [(one["name"], one["then"]) for one in document["nodes"]] == [("m", 4)]


def test_a_class_from_a_file(shop: Shop) -> None:
    file = shop.folder / "class.yaml"
    narrow = device_class()
    narrow["spec"]["selectors"].append({"cel": {"expression": "false"}})
    file.write_text(yaml.safe_dump(narrow))
    document = shop.simulate("--class", file, status=1)
    assert document["placed"] == 0


def test_a_file_without_classes_is_no_change(shop: Shop) -> None:
    file = shop.folder / "job.yaml"
    file.write_text(yaml.safe_dump_all(job()))
    result = invoke("simulate", "-f", file, "--class", file, "--snapshot", shop.file)
    assert result.exit_code == 2
    assert "the file has no DeviceClass" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        pytest.param(["--add-node", "like=x"], "node x not found", id="no such node"),
        pytest.param(["--add-node", "no-such-file"], "no-such-file", id="no file"),
        pytest.param(["--add-node", "count=2"], "expected like=NODE", id="like nothing"),
        pytest.param(["--add-node", "like=n,count=0"], "from 1 to 1000", id="no copies"),
        pytest.param(
            ["--add-node", f"like=n,count={'9' * 5000}"], "from 1 to 1000", id="many digits"
        ),
        pytest.param(["--add-node", "like=n,like=m"], "expected like=NODE", id="two nodes"),
        pytest.param(["--without-node", "x"], "node x not found", id="no node to take away"),
        pytest.param(["--without-pod", "x"], "pod default/x not found", id="no such pod"),
        pytest.param(["--taint", "broken"], "expected DRIVER", id="no target"),
        pytest.param(["--taint", "d=k:Never"], "expected DRIVER", id="no such effect"),
        pytest.param(["--taint", "d=k:NoSchedule"], "no ResourceSlice has such", id="no device"),
        pytest.param(["--replicas", "0"], "not in the range", id="no replicas"),
    ],
)
def test_bad_input_ends_with_2(shop: Shop, arguments: list[str], message: str) -> None:
    file = shop.folder / "job.yaml"
    file.write_text(yaml.safe_dump_all(job()))
    result = invoke("simulate", "-f", file, *arguments, "--snapshot", shop.file)
    assert result.exit_code == 2
    assert message in result.stderr
